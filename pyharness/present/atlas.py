"""The atlas as a page: which releases answer alike, and what each step changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pyharness.present.units import count_text, duration_text

Row = Mapping[str, Any]
_MOST_WORDS = 600  # of one cell; the table has all of it
_FATES = """Every problem that some release accepts is in one line; what says which, among these.
"""
_BUSY = """Orders of magnitude only: releases were mapped one after another, by all cores and beside
whatever else the machine did. For numbers to compare, map both on a quiet one: `pyharness diff`.
"""
_HEAD = """# Atlas

Every release of cuDNN that was asked, and how it answers every problem of the space without a GPU.
`pyharness atlas` made this page and the tables beside it; [../README.md](../README.md) explains
their columns. [history.html](history.html) shows the same and filters: which release began or
stopped accepting what.
"""


@dataclass(frozen=True, slots=True)
class Alike:
    """Neighbours that answer every problem alike.

    ``accepted``  of each call that they have: problems accepted, and problems in all.
    """

    releases: list[str]
    accepted: dict[str, tuple[int, int]]


def render_atlas_page(
    space: str,
    alike: Sequence[Alike],
    fates: Sequence[Row],
    steps: Sequence[Row],
    costs: Sequence[Row],
) -> str:
    """The page of an atlas, in Markdown; ends with a newline.

    ``alike``           every release, the oldest first.
    ``fates``           rows of api.atlas_fates.
    ``steps``, ``costs``  rows of the tables atlas_steps and costs, in the same order.
    """
    calls = list(dict.fromkeys(call for span in alike for call in span.accepted))
    releases = count_text(sum(len(span.releases) for span in alike), "release")
    return "\n".join(
        [
            _HEAD,
            f"{releases}; space: {space}.\n",
            "## Accepted problems\n",
            _table(["releases", *calls], [_span(span, calls) for span in alike]),
            "## Problems with one history\n",
            _FATES,
            _table(["call", "problems", "accepted by", "what"], list(_fates(fates))),
            "## What changed from one release to the next\n",
            _table(["from", "to", "call", "change", "problems", "what"], _changes(steps)),
            "## Cost of a call (median)\n",
            _BUSY,
            _table(*_costs(costs)),
        ]
    )


def render_atlas(
    folder: str,
    names: Sequence[str],
    steps: Sequence[Row],
    added: int,
) -> str:
    """What a job came to, for a terminal; ends without a newline."""
    lines = [f"Atlas of {count_text(len(names), 'release')}, {added} added now"]
    if names:
        lines[0] += f": {names[0]} .. {names[-1]}"
    for (a, b), rows in groupby(steps, lambda r: (r["release_a"], r["release_b"])):
        counts: dict[str, int] = {}
        for row in rows:
            counts[row["change"]] = counts.get(row["change"], 0) + (row["rows"] or 1)
        told = ", ".join(f"{change} {count:,}" for change, count in counts.items())
        lines.append(f"  {a} -> {b}: {told}")
    return "\n".join([*lines, f"Tables in {folder}"])


def _span(span: Alike, calls: Sequence[str]) -> list[str]:
    first, last = span.releases[0], span.releases[-1]
    own = {call: f"{part:,} of {whole:,}" for call, (part, whole) in span.accepted.items()}
    return [
        first if first == last else f"{first} .. {last}",
        *(own.get(call, "no such call") for call in calls),
    ]


def _fates(fates: Sequence[Row]) -> Iterator[list[str]]:
    """One line for each set of problems: the releases in a row that accept it."""
    for (call, what, problems), rows in groupby(
        fates, lambda r: (r["call"], r["what"], r["problems"])
    ):
        own = list(rows)
        spans = [
            [row["release"] for row in run]
            for accepted, run in groupby(own, lambda r: r["accepted"])
            if accepted == "yes"
        ]
        told = (s[0] if len(s) == 1 else f"{s[0]} .. {s[-1]}" for s in spans)
        every = all(row["accepted"] == "yes" for row in own)
        releases = "every one that has the call" if every else ", ".join(told)
        yield [call, f"{problems:,}", releases, what]


def _changes(steps: Sequence[Row]) -> list[list[str]]:
    """One line for each change of problems; names and reasons of a kind share one."""

    def kind(row: Row) -> tuple[str, ...]:
        status = "->".join(row[s] or "" for s in ("status_a", "status_b")).strip("->")
        return row["release_a"], row["release_b"], row["call"] or "", f"{row['change']} {status}"

    lines = []
    for key, rows in groupby(steps, kind):
        own = list(rows)
        counts = [row["rows"] for row in own if row["rows"] is not None]
        what = "; ".join(row["what"] or "(no word)" for row in own)
        if own[0]["change"].startswith("call_"):
            what = ""
        if len(what) > _MOST_WORDS:
            what = f"{what[:_MOST_WORDS]} … (atlas_steps has all of it)"
        lines.append([*(word.strip() for word in key), f"{sum(counts):,}" if counts else "", what])
    return lines


def _costs(costs: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    kinds = list(dict.fromkeys((row["call"], row["answer"]) for row in costs))
    lines = []
    for name, rows in groupby(costs, lambda r: r["release"]):
        own = {(r["call"], r["answer"]): duration_text(r["median_s"]) for r in rows}
        lines.append([name, *(own.get(kind, "") for kind in kinds)])
    return ["release", *(f"{call}, {answer}" for call, answer in kinds)], lines


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return (
        "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in r) + " |" for r in rows) + "\n"
    )
