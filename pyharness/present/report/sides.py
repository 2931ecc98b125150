"""The sides of a report: whose rows stand beside each other, and how each is called."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyharness.present.report.model import REPEAT, Row, Source

# The command whose row it is, by table.
_COMMANDS = {
    "timings": "bench",
    "memory": "memory",
    "repeatability": "determinism",
    "trade_offs": "determinism",
    "accuracy": "accuracy",
    "equivalences": "check",
    "stages": "try",
    "validity": "try",
}


@dataclass(frozen=True, slots=True)
class Side:
    """The rows that a release has in a table; each with what repeats it.

    ``label``  the release, with the folder where several folders have it.
    """

    label: str
    rows: Sequence[Row]


def sides(sources: Sequence[Source], table: str) -> list[Side]:
    """One side for each folder and release that has rows of a table, in the order given."""
    found: list[tuple[str, Source, list[Row]]] = []
    names_of = library_names(sources)
    problems = _problem_names(sources)
    for source in sources:
        by_release: dict[str, list[Row]] = {}
        for row in source.tables.get(table, ()):
            label = spelled(source, row.get("release") or "by formula", names_of)
            name = row.get("name") or problems.get(str(row.get("problem")))
            named = _repeatable({**row, "name": name}, source, table)
            by_release.setdefault(label, []).append(named)
        found += [(release, source, rows) for release, rows in by_release.items()]
    names = [release for release, _, _ in found]
    return [
        Side(release if names.count(release) == 1 else f"{release} ({source.title})", rows)
        for release, source, rows in found
    ]


def library_names(sources: Sequence[Source]) -> dict[str, str]:
    """What libraries call themselves, by their paths: not every folder has asked them.

    Two that are compared and call themselves alike are (a) and (b).
    """
    told = [told for source in sources for told in told_releases(source)]
    own = {t["path"]: t["name"] for t in told if t.get("path") and t.get("name") != t["path"]}
    for source in sources:
        old = source.run.get("release")
        new = old.get("against") if isinstance(old, Mapping) else None
        if not isinstance(old, Mapping) or not isinstance(new, Mapping):
            continue
        a, b = old.get("path"), new.get("path")
        if a != b and a in own and own[a] == own.get(b):
            return {**own, a: f"{own[a]} (a)", b: f"{own[a]} (b)"}
    return own


def spelled(source: Source, release: str, names: Mapping[str, str]) -> str:
    """A release of a folder as the whole report calls it."""
    paths = [told.get("path") for told in told_releases(source) if told.get("name") == release]
    called = names.get(str(paths[0]) if paths else release, release)
    return called if called.startswith(release) or release in paths else release


def _problem_names(sources: Sequence[Source]) -> dict[str, str]:
    """The names of problems by their words: not every table has them."""
    rows = (row for s in sources for of in s.tables.values() for row in of)
    return {r["problem"]: r["name"] for r in rows if r.get("name") and r.get("problem")}


def told_releases(source: Source) -> Iterator[Mapping[str, Any]]:
    """The releases that a folder is of, as its run.json tells of them."""
    first = source.run.get("release")
    several = [first, *(source.run.get("releases") or ())]
    if isinstance(first, Mapping):
        several.append(first.get("against"))
    return (told for told in several if isinstance(told, Mapping))


def all_rows(sides_of: Sequence[Side]) -> list[Row]:
    """The rows of all sides, each with its side's label as ``side``."""
    return [{**row, "side": side.label} for side in sides_of for row in side.rows]


def _repeatable(row: Row, source: Source, table: str) -> Row:
    """A row with the command that makes it again."""
    words = row.get("problem")
    if words is None or table not in _COMMANDS:
        return row
    asked = asked_for(source, row.get("release"))
    side = f" --cudnn {shlex.quote(asked)}" if asked else ""
    return {**row, REPEAT: f"pyharness {_COMMANDS[table]}{side} {words}".rstrip()}


def asked_for(source: Source, release: str | None) -> str | None:
    """The release as it was asked for; what a row calls it where the folder does not say."""
    for told in told_releases(source):
        if told.get("name") == release and told.get("asked"):
            return str(told["asked"])
    return release


def against(source: Source, row: Row, command: str) -> str:
    """The command that compares the two releases of a row again, each as it was asked for."""
    told = source.run.get("release") or {}
    other = told.get("against") or {}
    asked = (told.get("asked"), other.get("asked"))
    names = asked if all(asked) else (row["release_a"], row["release_b"])
    return f"pyharness {command} {shlex.join(map(str, names))} {row['problem'] or ''}".rstrip()


def labelled(rows: Sequence[Row]) -> tuple[list[dict[str, Any]], str]:
    """Rows with a ``label``: the problem's name, or its words; but what all problems have.

    Returns  the rows, and a sentence with the words that were left out.
    """
    called = [_called(row) for row in rows]
    split = [text.split() for text in dict.fromkeys(called)]
    shared = [word for word in split[0] if all(word in words for words in split)] if split else []
    if len(split) < 2:
        shared = []

    def label(text: str) -> str:
        own = [word for word in text.split() if word not in shared]
        return " ".join(own) or "every axis at its default"

    note = f"Every problem: {' '.join(shared)}." if shared else ""
    found = zip(rows, called, strict=True)
    return [{**row, "label": label(text)} for row, text in found], note


def _called(row: Row) -> str:
    """The name of a row's problem; of one that has none its words, as they are asked for."""
    name = row.get("name")
    return str(row["problem"] or "") if name in (None, row["problem"]) else str(name)


def commands(sources: Sequence[Source], table: str) -> list[str]:
    """What made the folders that have rows of a table, as it was typed."""
    found = [typed(s.run) for s in sources if s.tables.get(table)]
    return list(dict.fromkeys(c for c in found if c))


def typed(run: Mapping[str, Any]) -> str:
    """The command of a run, if its folder keeps it."""
    argv = run.get("argv") or []
    if len(argv) < 2 or argv[0] == "-c":
        return ""
    return "pyharness " + shlex.join(str(word) for word in argv[1:])


def paired(sides_of: Sequence[Side], key: Sequence[str]) -> Iterator[tuple[Row, list[Row | None]]]:
    """Rows of all sides that share a key, beside each other; None where a side lacks one.

    Returns  the first of them, and one for each side.
    """
    places: dict[tuple[Any, ...], list[Row | None]] = {}
    for place, side in enumerate(sides_of):
        for row in side.rows:
            own = places.setdefault(tuple(row.get(k) for k in key), [None] * len(sides_of))
            own[place] = row
    for rows in places.values():
        yield next(r for r in rows if r is not None), rows
