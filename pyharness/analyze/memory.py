"""What problems ask for on a device: results of `pyharness memory`, and what grows with what."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyharness.analyze.memory_fit import Fit
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.footprint import PARTS, Footprint, ForwardMode
from pyharness.spec.problem import Problem

GROWING = ("batch_size", "max_seq_length", "hidden_size", "num_layers", "input_size")


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one problem asks for in one forward mode.

    ``name``         the preset's name of the problem, if it has one.
    ``predicted``    by formula; None where no formula holds, such as a size below 1.
    ``observed``     what the library said; None where nobody was asked, or it refused.
    ``provenance``   predicted, observed or emulated: whose bytes count.
    ``outcome``      passed, unsupported (cuDNN refuses the problem), failed, skipped or
                     out_of_memory (more is asked for than the device has free).
    ``call``         who refused it; ``status`` and ``reason`` in cuDNN's words.
    ``asked_bytes``  of a row out_of_memory: what could not be had.
    ``free_bytes``   what was free for it on the device; None where nobody told.
    """

    order: int
    problem: Problem
    mode: ForwardMode
    predicted: Footprint | None
    observed: Footprint | None = None
    provenance: str = "predicted"
    outcome: str = "passed"
    call: str | None = None
    status: str | None = None
    reason: str | None = None
    asked_bytes: int | None = None
    free_bytes: int | None = None
    name: str | None = None

    @property
    def footprint(self) -> Footprint | None:
        """The bytes that count: what the library said where it was asked."""
        return self.predicted if self.provenance == "predicted" else self.observed

    @property
    def total(self) -> int | None:
        """Bytes in all; None where the problem is refused or no bytes are known."""
        if self.outcome not in ("passed", "out_of_memory") or self.footprint is None:
            return None
        return self.footprint.total

    def replace(self, **changes: Any) -> Weighed:
        """The same with other values."""
        return replace(self, **changes)

    @property
    def errors(self) -> dict[str, float | None]:
        """(predicted - observed) / observed by part and in total; None where observed is 0."""
        if self.predicted is None or self.observed is None:
            return dict.fromkeys((*PARTS, "total"))
        said = {**self.observed.parts, "total": self.observed.total}
        ours = {**self.predicted.parts, "total": self.predicted.total}
        return {n: (ours[n] - size) / size if size else None for n, size in said.items()}


@dataclass(frozen=True, slots=True)
class Growth:
    """How one part, or the total, grows with one axis: its bytes are about the axis to this power.

    ``exponent``  None where the part has no bytes.
    ``first``     the least value that was looked at; ``last``: the greatest.
    """

    axis: str
    mode: ForwardMode
    part: str
    exponent: float | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class FitResult:
    """The largest value of one axis that fits a limit, for one problem.

    ``told``  what was said of that value, or of the least where none fits.
    """

    order: int
    problem: Problem
    axis: str
    mode: ForwardMode
    limit: int
    found: Fit
    told: Weighed


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change so that less memory is needed.

    ``changes``  axis to its new label; empty for the change of mode.
    ``words``    what to do; ``cost``: what becomes of the results.
    ``saved``    bytes less than before, in all; ``total``: bytes then.
    ``fits``     whether it fits the limit that was given; None without one.
    """

    changes: dict[str, str]
    mode: ForwardMode
    words: str
    cost: str
    saved: int
    total: int
    fits: bool | None = None


@dataclass(slots=True)
class Memory:
    """All that was found.

    ``release``  the release that was asked, or whose host calls refused; None without one.
    ``device``   None without one; ``without``: why there is none.
    ``advice``   by the order of the problem, what keeps most of the results first.
    """

    release: str | None
    device: DeviceFacts | None
    rows: list[Weighed]
    growth: list[Growth]
    without: str = ""
    fits: list[FitResult] = field(default_factory=list)
    advice: dict[int, list[Change]] = field(default_factory=dict)


def last_modes(rows: Iterable[Weighed]) -> list[Weighed]:
    """Of each problem the row of its last forward mode, which needs the most."""
    return list({row.order: row for row in rows}.values())


def growth(rows: Iterable[Weighed]) -> list[Growth]:
    """What grows with what, of rows that differ in one axis alone: each part, and the total.

    The slope of log bytes over log value, by least squares over all groups of such rows, each with
    a level of its own.
    """
    known = [(r, f.parts | {"total": f.total}) for r in rows if (f := r.footprint) is not None]
    found = []
    for axis in GROWING:
        groups: dict[tuple[object, ...], dict[int, dict[str, int]]] = defaultdict(dict)
        for row, parts in known:
            value = row.problem.value(axis)
            others = frozenset((n, t) for n, t in row.problem.given.items() if n != axis)
            groups[row.mode, others][value] = parts
        for mode in dict.fromkeys(r.mode for r, _ in known):
            several = [g for (m, _), g in groups.items() if m == mode and len(g) > 1]
            values = [v for g in several for v in g]
            if values:
                found += [
                    Growth(axis, mode, part, _slope(several, part), min(values), max(values))
                    for part in (*PARTS, "total")
                ]
    return found


def _slope(groups: Sequence[dict[int, dict[str, int]]], part: str) -> float | None:
    """The pooled slope; None where a value is not above 0: it has no logarithm."""
    above, below = 0.0, 0.0
    for group in groups:
        if any(v < 1 or parts[part] < 1 for v, parts in group.items()):
            return None
        xs = [math.log(v) for v in group]
        ys = [math.log(parts[part]) for parts in group.values()]
        x, y = sum(xs) / len(xs), sum(ys) / len(ys)
        above += sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
        below += sum((a - x) ** 2 for a in xs)
    return above / below
