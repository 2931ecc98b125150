"""What each release of an atlas accepts, as the ordered lists that `pyharness rules` finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyharness.analyze.rules import RuleList, find_rules
from pyharness.analyze.rules_fold import fold_asking
from pyharness.api.mapped import mapped
from pyharness.api.progress import Progress, silent
from pyharness.api.ruling import rule_axes
from pyharness.store.atlas import Atlas, FoldedGrid


def add_rules(atlas: Atlas, progress: Progress = silent) -> bool:
    """Finds the rules of every release and call that has none; answers that are equal share theirs.

    No library is asked: rules tell statuses apart, not reasons, and name values that were tried.

    Returns  whether any were missing.
    """
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in atlas.folds}
    for row in atlas.rows["atlas_rules"]:
        if (key := (row["release"], row["call"])) in rows:
            rows[key].append(row)
    missing = [key for key, own in rows.items() if not own]
    for place, (release, call) in enumerate(missing):
        progress("rules", place, len(missing))
        fold = atlas.folds[release, call]
        like = next((own for key, own in rows.items() if own and _alike(atlas, key, fold)), None)
        rows[release, call] = (
            [{**row, "release": release} for row in like]
            if like
            else list(_rows(release, fold, rules_of(fold)))
        )
    places = {name: place for place, name in enumerate(atlas.names)}
    calls = {grid.call.name: place for place, grid in enumerate(atlas.space.grids)}
    order = sorted(rows, key=lambda key: (places[key[0]], calls[key[1]]))
    atlas.rows["atlas_rules"] = [row for key in order for row in rows[key]]
    return bool(missing)


def rules_of(fold: FoldedGrid) -> RuleList:
    """The ordered list that gives every problem of a folded grid its status."""
    one = mapped(fold.unfolded())
    folded = fold_asking(one.codes, one.names, None)
    return find_rules(rule_axes(one.grid), one.codes, one.names, folded, split=False)


def _alike(atlas: Atlas, key: tuple[str, str], fold: FoldedGrid) -> bool:
    return key[1] == fold.grid.call.name and atlas.folds[key].answers_as(fold)


def _rows(release: str, fold: FoldedGrid, found: RuleList) -> Iterator[dict[str, Any]]:
    for place, rule in enumerate(found.rules, 1):
        yield {
            "release": release,
            "call": fold.grid.call.name,
            "stage": fold.grid.call.stage,
            "place": place,
            "status": rule.status,
            "conditions": rule.words,
            "rows": rule.rows,
            "share": rule.rows / fold.grid.size,
            "proven": "yes" if found.proven else "no",
            "fewest": "yes" if found.fewest else "no",
            "provenance": "observed",
        }
