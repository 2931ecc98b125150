"""Since when, with no library at hand: from the atlas that ships with the package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from pyharness.analyze.between import Stand, stands
from pyharness.analyze.explanation import Answer, Span, spans
from pyharness.errors import UsageError
from pyharness.space.grid import make_grid
from pyharness.spec.problem import CallTexts, Problem
from pyharness.store.known_answers import KnownAnswers, KnownCall, read_known

_RELATIVE = ("proj_size", "seq_lengths")  # to the sizes of the same call
_SIZES = ("hidden_size", "max_seq_length", "batch_size")  # that they are relative to


@dataclass(frozen=True, slots=True)
class KnownHistory:
    """How the releases of the atlas answer a problem.

    ``answers``  of each release, the oldest first; each says what it rests on (basis).
    ``derived``  what was not tried itself, and what stands for it.
    ``missing``  what nothing stands for.
    """

    answers: list[Answer]
    derived: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def spans(self) -> list[Span]:
        """Releases in a row that answer alike."""
        return spans(self.answers)

    @property
    def mapped(self) -> set[str]:
        """The releases that the atlas has this very problem of."""
        return {a.release for a in self.answers if a.basis == "mapped"}


def known_history(problem: Problem, known: Sequence[KnownAnswers] | None = None) -> KnownHistory:
    """How every release of the atlas answers a problem, by what its maps have.

    Of a value that no map has, the two that it lies between stand for it, if they are answered
    alike together with all that stands for other values of the call.

    ``known``  in place of what ships with the package.
    Raises     HarnessError if what ships is damaged.
    """
    files = read_known() if known is None else known
    names = {name for file in files for name in file.releases}
    calls: dict[tuple[str, ...], list[CallTexts]] = {}
    looks: dict[str, list[_Look]] = {}
    answers: list[Answer] = []
    derived: dict[str, None] = {}
    missing: dict[str, None] = {}
    for name in sorted(names, key=_version):
        said = []
        outcome, call, status = "accepted", None, None
        present = tuple(_present(files, name))
        if present not in calls:
            calls[present] = problem.calls(present)
        for made in calls[present]:
            key = f"{made.role} {made.call.name}"
            if key not in looks:
                looks[key] = list(_looks(made, files))
            one = _said(looks[key], name)
            said.append(one)
            if one.basis == "unknown":
                missing.update(dict.fromkeys(f"{made.call.name}: {words}" for words in one.words))
                outcome = "unknown"
            elif one.status != "SUCCESS":
                outcome = "refused" if one.status else "failed"
                call, status = made.call.name, one.status
            if outcome != "accepted":
                break
        basis = next((one.basis for one in said if one.basis != "mapped"), "mapped")
        if outcome == "unknown":
            basis = "unknown"
        elif basis == "derived":
            derived.update(dict.fromkeys(words for one in said for words in one.words))
        answers.append(Answer(name, _version(name), outcome, call, status, basis=basis))
    return KnownHistory(answers, list(derived), list(missing))


@dataclass(frozen=True, slots=True)
class _Said:
    """What one release says to one call; ``basis`` as in Answer, or unknown."""

    status: str | None
    basis: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Look:
    """What one file has of a call, and the places that stand for its values.

    ``stands``  in the order of the axes.
    ``unfit``   why there is no such call.
    """

    file: KnownAnswers
    known: KnownCall
    stands: tuple[Stand, ...]
    unfit: str = ""

    @property
    def rank(self) -> tuple[bool, int]:
        """The nearer ones first: those that have the call itself, then those that lack least."""
        return not all(s.exact for s in self.stands), sum(not s.places for s in self.stands)

    def said(self, release: str) -> _Said:
        words = tuple(s.words for s in self.stands if s.words)
        if self.unfit:
            return _Said(None, "unknown", (self.unfit,))
        lacking = tuple(s.words for s in self.stands if not s.places)
        if lacking:
            return _Said(None, "unknown", lacking)
        at = self.file.releases.index(release)
        corners = product(*(s.places for s in self.stands))
        statuses = {self.known.status(at, corner) for corner in corners}
        if len(statuses) > 1:
            told = f"{', '.join(words)}: what stands for it is not answered alike"
            return _Said(None, "unknown", (told,))
        exact = all(s.exact for s in self.stands)
        return _Said(statuses.pop(), "mapped" if exact else "derived", () if exact else words)

    def has(self, release: str) -> bool:
        """Whether the release is in the file, and has the call."""
        releases = self.file.releases
        return release in releases and (self.known.of_release[releases.index(release)] is not None)


def _said(looks: Sequence[_Look], release: str) -> _Said:
    """The nearest that tells what a release says; else why the nearest does not."""
    said = [look.said(release) for look in looks if look.has(release)]
    if not said:
        return _Said(None, "unknown", ("the atlas does not have it",))
    return next((one for one in said if one.basis != "unknown"), said[0])


def _looks(made: CallTexts, files: Sequence[KnownAnswers]) -> Iterator[_Look]:
    """What each file has of a call, the nearest first."""
    looks = []
    for file in files:
        if made.call.name in file.calls:
            known = file.calls[made.call.name]
            try:
                found, unfit = _stands(made, known), made.impossible or ""
            except UsageError as error:  # nobody can try it
                found, unfit = (), error.message
            looks.append(_Look(file, known, found, unfit))
    yield from sorted(looks, key=lambda look: look.rank)


def _stands(made: CallTexts, known: KnownCall) -> tuple[Stand, ...]:
    """What stands for the values of a call in a file.

    Raises  UsageError if the call cannot be made.
    """
    wanted = make_grid(made.call, made.texts).at(0)
    tried = dict(zip((a.name for a in made.call.axes), known.grid.values, strict=True))
    found: dict[str, Stand] = {}
    for axis in sorted(made.call.axes, key=lambda a: a.name in _RELATIVE):
        sizes = all(found[n].exact for n in _SIZES if n in found)
        found[axis.name] = stands(axis, tried[axis.name], wanted, sizes_exact=sizes)
    return tuple(found[axis.name] for axis in made.call.axes)


def _present(files: Sequence[KnownAnswers], release: str) -> Iterator[str]:
    """The calls that a release has, as far as the files say."""
    for file in files:
        if release in file.releases:
            at = file.releases.index(release)
            yield from (n for n, call in file.calls.items() if call.of_release[at] is not None)


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.partition("+")[0].split("."))
