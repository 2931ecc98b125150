"""The smallest problem that still shows what a larger one shows, found by taking things away."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from pyharness.errors import UsageError
from pyharness.spec.axes import PROJ_RULES
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.seq_lengths import lengths_label

# The simplest first. What is not here is simplest at its default, where it needs no word.
_ORDERS: dict[str, tuple[str, ...]] = {
    "direction_mode": ("unidirectional", "bidirectional"),
    "cell_mode": ("rnn_tanh", "rnn_relu", "gru", "lstm"),
    "bias_mode": ("no_bias", "single_inp_bias", "single_rec_bias", "double_bias"),
    "input_mode": ("linear_input", "skip_input"),
    "layout": ("seq_major_unpacked", "batch_major_unpacked", "seq_major_packed"),
    "algo": ("standard", "persist_static", "persist_dynamic", "persist_static_small_h"),
}
_TYPES = ("data_type", "math_prec", "math_type")
_CLIPPING = ("clip_mode", "clip_nan_opt", "lclip", "rclip")
_BATCH = ("seq_lengths", "max_seq_length", "batch_size")
_NUMBERS = (*_BATCH, "hidden_size", "input_size", "proj_size", "num_layers")
_KEPT = frozenset((*_BATCH, *_CLIPPING, "vector_size"))  # without the word they are something else
_PACKED = "seq_major_packed"

Changes = Mapping[str, str | None]  # None: without the word


class Enough(Exception):
    """What is asked whether a problem still shows it cannot go on: the best so far is it."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest problem that was found.

    ``tries``    problems that were asked for it.
    ``settled``  no single step shows it any more; or else the tries came to an end before.
    """

    problem: Problem
    tries: int
    settled: bool


def shrink(problem: Problem, violates: Callable[[Problem], bool], most_tries: int) -> Shrunk:
    """Takes away from a problem what it can do without, until no single step shows it any more.

    In turn: sequences, steps, padding, layers, sizes; then the plainest direction, cell, biases,
    layout, algo and types; then what else is not at its default. A batch of equal lengths stays
    one. No problem is asked twice.

    ``problem``   that shows it; one whose numbers cannot be computed with stays as it is.
    ``violates``  whether a smaller one shows it, too; it may raise Enough.
    """
    if not _can_be(problem):
        return Shrunk(problem, 0, settled=True)
    asked, before = {_key(problem)}, None
    try:
        while problem != before:
            before = problem
            for steps in _STEPS:
                smaller: Problem | None = problem
                while smaller is not None:
                    problem, smaller = smaller, None
                    for one in _taken_away(problem, steps):
                        if _key(one) in asked:
                            continue
                        if len(asked) > most_tries:
                            return Shrunk(problem, most_tries, settled=False)
                        asked.add(_key(one))
                        if violates(one):
                            smaller = one
                            break
    except Enough:
        return Shrunk(problem, len(asked) - 1, settled=False)
    return Shrunk(problem, len(asked) - 1, settled=True)


def within(small: Problem, large: Problem) -> bool:
    """Whether one problem is another with things taken away: no part of it is larger or richer."""
    if not (_can_be(small) and _can_be(large)):
        return False
    numbers = zip(_weights(small), _weights(large), strict=True)
    return all(a <= b for a, b in numbers) and _others(small) <= _others(large)


def extent(problem: Problem) -> int:
    """How much there is of a problem that can be run at all: every step makes it less."""
    return sum(_weights(problem)) + len(_others(problem))


def _weights(problem: Problem) -> list[int]:
    """What every step makes smaller somewhere and larger nowhere."""
    of = geometry(problem)
    return [
        *(of.batch_size, max(of.lengths), of.steps, of.max_seq_length, _ragged(of)),
        *(of.num_layers, of.hidden_size, of.input_size, of.output_size if of.projects else 0),
        *(order.index(_text(problem, name)) for name, order in _ORDERS.items()),
    ]


def _others(problem: Problem) -> set[tuple[str, str]]:
    """Everything else that it says."""
    told = (problem.telling | set(_CLIPPING)) - set(_ORDERS) - set(_NUMBERS)
    return {(name, text) for name, text in problem.given.items() if name in told}


def _taken_away(
    problem: Problem, steps: Callable[[Problem, Geometry], Iterator[Changes]]
) -> Iterator[Problem]:
    """What the steps make of a problem that can be run at all."""
    for changes in steps(problem, geometry(problem)):
        one = _changed(problem, changes)
        if _can_be(one):
            yield one


def _sequences(problem: Problem, of: Geometry) -> Iterator[Changes]:
    """Leaves out a half, a quarter … a single one."""
    del problem
    for size in _halved(of.batch_size // 2):
        for begin in range(0, of.batch_size if _ragged(of) else 1, size):
            yield _batch(of, of.lengths[:begin] + of.lengths[begin + size :], of.max_seq_length)


def _lengths(problem: Problem, of: Geometry) -> Iterator[Changes]:
    """Shortens the longest sequences, all of them alike, the padding, or a single one."""
    del problem
    longest, steps = max(of.lengths), of.max_seq_length
    for length in _lower(longest):
        less = longest - length
        yield _batch(of, [min(n, length) for n in of.lengths], steps - less)
        yield _batch(of, [max(n - less, min(n, 1)) for n in of.lengths], steps - less)
    for less in _halved(steps - longest):
        yield _batch(of, of.lengths, steps - less)
    for place, own in enumerate(of.lengths if _ragged(of) else ()):
        for length in _lower(own):
            yield _batch(of, [*of.lengths[:place], length, *of.lengths[place + 1 :]], steps)


def _layers(problem: Problem, of: Geometry) -> Iterator[Changes]:
    del problem
    for layers in _lower(of.num_layers):
        yield {"num_layers": str(layers)}


def _sizes(problem: Problem, of: Geometry) -> Iterator[Changes]:
    """No projection before a narrower one; all sizes down to one, then each."""
    hidden, width = of.hidden_size, of.input_size
    if of.projects:
        yield {"proj_size": None}
    for size in _lower(max(hidden, width)):
        yield _wide(problem, of, min(hidden, size), min(width, size))
    for size in _lower(of.output_size) if of.projects else ():
        yield {"proj_size": str(size)}
    for size in _lower(hidden):
        yield _wide(problem, of, size, width)
    for size in _lower(width):
        yield _wide(problem, of, hidden, size)


def _kinds(problem: Problem, of: Geometry) -> Iterator[Changes]:
    """Plainer enumerators; only an LSTM has a projection and a cell state to be clipped."""
    del of
    for name, order in _ORDERS.items():
        for text in takewhile(_text(problem, name).__ne__, order):
            follow: tuple[str, ...] = ()
            if name == "cell_mode":
                follow = ("proj_size", *_CLIPPING)
            elif name == "layout":  # padding has to be allowed then
                follow = ("aux_flags",)
            yield {**dict.fromkeys(follow), name: text}
    yield dict.fromkeys(_TYPES)


def _rest(problem: Problem, of: Geometry) -> Iterator[Changes]:
    """What is given and could be left to its default."""
    del of
    yield dict.fromkeys(_CLIPPING)
    for name in problem.given:
        if name not in (*_ORDERS, *_NUMBERS, *_CLIPPING, "data_type"):
            yield {name: None}


_STEPS = (_sequences, _lengths, _layers, _sizes, _kinds, _rest)


def _batch(of: Geometry, lengths: Collection[int], steps: int) -> Changes:
    """Other lengths; a packed batch stays sorted, and as long as its longest sequence."""
    longest = max(lengths)
    if of.layout == _PACKED:
        lengths, steps = sorted(lengths, reverse=True), longest
    if set(lengths) == {steps}:
        return {"seq_lengths": None, "batch_size": str(len(lengths)), "max_seq_length": str(steps)}
    return {
        "seq_lengths": lengths_label(lengths),
        "batch_size": None,
        "max_seq_length": None if steps == longest else str(steps),
    }


def _wide(problem: Problem, of: Geometry, hidden: int, width: int) -> Changes:
    """Other sizes; a projection that is a number stays below, and x as wide as skip_input asks."""
    proj: str | None = None
    if of.projects:
        proj = problem.given["proj_size"]
        proj = proj if proj in PROJ_RULES else str(min(of.output_size, hidden))
    width = hidden if of.skip_input else width
    return {"hidden_size": str(hidden), "input_size": str(width), "proj_size": proj}


def _changed(problem: Problem, changes: Changes) -> Problem:
    """The problem with other words; without those that only say what is so anyway."""
    texts = {**problem.given, **changes}
    given = {name: text for name, text in texts.items() if text is not None}
    told = Problem(given).telling | _KEPT
    return Problem({name: text for name, text in given.items() if name in told})


def _can_be(problem: Problem) -> bool:
    """Whether it describes a network and a batch that can be run at all."""
    try:
        plan_settings(problem)
        of = geometry(problem)
    except UsageError:
        return False
    return max(of.lengths) > 0


def _ragged(of: Geometry) -> bool:
    return len(set(of.lengths)) > 1


def _text(problem: Problem, name: str) -> str:
    return problem_axes()[name].label(problem.value(name))


def _lower(number: int) -> Iterator[int]:
    """1, 2, 4 … below a number, then what is left after half, a quarter … 1 of it is gone."""
    power = 1
    while power < number:
        yield power
        power *= 2
    for less in _halved(number // 2):
        yield number - less


def _halved(most: int) -> Iterator[int]:
    """``most``, its half, … 1; nothing of 0."""
    while most > 0:
        yield most
        most //= 2


def _key(problem: Problem) -> frozenset[tuple[str, str]]:
    return frozenset(problem.given.items())
