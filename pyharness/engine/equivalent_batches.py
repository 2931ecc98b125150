"""What must not depend on how a batch is laid out, padded and put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pyharness.engine.beside import Limits, Whole
from pyharness.engine.rearranging import padding_rows, with_lengths
from pyharness.engine.repeats import Refused
from pyharness.engine.runner import StageFailed
from pyharness.engine.sides import SERIES, Outputs, Tensors
from pyharness.engine.told import Found, compared
from pyharness.spec.batches import sort_order
from pyharness.spec.equivalences import VIOLATED
from pyharness.spec.number_bits import Bits
from pyharness.spec.problem import Problem

_PACKED = "seq_major_packed"
_PADDED = ("seq_major_unpacked", "batch_major_unpacked")
_NO_PADDING = "there is no padding: a packed layout, or all sequences of full length"
_NO_STEPS = "no sequence has a step"
# Times that all is run again: roundings may come to the same bits by chance, more than these not.
_AGAIN, _AGAIN_BEYOND = 10, 2
_OUT_OF_DY = ("dy", "dhy", "dcy")
_HANDED_ON = {"hy": "hx", "cy": "cx"}


def packed_is_padded(whole: Whole) -> list[Found]:
    """A packed batch in both padded layouts; a padded one packed, with its sequences in order.

    Sequences without steps, which a packed batch has not, hand on the states that they are given.
    """
    of = whole.of
    steps, order = of.max_seq_length, tuple(range(of.batch_size))
    if of.layout == _PACKED:
        ways = [{"layout": layout, "aux_flags": "padded_io_enabled"} for layout in _PADDED]
    else:
        # Releases differ in what they take of a packed batch: descending lengths, none of them 0,
        # and max_seq_length that of the longest are taken by all.
        ways = [{"layout": _PACKED}]
        order = tuple(int(i) for i in sort_order(of.lengths)[0] if of.lengths[i])
        steps = max(of.lengths)
    _must_have_steps(whole)
    lengths, found, refusals = [of.lengths[i] for i in order], list[Found](), list[Refused]()
    for words in ways:
        problem = with_lengths(Problem({**whole.problem.given, **words}), lengths, steps)
        made, refused, layout = Joined(whole), dict[str, StageFailed](), words["layout"]
        given = rows_of(whole.given, order, steps)
        try:
            outputs = whole.other(problem, given, whole.passes, refused)
        except Refused as why:
            refusals.append(why)
            found += [o for p in whole.passes for o in whole.nothing(p, str(why), layout)]
            continue
        made.put(outputs, order)
        made.put(_without_steps(whole, outputs), [i for i, n in enumerate(of.lengths) if not n])
        found += whole.alike(made.outputs(), whole.rounding(problem), variant=layout)
        found += whole.untold(refused, layout)
    if len(refusals) == len(ways):
        raise refusals[0]
    return found


def padding_filled(whole: Whole) -> list[Found]:
    """The padding of y, which is full of NaN before each forward pass, beside zeros.

    Source  cudnnSetRNNDataDescriptor: without a paddingFill the padding of y is undefined; ours is
            0 (csrc/rnn/descriptors.cpp).
    """
    if whole.problem.value("padding_fill") == 0:
        raise Refused("padding_fill=null: what the padding of y holds is left open")
    _must_have_padding(whole)
    found = []
    for (pass_name, tensor), y in whole.outputs.items():
        if tensor != "y":
            continue
        padding = np.broadcast_to(~whole.side.there, y.shape)
        places = partial(whole.places, {"y": padding})
        filled = np.zeros_like(y[padding])
        one = compared("y", filled, y[padding], places, 1.0, whole.data_type, None)
        found.append(replace(one, variant=whole.variant(pass_name, whole.outputs)))
    return found


def padding_ignored(whole: Whole) -> list[Found]:
    """The same objects and buffers with other numbers, and with NaN, in the padding: same bits.

    That of y is written by forward passes, unless they leave it open: backward passes find other
    numbers there then, but no NaN, which no program has there.

    Where a run that is made again has other bits already, all are compared but for rounding.
    """
    _must_have_padding(whole)
    given, padding = whole.given, ~whole.side.there
    draw, ways = np.random.default_rng(0), dict[str, dict[str, Bits]]()
    for variant in ("finite numbers in the padding", "NaN in the padding"):
        ways[variant] = dict(given)
        for name in [name for name in SERIES if name in given]:
            numbers = draw.uniform(-2, 2, given[name].shape)
            if variant.startswith("NaN"):
                numbers[:] = np.nan
            ways[variant][name] = np.where(padding, whole.stored(numbers), given[name])
        if whole.problem.value("padding_fill") == 0 and not variant.startswith("NaN"):
            width = whole.of.output_size * whole.of.directions
            numbers = draw.uniform(-2, 2, (whole.of.max_seq_length, whole.of.batch_size, width))
            ways[variant]["y"] = whole.stored(numbers)
    made = {variant: _outputs(whole, other) for variant, other in ways.items()}

    def told(limits: Limits) -> list[Found]:
        each = (whole.alike(now, limits, variant=variant) for variant, now in made.items())
        return [one for found in each for one in found]

    found = told(lambda _: None)
    if all(one.verdict != VIOLATED for one in found):
        return found
    within = told(whole.rounding(whole.problem))
    both = zip(found, within, strict=True)
    beyond = all(b.verdict == VIOLATED for a, b in both if a.verdict == VIOLATED)
    for _ in range(_AGAIN_BEYOND if beyond else _AGAIN):
        before = [whole.outputs, *made.values()]
        again = _outputs(whole, given)
        made = {variant: _outputs(whole, other) for variant, other in ways.items()}
        if not all(map(whole.same, before, [again, *made.values()])):
            return told(whole.rounding(whole.problem))
    return found


def _without_steps(whole: Whole, like: Outputs) -> Outputs:
    """What forward passes hand on of the sequences that have no steps."""
    rows = [i for i, length in enumerate(whole.of.lengths) if not length]
    given = whole.problem.value("initial_states") == 0
    states = {}
    for pass_name, name in like:
        if rows and name in _HANDED_ON:
            state = whole.given[_HANDED_ON[name]][:, rows]
            states[pass_name, name] = state if given else np.zeros_like(state)
    return states


def _outputs(whole: Whole, given: Tensors) -> Outputs:
    """What the problem, which is open, comes to with other inputs."""
    whole.side.give(given)
    return whole.side.outputs(whole.passes, padding_of_y=given.get("y"))


def reverse_starts_at_end(whole: Whole) -> list[Found]:
    """The whole batch for each length that occurs, with every sequence of that length.

    What is compared of it is the sequences that have that length anyway: the others are cut, or
    filled up with zeros, and have no gradients to hand on. Each place in the batch has its sequence
    as ever, but there is no padding in which the reverse direction could start.
    """
    of = whole.of
    _must_have_steps(whole)
    if of.directions == 1:
        raise Refused("there is no reverse direction")
    if set(of.lengths) == {of.max_seq_length}:
        raise Refused("all sequences end where the batch does")
    made, problems = Joined(whole), []
    for length in sorted(set(of.lengths) - {0}):
        rows = [i for i, own in enumerate(of.lengths) if own == length]
        problems.append(with_lengths(whole.problem, [length] * of.batch_size, length))
        given = dict(rows_of(whole.given, range(of.batch_size), length))
        others = [i for i in range(of.batch_size) if i not in rows]
        for name in [name for name in _OUT_OF_DY if name in given]:
            given[name] = given[name].copy()
            given[name][:, others] = 0
        made.put(whole.other(problems[-1], given, whole.passes), rows, here=rows)
    return whole.alike(made.outputs(), whole.rounding(*problems), rows=made.rows)


def batch_is_parts(whole: Whole) -> list[Found]:
    """The first sequence, and both halves of the rest: a batch of one is often another kernel's."""
    of = whole.of
    rows = [i for i, length in enumerate(of.lengths) if length]
    if len(rows) < 2:
        raise Refused("there are no two sequences with steps")
    middle = (len(rows) + 1) // 2
    made, problems = Joined(whole), []
    for part in (rows[:1], rows[1:middle], rows[middle:]):
        if not part:
            continue
        lengths = [of.lengths[i] for i in part]
        steps = max(lengths) if of.layout == _PACKED else of.max_seq_length
        problems.append(with_lengths(whole.problem, lengths, steps))
        given = rows_of(whole.given, part, steps)
        made.put(whole.other(problems[-1], given, whole.passes), part)
    return whole.alike(made.outputs(), whole.rounding(*problems), rows=rows)


