"""Since when: how every release that is here, or on the index, answers one problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyharness.analyze.explanation import Answer, Since, Span, answer_of, spans
from pyharness.api.known import KnownHistory, known_history
from pyharness.api.progress import Progress, silent
from pyharness.api.trying import try_calls
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError
from pyharness.releases.cache import list_cached
from pyharness.releases.index import offered_versions
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.spec.problem import Problem

_AT_ONCE = 4  # starting a release is mostly reading it from disk


@dataclass(frozen=True, slots=True)
class History:
    """The answers of releases over time.

    ``notes``  one for each release that could not be asked.
    """

    answers: list[Answer]
    notes: list[str]

    @property
    def spans(self) -> list[Span]:
        """Releases in a row that answer alike."""
        return spans(self.answers)


def history(
    problem: Problem,
    releases: Iterable[Release],
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
) -> History:
    """How each of these releases answers a problem, as ranges of versions.

    A release without a version has no place among the others and is left out.
    """
    asked = [r for r in releases if r.numbers is not None]
    done = 0

    def ask(release: Release) -> Answer | str:
        nonlocal done
        try:
            results = try_calls(release, problem, timeout_s)
        except HarnessError as error:
            return f"{release.name} could not be asked: {error.message}"
        finally:
            done += 1
            progress("asking other releases", done, len(asked))
        return answer_of(release.name, release.numbers or (), results)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(ask, asked))
    answers = [a for a in found if isinstance(a, Answer)]
    return History(answers, [n for n in found if isinstance(n, str)])


def since_when(
    problem: Problem,
    releases: Sequence[Release],
    always: Sequence[Release] = (),
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
) -> Since:
    """Since when a problem is accepted or refused, from the atlas as far as that has it.

    ``releases``  asked where the atlas has not this very problem of them.
    ``always``    asked whatever the atlas has.
    """
    try:
        known, notes = known_history(problem), []
    except HarnessError as error:
        known, notes = KnownHistory([]), [f"the atlas is left out: {error.message}"]
    names = {r.name for r in always}
    others = [r for r in releases if r.name not in known.mapped | names]
    past = history(problem, [*others, *always], timeout_s, progress)
    asked = {a.release: a for a in past.answers}
    wrong = [
        a.release
        for a in known.answers
        if a.basis == "derived"
        and a.release in asked
        and (a.outcome, a.call, a.status)
        != (asked[a.release].outcome, asked[a.release].call, asked[a.release].status)
    ]
    left = [a for a in known.answers if a.release not in asked]
    bases = {a.basis for a in left}
    return Since(
        spans([*left, *past.answers]),
        len(known.answers),
        len(asked),
        known.derived if "derived" in bases else [],
        known.missing if "unknown" in bases else [],
        wrong,
        [*notes, *past.notes],
    )


def cached_releases(own: Release) -> list[Release]:
    """The releases in the cache, and the one in question, in place of a cached one of its name."""
    return [*(e.release() for e in list_cached() if e.name != own.name), own]


def every_release(own: Release, progress: Progress = silent) -> tuple[list[Release], list[str]]:
    """What is here and every other version on the index, fetched.

    Returns  the releases, and a note on each that could not be fetched.
    Raises   HarnessError if the index cannot be asked.
    """
    found, notes = cached_releases(own), []
    here = {r.version for r in found}
    missing = [v for v in offered_versions() if v not in here]
    for place, version in enumerate(missing):
        progress("fetching releases", place, len(missing))
        try:
            found.append(resolve(version))
        except HarnessError as error:
            notes.append(f"{version} could not be fetched: {error.message}")
    return found, notes
