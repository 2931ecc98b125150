"""What changed from one release of an atlas to the next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pyharness.analyze.map_diff import MapDiff, compare_enumerators, compare_reason_texts
from pyharness.api.diffing import diff_call
from pyharness.api.progress import Progress, silent
from pyharness.store.atlas import Atlas


def compare_neighbours(atlas: Atlas, progress: Progress = silent) -> None:
    """Fills in the steps between neighbours that are not there, and drops those of no neighbours.

    A release that came in between two others has parted them.
    """
    steps = list(pairwise(atlas.names))
    kept = {step for step in atlas.steps if step in steps}
    rows = [r for r in atlas.rows["atlas_steps"] if (r["release_a"], r["release_b"]) in kept]
    missing = [step for step in steps if step not in kept]
    for place, step in enumerate(missing):
        progress("comparing neighbours", place, len(missing))
        rows += _rows(_step(atlas, *step))
    order = {step: place for place, step in enumerate(steps)}
    atlas.steps = steps
    atlas.rows["atlas_steps"] = sorted(rows, key=lambda r: order[r["release_a"], r["release_b"]])


def _step(atlas: Atlas, a: str, b: str) -> MapDiff:
    diff = MapDiff(a, b, atlas.space.name)
    old, new = (next(e for e in atlas.releases if e["name"] == name) for name in (a, b))
    diff.calls_removed = sorted(set(new["absent_calls"]) - set(old["absent_calls"]))
    diff.calls_added = sorted(set(old["absent_calls"]) - set(new["absent_calls"]))
    both = []
    for grid in atlas.space.grids:
        sides = [atlas.folds.get((name, grid.call.name)) for name in (a, b)]
        if sides[0] is not None and sides[1] is not None:
            both.append(grid.call.name)
            if not sides[0].answers_as(sides[1]):
                found, _ = diff_call(sides[0].unfolded(), sides[1].unfolded())
                diff.calls.append(found)
    compare_enumerators(diff, old["version"], new["version"])
    diff.reason_texts = compare_reason_texts(
        *([r for r in atlas.of_release("reasons", n) if r["call"] in both] for n in (a, b))
    )
    return diff


def _rows(diff: MapDiff) -> Iterator[dict[str, Any]]:
    def row(change: str, call: str | None = None, **more: Any) -> dict[str, Any]:
        blank = dict.fromkeys(("status_a", "status_b", "rows", "what", "proven"))
        sides = {"release_a": diff.release_a, "release_b": diff.release_b}
        return {**sides, "call": call, "change": change, **blank, **more}

    for call in diff.calls:
        for group in call.comparison.groups:
            yield row(
                group.change,
                call.call,
                status_a=group.status_a,
                status_b=group.status_b,
                rows=group.rows,
                what=" or ".join(group.words),
                proven="yes" if group.proven else "no",
            )
    for change, calls in (("call_added", diff.calls_added), ("call_removed", diff.calls_removed)):
        yield from (row(change, name) for name in calls)
    for texts in diff.reason_texts:
        for reason in texts.new:
            yield row("reason_new", texts.call, status_b=texts.status, what=reason or None)
        for reason in texts.gone:
            yield row("reason_gone", texts.call, status_a=texts.status, what=reason or None)
    for name in diff.enumerators_added:
        yield row("enumerator_added", what=name)
    for name in diff.enumerators_removed:
        yield row("enumerator_removed", what=name)
