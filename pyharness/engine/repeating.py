"""One problem run again and again under each condition, compared with a run without it.

No run is kept but the first of a condition and the current one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from pyharness.engine.repeating_apart import cublas_workspace, fresh_process
from pyharness.engine.repeating_moved import batch, longer_padding, padding_garbage
from pyharness.engine.repeats import (
    Event,
    NotTried,
    Refused,
    Repeats,
    Seen,
    Start,
    stopped_by,
)
from pyharness.engine.runner import StageFailed
from pyharness.engine.workbench import ALIGNMENTS, Workbench
from pyharness.spec.problem import Problem
from pyharness.spec.repeatability import CONDITIONS, UNCHANGED

_LEFT = "as the run before left it"
_POISONS = (None, 0xFF, 0x00, 0x7F, 0x5A)  # as it was left, NaN, zero, NaN or large, and ordinary
_ALIGNMENTS = ALIGNMENTS[1:]
_STREAM, _STREAMS = "other_stream", 3  # fresh ones that are looked at before a fresh handle is
_STREAM_DIFFERS = "the fresh stream that a fresh handle brings is enough: see other_stream"
_UNSTEADY = "runs with nothing changed differ, too: see same_objects"
# Conditions that say themselves whose a difference is.
_OF_THEIR_OWN = (UNCHANGED, "cublas_workspace", "dropout_continued")
_MOST_ENDS = 3  # processes that a problem may end before the rest of it is not tried


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an interrupted call found of a problem.

    ``conditions``  that came to their end.
    ``unsteady``    tensors that were seen to differ with nothing changed.
    """

    conditions: Collection[str] = ()
    unsteady: Collection[str] = ()


def _untold(condition: str) -> None:
    """Tells nobody."""
    del condition


def repeat(
    bench: Workbench,
    problem: Problem,
    passes: Sequence[str],
    conditions: Sequence[str],
    runs: int,
    start: Start,
    earlier: Earlier | None = None,
    ended: Callable[[str], None] = _untold,
) -> Iterator[Event]:
    """Runs a problem under each condition ``runs`` times, and once before without it.

    ``passes``      of spec.stages.PASSES, in order.
    ``conditions``  of spec.repeatability.CONDITIONS.
    ``start``       a runner in a process of its own.
    ``earlier``     what need not be found again.
    ``ended``       called with each condition when all is told that it came to.
    Returns         as they come, each tensor of each run, and what was not tried. A defect ends
                    the condition; if it broke the process, the next one gets another.
    """
    earlier = earlier or Earlier()
    left = [c for c in CONDITIONS if c in conditions and c not in earlier.conditions]
    repeats = Repeats(bench, problem, passes, runs, start, conditions)
    repeats.unsteady.update(earlier.unsteady)
    try:
        repeats.end()  # what a condition that was cut short has kept
        stopped = stopped_by(case := bench.open(problem))
        failed = case.failure is not None
        if stopped is None:
            repeats.begun()
    except StageFailed as error:
        stopped, failed = f"the run ended: {error.message}", True
    if stopped is not None:
        yield from (NotTried(condition, stopped, failed=failed) for condition in left)
        return
    ends = 0
    with ExitStack() as others:
        for condition in left:
            try:
                if repeats.bench.runner.broken:
                    ends += 1
                    if ends >= _MOST_ENDS:
                        raise Refused("too many processes have ended under the conditions before")
                    repeats = repeats.beside(others.enter_context(repeats.another({})))
                alone = condition in _OF_THEIR_OWN or UNCHANGED not in conditions
                yield from (_MADE[condition] if alone else _attributed)(repeats, condition)
                repeats.end()
            except Refused as why:
                yield NotTried(condition, str(why))
            except StageFailed as error:
                failed = error.result.outcome == "failed"
                yield NotTried(condition, f"the run ended: {error.message}", failed=failed)
            ended(condition)


def _attributed(s: Repeats, condition: str) -> Iterator[Event]:
    """What a condition's runs came to, without differences that are not its own.

    The run that they are compared with is made twice. Where some differ, as many are made with
    nothing changed. A tensor that was ever seen to differ with nothing changed is told under that
    condition, and its differences under this one say nothing.
    """
    differing: set[str] = set()
    elsewhere: list[Seen] = []  # told under another condition, if it is not by chance: a few

    def judged() -> Iterator[Event]:
        yield from s.by_chance
        yield from (one for one in elsewhere if one.tensor not in s.unsteady)
        for tensor in s.tensors:
            if tensor in differing & s.unsteady:
                yield NotTried(condition, _UNSTEADY, tensor, void=True)

    s.twice, s.by_chance = True, []
    try:
        for event in _MADE[condition](s, condition):
            if isinstance(event, Seen) and event.difference is not None:
                differing.add(event.tensor)
            if isinstance(event, Seen) and event.condition != condition:
                elsewhere.append(event)
            else:
                yield event
        yield from _again(s, [t for t in s.tensors if t in differing - s.unsteady])
    except (Refused, StageFailed):
        yield from judged()
        raise
    finally:
        s.twice = False
    yield from judged()


