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
    "audit": (
        _RELEASE,
        Column("kind", _TEXT, "", "rule (of a document) or framework (its rule of thumb)"),
        Column("rule", _TEXT, "", "id of the rule"),
        Column("says", _TEXT, "", "the rule in a plain sentence"),
        Column("documented", _TEXT, "", "what the document says becomes of such problems"),
        Column("source", _TEXT, "", "where it was read"),
        Column("grade", _TEXT, "", "how good the source is, A best; null for frameworks"),
        Column("versions", _TEXT, "", "releases that it speaks of, as the source has it"),
        Column("verdict", _TEXT, "", "what came of it, see `pyharness audit --help`"),
        Column("call", _TEXT, "", "call that it was judged at; null if at none"),
        Column("seen", _TEXT, "", "what was seen, in words"),
        Column("as_said", _INT64, "problems", "answered as the rule says"),
        Column("otherwise", _INT64, "problems", "answered otherwise"),
        Column("not_counted", _INT64, "problems", "another rule may have refused them"),
        Column("example", _TEXT, "", "the simplest such problem, as `pyharness try` takes it"),
        _STATUS,
        _REASON,
        Column("conditions", _TEXT, "", "exactly the problems that were answered otherwise"),
        _PROVENANCE,
    ),
    "rules": (
        _RELEASE,
        _CALL,
        _STAGE,
        Column("place", _INT32, "", "in the list of its call; the first that matches decides"),
        Column("status", _TEXT, "", "status that the rule gives; null where the worker died"),
        Column("conditions", _TEXT, "", "what it says; otherwise: all that none matches"),
        Column("rows", _INT64, "problems", "problems that the rule decides"),
        Column("share", _FLOAT, "", "of the problems of this call"),
        Column("reason", _TEXT, "", "cuDNN's most frequent word for them, if it was asked"),
        Column("reason_rows", _INT64, "problems", "problems that it was given for"),
        Column("reasons", _INT32, "", "distinct reasons; null if nobody was asked"),
        Column("asked", _INT64, "problems", "problems whose reason is known"),
        Column("proven", _TEXT, "", "yes if its list gives every problem the status that it has"),
        Column(
            "fewest",
            _TEXT,
            "",
            "yes if it is proven that no list of refusals that tells the same apart is shorter: "
            "reasons too, where rules.json has by_reason",
        ),
        Column("fate", _TEXT, "", "of two releases: went, came or stayed"),
        _PROVENANCE,
    ),
    "recorded": (
        Column("order", _INT32, "", "place among the problems by first occurrence, from 0"),
        Column("count", _INT64, "calls", "RNN calls that were made with it"),
        Column("calls", _TEXT, "", "these calls by C name, each with its number"),
        Column("stages", _TEXT, "", "the stages that they belong to, each with its number"),
        Column("roles", _TEXT, "", "what was recorded: descriptor, clip, x, y, h, c"),
        Column("processes", _INT32, "", "processes that made them"),
        Column("threads", _INT32, "", "threads that made them, over all processes"),
        *AXIS_COLUMNS,
        Column("disagreements", _TEXT, "", "where the descriptors contradict each other"),
        Column("said", _TEXT, "", "errors and warnings that the log has of it, with their number"),
        Column("place", _TEXT, "", "file and byte of the first call"),
        Column("problem", _TEXT, "", "as `pyharness try` takes it"),
    ),
    "explanations": (
        _RELEASE,
        Column("order", _INT32, "", "place of the problem in the log, as in recorded"),
        Column("count", _INT64, "calls", "RNN calls that were made with the problem"),
        Column("problem", _TEXT, "", "as `pyharness try` takes it"),
        _CALL,
        Column("role", _TEXT, "", "what the call describes: descriptor, clip, x, y, h or c"),
        _STATUS,
        _OUTCOME,
        _REASON,
        Column("argument", _TEXT, "", "C argument that is to blame; null where none was found"),
        Column("axis", _TEXT, "", "our word for it"),
        Column("value", _TEXT, "", "what it holds"),
        Column("batch_rows", _TEXT, "", "rows of the batch that are to blame, from 0"),
        Column("allowed", _TEXT, "", "what is accepted in its place"),
        Column("alone", _TEXT, "", "yes if changing it alone is enough"),
        Column("suggestion", _TEXT, "", "the nearest problem that every host call accepts"),
        Column("cost", _TEXT, "", "what that costs, in words"),
        _PROVENANCE,
    ),
}
