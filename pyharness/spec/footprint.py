"""What a problem asks for on a device: a formula of terms, each with its source and grade.

Only cuDNN knows what it needs, and it tells only where a GPU is: cudnnGetRNNWeightSpaceSize and
cudnnGetRNNTempSpaceSizes take a handle. Until then:

- weights and tensors follow from documented shapes; what alignment adds is not known;
- the reserve space fits every size that was found reported in public, of LSTM and GRU, one
  direction and two, one layer and four: all of 2017, algo standard, float, training;
- the workspace fits the same reports, but they do not decide all of its terms, and nothing was
  found for inference, other algos, other types, projections or releases from 8.5 on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.stages import PASSES

ForwardMode = Literal["inference", "training"]
MODES: tuple[ForwardMode, ...] = ("inference", "training")
_LINEAR = 3  # layers from which on every term grows evenly with them
STATES = ("x", "y", "hx", "hy", "cx", "cy")
PARTS = ("weight_space", "workspace", "reserve_space", "tensor", "dropout_states")

Grade = Literal["shape", "reported", "guess"]
GRADES: Mapping[Grade, str] = {
    "shape": "follows from documented shapes",
    "reported": "fits sizes that were reported in public",
    "guess": "a guess",
}


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of device memory that one forward mode needs at the same time.

    ``weight_space``    one weight space; dw of training, which is as large, is among the tensors.
    ``tensor``          x, y and the states; in training their gradients, and dw, as well.
    ``dropout_states``  of the random generators, where the problem drops out.
    """

    weight_space: int
    workspace: int
    reserve_space: int
    tensor: int
    dropout_states: int

    @property
    def parts(self) -> dict[str, int]:
        """Bytes by the name of the part, in the order of PARTS."""
        return {part: getattr(self, part) for part in PARTS}

    @property
    def total(self) -> int:
        """All parts together."""
        return sum(self.parts.values())


def _rectangle(shape: Geometry) -> int:
    """Steps that buffers have room for, padding or not.

    Source  the header of cudnnGetRNNTempSpaceSizes: it reads maxSeqLength and batchSize of x.
    """
    return shape.max_seq_length * shape.batch_size


