"""``pyharness rules``: which conditions give which status."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from pyharness.cli.options import Axes, Call, Json, Preset, Threads, Timeout, Yes


def command(
    releases: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Argument(
            help="Two releases or result folders, for what became of the rules.", metavar="[A B]"
        ),
    ] = None,
    cudnn: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--cudnn",
            help="One release: a version, a path to libcudnn.so, installed or latest; or a result "
            "folder.",
            metavar="RELEASE",
        ),
    ] = None,
    preset: Preset = None,
    call: Call = None,
    axis: Axes = None,
    walk: Annotated[
        int,
        typer.Option(
            "--walk",
            min=0,
            max=1 << 24,
            help="Integers tried between the values of a size, in one setting of the rest; 0: "
            "none.",
        ),
    ] = 1 << 20,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--out",
            help="Folder for rules.parquet, rules.json and rules.txt (default: "
            "results/rules/RELEASE/SPACE).",
            metavar="DIR",
        ),
    ] = None,
    maps: Annotated[
        Path, typer.Option("--maps", help="Folder of the maps made on the way.", metavar="DIR")
    ] = Path("results/maps"),
    threads: Threads = None,
    timeout: Timeout = 10.0,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Print which conditions give which status: rules, of which the first that matches decides."""
    from pyharness.api.diffing import open_side, row_reasons
    from pyharness.api.folder import writable_folder
    from pyharness.api.ruling import find_all, refuse_other, rules_folder, write_rules
    from pyharness.cli.options import map_options
    from pyharness.cli.progress import shown
    from pyharness.errors import UsageError
    from pyharness.present.jsons import dumps
    from pyharness.present.rules import (
        render_rule_changes,
        render_rules,
        rule_changes_data,
        rules_data,
    )
    from pyharness.space.presets import build_space

    given = releases or []
    if (cudnn is None) == (not given) or len(given) == 1 or len(given) > 2:
        raise UsageError(
            "rules takes one release or two",
            "one: pyharness rules --cudnn 9.28.0.42; two: pyharness rules 9.12.0.46 9.13.0.50",
        )
    space = build_space(preset, call, axis or [])
    options = map_options(threads, timeout, row_reasons(space), yes)
    if out is not None:
        refuse_other(out, None)
        made_here = not out.exists()
        writable_folder(out)
        if made_here:  # nothing is left of it if there are no rules
            out.rmdir()
    with shown() as progress:
        sides = [open_side(s, space, maps, options, progress) for s in given or [cudnn or ""]]
        spaces = {side.manifest.space["fingerprint"] for side in sides}
        if (preset or call or axis) and space.fingerprint not in spaces:
            raise UsageError(
                "--preset, --call and --axis say what to map, and these folders are maps already",
                "leave the options out, or name a release",
            )
        found = find_all(sides, options, walk, progress)
        if len(found) == 1:
            text, data = render_rules(found[0]), rules_data(found[0])
        else:
            text, data = render_rule_changes(*found), rule_changes_data(*found)
        folder = out or rules_folder(sides)
        write_rules(found, text, data, folder)
    typer.echo(dumps({"folder": str(folder), **data}) if json else f"{text}\n\nTables in {folder}")
