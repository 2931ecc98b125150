"""Every column of every table, declared once: type, unit, meaning, and since which schema.

The data dictionary in results/README.md is generated from here, and the writers take their schema
from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyharness.spec.calls import CALLS, all_axes

SCHEMA_VERSION = 1

# Axes whose column is a plain number; the others are words.
_TEXT, _INT32, _INT64, _FLOAT = "string", "int32", "int64", "float64"


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
            columns.append(Column("proj_size", _INT32, "", f"the size handed over; {meaning}"))
            columns.append(
                Column(
                    "proj_rule",
                    _TEXT,
                    "",
                    "how proj_size follows from hidden_size: same, half, over, or given",
                )
            )
        elif axis.name in ("lclip", "rclip"):
            columns.append(Column(axis.name, _FLOAT, "", meaning))
        else:
            columns.append(Column(axis.name, _INT32 if axis.numeric else _TEXT, "", meaning))
    return tuple(columns)


AXIS_COLUMNS = _axis_columns()
_RELEASE = Column("release", _TEXT, "", "version of the library and its CUDA major: 9.28.0.42+cu12")
_CALL = Column("call", _TEXT, "", "C name of the function that gave the status")
_STAGE = Column("stage", _TEXT, "", "part of an RNN's life that the call belongs to")
_STATUS = Column(
    "status", _TEXT, "", "cuDNN's enumerator without CUDNN_STATUS_; null where the worker died"
)
_CODE = Column("status_code", _INT32, "", "the raw integer; numbers changed between 8 and 9")
_OUTCOME = Column(
    "outcome",
    _TEXT,
    "",
    "passed, unsupported (cuDNN refused) or failed (a defect: crash, hang, status without a name)",
)
_REASON = Column(
    "reason", _TEXT, "", "cuDNN's own condition, verbatim; for failed rows what happened"
)
_PROVENANCE = Column("provenance", _TEXT, "", "observed: the library said so here")

TABLES: dict[str, tuple[Column, ...]] = {
    "validity": (
        _RELEASE,
        _CALL,
        _STAGE,
        *AXIS_COLUMNS,
        _STATUS,
        _CODE,
        _OUTCOME,
        _REASON,
        _PROVENANCE,
    ),
    "reasons": (
        _RELEASE,
        _CALL,
        _STATUS,
        _CODE,
        _REASON,
        Column("rows", _INT64, "problems", "problems of the space that this reason is given for"),
        Column(
            "rows_from",
            _TEXT,
            "",
            "counted: every refused row was asked; partition: one row of each class was asked, and "
            "a random sample of rows agreed; unconfirmed: the sample did not agree",
        ),
        Column("example", _TEXT, "", "one such problem, as `pyharness try` takes it"),
        _PROVENANCE,
    ),
    "costs": (
        _RELEASE,
        _CALL,
        Column("answer", _TEXT, "", "accepted or refused: which problems were timed"),
        Column("rows", _INT64, "problems", "distinct problems in one sample"),
        Column("samples", _INT64, "", "times that they were all walked"),
        Column("median_s", _FLOAT, "s", "median over the samples of the mean time of one call"),
        Column("min_s", _FLOAT, "s", "least sample"),
        Column("p25_s", _FLOAT, "s", "a quarter of the samples are less"),
        Column("p75_s", _FLOAT, "s", "a quarter of the samples are more"),
        _PROVENANCE,
    ),
    "changes": (
        Column("release_a", _TEXT, "", "the older side"),
        Column("release_b", _TEXT, "", "the newer side"),
        _CALL,
        _STAGE,
        *AXIS_COLUMNS,
        Column(
            "change",
            _TEXT,
            "",
            "newly_accepted, newly_refused, other_status, other_reason, newly_failed or "
            "no_longer_failed",
        ),
        Column("status_a", _TEXT, "", "status on the older side; null where the worker died"),
        Column("status_b", _TEXT, "", "status on the newer side; null where the worker died"),
        Column("reason_a", _TEXT, "", "cuDNN's condition on the older side, if collected"),
        Column("reason_b", _TEXT, "", "cuDNN's condition on the newer side, if collected"),
        Column("conditions", _TEXT, "", "description of the group that the row belongs to"),
        _PROVENANCE,
    ),
}
