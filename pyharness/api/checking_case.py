"""One problem put to checks, and the smallest problem that shows what it violates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from types import TracebackType
from typing import Any

from pyharness.analyze.shrinking import Enough, shrink, within
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
Violated = dict[str, float]  # buffer to its error; infinite where one is no number


class Hand:
    """A runner, and another one where it broke; those that it started end with the block."""

    def __init__(self, runner: Runner, start: Callable[[], Runner]) -> None:
        self._runner, self._start = runner, start
        self._own = False
        self.breaks = 0

    @property
    def bench(self) -> Workbench:
        """A workbench that can be used."""
        if self._runner.broken:
            self._end()
            self.breaks += 1
            self._runner, self._own = self._start(), True
        return Workbench(self._runner)

    @property
    def runner(self) -> Runner:
        """The runner as it is, broken or not."""
        return self._runner

    def __enter__(self) -> Hand:
        """The hand itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends what it started."""
        self._end()

    def _end(self) -> None:
        if self._own:
            self._runner.close()


@dataclass
class Checker:
    """Puts problems to checks one after the other, and knows what the ones before came to.

    ``start``       a new runner.
    ``most_tries``  problems that a search for the smallest one may try; 0: there is no search.
    """

    start: Callable[[], Runner]
    checks: Sequence[str]
    most_tries: int
    progress: Progress
    _tried: dict[tuple[str, Sequence[str], str], Violated] = field(default_factory=dict)
    _smallest: dict[str, list[Problem]] = field(default_factory=dict)

    def cells(self, runner: Runner, named: NamedProblem) -> list[dict[str, Any]]:
        """Cells of the table: one a check, buffer and variant, and what could not be checked."""
        with Hand(runner, self.start) as hand:
            opened = hand.bench.open(named.problem)
            if not opened.complete:
                return [_ended(None, opened.stopped or opened.stages[0])]
            found = [cells for name in self.checks for cells in self._check(hand, named, name)]
            if not hand.runner.broken:
                found += [_ended(None, result) for result in closed(Workbench(hand.runner))]
            return found

    def _check(self, hand: Hand, named: NamedProblem, name: str) -> list[dict[str, Any]]:
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
    ) -> dict[str, dict[str, Any]]:
        """The cells of the smallest problem in which each buffer is violated."""
        if not buffers or not self.most_tries:
            return {}
        again = self._try(hand, named, name, named.problem)
        return {
            buffer: self._search(hand, named, name, buffer)
            if buffer in again
            else {"shrinking": NOT_REPEATED}
            for buffer in buffers
        }

    def _search(self, hand: Hand, named: NamedProblem, name: str, buffer: str) -> dict[str, Any]:
        tries, breaks = 0, hand.breaks

        def violates(one: Problem) -> bool:
            nonlocal tries
            if hand.breaks - breaks >= _MOST_BREAKS:
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
            smallest.append(shrunk.problem)
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


def _skipped(name: str, why: str, provenance: str) -> dict[str, Any]:
    return {"check": name, "outcome": "skipped", "reason": why, "provenance": provenance}


def _ended(name: str | None, result: StageResult) -> dict[str, Any]:
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
