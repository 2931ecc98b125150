"""Rules of a release: which conditions give which status, from a map and the library it is of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyharness.analyze.conditions import AxisValues
from pyharness.analyze.rules import find_rules
from pyharness.analyze.rules_fold import fold_asking, fold_rows
from pyharness.analyze.rules_reasons import with_asked_reasons, with_row_reasons
from pyharness.analyze.rules_release import CallRules, Changed, ReleaseRules
from pyharness.analyze.rules_walk import WalkedAxis
from pyharness.api.diffing import diff_folder
from pyharness.api.mapped import Library, Mapped, changed_status, mapped
from pyharness.api.mapping import MapOptions
from pyharness.api.progress import Progress, silent
from pyharness.api.thresholds import DEFAULT_WALK, close_gaps, limits_to_add, walk_axes
from pyharness.api.timing import library_of
from pyharness.engine.crew import Collapse
from pyharness.errors import UsageError
from pyharness.space.grid import Grid
from pyharness.spec.axes import SizeAxis
from pyharness.store.files import replacing, write_json
from pyharness.store.reading import MapFolder
from pyharness.store.schema import write_rows

_SEED = 0x5EED
_MOST = 200_000_000  # problems of a map that has grown: half a minute


class _Side:
    """One map, its library if that is here, and what was found of its limits."""

    def __init__(self, folder: MapFolder, options: MapOptions, stack: ExitStack) -> None:
        manifest = folder.manifest
        self.rules = ReleaseRules(
            manifest.release["name"],
            manifest.space["name"],
            manifest.space["fingerprint"],
            absent_calls=list(manifest.absent_calls),
            notes=list(manifest.notes),
        )
        self.folder = folder
        release = library_of(manifest)
        self.library = stack.enter_context(Library(release, options)) if release else None
        if self.library is None:
            self.rules.notes.append(
                "the library of this map is not here: sizes between those tried are unknown"
            )

    def _note(self, words: str) -> None:
        """Said once, however often limits are added."""
        if words not in self.rules.notes:
            self.rules.notes.append(words)

    def walk(self, one: Mapped, most: int, progress: Progress) -> list[WalkedAxis]:
        """What is found between the values of each size; nothing where nobody can be asked."""
        if self.library is None or most == 0:
            return []
        try:
            return walk_axes(one, self.library, most, progress)
        except Collapse as error:
            self._note(f"{one.grid.call.name}: limits not found: {error.message}")
            return []

    def close(self, one: Mapped, walked: list[WalkedAxis]) -> list[WalkedAxis]:
        """The same with the limits that the map, as it has grown, shows there to be."""
        if self.library is None:
            return walked
        try:
            return close_gaps(one, walked, self.library)
        except Collapse as error:
            self._note(f"{one.grid.call.name}: limits not found: {error.message}")
            return walked

    def grow(self, one: Mapped, wanted: Mapping[int, set[int]]) -> None:
        """Maps the values of each axis that were found to matter, here or on another side."""
        if self.library is None:
            return
        for at, values in wanted.items():
            lacking = sorted(values - set(one.grid.values[at]))
            if not lacking:
                continue
            if one.grid.size // one.grid.shape[at] * (one.grid.shape[at] + len(lacking)) > _MOST:
                self._note(
                    f"{one.grid.call.name}: with the limits of {one.grid.call.axes[at].name} the "
                    "map would be too large, so its rules name values that were tried"
                )
                continue
            one.grow(at, lacking, self.library)

    def find(self, one: Mapped, walked: list[WalkedAxis], split: bool = True) -> CallRules:
        """The rules of one call.

        ``split``  they may tell reasons apart.
        """
        grid, library = one.grid, self.library
        axes = rule_axes(grid)
        say = None if library is None else lambda rows: library.say(grid, rows)
        if one.text_ids is not None:
            folded = fold_rows(one.codes, one.names, one.text_ids, one.texts)
        else:
            folded = fold_asking(one.codes, one.names, say)
        found = find_rules(axes, one.codes, one.names, folded, split)
        rules = found.rules
        if one.text_ids is not None:
            rules = with_row_reasons(rules, axes, one.text_ids, one.texts)
        elif say is not None:
            rules = with_asked_reasons(rules, axes, folded, say, _SEED)
        return CallRules(
            grid.call.name,
            grid.call.stage,
            grid.size,
            next(g.size for g in self.folder.grids if g.call.name == grid.call.name),
            grid.labels(),
            replace(found, rules=rules),
            walked,
        )


def rule_axes(grid: Grid) -> list[AxisValues]:
    """The axes of a grid, for rules."""
    return [
        AxisValues(
            axis.name,
            tuple(axis.label(v) for v in values),
            tuple(axis.number(v) for v in values) if axis.numeric else None,
            limits=isinstance(axis, SizeAxis),
        )
        for axis, values in zip(grid.call.axes, grid.values, strict=True)
    ]


def find_all(
    folders: Sequence[MapFolder],
    options: MapOptions,
    most: int = DEFAULT_WALK,
    progress: Progress = silent,
) -> list[ReleaseRules]:
    """The rules of one map, or of several over values that all of them have.

    ``most``  integers tried between the values of a size, in one setting of the rest; 0: none.
    Returns   rules by map; a limit found on one is looked at on all, so that their words compare.
    Raises    UsageError if a map cannot be read; HarnessError if its library cannot be used.
    """
    with ExitStack() as stack:
        sides = [_Side(folder, options, stack) for folder in folders]
        calls = {grid.call.name: grid.call for side in sides for grid in side.folder.grids}
        for name in calls:
            own = [
                (side, mapped(side.folder.statuses(grid)))
                for side in sides
                for grid in side.folder.grids
                if grid.call.name == name
            ]
            walked = [side.walk(one, most, progress) for side, one in own]
            progress(f"{name}, rules", 0, 1)
            before: list[list[WalkedAxis]] = []
            while walked != before:
                wanted: dict[int, set[int]] = {}
                for (_, one), axes in zip(own, walked, strict=True):
                    for at, values in limits_to_add(axes, one.grid).items():
                        wanted.setdefault(at, set()).update(values)
                for side, one in own:
                    side.grow(one, wanted)
                before = walked
                walked = [
                    side.close(one, axes) for (side, one), axes in zip(own, walked, strict=True)
                ]
            found = [side.find(one, axes) for (side, one), axes in zip(own, walked, strict=True)]
            if len({call.found.by_reason for call in found}) > 1:  # their words would not compare
                found = [
                    side.find(one, axes, split=False)
                    for (side, one), axes in zip(own, walked, strict=True)
                ]
            if len(own) == 2:
                changed = Changed(*changed_status(own[0][1], own[1][1]))
                found = [replace(call, changed=changed) for call in found]
            for (side, _), call in zip(own, found, strict=True):
                side.rules.calls.append(call)
    return [side.rules for side in sides]


def rules_folder(folders: Sequence[MapFolder]) -> Path:
    """Where rules lie that were found without --out: where a diff would, beside it."""
    *_, sides, space = diff_folder(folders[0], folders[-1]).parts
    return Path("results/rules") / (sides.split("..")[0] if len(folders) == 1 else sides) / space


def refuse_other(folder: Path, found: Sequence[ReleaseRules] | None) -> None:
    """Sees that a folder is free for rules.

    ``found``  the rules that are to go there; None: not found yet.
    Raises     UsageError if it holds a run, a diff, rules of other releases or problems, or files
               that are not of rules.
    """
    for name, what in (("run.json", "another run"), ("diff.json", "a diff")):
        if (folder / name).exists():
            raise UsageError(f"{folder} holds {what}", "give another --out")
    earlier = folder / "rules.json"
    if not earlier.exists():
        if folder.is_dir() and any(not p.name.startswith(".") for p in folder.iterdir()):
            raise UsageError(f"{folder} is not empty and holds no rules", "give another --out")
        return
    try:
        there = json.loads(earlier.read_text("utf-8"))
        sides = [(s["release"], s["fingerprint"]) for s in there.get("sides", [there])]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(
            f"{earlier} is not of these tables", "give another --out, or remove the folder"
        ) from None
    if found is not None and sides != [(side.release, side.fingerprint) for side in found]:
        raise UsageError(f"{folder} holds other rules", "give another --out, or remove the folder")


def write_rules(
    found: Sequence[ReleaseRules], text: str, data: dict[str, Any], folder: Path
) -> None:
    """Writes rules.json, rules.parquet and rules.txt; each is there whole or not at all.

    ``text``, ``data``  the rules in words and as plain data, see present.rules.
    Raises  UsageError if the folder holds something else; HarnessError if the disk is full.
    """
    refuse_other(folder, found)
    write_json(folder / "rules.json", data)  # first: by this one a folder is known to be of rules
    write_rows(folder / "rules.parquet", "rules", _rows(found))
    with replacing(folder / "rules.txt") as scratch:
        scratch.write_text(text + "\n", "utf-8")


def _rows(found: Sequence[ReleaseRules]) -> list[dict[str, Any]]:
    """One row for each rule of each release and call."""
    rows = []
    for side in found:
        for call in side.calls:
            others = [
                {(r.status, r.words) for r in other_call.found.rules}
                for other in found
                if other is not side
                for other_call in other.calls
                if other_call.call == call.call
            ]
            for place, rule in enumerate(call.found.rules, 1):
                fate = None
                if others:
                    stayed = (rule.status, rule.words) in others[0]
                    fate = "stayed" if stayed else "came" if side is found[-1] else "went"
                first = rule.reasons[0] if rule.reasons else None
                rows.append(
                    {
                        "release": side.release,
                        "call": call.call,
                        "stage": call.stage,
                        "place": place,
                        "status": rule.status,
                        "conditions": rule.words,
                        "rows": rule.rows,
                        "share": rule.rows / call.rows,
                        "reason": first.text if first else None,
                        "reason_rows": first.rows if first else None,
                        "reasons": len(rule.reasons) or None,
                        "asked": rule.asked,
                        "proven": "yes" if call.found.proven else "no",
                        "fewest": "yes" if call.found.fewest else "no",
                        "fate": fate,
                        "provenance": "observed",
                    }
                )
    return rows