def _outputs(shape: Geometry) -> int:
    """Elements of what one layer gives to the next, in all directions and steps."""
    return _rectangle(shape) * shape.directions * shape.output_size


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of a part.

    ``words``  what it is; ``source``: where that is from, and what it does not cover.
    ``count``  its elements of the data type; bytes of the dropout states.
    """

    part: str
    modes: tuple[ForwardMode, ...]
    words: str
    grade: Grade
    source: str
    count: Callable[[Geometry], int]


# Kept of each step, by the width of the hidden state. RNN is 1 by how much less memory the same
# script of pytorch#2895 took with it than with LSTM and GRU; nobody printed the size.
_KEPT = {"lstm": 5, "gru": 6, "rnn_relu": 1, "rnn_tanh": 1}
_IN_FLIGHT = 44
_GENERATOR_BYTES = 4 << 20
_PT2895 = "pytorch/pytorch#2895 prints 736,000,000 for LSTM and 864,000,000 for GRU (4 layers)"
_DS172 = "SeanNaren/deepspeech.pytorch#172 prints 801,177,600 for GRU in two directions"

TERMS: tuple[Term, ...] = (
    Term(
        "weight_space",
        MODES,
        "matrices and biases",
        "shape",
        "cudnnGetRNNWeightParams; alignment is not in it",
        lambda g: g.matrix_count + g.bias_count,
    ),
    Term(
        "tensor",
        MODES,
        "x, y, hx, hy, cx, cy",
        "shape",
        "the data and tensor descriptors; alignment is not in it",
        lambda g: sum(g.tensor_bytes.get(n, 0) for n in STATES) // g.element_bytes,
    ),
    Term(
        "tensor",
        ("training",),
        "their gradients, and dw",
        "shape",
        "as large as what they are the gradients of",
        lambda g: sum(s for n, s in g.tensor_bytes.items() if n[0] == "d") // g.element_bytes,
    ),
    Term(
        "reserve_space",
        ("training",),
        "steps x batch x hidden_size x layers x directions, 5 for LSTM, 6 for GRU, 1 for RNN",
        "reported",
        f"{_PT2895}; {_DS172}; RNN is a guess",
        lambda g: _KEPT[g.cell_mode] * _rectangle(g) * g.hidden_size * g.pseudo_layers,
    ),
    Term(
        "reserve_space",
        ("training",),
        "the output of every layer but the last",
        "reported",
        _PT2895,
        lambda g: (g.num_layers - 1) * _outputs(g),
    ),
    Term(
        "workspace",
        MODES,
        "a copy of the matrices",
        "reported",
        "deepspeech.pytorch#172 differs by it between two input sizes; training alone was reported",
        lambda g: g.matrix_count,
    ),
    Term(
        "workspace",
        MODES,
        "two outputs of each direction, where there are two",
        "guess",
        "deepspeech.pytorch#172 fits with it, and with other terms, too",
        lambda g: 2 * _outputs(g) if g.directions == 2 else 0,
    ),
    Term(
        "workspace",
        MODES,
        f"{_IN_FLIGHT} x batch x hidden_size x layers x directions: steps in flight",
        "guess",
        "fits deepspeech.pytorch#172, and LSTM of pytorch#2895 if its batch is 25; 12% above GRU",
        lambda g: _IN_FLIGHT * g.batch_size * g.hidden_size * g.pseudo_layers,
    ),
    Term(
        "workspace",
        ("inference",),
        "the output of one layer, of two from three layers on",
        "guess",
        "there is no reserve space that it could lie in",
        lambda g: min(g.num_layers - 1, 2) * _outputs(g),
    ),
    Term(
        "dropout_states",
        MODES,
        "4 MiB where the problem drops out",
        "guess",
        "awslabs/raf#39 speaks of a few MB; it depends on the GPU",
        lambda _: _GENERATOR_BYTES,
    ),
)


def predict(problem: Problem, mode: ForwardMode) -> Footprint:
    """What a problem asks for, by the formula.

    Raises  UsageError for a problem that describes no network or batch that could be computed.
    """
    return _sum(geometry(problem), mode, drops_out(problem))


def predicted_total(problem: Problem, mode: ForwardMode) -> int:
    """All that a problem asks for, by the formula.

    Raises  UsageError as predict does.
    """
    return predict(problem, mode).total


def at_least(problem: Problem, mode: ForwardMode) -> int:
    """Bytes that a problem cannot do without: only what follows from documented shapes.

    Raises  UsageError as predict does.
    """
    found = predict(problem, mode)
    return found.weight_space + found.tensor


def modes_of(passes: Collection[str]) -> tuple[ForwardMode, ...]:
    """The forward modes that these passes, or stages, run in; both where none of them is a pass."""
    ran = {"inference" if name == PASSES[0] else "training" for name in PASSES if name in passes}
    return tuple(mode for mode in MODES if mode in ran) or MODES


def drops_out(problem: Problem) -> bool:
    """Whether a run of the problem has random generators: a descriptor with a rate above 0."""
    axes = problem_axes()
    rate = axes["dropout_rate"].number(problem.value("dropout_rate"))
    return rate > 0 and axes["dropout"].label(problem.value("dropout")) == "present"


def _sum(shape: Geometry, mode: ForwardMode, drops: bool) -> Footprint:
    """All terms; every one of them grows by the same bytes with each layer from the fourth on."""
    if shape.num_layers > _LINEAR + 1:
        three, four = (_sum(replace(shape, num_layers=n), mode, drops) for n in (3, 4))
        more = shape.num_layers - _LINEAR
        return Footprint(
            **{p: size + more * (four.parts[p] - size) for p, size in three.parts.items()}
        )
    parts = dict.fromkeys(PARTS, 0)
    for term in TERMS:
        if mode not in term.modes:
            continue
        if term.part == "dropout_states":
            parts[term.part] += drops * term.count(shape)
        else:
            parts[term.part] += term.count(shape) * shape.element_bytes
    return Footprint(**parts)
