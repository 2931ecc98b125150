"""``pyharness fetch``: bring releases into the cache."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from pyharness.cli.options import Json
from pyharness.errors import EXIT_INTERRUPTED, EXIT_OK, HarnessError, UsageError

if TYPE_CHECKING:
    from pyharness.cli.progress import Bytes
    from pyharness.releases import CachedRelease

Versions = Annotated[
    list[str],
    typer.Argument(
        help="Versions (9.28.0.42), versions with their CUDA (9.28.0.42+cu13), or latest.",
        metavar="VERSION…",
        show_default=False,
    ),
]
Full = Annotated[
    bool, typer.Option("--full", help="All that a GPU run needs, cuBLAS and NVRTC included.")
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request.

    ``already``    it was in the cache.
    ``elapsed_s``  how long it took.
    ``error``      why it is not here; the fields from ``name`` on are then None.
    """

    asked: str
    name: str | None = None
    library: str | None = None
    folder: str | None = None
    size_bytes: int | None = None
    full: bool | None = None
    already: bool | None = None
    elapsed_s: float | None = None
    error: str | None = None
    exit_code: int = EXIT_OK


def command(versions: Versions, full: Full = False, json: Json = False) -> None:
    """Bring releases from the package index into the cache, each file checked."""
    from pyharness.cli.progress import shown_bytes
    from pyharness.present.jsons import dumps

    asked = list(dict.fromkeys(text.strip() for text in versions))
    _refuse_unknown(asked, full)
    outcomes: list[Outcome] = []
    try:
        for text in asked:
            with shown_bytes(text) as progress:
                outcomes.append(_fetch(text, full, progress))
            if not json:
                _tell(outcomes[-1])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: files that have arrived whole are kept for the next try\n")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if json:
        typer.echo(dumps({"releases": [asdict(outcome) for outcome in outcomes]}))
    raise typer.Exit(max(outcome.exit_code for outcome in outcomes))


def _refuse_unknown(asked: Sequence[str], full: bool) -> None:
    """Check every name before anything is fetched.

    Raises  UsageError for what is no version, and for one that neither the cache nor the index has.
    """
    from pyharness.releases.locate import plan

    for text in asked:
        try:
            plan(text, full=full)
        except UsageError:
            raise
        except HarnessError:  # the index cannot be asked: said when it is this one's turn
            continue


def _fetch(text: str, full: bool, progress: Bytes) -> Outcome:
    from pyharness.releases import list_cached, resolve

    started = time.monotonic()
    before = {entry.name for entry in list_cached() if entry.full or not full}
    try:
        release = resolve(text, full=full, progress=progress)
        entry = _entry(release.name)
    except HarnessError as error:
        return Outcome(text, error=str(error), exit_code=error.exit_code)
    return Outcome(
        asked=text,
        name=entry.name,
        library=str(release.path),
        folder=str(entry.folder),
        size_bytes=entry.size_bytes,
        full=entry.full,
        already=entry.name in before,
        elapsed_s=time.monotonic() - started,
    )


def _entry(name: str) -> CachedRelease:
    from pyharness.releases.cache import find_cached

    entry = find_cached(name)
    if entry is None:
        raise HarnessError(f"{name} was removed while it was being fetched", "run it again")
    return entry


def _tell(outcome: Outcome) -> None:
    from pyharness.present.units import bytes_text, seconds_text

    if outcome.error is not None:
        message, *hints = outcome.error.splitlines()
        sys.stderr.write("\n".join([f"error: {message}", *(f"  {h}" for h in hints)]) + "\n")
        return
    kind = "full" if outcome.full else "light"
    how = (
        "already here" if outcome.already else f"fetched in {seconds_text(outcome.elapsed_s or 0)}"
    )
    size = bytes_text(outcome.size_bytes or 0)
    typer.echo(f"{outcome.name}   {how}   {kind}, {size}   {outcome.folder}")
