"""Options that several commands share, so that they read and behave the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from pyharness.api.mapping import MapOptions
    from pyharness.api.onward import DeviceChoice


def _number(seconds: float) -> float:
    """The seconds, if they are a number: no bound refuses nan."""
    if seconds != seconds:  # noqa: PLR0124 - nan alone differs from itself
        raise typer.BadParameter("nan is no number of seconds.")
    return seconds


Cudnn = Annotated[
    str,
    typer.Option(
        "--cudnn",
        help="Release: a version (9.28.0.42, 9.28.0.42+cu13), a path to libcudnn.so, installed, "
        "or latest.",
        metavar="RELEASE",
    ),
]
Preset = Annotated[
    Optional[str],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
    typer.Option(
        "--preset",
        help="Named space or set of problems, see `pyharness presets`.",
        metavar="NAME",
    ),
]
Words = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        help="key=value words, for example cell_mode=lstm hidden_size=256; what is not given has "
        "its default.",
        metavar="KEY=VALUE…",
    ),
]
ProblemSetName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--preset",
        help="Named set of problems, see `pyharness presets`; NAME/PATTERN takes those of that "
        "name only: deepbench/training-lstm-*.",
        metavar="NAME",
    ),
]
Call = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--call", help="Walk this call only, by its C name.", metavar="NAME"),
]
Axes = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--axis",
        help="Values of an axis: names, integers, all, a..b, a..b:step, a..b*factor. Repeatable.",
        metavar="NAME=V1,V2,…",
    ),
]
Logs = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--log",
        help="Take the problems from a cuDNN API log of a program (see `pyharness replay`), - for "
        "standard input. Repeatable.",
        metavar="FILE",
    ),
]
Reasons = Annotated[
    str,
    typer.Option(
        "--reasons",
        help="cuDNN's own words: none, distinct (a table of each) or all (on every refused row).",
        metavar="HOW",
    ),
]
Threads = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--threads",
        min=1,
        max=64,
        help="Walkers at once, each a process of its own (default: one per core, at most 8).",
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.1,
        max=86_400,
        callback=_number,
        help="Seconds without an answer that count as a hang.",
    ),
]
Device = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--device",
        min=0,
        help="GPU by its number (default: the first). PYHARNESS_LIBCUDA names another libcuda.",
    ),
]
NoDevice = Annotated[
    bool, typer.Option("--no-device", help="Leave the GPU out: what the host says, no more.")
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--out", help="Folder for the tables.", metavar="DIR"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Plots = Annotated[
    bool,
    typer.Option(
        "--plots", help="Draw the tables, too: PNG and SVG in plots/ beside them (see --out)."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask back about a very large space.")]


def device_choice(device: int | None, no_device: bool) -> DeviceChoice:
    """The device that was asked for.

    Raises  UsageError if one is asked for and left out.
    """
    from pyharness.errors import UsageError

    if device is not None and no_device:
        raise UsageError(
            f"--device {device} and --no-device do not go together", "leave one of them out"
        )
    if no_device:
        return "none"
    return "first" if device is None else device


def map_options(threads: int | None, timeout: float, reasons: str, yes: bool) -> MapOptions:
    """The options of a map from what the command line gave.

    Raises  UsageError for a way of collecting reasons that does not exist.
    """
    from pyharness.api.mapping import REASONS, MapOptions
    from pyharness.api.public import default_walkers
    from pyharness.errors import unknown_name

    for known in REASONS:
        if known == reasons:
            return MapOptions(threads or default_walkers(), timeout, known, yes)
    raise unknown_name("way of collecting reasons", reasons, REASONS)
