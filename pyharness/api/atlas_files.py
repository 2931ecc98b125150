"""What an atlas is read as: its pages, and its answers alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyharness.api.atlas_fates import fate_rows
from pyharness.present.atlas import Alike, render_atlas_page
from pyharness.present.atlas_history import render_history
from pyharness.space.grid import Grid
from pyharness.space.presets import build_space, preset_names
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.atlas import Atlas, FoldedGrid, folded_row
from pyharness.store.files import replacing

PAGE = "README.md"
HISTORY = "history.html"


def alike(atlas: Atlas) -> list[Alike]:
    """Every release, the oldest first, with its neighbours that answer every problem alike."""
    spans: list[Alike] = []
    before: dict[str, FoldedGrid] = {}
    for name in atlas.names:
        own = {call: f for (release, call), f in atlas.folds.items() if release == name}
        same = own.keys() == before.keys() and all(f.answers_as(before[c]) for c, f in own.items())
        if spans and same:
            spans[-1].releases.append(name)
        else:
            accepted = {
                grid.call.name: (own[grid.call.name].counts().get("SUCCESS", 0), grid.size)
                for grid in atlas.space.grids
                if grid.call.name in own
            }
            spans.append(Alike([name], accepted))
        before = own
    return spans


def write_pages(atlas: Atlas, folder: Path) -> None:
    """Writes README.md and history.html of an atlas.

    Raises  HarnessError if the disk is full.
    """
    steps = atlas.rows["atlas_steps"]
    page = render_atlas_page(
        atlas.space.name, alike(atlas), fate_rows(atlas), steps, atlas.rows["costs"]
    )
    presets = {grid.call.name: _preset_of(grid) for grid in atlas.space.grids}
    html = render_history(history_data(atlas), steps, presets) if atlas.names else ""
    for name, text in ((PAGE, page), (HISTORY, html)):
        with replacing(folder / name) as scratch:
            scratch.write_text(text, "utf-8")


def history_data(atlas: Atlas) -> dict[str, Any]:
    """The answers of every release alone: what store.known_answers reads."""
    head = {"schema_version": SCHEMA_VERSION, "space": atlas.space.name, "releases": atlas.names}
    return {**head, "calls": [_call_data(atlas, grid) for grid in atlas.space.grids]}


def _call_data(atlas: Atlas, grid: Grid) -> dict[str, Any]:
    distinct: list[FoldedGrid] = []
    of_release: list[int | None] = []
    for name in atlas.names:
        fold = atlas.folds.get((name, grid.call.name))
        number = None
        if fold is not None:
            like = (n for n, d in enumerate(distinct) if d.answers_as(fold))
            number = next(like, len(distinct))
            if number == len(distinct):
                distinct.append(fold)
        of_release.append(number)
    answers = []
    for fold in distinct:
        row = folded_row("", fold)
        pairs = (pair.split("=", 1) for pair in row["statuses"].split(",") if pair)
        classes = [of_axis.tolist() for of_axis in fold.classes]
        answers.append({"statuses": dict(pairs), "classes": classes, "cells": row["cells"]})
    return {
        "call": grid.call.name,
        "labels": grid.labels(),
        "answers": answers,
        "of_release": of_release,
    }


def _preset_of(grid: Grid) -> str | None:
    """The preset that has exactly these problems of the call."""
    for name in preset_names():
        if grid in build_space(name, None, []).grids:
            return name
    return None
