"""A problem open on a workbench, its tensors as arrays in the order of time, however stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.poisoning import run_poisoned, settle_padding
from pyharness.engine.rearranging import Rows, row_width, stored_rows
from pyharness.engine.repeats import Refused
from pyharness.engine.runner import StageFailed
from pyharness.engine.workbench import Workbench
from pyharness.spec.enums import DATA_TYPE
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.number_bits import Bits, bits_of
from pyharness.spec.plan_settings import drops
from pyharness.spec.problem import Problem
from pyharness.spec.stages import blocked_by

SERIES = ("x", "y", "dx", "dy")
INPUTS = ("x", "hx", "cx", "dy", "dhy", "dcy")
# The bits of numbers by name: of SERIES [steps, batch, width], of states [pseudo-layers, batch,
# width], of each weight w.NAME or dw.NAME [rows, cols].
Tensors = Mapping[str, Bits]
# What passes wrote: by pass and name.
Outputs = dict[tuple[str, str], Bits]
_TRAINING = "forward_training"


class Side:
    """A problem, opened on a workbench.

    Raises  StageFailed if it cannot be opened; Refused if it cannot be run at all; UsageError if
            it describes no network.
    """

    def __init__(self, bench: Workbench, problem: Problem) -> None:
        self._bench, self.problem = bench, problem
        self.of: Geometry = geometry(problem)
        self.data_type = DATA_TYPE.label(problem.value("data_type"))
        self._drops = drops(problem)
        described = problem.shapes["x"][-1]
        if described != self.of.input_size:
            raise Refused(f"x is described {described} wide, input_size is {self.of.input_size}")
        case = bench.open(problem)
        if case.stopped is not None:
            raise StageFailed(case.stopped)
        if not case.complete or case.sizes is None:
            raise Refused(case.stages[0].reason or "it cannot be run")
        self.weights = bench.weights()
        self._weight_bytes = case.sizes["weight_space_bytes"]
        self._bits = bits_of(self.data_type)

    def inputs(self) -> dict[str, Bits]:
        """What it reads now, weights included."""
        names = [name for name in (*INPUTS, "w") if name in self._bench.buffers()]
        return {key: value for name in names for key, value in self._read(name).items()}

    def give(self, tensors: Tensors) -> None:
        """Overwrites what it reads with these; zeros in what no sequence of theirs has."""
        for name in INPUTS:
            if name in tensors and name in self._bench.buffers():
                self._store(name, tensors[name])
        weights = [part for part in self.weights if f"w.{part.name}" in tensors]
        if weights:
            space = np.zeros(self._weight_bytes // self.of.element_bytes, self._bits)
            for part in weights:
                own = tensors[f"w.{part.name}"]
                begin = part.offset // self.of.element_bytes
                space[begin : begin + own.size] = own.ravel()
            self._bench.write("w", space.tobytes())

    def outputs(
        self,
        passes: Sequence[str],
        refused: dict[str, StageFailed] | None = None,
        padding_of_y: Bits | None = None,
    ) -> Outputs:
        """Runs passes in order; what each of them wrote.

        ``refused``       takes the passes that the library does not take, instead of an error; what
                          needs them is left out.
        ``padding_of_y``  numbers behind each sequence's end in y for the backward passes; None: as
                          forward training left them, or zeros.
        Raises            StageFailed.
        """
        found: Outputs = {}
        ended = {} if refused is None else refused
        if self._drops:
            self._bench.reseed()
        for name in passes:
            if blocked_by(name, ended) is not None:
                continue
            try:
                wrote = run_poisoned(self._bench, name)
            except StageFailed as error:
                if refused is None or error.result.outcome == "failed":
                    raise
                refused[name] = error
                continue
            for tensor in wrote:
                found |= {(name, key): bits for key, bits in self._read(tensor).items()}
            if name == _TRAINING:
                settle_padding(self._bench, self.data_type)
                if padding_of_y is not None:
                    self._store("y", np.where(self.there, found[name, "y"], padding_of_y))
        return found

    def at(self, name: str) -> Rows:
        """Where the numbers of a tensor lie in its buffer: padding too, -1 for what has no place.

        ``name``  dw.NAME of a weight's gradient, too.
        """
        if name.startswith("dw."):
            part = next(part for part in self.weights if f"dw.{part.name}" == name)
            begin = part.offset // self.of.element_bytes
            return np.arange(begin, begin + part.rows * part.cols).reshape(part.rows, part.cols)
        rows, width = stored_rows(name, self.of), row_width(name, self.of)
        return np.where(rows[..., None] < 0, -1, rows[..., None] * width + np.arange(width))

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        """[steps, batch, 1]: where a sequence still has a step."""
        steps = np.arange(self.of.max_seq_length)[:, None, None]
        return np.asarray(steps < np.asarray(self.of.lengths)[None, :, None])

    def _store(self, name: str, bits: Bits) -> None:
        """Overwrites x, a state or another tensor of rows."""
        rows = stored_rows(name, self.of)
        there = rows >= 0
        stored = np.zeros((rows.max(initial=-1) + 1, row_width(name, self.of)), self._bits)
        stored[rows[there]] = bits[there]
        self._bench.write(name, stored.tobytes())

    def _read(self, name: str) -> dict[str, Bits]:
        flat = np.frombuffer(self._bench.read(name), self._bits)
        if name in ("w", "dw"):
            size = self.of.element_bytes
            return {
                f"{name}.{p.name}": flat[p.offset // size :][: p.rows * p.cols].reshape(
                    p.rows, p.cols
                )
                for p in self.weights
            }
        rows = stored_rows(name, self.of)
        found = flat.reshape(-1, row_width(name, self.of))[rows]
        found[rows < 0] = 0
        return {name: found}
