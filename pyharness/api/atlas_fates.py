"""The history of an atlas in a few rows: sets of problems that every release treats alike."""

from __future__ import annotations

from typing import Any

from pyharness.analyze.fates import Fate, find_fates
from pyharness.api.ruling import rule_axes
from pyharness.store.atlas import Atlas, FoldedGrid

_SUCCESS = "SUCCESS"


def fate_rows(atlas: Atlas) -> list[dict[str, Any]]:
    """One row for each release and set of problems that some release accepts.

    Returns  call, what (words that tell the set from all else that any release accepts), problems,
             release, and accepted: yes or no. Sets in the order of their calls and of when they
             first changed; those that never did come last in their call.
    """
    rows: list[dict[str, Any]] = []
    for grid in atlas.space.grids:
        call = grid.call.name
        folds = {n: f for n in atlas.names if (f := atlas.folds.get((n, call))) is not None}
        distinct: list[FoldedGrid] = []
        of_release: dict[str, int] = {}
        for name, fold in folds.items():
            like = (n for n, other in enumerate(distinct) if other.answers_as(fold))
            of_release[name] = next(like, len(distinct))
            if of_release[name] == len(distinct):
                distinct.append(fold)
        if not distinct:  # no release has the call
            continue
        fates = find_fates(rule_axes(grid), [(f.classes, _accepted(f)) for f in distinct])
        fates.sort(key=_first_change)
        for fate in fates:
            steady = len(set(fate.accepted)) == 1
            rows += [
                {
                    "call": call,
                    "what": "all else that any release accepts" if steady else fate.words,
                    "problems": fate.rows,
                    "release": name,
                    "accepted": "yes" if fate.accepted[number] else "no",
                }
                for name, number in of_release.items()
            ]
    return rows


def _first_change(fate: Fate) -> int:
    """Which answer is the first to differ; beyond the last where none does."""
    history = fate.accepted
    return next((n for n, a in enumerate(history) if a != history[0]), len(history))


def _accepted(fold: FoldedGrid) -> Any:
    code = fold.names.index(_SUCCESS) if _SUCCESS in fold.names else -1
    return fold.cells == code
