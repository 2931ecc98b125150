"""What else a folder may hold: a program's log, every stage, a long run, documents, the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pyharness.present.report.model import REPEAT, Chart, Column, Row, Section, Source, Table
from pyharness.present.report.model import is_emulated as emulated
from pyharness.present.report.sides import all_rows, commands, labelled, sides, typed
from pyharness.present.report.words import words
from pyharness.present.units import binary_text, count_text, seconds_text


def replay_section(sources: Sequence[Source]) -> Section | None:
    """The problems of a program's log, and what each release says of them."""
    recorded = [row for s in sources for row in s.tables.get("recorded", ())]
    if not recorded:
        return None
    tried = all_rows(sides([s for s in sources if s.kind == "replay"], "validity"))
    logs = dict.fromkeys(log for s in sources for log in s.run.get("logs") or ())
    calls = sum(row["count"] or 0 for row in recorded)
    lead = [
        f"{', '.join(logs)}: {count_text(calls, 'RNN call')} of "
        f"{count_text(len(recorded), 'problem')}."
    ]
    for side in dict.fromkeys(row["side"] for row in tried):
        counts = Counter(row["outcome"] for row in tried if row["side"] == side)
        said = ", ".join(f"{n:,} {words(o)}" for o, n in counts.most_common())
        lead.append(f"{side}: host calls {said}.")
    problems = [
        Column("count", "calls", "{:,}".format, "number"),
        Column("calls", "by function", kind="code"),
        Column("problem", "problem", kind="code"),
        Column("said", "errors that the log has"),
    ]
    answers = [
        Column("side", "release"),
        Column("call", "call", kind="code"),
        Column("outcome", "outcome", words, "word"),
        Column("status", "status", kind="code"),
        Column("reason", "cuDNN's own condition", kind="code"),
    ]
    told = [{**r, REPEAT: f"pyharness explain {r['problem'] or ''}".rstrip()} for r in recorded]
    refused = [r for r in tried if r["outcome"] != "passed"]
    tables = [Table("What the program asks for", problems, told, short=("count", "problem"))]
    if refused:
        tables.append(Table("Host calls that do not pass", answers, refused))
    return Section(
        "log", "The program's log", lead, tables=tables, emulated=emulated([*recorded, *tried])
    )


def stages_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """How far each problem gets on a device."""
    # What was timed has its stages beside it, and says there what did not pass.
    asked = sides([s for s in sources if s.kind != "bench"], "stages")
    asked = [side for side in asked if any(r["device"] for r in side.rows)]
    if not asked:
        return None
    rows = all_rows(asked)
    lead = []
    for side in asked:
        counts = Counter(row["outcome"] for row in side.rows)
        said = ", ".join(f"{n:,} {words(o)}" for o, n in counts.most_common())
        lead.append(f"{side.label}: {count_text(len(side.rows), 'stage')}, {said}.")
    columns = [
        Column("label", "problem"),
        Column("side", "release"),
        Column("stage", "stage", words),
        Column("outcome", "outcome", words, "word"),
        Column("status", "status", kind="code"),
        Column("reason", "why", kind="code"),
        Column("workspace_bytes", "workspace", binary_text, "number"),
        Column("reserve_space_bytes", "reserve", binary_text, "number"),
    ]
    order = ("failed", "out_of_memory", "unsupported", "skipped", "passed")
    rows.sort(key=lambda r: order.index(r["outcome"]) if r["outcome"] in order else 0)
    short = ("label", "stage", "outcome", "reason")
    return Section(
        "stages",
        "Stages: how far each problem gets",
        lead,
        charts=charts,
        tables=[Table("Every stage, what fails first", columns, *labelled(rows), short)],
        commands=commands(sources, "stages"),
        emulated=emulated(rows),
    )


def soak_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """What a service's memory did over many plans."""
    runs = [s for s in sources if s.kind == "soak"]
    rows = [row for s in runs for row in s.tables.get("soak", ())]
    if not runs:
        return None
    told = []
    lead = []
    for source in runs:
        results = source.run["results"]
        name = source.run["release"]["name"]
        lead.append(
            f"{name}: {words(results.get('verdict') or 'not_told')} after "
            f"{count_text(results.get('cycles', 0), 'cycle')} in "
            f"{seconds_text(results.get('walk_s') or 0.0)}."
        )
        for what, trend in (results.get("trends") or {}).items():
            told.append({"release": name, "what": what, **trend, REPEAT: typed(source.run)})
    columns = [
        Column("release", "release"),
        Column("what", "what", words),
        Column("verdict", "verdict", words, "word"),
    ]
    return Section(
        "soak",
        "Soak: memory over many plans",
        lead,
        charts=charts,
        tables=[Table("What was looked at", columns, told)] if told else [],
        commands=commands(sources, "soak"),
        emulated=emulated(rows),
    )


def audit_section(sources: Sequence[Source]) -> Section | None:
    """What documents say, against the library."""
    rows = [
        {**row, REPEAT: f"pyharness audit --cudnn {row['release']}"}
        for s in sources
        for row in s.tables.get("audit", ())
    ]
    if not rows:
        return None
    counts = Counter(row["verdict"] for row in rows)
    said = ", ".join(f"{n:,} {words(word)}" for word, n in counts.most_common())
    columns = [
        Column("release", "release"),
        Column("rule", "rule", kind="code"),
        Column("says", "what the document says"),
        Column("verdict", "verdict", words, "word"),
        Column("seen", "what was seen"),
        Column("grade", "grade"),
        Column("source", "source"),
    ]
    short = ("release", "rule", "verdict", "seen")
    return Section(
        "audit",
        "Documents against the library",
        [f"{count_text(len(rows), 'rule')}: {said}."],
        tables=[Table("Every rule", columns, rows, "", short)],
        emulated=emulated(rows),
    )


def atlas_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """What changed from each release to the next."""
    rows: list[Row] = [row for s in sources for row in s.tables.get("atlas_steps", ())]
    if not rows:
        return None
    columns = [
        Column("release_a", "from"),
        Column("release_b", "to"),
        Column("call", "call", kind="code"),
        Column("change", "change", words, "word"),
        Column("rows", "problems", "{:,}".format, "number"),
        Column("status_a", "before", kind="code"),
        Column("status_b", "after", kind="code"),
        Column("what", "what exactly", kind="code"),
    ]
    steps = dict.fromkeys((row["release_a"], row["release_b"]) for row in rows)
    repeat = [{**r, REPEAT: f"pyharness diff {r['release_a']} {r['release_b']}"} for r in rows]
    short = ("release_b", "call", "change", "rows")
    return Section(
        "history",
        "History: from release to release",
        [f"{count_text(len(steps), 'step')} between neighbours changed something."],
        charts=charts,
        tables=[Table("What each step changed", columns, repeat, "", short)],
    )
