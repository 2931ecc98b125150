"""A problem whose runs are compared with its first one, and what is said of each run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.spec.differences import Difference, difference
from pyharness.spec.enums import DATA_TYPE
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.tensors import WRITTEN

_INPUTS = ("x", "hx", "cx", "dy", "dhy", "dcy", "w")

# A new runner whose process has these variables on top of ours; None: without one of ours.
Start = Callable[[Mapping[str, str | None]], Runner]


@dataclass(frozen=True, slots=True)
class Seen:
    """One tensor of one run.

    ``variant``     how this run was made, where runs of a condition differ in that.
    ``difference``  from the first run; None where every bit is the same.
    """

    condition: str
    tensor: str
    digest: str
    difference: Difference | None
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class NotTried:
    """A condition that was not tried, or not to the end, and why.

    ``tensor``  the one that it holds for; None: all.
    ``failed``  it is a defect that ended it.
    ``ends``    the condition ends with it; or else one of its variants is left out.
    """

    condition: str
    why: str
    tensor: str | None = None
    failed: bool = False
    ends: bool = True


Event = Seen | NotTried


class Refused(Exception):
    """A condition that this problem cannot be put under; the text says why."""


@dataclass
class Repeats:
    """A problem on a workbench, and what its first run came to."""

    bench: Workbench
    problem: Problem
    passes: Sequence[str]
    runs: int
    start: Start
    tensors: tuple[str, ...] = ()
    first: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Runs it for the first time."""
        made = {tensor for name in self.passes for tensor in WRITTEN[name]}
        self.tensors = tuple(t for t in self.bench.tensors() if t in made)
        self.once(self.bench)
        self.first = {name: self.bench.read(name) for name in self.tensors}
        self.digests = {name: sha(data) for name, data in self.first.items()}

    @property
    def drops(self) -> bool:
        """Whether anything is dropped.

        Source  cuDNN's manual, cudnnSetRNNDescriptor_v8: dropout is applied between layers, so
                that a network of one has none.
        """
        of = plan_settings(self.problem)
        return bool(of["dropout"]) and of["dropout_rate"] > 0 and of["num_layers"] > 1

    @property
    def data_type(self) -> str:
        """Of data and weights."""
        return DATA_TYPE.label(self.problem.value("data_type"))

    @cached_property
    def inputs(self) -> dict[str, bytes]:
        """What it reads, as the first run had it."""
        no_cells = self.problem.shapes.get("c") is None
        names = (n for n in _INPUTS if not (no_cells and n in ("cx", "dcy")))
        training = "forward_training" in self.passes
        return {n: self.bench.read(n) for n in names if training or not n.startswith("d")}

    def once(self, bench: Workbench, *, graph: bool = False, reseed: bool = True) -> None:
        """One run: all passes, from the same states of dropout unless these go on."""
        if self.drops and reseed:
            bench.reseed()
        for name in self.passes:
            bench.run(name, graph=graph)

    def compare(
        self, bench: Workbench, condition: str, variant: str | None = None
    ) -> Iterator[Seen]:
        """The tensors of the run that was made last."""
        for name, digest in bench.digest(self.tensors).items():
            apart = None
            if digest != self.digests[name]:
                apart = difference(self.first[name], bench.read(name), self.data_type)
            yield Seen(condition, name, digest, apart, variant)


def sha(data: bytes) -> str:
    """SHA-256 in hexadecimal, as a workbench says it."""
    return hashlib.sha256(data).hexdigest()
