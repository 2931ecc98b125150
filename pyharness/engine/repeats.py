"""A problem whose runs are compared with one of them, and what is said of each run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.errors import HarnessError
from pyharness.spec.differences import Difference
from pyharness.spec.enums import DATA_TYPE
from pyharness.spec.plan_settings import drops
from pyharness.spec.problem import Problem
from pyharness.spec.repeatability import UNCHANGED
from pyharness.spec.stage_results import CaseResult
from pyharness.spec.tensors import WRITTEN

# What outputs, workspace and reserve space are full of before each run: an ordinary number in each
# type, as backward passes read the padding of y.
STEADY_BYTE = 0x3F
_SPACES = ("workspace", "reserve_space")
_FIRST = "first"
_STATES = "dropout_states"

# A new runner whose process has these variables on top of ours; None: without one of ours.
Start = Callable[[Mapping[str, str | None]], Runner]


@dataclass(frozen=True, slots=True)
class Seen:
    """One tensor of one run.

    ``digest``       of a run that differs.
    ``difference``   from the first run; None where every bit is the same.
    ``variant``      how this run was made, where runs of a condition differ in that.
    ``part``         of the tensor that was compared; None: all.
    ``process``      the number of the process that made it.
    ``compared_on``  device or host, and why not the device.
    """

    condition: str
    tensor: str
    digest: str | None = None
    difference: Difference | None = None
    variant: str | None = None
    part: str | None = None
    process: int = 0
    compared_on: str | None = None


@dataclass(frozen=True, slots=True)
class NotTried:
    """A condition that was not tried, or not to the end, and why.

    ``tensor``  the one that it holds for; None: all.
    ``failed``  it is a defect that ended it.
    ``ends``    the condition ends with it; or else one of its variants is left out.
    ``void``    what was seen of the tensor under the condition so far does not count.
    """

    condition: str
    why: str
    tensor: str | None = None
    failed: bool = False
    ends: bool = True
    void: bool = False


Event = Seen | NotTried


class Refused(Exception):
    """A condition that this problem cannot be put under; the text says why."""


@dataclass
class Repeats:
    """A problem that is open on a workbench, to be run again and again.

    ``asked``     the conditions that are looked at: a difference that belongs to another of them
                  is told there, and where it was seen if it is none of them.
    ``twice``     begin() makes the run twice: one that came out by chance is not compared with.
    ``unsteady``  tensors that were seen to differ with nothing changed.

    Before each run all that it does not read as an input is the same: what outputs, workspace and
    reserve space hold, and the states of dropout. So only what a condition changes can differ.
    """

    bench: Workbench
    problem: Problem
    passes: Sequence[str]
    runs: int
    start: Start
    asked: Sequence[str] = ()
    away: bool = False  # it is not open now, or not as it was
    twice: bool = False
    unsteady: set[str] = field(default_factory=set)
    by_chance: list[Seen] = field(default_factory=list)  # what begin() saw differ
    states: bytes = b""  # of dropout, see begun()

    def begin(self) -> None:
        """Runs it with nothing changed: the runs of a condition are compared with this one."""
        if self.away:
            self.back()
        self.once()
        self.bench.keep(_FIRST, self.tensors)
        if self.twice:
            self.once()
            seen = self.compare_only(self.tensors, UNCHANGED)
            self.by_chance += [one for one in seen if one.difference is not None]

    def back(self) -> None:
        """Opens the problem again, with the first bits of its inputs."""
        stopped = stopped_by(self.bench.open(self.problem))
        if stopped is not None:
            raise Refused(f"opened again: {stopped}")
        self.away = False

    def end(self) -> None:
        """Drops what begin() kept."""
        self.bench.forget(_FIRST)

    def leave(self) -> None:
        """Gives back the device's memory, for other processes, until begin() opens it again."""
        if not self.away:
            self.bench.runner.close_plan(memory=True)
            self.away = True

    def another(self, env: Mapping[str, str | None]) -> Runner:
        """One more process.

        Raises  Refused if it cannot be had.
        """
        try:
            return self.start(env)
        except HarnessError as error:
            why = f"one more process cannot use the device: {error.message}"
            raise Refused(why) from None

    def beside(self, runner: Runner) -> Repeats:
        """The same problem in another process.

        Raises  Refused if it cannot be run there.
        """
        there = replace(self, bench=Workbench(runner), away=False)
        stopped = stopped_by(there.bench.open(self.problem))
        if stopped is not None:
            raise Refused(f"in a process of its own: {stopped}")
        there.begun()
        return there

    def begun(self) -> None:
        """Remembers the states of dropout, before anything moves them on: a capture does, too."""
        if self.drops:
            self.states = self.bench.read(_STATES)

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """What its passes write."""
        made = {tensor for name in self.passes for tensor in WRITTEN[name]}
        return tuple(t for t in self.bench.tensors() if t in made)

    @cached_property
    def drops(self) -> bool:
        """Whether anything is dropped."""
        return drops(self.problem) and "forward_training" in self.passes

    @property
    def data_type(self) -> str:
        """Of data and weights."""
        return DATA_TYPE.label(self.problem.value("data_type"))

    def settle(self, byte: int | None = STEADY_BYTE) -> None:
        """Fills outputs, workspace and reserve space; dw is zeroed by its pass.

        ``byte``  of the two spaces; None: they stay as they are.
        """
        outputs = [t for t in self.tensors if t != "dw"]
        training = "forward_training" in self.passes
        spaces = [name for name in _SPACES if training or name == "workspace"]
        if byte == STEADY_BYTE:
            self.bench.poison([*outputs, *spaces], byte)
            return
        self.bench.poison(outputs, STEADY_BYTE)
        if byte is not None:
            self.bench.poison(spaces, byte)

    def once(self, *, graph: bool = False, states: bool = True, settle: bool = True) -> None:
        """One run: all passes.

        ``states``  dropout begins with those that it had before the first run.
        ``settle``  what the run writes is filled first; otherwise the caller has done it.
        """
        if settle:
            self.settle()
        if self.drops and states:
            self.bench.write(_STATES, self.states)
        for name in self.passes:
            self.bench.run(name, graph=graph)

    def compare(self, condition: str, variant: str | None = None) -> Iterator[Seen]:
        """The tensors of the run that was made last, beside those of begin()."""
        yield from self.compare_only(self.tensors, condition, variant)

    def compare_only(
        self, tensors: Sequence[str], condition: str, variant: str | None = None
    ) -> Iterator[Seen]:
        """The same of some of the tensors."""
        found = self.bench.compare(_FIRST, tensors)
        apart = [name for name in tensors if not found[name].same]
        digests = self.bench.digest(apart) if apart else {}
        if condition == UNCHANGED:
            self.unsteady.update(apart)
        where = self.bench.compared_on
        for name in tensors:
            difference = None if found[name].same else found[name]
            yield Seen(
                condition, name, digests.get(name), difference, variant, compared_on=where.get(name)
            )

    def held(self, tensors: Sequence[str]) -> dict[str, bytes]:
        """Tensors of the last run, on this side."""
        return {name: self.bench.read(name) for name in tensors}


def sha(data: bytes) -> str:
    """SHA-256 in hexadecimal, as a workbench says it."""
    return hashlib.sha256(data).hexdigest()


def stopped_by(case: CaseResult) -> str | None:
    """Why a problem cannot be run; None if it can."""
    one = case.stopped or next((s for s in case.stages if not case.passes(s.stage)), None)
    if one is None:
        return None
    said = ": ".join(word for word in (one.status, one.reason) if word) or one.outcome
    return f"{one.stage}, {one.call}: {said}"
