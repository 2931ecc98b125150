"""Scales: what says how many bytes a problem asks for, a device or the formula."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from pyharness.analyze.memory import Weighed
from pyharness.api.device import LIBCUDA, device_here, open_runner
from pyharness.api.progress import Progress, fetching, silent
from pyharness.api.trying import try_many
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.footprint import STATES, Footprint, ForwardMode, predict
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.stage_results import CaseResult, StageResult

_MOST = 1 << 60  # bytes: no device has so many, and no column holds many more
Named = tuple[str | None, Problem]


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

    def __enter__(self) -> Scales:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def rows(
        self, problems: Sequence[Named], modes: Sequence[ForwardMode], progress: Progress = silent
    ) -> list[Weighed]:
        """What each problem asks for in each mode, problem by problem."""
        if self._start is None:
            refusals: list[CallResult | None] = [None] * len(problems)
            if self.release is not None and problems:
                tried = try_many(self.release, [p for _, p in problems], self._timeout_s)
                refusals = [
                    next((r for r in said if r.outcome != "passed"), None) for said in tried
                ]
            return [
                _predicted(order, named, mode, refusal)
                for order, (named, refusal) in enumerate(zip(problems, refusals, strict=True))
                for mode in modes
            ]
        rows = []
        for order, named in enumerate(problems):
            progress("asking for sizes", order, len(problems))
            case = self._case(named[1])
            rows += [self._asked(order, named, mode, case) for mode in modes]
        return rows

    def _case(self, problem: Problem) -> CaseResult:
        """What the device said; asked once. After a failure the next gets a new worker."""
        key = frozenset(problem.given.items())
        if key not in self._cases:
            if self._sizer is None:
                assert self._start is not None
                self._sizer = self._start()
            self._cases[key] = self._sizer.sizes(problem)
            if self._sizer.broken:
                self._close()
        return self._cases[key]

    def _close(self) -> None:
        if self._sizer is not None:
            self._sizer.close()
            self._sizer = None

    def _asked(self, order: int, named: Named, mode: ForwardMode, case: CaseResult) -> Weighed:
        assert self.facts is not None
        name, problem = named
        free = self.facts.memory_bytes if case.free_bytes is None else case.free_bytes
        known = Weighed(
            order,
            problem,
            mode,
            _formula(problem, mode)[0],
            provenance=self.facts.provenance,
            asked_bytes=case.asked_bytes,
            free_bytes=free,
            name=name,
        )
        if case.sizes is None:
            refusal = next((s for s in case.stages if s.outcome != "passed"), None)
            return known.replace(**_refusal(refusal))
        found = footprint_of(case.sizes, mode)
        if found.total > free:
            known = known.replace(outcome="out_of_memory", asked_bytes=found.total)
        return known.replace(observed=found)


def open_scales(
    cudnn: str | None, ordinal: int | None, timeout_s: float, progress: Progress
) -> Scales:
    """A release on a device; the formula, with what the release refuses, where there is none.

    ``cudnn``    the release; None: the formula alone.
    ``ordinal``  the device; None: the first, if there is one.
    Raises       UsageError if the release is not known, or it or the device cannot be used.
    """
    if cudnn is None:
        return Scales(without="no release is given")
    release = resolve(cudnn, progress=fetching(cudnn, progress))
    if ordinal is None and LIBCUDA not in os.environ:
        here = device_here()
        if here.why:
            return Scales(release, timeout_s=timeout_s, without=here.why)
    return Scales(release, lambda: open_runner(release, ordinal or 0, timeout_s), timeout_s)


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


def _predicted(order: int, named: Named, mode: ForwardMode, refusal: CallResult | None) -> Weighed:
    name, problem = named
    found, why = _formula(problem, mode)
    row = Weighed(order, problem, mode, found, name=name)
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
