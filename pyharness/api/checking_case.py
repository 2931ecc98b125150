"""One problem put to checks, and the smallest problem that shows what it violates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from time import monotonic
from typing import Any

from pyharness.analyze.shrinking import Enough, Shrunk, shrink, within
from pyharness.api.accuracy_case import closed
from pyharness.api.progress import Progress
from pyharness.engine.equivalences import Found, check
from pyharness.engine.repeats import Refused
from pyharness.engine.runner import Runner, StageFailed
from pyharness.engine.workbench import Workbench
from pyharness.space.problems import NamedProblem
from pyharness.spec.equivalences import VIOLATED
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import StageResult

SETTLED, STOPPED, NOT_REPEATED = "settled", "stopped", "not_repeated"
_MOST_BREAKS = 8  # runners that a search for the smallest problem may break
Cells = dict[str, Any]  # of a row of the table, by column
Violated = dict[str, float]  # buffer to its error; infinite where one is no number


class Hand:
    """A runner, and another one where it broke.

    ``breaks``  runners that broke up to now.
    """

    def __init__(self, start: Callable[[], Runner]) -> None:
        self._start = start
        self._runner = start()
        self._lost = False
        self.breaks = 0

    @property
    def bench(self) -> Workbench:
        """A workbench that can be used."""
        if self._runner.broken:
            self._lost = True
            self._renew()
        return Workbench(self._runner)

    @property
    def runner(self) -> Runner:
        """The runner as it is, broken or not."""
        return self._runner

    @property
    def broken(self) -> bool:
        """Whether a runner broke, but for those that broke aside."""
        return self._lost or self._runner.broken

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What breaks in the block was not asked for: it is made anew and not counted."""
        before = self.broken
        yield
        if self._runner.broken:
            self._renew()
        self._lost = before

    def close(self) -> None:
        """Ends the runner."""
        self._runner.close()

    def _renew(self) -> None:
        self._runner.close()
        self.breaks += 1
        self._runner = self._start()