def _again(s: Repeats, tensors: Sequence[str]) -> Iterator[Seen]:
    """More runs of some of the tensors with nothing changed."""
    if tensors:
        s.begin()
    for _ in range(s.runs if tensors else 0):
        s.once()
        yield from s.compare_only(tensors, UNCHANGED)


def _same_objects(s: Repeats, condition: str) -> Iterator[Event]:
    s.begin()
    for _ in range(s.runs):
        s.once()
        yield from s.compare(condition)


def _fresh_handle(s: Repeats, condition: str) -> Iterator[Event]:
    s.begin()
    streams: list[Seen] = []
    for _ in range(min(s.runs, _STREAMS) if _STREAM in s.asked else 0):
        s.bench.new_stream()
        s.once()
        streams += s.compare(_STREAM)
    by_stream = {seen.tensor for seen in streams if seen.difference is not None}
    yield from (seen for seen in streams if seen.tensor in by_stream)
    yield from (NotTried(condition, _STREAM_DIFFERS, t) for t in s.tensors if t in by_stream)
    tensors = [t for t in s.tensors if t not in by_stream]
    for _ in range(s.runs if tensors else 0):
        stopped = stopped_by(s.bench.reopen(handle=True))
        if stopped is not None:
            s.away = True
            raise Refused(f"on a fresh handle: {stopped}")
        s.once()
        yield from s.compare_only(tensors, condition)


def _other_stream(s: Repeats, condition: str) -> Iterator[Event]:
    s.begin()
    for _ in range(s.runs):
        s.bench.new_stream()
        s.once()
        yield from s.compare(condition)


def _load(s: Repeats, condition: str) -> Iterator[Event]:
    s.begin()
    s.bench.load(s.problem)
    try:
        for _ in range(s.runs):
            s.once()
            yield from s.compare(condition)
    finally:
        if not s.bench.runner.broken:
            s.bench.load(None)


def _alignment(s: Repeats, condition: str) -> Iterator[Event]:
    s.begin()
    s.away = True
    for run in range(max(s.runs, len(_ALIGNMENTS))):
        behind = _ALIGNMENTS[run % len(_ALIGNMENTS)]
        variant = f"buffers {behind} bytes behind a multiple of 256"
        stopped = stopped_by(s.bench.reopen(alignment=behind))
        if stopped is not None:
            yield NotTried(condition, f"{variant}: {stopped}", ends=False)
            return
        s.once()
        yield from s.compare(condition, variant)


def _poisoned(s: Repeats, condition: str) -> Iterator[Event]:
    s.begin()
    for run in range(max(s.runs, len(_POISONS))):
        byte = _POISONS[run % len(_POISONS)]
        s.settle(byte)
        s.once(settle=False)
        yield from s.compare(condition, _LEFT if byte is None else f"filled with 0x{byte:02X}")


def _graph(s: Repeats, condition: str) -> Iterator[Event]:
    if s.away:
        s.back()
    for name in s.passes:
        captured = s.bench.capture(name)
        if captured.outcome != "passed":
            raise Refused(f"there is no graph of {name}: {captured.call}: {captured.reason}")
    s.begin()
    for _ in range(s.runs):
        s.once(graph=True)
        yield from s.compare(condition)


def _dropout_reseeded(s: Repeats, condition: str) -> Iterator[Event]:
    _must_drop(s)
    s.begin()
    for _ in range(s.runs):
        s.once(states=False)
        s.bench.reseed()
        s.once(states=False)
        yield from s.compare(condition)


def _dropout_continued(s: Repeats, condition: str) -> Iterator[Event]:
    _must_drop(s)
    s.begin()
    for _ in range(s.runs):
        s.once(states=False)
        yield from s.compare(condition)


def _must_drop(s: Repeats) -> None:
    if "forward_training" not in s.passes:
        raise Refused("inference drops nothing")
    if not s.drops:
        raise Refused("nothing is dropped: dropout_rate is 0, there is one layer, or no descriptor")


_MADE: dict[str, Callable[[Repeats, str], Iterator[Event]]] = {
    "same_objects": _same_objects,
    "fresh_handle": _fresh_handle,
    "fresh_process": fresh_process,
    "other_stream": _other_stream,
    "load": _load,
    "alignment": _alignment,
    "poisoned": _poisoned,
    "graph": _graph,
    "cublas_workspace": cublas_workspace,
    "dropout_reseeded": _dropout_reseeded,
    "dropout_continued": _dropout_continued,
    "padding_garbage": padding_garbage,
    "longer_padding": longer_padding,
    "batch": batch,
}
