"""A problem beside other ones that must come to the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.repeats import Refused
from pyharness.engine.runner import StageFailed
from pyharness.engine.sides import SERIES, Outputs, Side, Tensors
from pyharness.engine.told import Found, compared
from pyharness.engine.workbench import Workbench
from pyharness.reference.arrays import Array
from pyharness.reference.held import held_bytes
from pyharness.reference.layouts import to_bytes
from pyharness.reference.network import Forward, Network, forward
from pyharness.reference.tolerances import near_turn, scales, threshold_between
from pyharness.spec.enums import DATA_TYPE, MATH_TYPE
from pyharness.spec.equivalences import HOLDS, NOT_TOLD
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.number_bits import Bits, bits_of, values
from pyharness.spec.problem import Problem
from pyharness.spec.stages import PASSES, blocked_by
from pyharness.spec.tensors import WRITTEN

_TURNED = (
    "beyond the threshold; but a rectifier is so near to zero, or a cell state to its limit, that "
    "a rounding turns gradients on and off"
)
_ZEROS = "all of it is zero, both ways"
_MOST_BYTES = 1 << 30

# A tensor's name to the largest error that rounding explains; None: the same bits are asked for.
Limits = Callable[[str], float | None]


@dataclass(frozen=True, slots=True)
class _Run:
    """What the problem reads, what it came to, and the passes that the library did not take.

    ``tensors``  the outputs that it has.
    """

    given: dict[str, Bits]
    outputs: Outputs
    refused: dict[str, StageFailed]
    tensors: tuple[str, ...]


@dataclass
class Whole:
    """The problem itself. It is opened and run when it is asked for what it came to.

    ``asked``  the passes, in order, with those that they need.
    """

    bench: Workbench
    problem: Problem
    asked: Sequence[str]

    @cached_property
    def of(self) -> Geometry:
        """Its sizes."""
        return geometry(self.problem)

    @cached_property
    def side(self) -> Side:
        """It, open: until something else is."""
        return Side(self.bench, self.problem)

    @property
    def given(self) -> dict[str, Bits]:
        """What it reads, weights included; zeros in the padding."""
        return self._run.given

    @property
    def outputs(self) -> Outputs:
        """What it comes to with that."""
        return self._run.outputs

    @property
    def passes(self) -> list[str]:
        """Those that the library takes of it.

        Raises  StageFailed if it takes none.
        """
        return [name for name in self.asked if any(key[0] == name for key in self.outputs)]

    @property
    def forward(self) -> list[str]:
        """Of these the forward passes."""
        return [name for name in self.passes if name.startswith("forward")]

    @property
    def training(self) -> list[str]:
        """Of these the passes of training."""
        return [name for name in self.passes if name != PASSES[0]]

    @cached_property
    def _run(self) -> _Run:
        refused: dict[str, StageFailed] = {}
        given = self.side.inputs()
        # Whether padding is read is a question of its own, and no other check answers it by chance.
        steps = {name: self.without_padding(given[name]) for name in SERIES if name in given}
        self.side.give(steps)
        outputs = self.side.outputs(self.asked, refused)
        if not outputs:
            raise next(iter(refused.values()))
        return _Run({**given, **steps}, outputs, refused, self.bench.tensors())

    @property
    def data_type(self) -> str:
        """Of data and weights."""
        return self.types[0]

    @property
    def types(self) -> tuple[str, str, str]:
        """data_type, math_prec and math_type."""
        return (
            DATA_TYPE.label(self.problem.value("data_type")),
            DATA_TYPE.label(self.problem.value("math_prec")),
            MATH_TYPE.label(self.problem.value("math_type")),
        )

    def other(
        self,
        problem: Problem,
        given: Tensors,
        passes: Sequence[str],
        refused: dict[str, StageFailed] | None = None,
    ) -> Outputs:
        """What another problem comes to.

        ``refused``  takes the passes that the library does not take, while it takes others.
        Raises       Refused if the library does not take it, or has no memory for it; StageFailed.
        """
        try:
            side = Side(self.bench, problem)
            side.give(given)
            outputs = side.outputs(passes, refused)
            if refused and not outputs:
                raise next(iter(refused.values()))
            return outputs
        except StageFailed as error:
            if error.result.outcome == "failed":
                raise
            ours = self.problem.given
            words = [f"{name}={t}" for name, t in problem.given.items() if ours.get(name) != t]
            raise Refused(f"{' '.join(words)}: {error.message}") from None

    def alike(
        self,
        now: Outputs,
        limits: Limits,
        *,
        rows: Sequence[int] | None = None,
        variant: str | None = None,
    ) -> list[Found]:
        """What it came to beside the same made otherwise.

        ``now``   in the shapes of the outputs; what is not there is not compared.
        ``rows``  the sequences that are compared; None: all.
        Returns   each tensor; those of passes that the library does not take are not told.
        """
        found = []
        for pass_name in self.passes:
            keys = [key for key in self.outputs if key[0] == pass_name and key in now]
            shown = {key[1]: self._shown(key[1], rows) for key in keys}
            before = {key[1]: self.outputs[key][shown[key[1]]] for key in keys}
            after = {key[1]: now[key][shown[key[1]]] for key in keys}
            scale = max(self._scale(before), self._scale(after)) if keys else 0.0
            for tensor in dict.fromkeys(key[1].partition(".")[0] for key in keys):
                parts = [name for name in shown if name.partition(".")[0] == tensor]
                one = compared(
                    tensor,
                    np.concatenate([before[n] for n in parts]),
                    np.concatenate([after[n] for n in parts]),
                    partial(self.places, {n: shown[n] for n in parts}),
                    scale,
                    self.data_type,
                    limits(tensor),
                    partial(self._doubt, tensor, limits),
                )
                if one.verdict == HOLDS and all(
                    self._zeros(before[n]) and self._zeros(after[n]) for n in parts
                ):
                    one = replace(one, verdict=NOT_TOLD, reason=_ZEROS)
                found.append(replace(one, variant=self.variant(pass_name, now, variant)))
        return found + self.untold(self._run.refused)

    def variant(self, pass_name: str, now: Outputs, words: str | None = None) -> str | None:
        """How a tensor was made in words: with the forward pass where there are two."""
        forward = {name for name, _ in now if name.startswith("forward")}
        ways = (words, pass_name if len(forward) > 1 and pass_name in forward else None)
        return ", ".join(word for word in ways if word) or None

    def rounding(self, *others: Problem, chained: bool = False) -> Callable[[str], float]:
        """The largest differences from what these problems come to that rounding explains.

        Of problems in a chain each hands its own on, so that a number has all of them behind it; of
        problems side by side one, but dw, which is a sum of theirs, has all.
        """

        def limit(tensor: str) -> float:
            behind = [others] if chained or tensor == "dw" else [(one,) for one in others]
            return max(threshold_between(self.problem, o, tensor, *self.types) for o in behind)

        return limit

    def same(self, before: Outputs, now: Outputs) -> bool:
        """Whether all that sequences have of the tensors has the same bits."""
        shown = {key: self._shown(key[1], None) for key in before}
        return all((before[k][there] == now[k][there]).all() for k, there in shown.items())

    def without_padding(self, series: Bits) -> Bits:
        """Of SERIES, in the problem's batch: zeros behind each sequence's end."""
        return np.where(self.side.there, series, series.dtype.type(0))

    def summed(self, parts: Sequence[Bits]) -> Bits:
        """The sum of numbers, rounded once."""
        total = sum((values(part, self.data_type) for part in parts), np.zeros(parts[0].shape))
        return self.stored(total)

    def stored(self, numbers: Array) -> Bits:
        """Numbers as bits of the data type."""
        flat = np.frombuffer(to_bytes(numbers, self.data_type), bits_of(self.data_type))
        return flat.reshape(numbers.shape)

    def places(self, shown: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.int64]:
        """Where these numbers of a tensor, or of its parts, lie in its buffer."""
        return np.concatenate([self.side.at(name)[mask] for name, mask in shown.items()])

    def untold(self, refused: Mapping[str, StageFailed], variant: str | None = None) -> list[Found]:
        """The tensors of the passes that the library does not take, and of those behind them."""
        found = []
        for name in self.asked:
            cause = name if name in refused else blocked_by(name, refused)
            if cause is not None:
                found += self.nothing(name, refused[cause].message, variant)
        return found

    def nothing(self, pass_name: str, why: str, variant: str | None) -> list[Found]:
        """What a pass writes, of which nothing can be told."""
        tensors = [t for t in WRITTEN[pass_name] if t in self._run.tensors]
        return [Found(t, NOT_TOLD, False, 0, 0, None, 0.0, None, variant, why) for t in tensors]

    def _zeros(self, bits: Bits) -> bool:
        return not values(bits, self.data_type).any()

    def _shown(self, name: str, rows: Sequence[int] | None) -> NDArray[np.bool_]:
        """What is compared of a tensor: of the sequences that are, what they have."""
        shape = next(bits.shape for key, bits in self.outputs.items() if key[1] == name)
        if name.startswith("dw."):
            return np.ones(shape, np.bool_)
        every = np.arange(self.of.batch_size)
        chosen = np.isin(every, every if rows is None else rows)
        there = self.side.there if name in SERIES else np.ones((1, 1, 1), np.bool_)
        return np.broadcast_to(there & chosen[None, :, None], shape)

    def _scale(self, tensors: Tensors) -> float:
        """The largest number of what a pass wrote."""
        numbers = {name: values(bits, self.data_type) for name, bits in tensors.items()}
        return max(scales(numbers, self.data_type).values())

    def _doubt(self, tensor: str, limits: Limits) -> str | None:
        """Why a difference of a gradient says nothing; None where it does."""
        turns = self.of.cell_mode == "rnn_relu" or self.problem.clips
        far = limits("y")
        if far is None or not turns or not tensor.startswith("d"):
            return None
        if held_bytes(self.of, training=True) > _MOST_BYTES:
            return _TURNED  # of so many numbers one is near
        true = {"y": self._true.y, "hy": self._true.hy}
        far *= scales(true, self.data_type)["y"]
        return _TURNED if near_turn(Network.of(self.problem), self._true, far) else None

    @cached_property
    def _true(self) -> Forward:
        """Forward in float64."""
        given = {name: values(bits, self.data_type) for name, bits in self.given.items()}
        states = self.problem.value("initial_states") == 0
        return forward(
            Network.of(self.problem),
            {name.removeprefix("w."): array for name, array in given.items()},
            given["x"],
            self.of.lengths,
            given["hx"] if states else None,
            given.get("cx") if states else None,
            tape=True,
        )