@dataclass
class Checker:
    """Puts problems to checks one after the other, and knows what the ones before came to.

    ``most_tries``  problems that a search for the smallest one may try; 0: there is no search.
    ``most_s``      that the search may take for all tensors of a problem that violate a check.
    """

    checks: Sequence[str]
    most_tries: int
    most_s: float
    progress: Progress
    _tried: dict[tuple[str, Sequence[str], str], Violated] = field(default_factory=dict)
    _smallest: dict[str, list[Problem]] = field(default_factory=dict)

    def cells(
        self,
        hand: Hand,
        named: NamedProblem,
        kept: Callable[[str], list[Cells] | None],
        keep: Callable[[str, list[Cells]], None],
    ) -> list[Cells]:
        """Cells of the table: one a check, buffer and variant, and what could not be checked.

        ``kept``  those of a check, if it was made before.
        ``keep``  takes those of a check as soon as they are there.
        """
        try:
            opened = hand.bench.open(named.problem)
        except StageFailed as error:
            return [_ended(None, error.result)]
        if not opened.complete:
            return [_ended(None, opened.stopped or opened.stages[0])]
        found: list[Cells] = []
        for name in self.checks:
            own = kept(name)
            if own is None:
                own = self._check(hand, named, name)
                keep(name, own)
            found += own
        if not hand.runner.broken:
            found += [_ended(None, result) for result in closed(Workbench(hand.runner))]
        return found

    def _check(self, hand: Hand, named: NamedProblem, name: str) -> list[Cells]:
        provenance = hand.runner.facts.provenance
        try:
            found = check(hand.bench, named.problem, named.passes, name)
        except Refused as why:
            return [_skipped(name, str(why), provenance)]
        except StageFailed as error:
            return [_ended(name, error.result)]
        shown = self._shown(hand, named, name, list(_violated(found)))
        return [
            {
                "check": name,
                "buffer": one.buffer,
                "variant": one.variant,
                "verdict": one.verdict,
                "elements": one.elements,
                "differing": one.differing,
                "first_element": one.first,
                "error": _finite(one.error),
                "threshold": _finite(one.threshold),
                "outcome": "passed",
                "reason": one.reason,
                "provenance": provenance,
                **(shown.get(one.buffer, {}) if one.verdict == VIOLATED else {}),
            }
            for one in found
        ]

    def _shown(
        self, hand: Hand, named: NamedProblem, name: str, buffers: Sequence[str]
    ) -> dict[str, Cells]:
        """The cells of the smallest problem in which each buffer is violated."""
        if not buffers or not self.most_tries:
            return {}
        end = monotonic() + self.most_s
        with hand.aside():
            again = self._try(hand, named, name, named.problem)
            return {
                buffer: self._search(hand, named, name, buffer, end)
                if buffer in again
                else {"shrinking": NOT_REPEATED}
                for buffer in buffers
            }

    def _search(self, hand: Hand, named: NamedProblem, name: str, buffer: str, end: float) -> Cells:
        """The cells of the smallest problem in which a buffer is violated.

        ``end``  when it is enough, on the clock that only goes on.
        """
        tries, breaks = 0, hand.breaks

        def violates(one: Problem) -> bool:
            nonlocal tries
            if hand.breaks - breaks >= _MOST_BREAKS or monotonic() >= end:
                raise Enough
            tries += 1
            self.progress(f"shrinking {name}", tries, self.most_tries)
            return buffer in self._known(hand, named, name, one)

        def shown_before(one: Problem) -> bool:
            return within(one, named.problem) and buffer in self._known(hand, named, name, one)

        # What is smallest of another buffer or problem is a short way, if it is one from here.
        smallest = self._smallest.setdefault(name, [])
        first = next(filter(shown_before, smallest), named.problem)
        shrunk = shrink(first, violates, self.most_tries)
        self.progress(f"shrinking {name}", tries, tries)
        if shrunk.problem not in smallest:
            seen_twice = shrunk.problem == named.problem
            if seen_twice or buffer in self._try(hand, named, name, shrunk.problem):
                smallest.append(shrunk.problem)
            else:  # it shows it now and then, and may have come here by chance
                shrunk = Shrunk(named.problem, shrunk.tries, settled=False)
        error = self._known(hand, named, name, shrunk.problem)[buffer]
        return {
            "smallest": shrunk.problem.command,
            "smallest_error": _finite(error),
            "shrinking": SETTLED if shrunk.settled else STOPPED,
            "tries": shrunk.tries,
        }

    def _known(self, hand: Hand, named: NamedProblem, name: str, problem: Problem) -> Violated:
        """What a problem violates, tried only where it was not before."""
        key = (name, named.passes, problem.command)
        return self._tried[key] if key in self._tried else self._try(hand, named, name, problem)

    def _try(self, hand: Hand, named: NamedProblem, name: str, problem: Problem) -> Violated:
        try:
            found = _violated(check(hand.bench, problem, named.passes, name))
        except (Refused, StageFailed):  # it shows something else, or nothing
            found = {}
        self._tried[name, named.passes, problem.command] = found
        return found


def _violated(found: Sequence[Found]) -> Violated:
    """The buffers that are, in the way that is worst."""
    errors: Violated = {}
    for one in found:
        if one.verdict == VIOLATED:
            error = float("inf") if one.error is None else one.error
            errors[one.buffer] = max(error, errors.get(one.buffer, 0.0))
    return errors


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


def _skipped(name: str, why: str, provenance: str) -> Cells:
    return {"check": name, "outcome": "skipped", "reason": why, "provenance": provenance}


def _ended(name: str | None, result: StageResult) -> Cells:
    """The cells of a stage that did not end well."""
    return {
        "check": name,
        "status": result.status,
        "status_code": result.status_code,
        "outcome": result.outcome,
        "call": result.call,
        "reason": result.reason,
        "provenance": result.provenance,
    }
