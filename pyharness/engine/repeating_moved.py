"""Conditions that change the padding of sequences, or what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.rearranging import Move, Rows, padding_rows, reordered
from pyharness.engine.repeats import (
    STEADY_BYTE,
    Event,
    NotTried,
    Refused,
    Repeats,
    Seen,
    sha,
    stopped_by,
)
from pyharness.spec.differences import difference
from pyharness.spec.enums import LAYOUT
from pyharness.spec.geometry import ELEMENT_BYTES, geometry
from pyharness.spec.repeatability import OF_PARTS

_INPUTS = ("x", "hx", "cx", "dy", "dhy", "dcy", "w")
_MORE_STEPS = (1, 3)
_SUMMED = "dw sums over the batch: it is another sum there"
_RATED = "what is dropped depends on the place in the batch"


def padding_garbage(s: Repeats, condition: str) -> Iterator[Event]:
    """Other numbers in the padding of x and dy, and in that of y and dx before they are written."""
    rows = padding_rows(s.problem)
    if not rows.size:
        raise Refused("x has no padding: a packed layout, or all sequences of full length")
    s.begin()
    series = [t for t in ("y", "dx") if t in s.tensors]
    given = s.held([n for n in ("x", "dy") if n == "x" or "backward_data" in s.passes])
    first = s.held(series)
    still = Move(s.problem, tuple(range(s.problem.value("batch_size"))))
    s.away = True  # until its inputs are what they were
    for run in range(s.runs):
        random = np.random.default_rng(run)
        s.settle()
        before = given | {t: bytes([STEADY_BYTE]) * len(first[t]) for t in series}
        for name, data in before.items():
            s.bench.write(name, _spoiled(s, data, rows, random))
        s.once(settle=False)
        rest = s.compare_only([t for t in s.tensors if t not in series], condition)
        found = [_seen(s, condition, still, t, first[t]) for t in series]
        yield from sorted([*found, *rest], key=lambda seen: s.tensors.index(seen.tensor))
    for name, data in given.items():
        s.bench.write(name, data)
    s.away = False


def longer_padding(s: Repeats, condition: str) -> Iterator[Event]:
    """The same sequences, each with its own padding and zeros behind that."""
    if LAYOUT.label(s.problem.value("layout")) == "seq_major_packed":
        raise Refused("a packed layout has no padding")
    if s.drops:
        raise Refused(_RATED)
    order = tuple(range(s.problem.value("batch_size")))
    first, inputs = _held(s)
    for more in _MORE_STEPS:
        move = Move(s.problem, order, more)
        variant = f"max_seq_length={move.problem.given['max_seq_length']}"
        yield from _moved(s, condition, move, (first, inputs), variant, s.runs)


def batch(s: Repeats, condition: str) -> Iterator[Event]:
    """The same sequences the other way round, and each alone."""
    if s.drops:
        raise Refused(_RATED)
    of = geometry(s.problem)
    if of.batch_size == 1:
        raise Refused("there is one sequence only")
    if "dw" in s.tensors:
        yield NotTried(condition, _SUMMED, "dw", ends=False)
    first, inputs = _held(s)
    order = reordered(of.lengths, of.layout == "seq_major_packed")
    times = -(-s.runs // max(sum(map(bool, of.lengths)), 1))  # of each alone, without another order
    if order != tuple(range(of.batch_size)):
        variant = "the other way round"
        yield from _moved(s, condition, Move(s.problem, order), (first, inputs), variant, s.runs)
        times = 1
    places = [i for i, length in enumerate(of.lengths) if length][: s.runs]
    for place in places:
        variant = f"sequence {place} alone"
        move = Move(s.problem, (place,))
        yield from _moved(s, condition, move, (first, inputs), variant, times, variant)


def _held(s: Repeats) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """A run with nothing changed on this side: what it wrote, and what it read."""
    s.begin()
    return s.held(s.tensors), s.held([n for n in _INPUTS if n in s.bench.buffers()])


def _moved(
    s: Repeats,
    condition: str,
    move: Move,
    held: tuple[Mapping[str, bytes], Mapping[str, bytes]],
    variant: str,
    times: int,
    part: str | None = None,
) -> Iterator[Event]:
    """Runs the sequences in another batch so many times, and compares each with itself."""
    first, inputs = held
    s.away = True
    stopped = stopped_by(s.bench.open(move.problem))
    if stopped is not None:
        yield NotTried(condition, f"{variant}: {stopped}", ends=False)
        return
    for name, data in inputs.items():
        s.bench.write(name, move.moved(name, data))
    for _ in range(times):
        s.once()
        for tensor in s.tensors:
            if tensor != "dw" or condition != "batch":
                seen = _seen(s, condition, move, tensor, first[tensor])
                yield replace(seen, variant=variant, part=part)


def _seen(s: Repeats, condition: str, move: Move, tensor: str, first: bytes) -> Seen:
    """What the open problem has of the sequences that it shares, beside the first run of them."""
    before, now = move.shared(tensor, first, s.bench.read(tensor))
    if before == now:
        return Seen(condition, tensor, compared_on=OF_PARTS)
    apart = difference(before, now, s.data_type)
    assert apart.first is not None
    apart = replace(apart, first=move.place(tensor, apart.first))
    return Seen(condition, tensor, sha(now), apart, compared_on=OF_PARTS)


def _spoiled(s: Repeats, data: bytes, rows: Rows, random: np.random.Generator) -> bytes:
    """x, y or a gradient of them with other finite numbers in the padding."""
    width = ELEMENT_BYTES[s.data_type]
    steps = np.frombuffer(data, np.uint8).reshape(geometry(s.problem).stored_steps, -1, width)
    garbage = random.integers(0, 256, (rows.size, *steps.shape[1:]), np.uint8)
    # Any bits with the top of the exponent clear are a finite number, of either sign.
    garbage[..., -1] &= 0xBF
    spoiled: NDArray[np.uint8] = steps.copy()
    spoiled[rows] = garbage
    return spoiled.tobytes()
