"""Every column of every table, declared once: type, unit, meaning, and since which schema.

The data dictionary in results/README.md is generated from here, and the writers take their schema
from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyharness.spec.axes import Axis, RealAxis
from pyharness.spec.calls import CALLS, all_axes
from pyharness.spec.run_axes import RUN_AXES

SCHEMA_VERSION = 2

# Axes whose column is a plain number; the others are words.
TEXT, INT32, INT64, FLOAT = "string", "int32", "int64", "float64"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    ``type``   string, int32, int64 or float64.
    ``since``  the schema version that brought it.
    """

    name: str
    type: str
    unit: str
    meaning: str
    since: int = 1


def _axis_columns() -> tuple[Column, ...]:
    columns = []
    for axis in all_axes().values():
        owners = ", ".join(c.name for c in CALLS if any(a.name == axis.name for a in c.axes))
        meaning = f"{axis.about} ({owners})"
        if axis.name == "proj_size":
            columns.append(Column("proj_size", INT32, "", f"the size handed over; {meaning}"))
            columns.append(
                Column(
                    "proj_rule",
                    TEXT,
                    "",
                    "how proj_size follows from hidden_size: same, half, over, or given",
                )
            )
        else:
            columns.append(_axis_column(axis, meaning))
    return tuple(columns)


def _axis_column(axis: Axis, meaning: str) -> Column:
    if isinstance(axis, RealAxis):
        return Column(axis.name, FLOAT, "", meaning)
    return Column(axis.name, INT32 if axis.numeric else TEXT, "", meaning)


AXIS_COLUMNS = _axis_columns()
RUN_COLUMNS = tuple(_axis_column(axis, axis.about) for axis in RUN_AXES)
RELEASE = Column("release", TEXT, "", "version of the library and its CUDA major: 9.28.0.42+cu12")
CALL = Column("call", TEXT, "", "C name of the function that gave the status")
STAGE = Column("stage", TEXT, "", "part of an RNN's life that the call belongs to")
STATUS = Column(
    "status", TEXT, "", "cuDNN's enumerator without CUDNN_STATUS_; null where the worker died"
)
CODE = Column("status_code", INT32, "", "the raw integer; numbers changed between 8 and 9")
OUTCOME = Column(
    "outcome",
    TEXT,
    "",
    "passed, unsupported (cuDNN refused) or failed (a defect: crash, hang, status without a name)",
)
REASON = Column(
    "reason", TEXT, "", "cuDNN's own condition, verbatim; for failed rows what happened"
)
PROVENANCE = Column(
    "provenance", TEXT, "", "observed: the library said so here; emulated: a double"
)
