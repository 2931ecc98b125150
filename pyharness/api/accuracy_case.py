"""One problem beside the truth: its passes run, and what they wrote compared with float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from pyharness.analyze.accuracy import NARROW, Errors, depth, errors, growth, lost, verdict
from pyharness.engine.poisoning import run_poisoned, settle_padding
from pyharness.engine.runner import StageFailed
from pyharness.engine.workbench import Workbench
from pyharness.errors import UsageError
from pyharness.peer.torch_program import available_bytes
from pyharness.reference.arrays import Array
from pyharness.reference.held import held_bytes
from pyharness.reference.layouts import numbers, unpack
from pyharness.reference.network import Backward, Forward, Network, backward, forward
from pyharness.reference.tolerances import near_turn, scales, threshold
from pyharness.spec.enums import DATA_TYPE, LAYOUT, MATH_TYPE
from pyharness.spec.plan_settings import drops, plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import StageResult
from pyharness.spec.stages import CALLS, PASSES, blocked_by, needed_passes
from pyharness.spec.tensors import WRITTEN

_SERIES = ("x", "y", "dx", "dy")
_DROPPED = "dropout draws factors of its own, which the reference does not know"
_RECTIFIED = (
    "a rectifier is so near to zero that it may be on for the device and off for the truth, which "
    "turns gradients on and off"
)
_CLIPPED = (
    "a cell state is so near to its limit that it may be clipped for the device and not for the "
    "truth, which turns gradients on and off"
)


@dataclass(frozen=True, slots=True)
class AccuracyCase:
    """What a problem came to.

    ``tensors``  cells of the table, one a pass and tensor.
    ``ended``    the stages and passes that were not run, or did not end well.
    """

    tensors: tuple[dict[str, Any], ...]
    ended: tuple[StageResult, ...]

    @property
    def failed(self) -> bool:
        """Whether a defect ended it."""
        return any(result.outcome == "failed" for result in self.ended)


def record(case: AccuracyCase) -> dict[str, Any]:
    """A case as plain data."""
    return {"tensors": list(case.tensors), "ended": [asdict(result) for result in case.ended]}


def case_from(data: Mapping[str, Any]) -> AccuracyCase:
    """The case that record was made of."""
    ended = tuple(StageResult(**result) for result in data["ended"])
    return AccuracyCase(tuple(data["tensors"]), ended)


def measure(bench: Workbench, problem: Problem, passes: Sequence[str]) -> AccuracyCase:
    """Runs passes of a problem on a device and compares what each wrote with the truth.

    ``passes``  of spec.stages.PASSES; those that they need are run and compared, too.
    """
    opened = bench.open(problem)
    if not opened.complete:
        return AccuracyCase((), (opened.stopped or opened.stages[0],))
    found: list[dict[str, Any]] = []
    ended: dict[str, StageResult] = {}
    needed = needed_passes(passes)
    try:
        truth = _Truth(bench, problem, training=needed[-1].startswith("backward"))
    except UsageError as error:  # the library takes what has no meaning, or this host is too small
        why = _skipped(bench, needed[0], error.message)
        return AccuracyCase((), (why, *closed(bench)))
    for name in needed:
        cause = next(iter(ended), None) if bench.runner.broken else blocked_by(name, ended)
        if cause is not None:
            ended[name] = _skipped(bench, name, f"{cause} did not end well")
            continue
        try:
            found += _pass(bench, truth, name)
        except StageFailed as error:
            ended[name] = replace(error.result, stage=name)
    return AccuracyCase(tuple(found), (*ended.values(), *closed(bench)))


def _skipped(bench: Workbench, stage: str, why: str) -> StageResult:
    return StageResult(
        stage, CALLS[stage], None, None, "skipped", why, bench.runner.facts.provenance
    )


def closed(bench: Workbench) -> list[StageResult]:
    """Closes the plan; how that failed, if it did."""
    if bench.runner.broken:
        return []
    try:
        bench.runner.close_plan()
    except StageFailed as error:
        return [error.result]
    return []


def _pass(bench: Workbench, truth: _Truth, name: str) -> list[dict[str, Any]]:
    """Runs a pass; the cells of each tensor that it wrote.

    Raises  StageFailed.
    """
    got = {tensor: truth.parts(tensor) for tensor in run_poisoned(bench, name)}
    if name == "forward_training":
        settle_padding(bench, truth.data_type)
    return [truth.cells(name, tensor, parts) for tensor, parts in got.items()]


class _Truth:
    """The tensors of the open plan in float64, from exactly the numbers that it was given.

    ``training``  gradients will be asked for, too.
    Raises        UsageError for a problem that describes no network, or one too large for this
                  machine.
    """

    def __init__(self, bench: Workbench, problem: Problem, *, training: bool) -> None:
        self._bench, self._problem, self._training = bench, problem, training
        self._network = Network.of(problem)
        self._shape = self._network.shape
        needs, free = held_bytes(self._shape, training=training), available_bytes()
        if free is not None and needs > free:
            raise UsageError(
                f"the reference needs {needs:,} bytes of this machine, {free:,} are available"
            )
        self._settings = plan_settings(problem)
        self._types = (
            DATA_TYPE.label(problem.value("data_type")),
            DATA_TYPE.label(problem.value("math_prec")),
            MATH_TYPE.label(problem.value("math_type")),
        )
        self._layout = LAYOUT.label(problem.value("layout"))

    @property
    def data_type(self) -> str:
        """The type of data and weights."""
        return self._types[0]

    def parts(self, name: str) -> dict[str, Array]:
        """What a buffer of the device holds now, by part: weights by their names.

        Raises  StageFailed if it cannot be read.
        """
        data, shape = self._bench.read(name), self._shape
        if name in ("w", "dw"):
            return self._weights(data)
        flat = numbers(data, self._types[0])
        if name in _SERIES:
            width = shape.input_size
            if name.endswith("y"):
                width = shape.output_size * shape.directions
            series = unpack(flat, self._layout, shape.lengths, shape.max_seq_length, width)
            return {name: series}
        width = shape.hidden_size if "c" in name else shape.output_size
        return {name: flat.reshape(shape.pseudo_layers, shape.batch_size, width)}

    def cells(self, pass_name: str, tensor: str, got: Mapping[str, Array]) -> dict[str, Any]:
        """What the table says of a tensor that a pass wrote."""
        gradient = pass_name.startswith("backward")
        true = self._gradients if gradient else self._outputs
        prefix = "dw." if tensor == "dw" else ""
        want = {name: true[f"{prefix}{name}"] for name in got}
        scale = scales(true, self._types[0])[prefix + next(iter(got))]
        limit = threshold(self._problem, tensor, *self._types)
        found = errors(got, want, scale, self._types[0])
        told, why = verdict(found, limit, self._doubt(pass_name))
        if self._drops(pass_name):
            found = Errors(found.n, found.nan, found.inf)
        return {
            "pass": pass_name,
            "buffer": tensor,
            **asdict(found),
            **({} if self._drops(pass_name) else self._more(tensor, got, want, scale)),
            "scale": scale,
            "threshold": limit,
            "verdict": told,
            "call": CALLS[pass_name],
            "status": "SUCCESS",
            "status_code": 0,
            "outcome": "passed",
            "reason": why or None,
            "provenance": self._bench.runner.facts.provenance,
        }

    def _more(
        self, tensor: str, got: Mapping[str, Array], want: Mapping[str, Array], scale: float
    ) -> dict[str, Any]:
        """Growth over steps and over layers, and what a narrow type loses of a gradient."""
        steps = layers = None
        if tensor in _SERIES:
            steps = growth(got[tensor], want[tensor], scale)
        elif self._shape.num_layers > 1:
            last = self._shape.num_layers - 1
            ends = [[self._layer(tensor, parts, i) for parts in (got, want)] for i in (0, last)]
            layers = depth(ends[0], ends[1], scale)
        narrow = tensor.startswith("d") and self._types[0] in NARROW
        return {
            "first_steps_rel": steps and steps[0],
            "last_steps_rel": steps and steps[1],
            "first_layer_rel": layers and layers[0],
            "last_layer_rel": layers and layers[1],
            **(lost(got, want, self._types[0]) if narrow else {}),
        }

    def _layer(self, tensor: str, parts: Mapping[str, Array], layer: int) -> dict[str, Array]:
        """A layer's part of a state or of the weights."""
        if tensor == "dw":
            return {name: part for name, part in parts.items() if name.startswith(f"l{layer}.")}
        begin = layer * self._shape.directions
        return {tensor: parts[tensor][begin : begin + self._shape.directions]}

    @cached_property
    def _given(self) -> dict[str, Array]:
        """What forward was given: x, and the states unless they are zeros."""
        names = ["x"]
        if self._settings["initial_states"] == 0:
            names += ["hx", "cx"] if self._shape.cell_mode == "lstm" else ["hx"]
        return {name: self.parts(name)[name] for name in names}

    @cached_property
    def _w(self) -> dict[str, Array]:
        return self.parts("w")

    @cached_property
    def _ahead(self) -> Forward:
        given = self._given
        return forward(
            self._network,
            self._w,
            given["x"],
            self._shape.lengths,
            given.get("hx"),
            given.get("cx"),
            tape=self._training,
        )

    @cached_property
    def _outputs(self) -> dict[str, Array]:
        return _there({name: getattr(self._ahead, name) for name in WRITTEN["forward_training"]})

    @cached_property
    def _gradients(self) -> dict[str, Array]:
        names = ["dy", "dhy"] + (["dcy"] if self._shape.cell_mode == "lstm" else [])
        given = {name: self.parts(name)[name] for name in names}
        back: Backward = backward(self._network, self._w, self._ahead, *given.values())
        found = _there({name: getattr(back, name) for name in WRITTEN["backward_data"]})
        return found | {f"dw.{name}": value for name, value in back.dw.items()}

    def _weights(self, data: bytes) -> dict[str, Array]:
        size = self._shape.element_bytes
        found = {}
        for part in self._bench.weights():
            own = data[part.offset : part.offset + part.rows * part.cols * size]
            found[part.name] = numbers(own, self._types[0]).reshape(part.rows, part.cols)
        return found

    def _drops(self, pass_name: str) -> bool:
        """Whether dropout changes what a pass gives."""
        return drops(self._problem) and pass_name != PASSES[0]

    def _doubt(self, pass_name: str) -> str:
        """Why a difference says nothing; empty where it does."""
        if self._drops(pass_name):
            return _DROPPED
        if not pass_name.startswith("backward") or not self._near_turn:
            return ""
        return _RECTIFIED if self._shape.cell_mode == "rnn_relu" else _CLIPPED

    @cached_property
    def _near_turn(self) -> bool:
        scale = scales(self._outputs, self._types[0])["y"]
        return near_turn(
            self._network, self._ahead, scale * threshold(self._problem, "y", *self._types)
        )


def _there(arrays: Mapping[str, Array | None]) -> dict[str, Array]:
    return {name: array for name, array in arrays.items() if array is not None}
