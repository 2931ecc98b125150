"""What can be changed so that a problem needs less memory, what keeps most of the results first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyharness.spec.enums import ALGO
from pyharness.spec.footprint import ForwardMode
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.seq_lengths import lengths_label, literal_lengths, resolve_seq_lengths

# What becomes of the results, the least first.
SAME, ROUNDING, PRECISION, GRADIENTS, LOST, NETWORK = range(6)

PART_AXES = ("batch_size", "max_seq_length")  # what can be done in parts
_NARROWER = {"double": ("float",), "float": ("half", "bfloat16")}
_OTHER = "another network: new weights"
_OF_STEP = ("input_size", "hidden_size")


@dataclass(frozen=True, slots=True)
class Option:
    """A change that may save memory.

    ``changes``  axis to its new label.
    ``words``    what to do; ``cost``: what becomes of the results.
    ``level``    SAME … NETWORK.
    """

    changes: Mapping[str, str]
    mode: ForwardMode
    words: str
    cost: str
    level: int

    def of(self, problem: Problem) -> Problem:
        """The problem with this change."""
        return Problem({**problem.given, **self.changes})


def with_size(problem: Problem, axis: str, value: int) -> dict[str, str]:
    """The changes that give one axis another value, and what has to follow.

    Of listed lengths a smaller batch has the longest: no part of the batch needs more.
    """
    changes = {axis: str(value)}
    lengths = literal_lengths(problem.value("seq_lengths"))
    if axis in _OF_STEP and _label(problem, "input_mode") == "skip_input":
        return dict.fromkeys(_OF_STEP, str(value))  # x is added to the gates as it is
    if lengths is None or axis not in PART_AXES:
        return changes
    steps = problem.value("max_seq_length")
    if axis == "batch_size":
        kept = tuple(sorted(lengths, reverse=True)[:value])
    else:
        kept, steps = tuple(min(n, value) for n in lengths), value
    return {
        "seq_lengths": lengths_label(kept),
        "batch_size": str(len(kept)),
        "max_seq_length": str(steps),
    }


def options(problem: Problem, mode: ForwardMode, parts: Mapping[str, int]) -> Iterator[Option]:
    """The changes that may help.

    ``parts``  the batch_size and the max_seq_length of a part, where one of that size was found to
               fit; half of what it is otherwise.
    """
    yield from _smaller_batch(problem, mode, parts)
    if mode == "training":
        yield Option(
            {}, "inference", "run it for inference", "no gradients: nothing is kept for them", LOST
        )
    yield from _packed(problem, mode)
    yield from _algos(problem, mode)
    yield from _types(problem, mode)
    yield from _chunks(problem, mode, parts)
    yield from _networks(problem, mode)


def _label(problem: Problem, axis: str) -> str:
    return problem_axes()[axis].label(problem.value(axis))


def _smaller_batch(
    problem: Problem, mode: ForwardMode, parts: Mapping[str, int]
) -> Iterator[Option]:
    batch = problem.value("batch_size")
    part = parts.get("batch_size", -(-batch // 2))
    if 0 < part < batch:
        cost = "the same results but for rounding"
        if mode == "training":
            cost += ", with dw of the parts added up, which cuDNN does unless it is cleared"
        yield Option(
            with_size(problem, "batch_size", part),
            mode,
            f"split the batch into {-(-batch // part):,} parts of up to {part:,}",
            cost,
            SAME,
        )


def _chunks(problem: Problem, mode: ForwardMode, parts: Mapping[str, int]) -> Iterator[Option]:
    steps = problem.value("max_seq_length")
    part = parts.get("max_seq_length", -(-steps // 2))
    # The reverse direction begins at the end: it cannot be run in parts from the front.
    if not 0 < part < steps or _label(problem, "direction_mode") != "unidirectional":
        return
    inference = mode == "inference"
    yield Option(
        with_size(problem, "max_seq_length", part),
        mode,
        f"split the time into {-(-steps // part):,} parts of up to {part:,} steps, hy and cy of "
        "each being hx and cx of the next",
        "the same results" if inference else "gradients do not reach beyond a part",
        SAME if inference else GRADIENTS,
    )


def _packed(problem: Problem, mode: ForwardMode) -> Iterator[Option]:
    steps = problem.value("max_seq_length")
    lengths = resolve_seq_lengths(problem.value("seq_lengths"), steps, problem.value("batch_size"))
    packed = _label(problem, "layout") == "seq_major_packed"
    if packed or min(lengths) < 1 or min(lengths) == max(lengths):  # none may be empty there
        return
    changes = {
        "layout": "seq_major_packed",
        "seq_lengths": lengths_label(sorted(lengths, reverse=True)),
        "batch_size": str(len(lengths)),
        "max_seq_length": str(max(lengths)),
    }
    words = "pack the sequences, the longest first"
    yield Option(changes, mode, words, "the same results, in another order and layout", SAME)


def _algos(problem: Problem, mode: ForwardMode) -> Iterator[Option]:
    now = _label(problem, "algo")
    for member in ALGO.members:
        if member.name != now:
            yield Option(
                {"algo": member.name},
                mode,
                f"run another algo: {member.name}",
                "sums are taken in another order, and the speed is another",
                ROUNDING,
            )


def _types(problem: Problem, mode: ForwardMode) -> Iterator[Option]:
    for name in _NARROWER.get(_label(problem, "data_type"), ()):
        yield Option(
            {"data_type": name, "math_prec": "float"},
            mode,
            f"store data and weights as {name}, and compute in float",
            "another precision",
            PRECISION,
        )


def _networks(problem: Problem, mode: ForwardMode) -> Iterator[Option]:
    layers, hidden = problem.value("num_layers"), problem.value("hidden_size")
    lstm = _label(problem, "cell_mode") == "lstm"
    if _label(problem, "direction_mode") == "bidirectional":
        changes = {"direction_mode": "unidirectional"}
        yield Option(changes, mode, "one direction in place of two", _OTHER, NETWORK)
    if layers > 1:
        changes = {"num_layers": str(layers // 2)}
        yield Option(changes, mode, f"{layers // 2} of the {layers} layers", _OTHER, NETWORK)
    if lstm and hidden > 1 and problem.shapes["h"][2] == hidden:
        changes = {"proj_size": "half"}
        yield Option(changes, mode, "project the output to half its width", _OTHER, NETWORK)
    if hidden > 1:
        changes = {"hidden_size": str(hidden // 2)}
        yield Option(changes, mode, "half the hidden size", _OTHER, NETWORK)
