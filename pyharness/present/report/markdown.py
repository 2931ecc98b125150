"""The report for a pull request: verdict first, short tables, within what a comment may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from pyharness.present.report.model import Report, Row, Section, Table
from pyharness.present.report.words import SYMBOLS, stamp, tone, words

MOST_BYTES = 60_000  # a comment on GitHub holds 65,536 characters
_MOST_ROWS, _MOST_COLUMNS, _MOST_STEPS, _MOST_CONDITIONS = 12, 6, 12, 3
_MOST_CELL, _MOST_PARTS = 160, 8
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&@!])")
_EMULATED = "> ⚠ **EMULATED**: a test double gave numbers here, not a GPU. They are no result."


def render_markdown(report: Report) -> str:
    """The report in at most MOST_BYTES bytes of UTF-8; what did not fit is named at its end."""
    parts = [("", "\n".join(_head(report)))]
    parts += [(s.title, "\n".join(_section(s))) for s in report.sections]
    kept: list[str] = []
    cut: list[str] = []
    left = MOST_BYTES - 1_000  # for the words on what was cut
    for title, text in parts:
        size = len(text.encode()) + 2
        if size <= left:
            kept.append(text)
            left -= size
        elif title:
            cut.append(title)
        else:  # a head is never left out: its end is
            kept.append(_shortened(text, left))
            left = 0
    if cut:
        kept.append(f"Left out to fit a comment: {escaped('; '.join(cut))}. report.html has it.")
    return "\n\n".join(kept) + "\n"


def _shortened(text: str, most: int) -> str:
    return text.encode()[: max(0, most - 100)].decode("utf-8", "ignore") + "\n\n… (cut)"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """A text as code, on one line: its own backticks stand between longer ones."""
    flat = " ".join(text.split()).replace("|", "\\|")
    ticks = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def _said(word: str) -> str:
    return f"{SYMBOLS[tone(word)]} {words(word)}"


def _head(report: Report) -> Iterator[str]:
    yield f"## {escaped(report.title)}"
    yield ""
    if report.emulated:
        yield from (_EMULATED, "")
    word = f"**{SYMBOLS[tone(report.word)]} {stamp(report.word).upper()}**: " if report.word else ""
    yield word + escaped(report.headline)
    if report.cards and any(card.word for card in report.cards):
        yield from ("", "| question | answer | what exactly |", "|---|---|---|")
        for card in report.cards:
            told = "<br>".join(escaped(_clipped(line, 400)) for line in card.told)
            yield f"| {escaped(card.question)} | {escaped(_said(card.word))} | {told} |"
    if report.gate:
        yield from ("", "| gate | found | so |", "|---|---:|---|")
        for row in report.gate:
            why = f" ({escaped(row['why'])})" if row["why"] else ""
            yield f"| {escaped(row['what'])} | {row['found']:,} | {_said(row['word'])}{why} |"
    for note in report.notes:
        yield from ("", escaped(note))


def _section(section: Section) -> Iterator[str]:
    yield f"### {escaped(section.title)}"
    if section.emulated:
        yield from ("", _EMULATED)
    for line in section.lead:
        yield from ("", escaped(_clipped(line, 1_000)))
    yield from _steps(section)
    for table in section.tables:
        yield from _table(table)
    if section.commands:
        shown = section.commands[:_MOST_ROWS]
        yield from ("", "<details><summary>Repeat it</summary>", "")
        yield from (f"- {_code(command)}" for command in shown)
        if more := len(section.commands) - len(shown):
            yield f"- and {more:,} more: report.json has them"
        yield from ("", "</details>")


def _steps(section: Section) -> Iterator[str]:
    for heading, of in groupby(section.steps, lambda step: step.heading):
        several = [step for step in of if step.what]
        yield from ("", f"**{escaped(heading)}**", "")
        for step in several[:_MOST_STEPS]:
            yield f"- {SYMBOLS[step.tone]} {escaped(_clipped(step.what, 600))}"
            for condition in step.conditions[:_MOST_CONDITIONS]:
                yield f"  - {_code(_clipped(condition, 300))}"
            if more := len(step.conditions[_MOST_CONDITIONS:]):
                yield f"  - or {more:,} more: report.html has them all"
            yield from (f"  - {escaped(_clipped(p, 300))}" for p in step.parts[:_MOST_PARTS])
            if more := len(step.parts[_MOST_PARTS:]):
                yield f"  - and {more:,} more: report.html has them all"
        if more := len(several[_MOST_STEPS:]):
            yield f"- and {more:,} more: report.html has them all"


def _table(table: Table) -> Iterator[str]:
    columns = [c for c in table.shown if not table.short or c.key in table.short]
    columns = columns[:_MOST_COLUMNS]
    if not columns:
        return
    yield from ("", f"**{escaped(table.title)}**", "")
    yield f"| {' | '.join(escaped(c.title) for c in columns)} |"
    yield f"|{'|'.join('---:' if c.kind == 'number' else '---' for c in columns)}|"
    for row in table.rows[:_MOST_ROWS]:
        yield f"| {' | '.join(_cells(table, row, [c.key for c in columns]))} |"
    if len(table.rows) > _MOST_ROWS:
        more = len(table.rows) - _MOST_ROWS
        yield from ("", f"and {more:,} more rows: report.html has them all")


def _cells(table: Table, row: Row, keys: Sequence[str]) -> Iterator[str]:
    for column in table.columns:
        if column.key not in keys:
            continue
        value = row.get(column.key)
        if value is None:
            yield ""
        elif column.kind == "word":
            yield escaped(f"{SYMBOLS[tone(str(value))]} {column.show(value)}")
        elif column.kind == "code":
            yield _code(_clipped(column.show(value), _MOST_CELL))
        else:
            yield escaped(_clipped(column.show(value), _MOST_CELL))


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
