"""One problem run again and again under a condition, each run compared with the first, bit by bit.

No run is kept but the first and the current one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pyharness.engine.rearranging import Move, padding_of, reordered
from pyharness.engine.repeats import Event, NotTried, Refused, Repeats, Seen, Start, sha
from pyharness.engine.runner import StageFailed
from pyharness.engine.workbench import ALIGNMENTS, Workbench
from pyharness.errors import HarnessError
from pyharness.spec.differences import difference
from pyharness.spec.enums import LAYOUT
from pyharness.spec.geometry import ELEMENT_BYTES, geometry
from pyharness.spec.problem import Problem
from pyharness.spec.repeatability import CONDITIONS, CUBLAS_SETTINGS, CUBLAS_VARIABLE
from pyharness.spec.stage_results import CaseResult

_SPACES = ("workspace", "reserve_space")
_POISONS = (0xFF, 0x00, 0x7F, 0x5A)  # NaN, zero, NaN or large, and numbers of ordinary size
_ALIGNMENTS = ALIGNMENTS[1:]
_MORE_STEPS = (1, 3)
_SUMMED = "dw sums over the batch: it is another sum there"
_RATED = "what is dropped depends on the place in the batch"


def repeat(
    bench: Workbench,
    problem: Problem,
    passes: Sequence[str],
    conditions: Sequence[str],
    runs: int,
    start: Start,
) -> Iterator[Event]:
    """Runs a problem once, then ``runs`` times under each condition.

    ``passes``      of spec.stages.PASSES, in order.
    ``conditions``  of spec.repeatability.CONDITIONS.
    ``start``       a runner in a process of its own.
    Returns         as they come, each tensor of each run, and what was not tried. A defect ends
                    the condition; if it broke the process, all.
    """
    case = bench.open(problem)
    stopped = _stopped(case)
    if stopped is not None:
        yield from (NotTried(c, stopped, failed=case.failure is not None) for c in conditions)
        return
    repeats = Repeats(bench, problem, passes, runs, start)
    try:
        repeats.begin()
    except StageFailed as error:
        yield from (NotTried(c, _words(error), failed=_defect(error)) for c in conditions)
        return
    for condition in CONDITIONS:
        if condition not in conditions:
            continue
        if bench.runner.broken:
            yield NotTried(condition, "the process of the first run has ended")
            continue
        try:
            yield from _MADE[condition](repeats, condition)
        except Refused as why:
            yield NotTried(condition, str(why))
        except StageFailed as error:
            yield NotTried(condition, _words(error), failed=_defect(error))


def _same_objects(s: Repeats, condition: str) -> Iterator[Event]:
    for _ in range(s.runs):
        s.once(s.bench)
        yield from s.compare(s.bench, condition)


def _fresh_handle(s: Repeats, condition: str) -> Iterator[Event]:
    for _ in range(s.runs):
        stopped = _stopped(s.bench.reopen(handle=True))
        if stopped is not None:
            raise Refused(f"on a fresh handle: {stopped}")
        s.once(s.bench)
        yield from s.compare(s.bench, condition)


def _fresh_process(s: Repeats, condition: str) -> Iterator[Event]:
    for _ in range(s.runs):
        yield from _elsewhere(s, condition, {}, 1, None)


def _cublas_workspace(s: Repeats, condition: str) -> Iterator[Event]:
    for setting in CUBLAS_SETTINGS:
        variant = f"{CUBLAS_VARIABLE}={setting}" if setting else f"{CUBLAS_VARIABLE} unset"
        yield from _elsewhere(s, condition, {CUBLAS_VARIABLE: setting}, s.runs, variant)


def _elsewhere(
    s: Repeats,
    condition: str,
    env: Mapping[str, str | None],
    runs: int,
    variant: str | None,
) -> Iterator[Event]:
    """So many runs in one process of their own."""
    try:
        started = s.start(env)
    except HarnessError as error:
        raise Refused(f"a second process cannot use the device: {error.message}") from None
    with started as runner:
        bench = Workbench(runner)
        stopped = _stopped(bench.open(s.problem))
        if stopped is not None:
            raise Refused(f"in a process of its own: {stopped}")
        for _ in range(runs):
            s.once(bench)
            yield from s.compare(bench, condition, variant)


def _other_stream(s: Repeats, condition: str) -> Iterator[Event]:
    for _ in range(s.runs):
        s.bench.new_stream()
        s.once(s.bench)
        yield from s.compare(s.bench, condition)


def _load(s: Repeats, condition: str) -> Iterator[Event]:
    s.bench.load(s.problem)
    try:
        for _ in range(s.runs):
            s.once(s.bench)
            yield from s.compare(s.bench, condition)
    finally:
        if not s.bench.runner.broken:
            s.bench.load(None)


def _alignment(s: Repeats, condition: str) -> Iterator[Event]:
    for run in range(s.runs):
        behind = _ALIGNMENTS[run % len(_ALIGNMENTS)]
        variant = f"buffers {behind} bytes behind a multiple of 256"
        stopped = _stopped(s.bench.reopen(alignment=behind))
        if stopped is not None:
            yield NotTried(condition, f"{variant}: {stopped}", ends=False)
            break
        s.once(s.bench)
        yield from s.compare(s.bench, condition, variant)
    s.bench.reopen()


def _poisoned(s: Repeats, condition: str) -> Iterator[Event]:
    for run in range(s.runs):
        byte = _POISONS[run % len(_POISONS)]
        s.bench.poison(_SPACES, byte)
        s.once(s.bench)
        yield from s.compare(s.bench, condition, f"filled with 0x{byte:02X}")


def _graph(s: Repeats, condition: str) -> Iterator[Event]:
    for name in s.passes:
        captured = s.bench.capture(name)
        if captured.outcome != "passed":
            raise Refused(f"there is no graph of {name}: {captured.call}: {captured.reason}")
    for _ in range(s.runs):
        s.once(s.bench, graph=True)
        yield from s.compare(s.bench, condition)


def _dropout_reseeded(s: Repeats, condition: str) -> Iterator[Event]:
    _must_drop(s)
    for _ in range(s.runs):
        s.once(s.bench, reseed=False)
        s.once(s.bench)
        yield from s.compare(s.bench, condition)


def _dropout_continued(s: Repeats, condition: str) -> Iterator[Event]:
    _must_drop(s)
    s.once(s.bench)
    for _ in range(s.runs):
        s.once(s.bench, reseed=False)
        yield from s.compare(s.bench, condition)


def _must_drop(s: Repeats) -> None:
    if not s.drops:
        raise Refused("nothing is dropped: dropout_rate is 0, there is one layer, or no descriptor")
    if "forward_training" not in s.passes:
        raise Refused("inference drops nothing")


def _padding_garbage(s: Repeats, condition: str) -> Iterator[Event]:
    padding = padding_of(s.problem)
    if not padding.size:
        raise Refused("x has no padding: a packed layout, or all sequences of full length")
    width = ELEMENT_BYTES[s.data_type]
    x = s.inputs["x"]
    for run in range(s.runs):
        # Any bits with the top of the exponent clear are a finite number, of either sign.
        garbage = np.random.default_rng(run).integers(0, 256, (padding.size, width), np.uint8)
        garbage[:, -1] &= 0xBF
        there = np.frombuffer(x, np.uint8).reshape(-1, width).copy()
        there[padding] = garbage
        s.bench.write("x", there.tobytes())
        s.once(s.bench)
        yield from s.compare(s.bench, condition)
    s.bench.write("x", x)


def _longer_padding(s: Repeats, condition: str) -> Iterator[Event]:
    if LAYOUT.label(s.problem.value("layout")) == "seq_major_packed":
        raise Refused("a packed layout has no padding")
    if s.drops and "forward_training" in s.passes:
        raise Refused(_RATED)
    order = tuple(range(s.problem.value("batch_size")))
    for more in _MORE_STEPS:
        move = Move(s.problem, order, more)
        variant = f"max_seq_length={move.problem.given['max_seq_length']}"
        yield from _moved(s, condition, move, variant, s.runs)


def _batch(s: Repeats, condition: str) -> Iterator[Event]:
    if s.drops and "forward_training" in s.passes:
        raise Refused(_RATED)
    of = geometry(s.problem)
    if of.batch_size == 1:
        raise Refused("there is one sequence only")
    if "dw" in s.tensors:
        yield NotTried(condition, _SUMMED, "dw", ends=False)
    order = reordered(of.lengths, of.layout == "seq_major_packed")
    if order != tuple(range(of.batch_size)):
        move = Move(s.problem, order)
        yield from _moved(s, condition, move, "the other way round", s.runs)
    for place in [i for i, length in enumerate(of.lengths) if length][: s.runs]:
        yield from _moved(s, condition, Move(s.problem, (place,)), f"sequence {place} alone", 1)


def _moved(s: Repeats, condition: str, move: Move, variant: str, runs: int) -> Iterator[Event]:
    """Runs the sequences in another batch, and compares each with itself."""
    inputs = s.inputs
    stopped = _stopped(s.bench.open(move.problem))
    if stopped is not None:
        yield NotTried(condition, f"{variant}: {stopped}", ends=False)
        return
    for name, data in inputs.items():
        s.bench.write(name, move.moved(name, data))
    for _ in range(runs):
        s.once(s.bench)
        for name in s.tensors:
            if name == "dw" and condition == "batch":
                continue
            before, now, places = move.shared(name, s.first[name], s.bench.read(name))
            apart = difference(before, now, s.data_type)
            if apart.first is not None:
                apart = replace(apart, first=int(places[apart.first]))
            yield Seen(condition, name, sha(now), None if apart.same else apart, variant)


_MADE: dict[str, Callable[[Repeats, str], Iterator[Event]]] = {
    "same_objects": _same_objects,
    "fresh_handle": _fresh_handle,
    "fresh_process": _fresh_process,
    "other_stream": _other_stream,
    "load": _load,
    "alignment": _alignment,
    "poisoned": _poisoned,
    "graph": _graph,
    "cublas_workspace": _cublas_workspace,
    "dropout_reseeded": _dropout_reseeded,
    "dropout_continued": _dropout_continued,
    "padding_garbage": _padding_garbage,
    "longer_padding": _longer_padding,
    "batch": _batch,
}


def _stopped(case: CaseResult) -> str | None:
    """Why a problem cannot be run; None if it can."""
    one = case.stopped or next((s for s in case.stages if not case.passes(s.stage)), None)
    if one is None:
        return None
    said = ": ".join(word for word in (one.status, one.reason) if word) or one.outcome
    return f"{one.stage}, {one.call}: {said}"


def _words(error: StageFailed) -> str:
    return f"the run ended: {error.message}"


def _defect(error: StageFailed) -> bool:
    return error.result.outcome == "failed"
