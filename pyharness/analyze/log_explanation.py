"""What a release refuses of the problems of a log, put together where the reason is the same."""

from __future__ import annotations

from dataclasses import dataclass

from pyharness.analyze.explanation import Explanation
from pyharness.spec.recording import Recorded, Recording


@dataclass(frozen=True, slots=True)
class Explained:
    """A recorded problem and why it is refused."""

    recorded: Recorded
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class LogExplanation:
    """What a release refuses of a log.

    ``explained``  the refused problems, the most frequent first.
    ``unexplained``  further ones that were not looked into.
    """

    release: str
    recording: Recording
    explained: list[Explained]
    unexplained: list[Recorded]

    @property
    def groups(self) -> list[list[Explained]]:
        """Problems whose refusals name the same calls, conditions and arguments, together.

        The group with the most calls comes first, and in a group the most frequent problem.
        """
        groups: dict[tuple[object, ...], list[Explained]] = {}
        for one in self.explained:
            groups.setdefault(_key(one.explanation), []).append(one)
        return sorted(groups.values(), key=lambda g: -sum(e.recorded.count for e in g))


def _key(found: Explanation) -> tuple[object, ...]:
    stopped = None if found.device is None else found.device.case.stopped
    blames = () if found.device is None else found.device.blames
    host = tuple(
        (
            r.result.role,
            r.result.call,
            r.result.status,
            r.result.reason,
            tuple((b.argument, b.axis, b.alone, tuple(a.kind for a in b.rows)) for b in r.blames),
        )
        for r in found.refusals
    )
    on_device = None if stopped is None else (stopped.stage, stopped.status, stopped.reason)
    return host, on_device, tuple((b.axis, b.alone) for b in blames)
