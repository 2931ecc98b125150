"""The data dictionary: results/README.md, made from the declared columns.

Run ``python -m pyharness.present.dictionary > results/README.md`` after a change of a column; a
test compares the two.
"""

from __future__ import annotations

import sys

from pyharness.spec.columns import AXIS_COLUMNS, SCHEMA_VERSION, Column
from pyharness.spec.tables import TABLES

_ABOUT = {
    "validity": "One row is one problem and the call that it was tried with.",
    "reasons": "One row is one distinct reason that cuDNN gave for a status of a call.",
    "costs": "One row is the time of one call, over accepted or over refused problems.",
    "changes": "One row is one problem that changed between two releases; of a drift run, one "
    "tensor that drifted or one pass that ends otherwise.",
    "atlas": "One row is every answer of one call of one release, folded: read it with atlas_axes.",
    "atlas_axes": "One row is one value of an axis and its class, for one call of one release.",
    "atlas_rules": "One row is one rule in the ordered list of a call of a release of the atlas.",
    "atlas_steps": "One row is one change from a release to the next that the atlas has.",
    "audit": "One row is one documented rule, judged on one release.",
    "rules": "One row is one rule in the ordered list of a call: the first that matches decides.",
    "recorded": "One row is one distinct problem of the API logs that were read.",
    "stages": "One row is one stage of one problem, on a GPU or, without one, on the host.",
    "samples": "One row is one timed execution.",
    "timings": "One row is one pass of one problem in one mode: its samples in a few numbers.",
    "repeatability": "One row is one tensor of one problem under one condition, over all runs.",
    "trade_offs": "One row is one choice of algo and math for one problem: its time, and whether "
    "its results repeat.",
    "memory": "One row is what one problem asks for in one forward mode.",
    "accuracy": "One row is one tensor of one pass of one problem beside the truth.",
    "drift": "One row is one tensor of one pass of one problem on two releases.",
    "equivalences": "One row is one tensor of one problem under one check.",
    "time_changes": "One row is one pass of one problem in one mode, timed on both releases.",
    "time_readings": "One row is what one process of such a run said of one of them.",
    "soak": "One row is what was seen of the memory behind one cycle of a soak.",
    "explanations": "One row is one argument to blame for a refusal of a recorded problem.",
}
_HEAD = f"""# Results

What lies here was measured on real releases of cuDNN; every folder holds a `run.json` or a
`diff.json` that says of what, where and how. `maps/`, `stages/`, `bench/`, `determinism/`,
`accuracy/`, `soak/`, `drift/`, `diff/` and `rules/` are where the commands put what they make; they
are not under version control. `walk.md`, `explain.md` and `logs.md` are what the programs of the
same names in `benchmarks/` printed; `upgrade-simulation.md` is of a simulation.

| folder | from | holds |
|---|---|---|
| `maps/RELEASE/SPACE/` | `pyharness map` | `validity`, `reasons`, `costs`, `run.json` |
| `diff/A..B/SPACE/` | `pyharness diff` | `changes`, `diff.txt`, `diff.json` |
| `upgrades/A..B/SPACE/` | the same, kept | the upgrades that the guide tells of |
| `rules/…/SPACE/` | `pyharness rules` | `rules`, `rules.txt`, `rules.json` |
| `atlas/` | `pyharness atlas` | `atlas`, its axes, rules and steps, `reasons`, `costs` |
| `atlas-sizes/` | the same with `--preset sizes` | the same |
| `audit/` | `pyharness audit --out` | `audit`, and a page that says what came of it |
| your `--out` | `pyharness replay`, `map --log` | `recorded`, `validity`, `run.json` |
| `stages/RELEASE/PROBLEMS/` | `pyharness map --stages all` | `stages`, `run.json` |
| `bench/RUN/RELEASE/` | `pyharness bench` | `timings`, `samples`, `stages`, `run.json` |
| `determinism/RELEASE/PROBLEMS/` | `pyharness determinism` | `repeatability`, `run.json` |
| beside it | the same with `--trade-off` | `trade_offs`, `timing/` |
| `accuracy/RELEASE/PROBLEMS/` | `pyharness accuracy` | `accuracy`, `run.json` |
| `soak/RELEASE/PROBLEMS/` | `pyharness soak` | `soak`, `run.json` |
| `drift/A/PROBLEMS/` | `pyharness drift` | `drift`, `changes`, `run.json` |
| `time/RUN/` | `pyharness time` | `time_changes`, `time_readings`, `run.json` |
| `upgrade/OLD/PROBLEMS-to-NEW/` | `pyharness upgrade` | report, `upgrade.json`, a folder a part |
| your `--out` | `pyharness memory` | `memory`, `run.json` |
| your `--out` | `pyharness explain --log` | the same and `explanations` |

## Data dictionary

Generated from `pyharness/spec/tables.py` (schema {SCHEMA_VERSION}). A value that is not known is
null. Units stand in the name: `_s` seconds, `_bytes`, `_hz`, `_w` watts, `_c` degrees Celsius. A
table with several calls has the axes of all of them, null where a call has no such axis; words are
dictionary-encoded.
"""


def _rows(columns: tuple[Column, ...]) -> str:
    lines = ["| column | type | unit | meaning | since |", "|---|---|---|---|---|"]
    lines += [
        f"| `{c.name}` | {c.type} | {c.unit or '-'} | {c.meaning} | {c.since} |" for c in columns
    ]
    return "\n".join(lines)


def render_dictionary() -> str:
    """The whole page; ends with a newline."""
    parts = [_HEAD]
    for table, columns in TABLES.items():
        own = tuple(c for c in columns if c not in AXIS_COLUMNS)
        axes = "\n\nAnd one column per axis, see below." if len(own) < len(columns) else ""
        parts.append(f"### {table}\n\n{_ABOUT[table]}{axes}\n\n{_rows(own)}\n")
    parts.append(f"### Axes\n\n{_rows(AXIS_COLUMNS)}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(render_dictionary())
