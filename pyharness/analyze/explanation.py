"""What is said of a problem: who refuses it and why, what would be accepted, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.documented import Prediction
from pyharness.spec.enums import ReleaseNumber
from pyharness.spec.length_advice import Advice
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.stage_results import CaseResult


@dataclass(frozen=True, slots=True)
class Blame:
    """One argument that is to blame for a refusal.

    ``argument``  the C argument; ``axis`` and ``value`` are our words for it and what it holds.
    ``allowed``   what the library accepts in its place, the other arguments as they are.
    ``alone``     changing it alone is enough; else it takes others of the list with it.
    ``rows``      of seqLengthArray: what is refused about it, with the rows, and ways around.
    """

    argument: str
    axis: str
    value: str
    allowed: str
    alone: bool
    rows: tuple[Advice, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that refuses the problem, and the arguments to blame; none where nothing was found.

    ``together``  where no single argument is enough: the sets of arguments that are.
    """

    result: CallResult
    blames: tuple[Blame, ...]
    together: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a suggestion: the axis texts that it gives, what is done, and what it costs."""

    changes: dict[str, str]
    words: str
    cost: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A problem that every host call accepts.

    ``changes``  what sets it apart, each with its cost.
    ``levels``   how much it changes the computation, the greatest first (analyze.moves).
    ``predicted``  documented rules that calls on a GPU may yet refuse it by.
    ``case``     what became of it on a device; None where it was not taken to one.
    """

    problem: Problem
    changes: tuple[Change, ...]
    levels: tuple[int, ...]
    predicted: tuple[Prediction, ...] = ()
    case: CaseResult | None = None


@dataclass(frozen=True, slots=True)
class OnDevice:
    """How far a problem goes on a device.

    ``version``   what the library that ran there says it is; None where it does not.
    ``blames``    the arguments to blame for the first stage that refuses it; ``together`` as in
                  Refusal.
    ``searched``  problems near it that were taken to the device.
    """

    facts: DeviceFacts
    version: ReleaseNumber | None
    case: CaseResult
    blames: tuple[Blame, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    searched: int = 0


_WEAKEST_FIRST = ("unknown", "derived", "mapped", "asked")


@dataclass(frozen=True, slots=True)
class Answer:
    """How one release answers the problem as a whole.

    ``outcome``  accepted, refused or failed; unknown: nobody was asked that.
    ``call``     the first call that does not accept it, with its status and reason; None: all do.
    ``basis``    asked: the library was, now; mapped: the atlas has this very problem; derived: it
                 has problems around it that are answered alike; unknown.
    """

    release: str
    version: tuple[int, ...]
    outcome: str
    call: str | None = None
    status: str | None = None
    reason: str | None = None
    basis: str = "asked"


@dataclass(frozen=True, slots=True)
class Span:
    """Releases in a row that answer alike, the oldest and the newest, by version.

    ``basis``  the weakest of theirs: derived, mapped, asked; see Answer.
    """

    outcome: str
    call: str | None
    status: str | None
    first: str
    last: str
    releases: tuple[str, ...]
    basis: str = "asked"


@dataclass(frozen=True, slots=True)
class Since:
    """Since when: what the atlas says of releases, and in its place what they said when asked.

    ``known``    so many releases the atlas has; ``asked``: so many were asked.
    ``derived``  what was not tried itself, and what stands for it.
    ``missing``  what nothing stands for.
    ``wrong``    releases that answered otherwise than was derived.
    ``notes``    one for each release that could not be asked.
    """

    spans: list[Span]
    known: int
    asked: int
    derived: list[str]
    missing: list[str]
    wrong: list[str]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that can be said of one problem on one release.

    ``searched``  problems near it that were tried.
    ``advice``    on the lengths: what is refused of them, and empty rows, which later calls refuse.
    ``device``    what became of it on a device, if every host call accepts it and there is one.
    """

    release: str
    problem: Problem
    results: tuple[CallResult, ...]
    refusals: tuple[Refusal, ...]
    suggestions: tuple[Suggestion, ...]
    searched: int
    advice: tuple[Advice, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())
    device: OnDevice | None = None

    @property
    def accepted(self) -> bool:
        """Whether every host call accepts the problem."""
        return all(r.outcome == "passed" for r in self.results)


def answer_of(release: str, version: Sequence[int], results: Sequence[CallResult]) -> Answer:
    """The answer of a release from what its calls said."""
    bad = next((r for r in results if r.outcome != "passed"), None)
    if bad is None:
        return Answer(release, tuple(version), "accepted")
    outcome = "failed" if bad.outcome == "failed" else "refused"
    return Answer(release, tuple(version), outcome, bad.call, bad.status, bad.reason)


def spans(answers: Sequence[Answer]) -> list[Span]:
    """Runs of releases that answer alike, oldest first.

    Builds of one version for several CUDA majors count as one release where they agree.
    """
    runs: list[list[Answer]] = []
    for answer in sorted(answers, key=lambda a: (a.version, a.release)):
        if runs and _kind(runs[-1][-1]) == _kind(answer):
            runs[-1].append(answer)
        else:
            runs.append([answer])
    return [
        Span(
            run[0].outcome,
            run[0].call,
            run[0].status,
            _version(run[0]),
            _version(run[-1]),
            tuple(a.release for a in run),
            min((a.basis for a in run), key=_WEAKEST_FIRST.index),
        )
        for run in runs
    ]


def _kind(answer: Answer) -> tuple[str, str | None, str | None]:
    return answer.outcome, answer.call, answer.status


def _version(answer: Answer) -> str:
    return ".".join(str(n) for n in answer.version[:3])