class Joined:
    """What a problem comes to, put together from what others come to.

    ``like``  outputs of the same shapes; None: the problem's own.
    ``rows``  the sequences that are there up to now.
    """

    def __init__(self, whole: Whole, like: Outputs | None = None) -> None:
        self._whole = whole
        self._like = whole.outputs if like is None else like
        self._made: Outputs = {}
        self._sums: dict[tuple[str, str], list[Bits]] = {}
        self.rows: list[int] = []

    def put(
        self,
        outputs: Outputs,
        rows: Sequence[int],
        *,
        here: Sequence[int] | None = None,
        first: int = 0,
    ) -> None:
        """Puts sequences in their place, over what is there; adds up the gradients of weights.

        ``rows``   of the whole.
        ``here``   where they are in ``outputs``; None: they are all.
        ``first``  the step of the whole that they begin with.
        """
        self.rows = sorted({*self.rows, *rows})
        for key, bits in outputs.items():
            if key[1].startswith("dw."):
                self._sums.setdefault(key, []).append(bits)
                continue
            made = self._made.setdefault(key, np.zeros_like(self._like[key]))
            own = bits if here is None else bits[:, list(here)]
            begin = first if key[1] in SERIES else 0
            made[begin : begin + len(own), list(rows)] = own

    def outputs(self) -> Outputs:
        """All that was put there."""
        return {**self._made, **{key: self._whole.summed(own) for key, own in self._sums.items()}}


def rows_of(given: Tensors, rows: Sequence[int], steps: int, first: int = 0) -> Tensors:
    """What some sequences are given: ``steps`` from ``first`` on, the weights as they are."""
    taken = {}
    for name, bits in given.items():
        if name.startswith("w."):
            taken[name] = bits
        else:
            own = bits[first : first + steps] if name in SERIES else bits
            taken[name] = own[:, list(rows)]
    return taken


def _must_have_steps(whole: Whole) -> None:
    if not any(whole.of.lengths):
        raise Refused(_NO_STEPS)


def _must_have_padding(whole: Whole) -> None:
    if not padding_rows(whole.problem).size:
        raise Refused(_NO_PADDING)
