"""The folder of a comparison of time: what it holds, and whether that is gone on with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path

from pyharness.errors import UsageError
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import NAME, Manifest, describe_environment, read_manifest

_MORE = 1.5  # of a budget that had no room for all: with so many times as much it is begun anew
_OPTIONS = ("processes", "margin", "level", "passes", "modes")


def check_same(folder: Path, fresh: Manifest) -> None:
    """Says in what a comparison that the folder holds differs from this one.

    Raises  UsageError.
    """
    if not (folder / NAME).is_file():
        return
    there = read_manifest(folder)
    if there.kind != fresh.kind or there.identity == fresh.identity:
        return
    for (what, theirs), ours in zip(_words(there).items(), _words(fresh).values(), strict=True):
        if theirs != ours:
            raise UsageError(
                f"{folder} holds another comparison: {what} {theirs}, here {ours}",
                "give another --out, or remove the folder",
            )


def has_room(cut: Manifest, budget_s: float) -> bool:
    """Whether a budget is enough larger than the one that a run was cut by."""
    return budget_s >= enough_s(cut)


def enough_s(cut: Manifest) -> float:
    """The least budget that is: larger by half than what the run was given, and than it took."""
    return _MORE * float(max(cut.results["budget_s"] or inf, cut.results["spent_s"]))


@contextmanager
def open_journal(
    folder: Path, manifest: Manifest, *, anew: bool, resume: bool
) -> Iterator[CaseJournal]:
    """The journal of a run, closed in the end.

    ``anew``  what is in it does not count.
    Raises    UsageError if it holds something, and that is not to be gone on with.
    """
    if not (folder / NAME).is_file():
        manifest.write(folder)  # before the journal: a folder is known by its manifest
    forget = (lambda _: True) if anew else None
    with closing(CaseJournal(folder, {"run": list(manifest.identity)}, forget)) as journal:
        if journal.cases and not resume:
            raise UsageError(
                f"{folder} holds a run that is not finished",
                "go on with it by --resume, or give another --out",
            )
        yield journal


def begin(
    folder: Path, manifest: Manifest, notes: Sequence[str], budget_s: float, timeout_s: float
) -> None:
    """Says in the manifest that the run is going on from here."""
    # What the least budget of all commands cut stays cut.
    least_s = min(manifest.results.get("budget_s") or inf, budget_s)
    manifest.results = {"budget_s": least_s if least_s < inf else None}
    manifest.state, manifest.notes = "running", list(notes)
    manifest.environment, manifest.timeout_s = describe_environment(), timeout_s
    manifest.write(folder)


def _words(manifest: Manifest) -> dict[str, str]:
    """What a comparison is of, in words."""
    timing = manifest.space.get("timing", {})
    return {
        "older release": manifest.release["asked"],
        "newer release": manifest.release.get("against", {}).get("asked", ""),
        "problems": manifest.space["name"],
        **{f"--{name}": _word(timing.get(name)) for name in _OPTIONS},
    }


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
