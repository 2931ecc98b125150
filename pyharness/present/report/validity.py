"""What each release accepts, as cubes small enough to lie in a page and be asked there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from pyharness.present.report.model import Column, Section, Source, Table, is_emulated
from pyharness.present.report.verdict import diff_command
from pyharness.present.units import duration_text, share_text

_ACCEPTED = "SUCCESS"


def validity_section(sources: Sequence[Source]) -> Section | None:
    """Heat maps that can be filtered, from every folded map; what cuDNN says of the rest."""
    cubes = _cubes(sources)
    reasons = [row for s in sources for row in s.tables.get("reasons", ())]
    costs = [row for s in sources for row in s.tables.get("costs", ())]
    missing = [s.title for s in sources if s.kind == "diff" and not s.folds]
    if not cubes and not missing and not reasons:
        return None
    lead = [
        f"{title} was written without its maps: make the diff again to see them here."
        for title in missing
    ]
    tables = [_accepted(cubes)] if cubes else []
    if reasons:
        tables.append(_reasons(reasons))
    if costs:
        tables.append(_costs(costs))
    return Section(
        "validity",
        "Validity: what each call accepts",
        lead,
        tables=tables,
        commands=_commands(sources),
        emulated=is_emulated([*reasons, *costs]),
        data={"cubes": cubes} if cubes else {},
    )


def _commands(sources: Sequence[Source]) -> list[str]:
    """What makes the diffs again: as the upgrade says that they belong to, else by their names."""
    asked = [
        command
        for source in sources
        if source.kind == "upgrade"
        for question in source.data["questions"]
        for evidence in question["evidence"]
        if evidence.get("part") == "diff"
        for command in evidence["commands"]
    ]
    own = [diff_command(s.data) for s in sources if s.kind == "diff"]
    return list(dict.fromkeys(filter(None, asked or own)))


def _cubes(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """One for each call and space, with the answers of every release that was mapped over it.

    Releases that answer alike share their answers.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for source in sources:
        for fold in source.folds:
            axes = [[name, list(labels)] for name, labels in fold["axes"]]
            key = (fold["call"], *((name, *labels) for name, labels in axes))
            cube = found.setdefault(
                key, {"call": fold["call"], "axes": axes, "folds": [], "releases": []}
            )
            called = fold["release"]
            if source.kind == "diff" and source.data["release_a"] == source.data["release_b"]:
                own_calls = [f for f in source.folds if f["call"] == fold["call"]]
                called += " (a)" if fold is own_calls[0] else " (b)"
            answers = {k: fold[k] for k in ("classes", "cells", "statuses")}
            if answers not in cube["folds"]:
                cube["folds"].append(answers)
            own = cube["folds"].index(answers)
            if [called, own] not in cube["releases"]:
                # Another library of the same version is told apart by a number.
                times = sum(called in (name, name.split(" (")[0]) for name, _ in cube["releases"])
                name = f"{called} ({times + 1})" if times else called
                cube["releases"].append([name, own])
    return sorted(found.values(), key=lambda cube: -len({of for _, of in cube["releases"]}))


def accepted(fold: Mapping[str, Any]) -> int:
    """How many problems are accepted."""
    counts = [[of_axis.count(c) for c in range(max(of_axis) + 1)] for of_axis in fold["classes"]]
    total = 0
    for place, code in enumerate(fold["cells"]):
        if code >= len(fold["statuses"]) or fold["statuses"][code] != _ACCEPTED:
            continue
        weight, rest = 1, place
        for of_axis in reversed(counts):
            rest, digit = divmod(rest, len(of_axis))
            weight *= of_axis[digit]
        total += weight
    return total


def _accepted(cubes: Sequence[Mapping[str, Any]]) -> Table:
    """How much of each call every release accepts: what a page without scripts shows."""
    rows = []
    for cube in cubes:
        size = prod(len(labels) for _, labels in cube["axes"])
        shares = [accepted(fold) for fold in cube["folds"]]
        for release, of in cube["releases"]:
            rows.append(
                {
                    "call": cube["call"],
                    "release": release,
                    "problems": size,
                    "accepted": shares[of],
                    "share": shares[of] / size,
                }
            )
    columns = [
        Column("call", "call", kind="code"),
        Column("release", "release"),
        Column("problems", "problems", "{:,}".format, "number"),
        Column("accepted", "accepted", "{:,}".format, "number"),
        Column("share", "share", share_text, "number"),
    ]
    return Table("Accepted, over all problems tried", columns, rows)


def _reasons(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = [
        Column("release", "release"),
        Column("call", "call", kind="code"),
        Column("status", "status", kind="code"),
        Column("reason", "cuDNN's own condition", kind="code"),
        Column("rows", "problems", "{:,}".format, "number"),
        Column("example", "one of them, as pyharness try takes it", kind="code"),
    ]
    told = [
        {**r, "repeat": f"pyharness try --cudnn {r['release']} {r['example'] or ''}".rstrip()}
        for r in sorted(rows, key=lambda r: -(r["rows"] or 0))
    ]
    return Table("Why the rest is refused", columns, told, short=("call", "reason", "rows"))


def _costs(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = [
        Column("release", "release"),
        Column("call", "call", kind="code"),
        Column("answer", "problems"),
        Column("median_s", "median of a call", duration_text, "number"),
        Column("p25_s", "25 %", duration_text, "number"),
        Column("p75_s", "75 %", duration_text, "number"),
    ]
    return Table("Cost of a call on the host", columns, rows)
