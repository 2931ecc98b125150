"""Scales: what says how many bytes a problem asks for, a device or the formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Protocol

from pyharness.analyze.memory import Weighed
from pyharness.api.device import device_here, open_runner
from pyharness.api.onward import DeviceChoice
from pyharness.api.progress import Progress, fetching, silent
from pyharness.api.trying import try_many
from pyharness.engine.case import skipped
from pyharness.engine.cases import MOST_BREAKS_AT_FIRST, MOST_BREAKS_IN_A_ROW
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, UsageError
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.footprint import MODES, STATES, Footprint, ForwardMode, predict
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.stage_results import CaseResult, StageResult

_MOST = 1 << 60  # bytes: no device has so many, and no column holds many more


@dataclass(frozen=True, slots=True)
class Wanted:
    """A problem to weigh.

    ``modes``  the forward modes that it is to run in.
    ``name``   that a preset has for it.
    """

    problem: Problem
    modes: tuple[ForwardMode, ...] = MODES
    name: str | None = None


class Sizer(Protocol):
    """A worker that has a release and a device open; engine.runner.Runner is one."""

    facts: DeviceFacts
    broken: bool

    def sizes(self, problem: Problem) -> CaseResult:
        """What the release asks for, as far as that goes."""
        ...

    def close(self) -> None: ...


class Scales:
    """Asks a release on a device, or the formula where there is no device.

    ``release``  with a device the one to be asked; without, its host calls say what it refuses.
    ``start``    opens the release and the device in a worker; None: there is no device.
    ``without``  why there is none.
    ``facts``    the device; None without one.
    """

    def __init__(
        self,
        release: Release | None = None,
        start: Callable[[], Sizer] | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        without: str = "",
    ) -> None:
        self.release = release
        self.without = without
        self._start = start
        self._timeout_s = timeout_s
        self._sizer = None if start is None else start()
        self.facts = None if self._sizer is None else self._sizer.facts
        self._cases: dict[frozenset[tuple[str, str]], CaseResult] = {}
        self._breaks, self._well = 0, False

    def __enter__(self) -> Scales:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def rows(self, wanted: Sequence[Wanted], progress: Progress = silent) -> list[Weighed]:
        """What each problem asks for in each of its modes, problem by problem.

        Raises  HarnessError if the first problems all break their worker.
        """
        if self._start is None:
            refusals: list[CallResult | None] = [None] * len(wanted)
            if self.release is not None and wanted:
                tried = try_many(self.release, [w.problem for w in wanted], self._timeout_s)
                refusals = [
                    next((r for r in said if r.outcome != "passed"), None) for said in tried
                ]
            return [
                _predicted(order, one, mode, refusal)
                for order, (one, refusal) in enumerate(zip(wanted, refusals, strict=True))
                for mode in one.modes
            ]
        rows = []
        for order, one in enumerate(wanted):
            progress("asking for sizes", order, len(wanted))
            case = self._case(one.problem)
            rows += [self._asked(order, one, mode, case) for mode in one.modes]
        return rows

    def _case(self, problem: Problem) -> CaseResult:
        """What the device said; asked once. After a failure the next gets a new worker."""
        key = frozenset(problem.given.items())
        if key not in self._cases:
            self._cases[key] = self._ask(problem)
        return self._cases[key]

    def _ask(self, problem: Problem) -> CaseResult:
        assert self._start is not None
        assert self.facts is not None
        if self._breaks >= MOST_BREAKS_IN_A_ROW:
            why = f"not tried: {self._breaks} problems in a row broke their worker"
            return skipped("sizes", why, self.facts.provenance)
        if self._sizer is None:
            self._sizer = self._start()
        case = self._sizer.sizes(problem)
        if self._sizer.broken:
            self._close()
            self._breaks += 1
        else:
            self._breaks, self._well = 0, True
        if self._breaks >= MOST_BREAKS_AT_FIRST and not self._well:
            why = "" if case.failure is None else f": {case.failure.reason}"
            raise HarnessError(
                f"the first {self._breaks} problems all broke their worker{why}",
                "`pyharness doctor` shows what is here; --no-device leaves the GPU out",
            )
        return case

    def _close(self) -> None:
        if self._sizer is not None:
            self._sizer.close()
            self._sizer = None

    def _asked(self, order: int, one: Wanted, mode: ForwardMode, case: CaseResult) -> Weighed:
        assert self.facts is not None
        known = Weighed(
            order,
            one.problem,
            mode,
            _formula(one.problem, mode)[0],
            provenance=self.facts.provenance,
            asked_bytes=case.asked_bytes,
            free_bytes=case.free_bytes,
            name=one.name,
        )
        if case.sizes is None:
            refusal = next((s for s in case.stages if s.outcome != "passed"), None)
            return known.replace(**_refusal(refusal))
        found = footprint_of(case.sizes, mode)
        if case.free_bytes is not None and found.total > case.free_bytes:
            known = known.replace(outcome="out_of_memory", asked_bytes=found.total)
        return known.replace(observed=found)


def open_scales(
    cudnn: str | None, device: DeviceChoice, timeout_s: float, progress: Progress
) -> Scales:
    """A release on a device; the formula, with what the release refuses, where there is none.

    ``cudnn``   the release; None: the formula alone.
    ``device``  the first is left out, and why is kept, if the release cannot be used on it.
    Raises      UsageError if the release is not known; UsageError or HarnessError if a device that
                is given by number cannot be used.
    """
    if cudnn is None:
        return Scales(without="no release is given")
    release = resolve(cudnn, progress=fetching(cudnn, progress))
    if device == "none":
        return Scales(release, timeout_s=timeout_s, without="--no-device is given")
    if device != "first":
        return Scales(release, _opener(release, device, timeout_s), timeout_s)
    why = device_here().why
    if not why:
        try:
            return Scales(release, _opener(release, 0, timeout_s), timeout_s)
        except HarnessError as error:
            why = "; ".join((error.message, *error.hint.splitlines()))
    return Scales(release, timeout_s=timeout_s, without=why)


def _opener(release: Release, ordinal: int, timeout_s: float) -> Callable[[], Sizer]:
    """What starts one runner after the other on a device; what one has warmed up stays warm."""
    return partial(open_runner, release, ordinal, timeout_s, set())


def footprint_of(sizes: Mapping[str, int], mode: ForwardMode) -> Footprint:
    """The sizes that a plan was told, as parts; gradients are as large as their tensors."""
    tensors = sum(sizes.get(name, 0) for name in STATES)
    training = mode == "training"
    if training:
        tensors += tensors + sizes["weight_space_bytes"]
    return Footprint(
        sizes["weight_space_bytes"],
        sizes[f"workspace_bytes.forward_{mode}"],
        sizes["reserve_space_bytes"] if training else 0,
        tensors,
        sizes["dropout_states_bytes"],
    )


def _formula(problem: Problem, mode: ForwardMode) -> tuple[Footprint | None, str | None]:
    """The formula's bytes, or why there are none."""
    try:
        found = predict(problem, mode)
    except UsageError as error:
        return None, error.message
    if found.total > _MOST:
        return None, "it would need more than 2^60 bytes"
    return found, None


def _predicted(order: int, one: Wanted, mode: ForwardMode, refusal: CallResult | None) -> Weighed:
    found, why = _formula(one.problem, mode)
    row = Weighed(order, one.problem, mode, found, name=one.name)
    if refusal is not None:
        return row.replace(**_refusal(refusal))
    return row if found is not None else row.replace(outcome="skipped", reason=why)


def _refusal(bad: CallResult | StageResult | None) -> dict[str, str | None]:
    """The outcome of a problem that was refused, and who refused it."""
    if bad is None:
        return {"outcome": "failed", "reason": "the worker told no sizes"}
    return {
        "outcome": bad.outcome,
        "call": bad.call,
        "status": bad.status,
        "reason": bad.reason,
    }
