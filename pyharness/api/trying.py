"""Try problems: every host call, its status, and cuDNN's own words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from pyharness.api.diagnosis import missing_libraries
from pyharness.api.driver import is_emulated
from pyharness.api.launching import launch_of
from pyharness.device import core
from pyharness.engine.answers import Answers, ask, grid_of
from pyharness.engine.crew import Crew
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError
from pyharness.releases.model import Release
from pyharness.space.grid import make_grid
from pyharness.spec.axes import Axis, parse_values
from pyharness.spec.calls import Call
from pyharness.spec.ledger import OVERFLOW_TEXT, Ledger
from pyharness.spec.problem import CallResult, CallTexts, Problem
from pyharness.spec.seq_lengths import literal_lengths


def try_calls(
    release: Release, problem: Problem, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[CallResult]:
    """Puts a problem through every host call of a release.

    Returns  one result a call, in the documented order of the calls.
    Raises   UsageError if the problem cannot be handed over or the file is no cuDNN.
    """
    core()
    ledger = Ledger()
    with Crew(launch_of(release), ledger, 1, explain=True, timeout_s=timeout_s) as crew:
        made = problem.calls(crew.first().opened.calls)
        answers = _Answers(release, ledger)
        results = []
        for one in made:
            asked = None
            if not one.impossible:
                asked = ask(crew, make_grid(one.call, one.texts), np.zeros(1, np.int64))
            results.append(answers.result(one, one.impossible, asked, 0))
        return results


def try_many(
    release: Release, problems: Sequence[Problem], timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[list[CallResult]]:
    """Puts many problems through every host call of a release; equal calls are made once.

    Returns  for each problem what try_calls returns. A call that cannot be handed over is skipped
             with the reason.
    Raises   UsageError if the file is no cuDNN; Collapse if no worker survives.
    """
    core()
    ledger = Ledger()
    calls: dict[str, _Batch] = {}
    start = partial(Crew, launch_of(release), ledger, 1, explain=True, timeout_s=timeout_s)
    with start() as crew:
        present = crew.first().opened.calls
        made = [problem.calls(present) for problem in problems]
        for one in (one for several in made for one in several):
            calls.setdefault(one.call.name, _Batch(one.call)).add(one)
        untold = sum(batch.ask(crew, ledger) for batch in calls.values())
    before = untold + 1
    while 0 < untold < before:  # a worker keeps some thousand texts: the rest needs another
        before = untold
        with start() as crew:
            untold = sum(batch.ask(crew, ledger) for batch in calls.values())
    answers = _Answers(release, ledger)
    return [
        [answers.result(one, *calls[one.call.name].answer(one)) for one in several]
        for several in made
    ]


class _Batch:
    """Distinct calls of one function, asked together: each is a row of a grid of all values."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._places: dict[tuple[int, ...], int] = {}
        self._unfit: dict[int, str] = {}  # by the identity of the CallTexts, which outlive this
        self._of: dict[int, int] = {}
        self._values: dict[tuple[str, str], int] = {}
        self._found: dict[int, tuple[Answers, int]] = {}  # by place

    def add(self, made: CallTexts) -> None:
        """Takes a call, if it can be made."""
        why = made.impossible
        if why is None:
            try:
                row = self._row(made)
            except UsageError as error:
                why = error.message
            else:
                self._of[id(made)] = self._places.setdefault(row, len(self._places))
        if why is not None:
            self._unfit[id(made)] = why

    def ask(self, crew: Crew, ledger: Ledger) -> int:
        """Asks for every distinct call that has no answer, or whose reason found no room.

        Returns  how many reasons found no room.
        """

        def untold(place: int) -> bool:
            answers, position = self._found[place]
            return bool(ledger.texts[answers.text_ids[position]] == OVERFLOW_TEXT)

        places = [p for p in range(len(self._places)) if p not in self._found or untold(p)]
        rows = np.array(list(self._places), np.int64).reshape(-1, len(self._call.axes))
        self._ask(crew, rows, np.array(places, np.int64))
        return sum(map(untold, places))

    def answer(self, made: CallTexts) -> tuple[str | None, Answers | None, int]:
        """Why a call was not made, or its answer: answers and the position in them."""
        why = self._unfit.get(id(made))
        return (why, None, 0) if why is not None else (None, *self._found[self._of[id(made)]])

    def _ask(self, crew: Crew, rows: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        if not len(places):
            return
        try:
            grid, at = grid_of(self._call, list(rows[places].T))
        except OverflowError:  # too many values to number their combinations
            for half in np.array_split(places, 2):
                self._ask(crew, rows, half)
            return
        answers = ask(crew, grid, at)
        self._found.update({p: (answers, i) for i, p in enumerate(places.tolist())})

    def _row(self, made: CallTexts) -> tuple[int, ...]:
        texts = {**self._call.defaults, **made.texts}
        if "seq_lengths" in texts:
            lengths = literal_lengths(
                self._value(self._call.axis("seq_lengths"), texts["seq_lengths"])
            )
            if lengths is not None:
                texts["batch_size"] = made.texts.get("batch_size", str(len(lengths)))
                if texts["batch_size"] != str(len(lengths)):
                    make_grid(self._call, made.texts)  # says what is wrong
        return tuple(self._value(axis, texts[axis.name]) for axis in self._call.axes)

    def _value(self, axis: Axis, text: str) -> int:
        key = (axis.name, text)
        if key not in self._values:
            (self._values[key],) = parse_values(axis, text)
        return self._values[key]


class _Answers:
    """A release's answers as results."""

    def __init__(self, release: Release, ledger: Ledger) -> None:
        self._release = release
        self._ledger = ledger

    @cached_property
    def _missing(self) -> tuple[str, str]:
        return missing_libraries(self._release)

    @cached_property
    def _provenance(self) -> str:
        return "emulated" if is_emulated(self._release) else "observed"

    def result(
        self, made: CallTexts, why: str | None, answers: Answers | None, position: int
    ) -> CallResult:
        """One call's answer; skipped if it was not made, with why."""
        result = partial(
            CallResult,
            made.role,
            made.call.name,
            made.call.stage,
            provenance=self._provenance,
        )
        if answers is None:
            return result(None, None, "skipped", why)
        code = int(answers.codes[position])
        text = self._ledger.texts[answers.text_ids[position]] or None
        name = self._ledger.name_of(code)
        if name is None:
            cause = f"the worker ended: {answers.deaths[position].cause}"
            words = "; ".join(part for part in (cause, *self._missing) if part)
            return result(None, None, "failed", words)
        number = self._ledger.statuses[code]
        if name != "SUCCESS":
            return result(name, number, "unsupported", text)
        if text:
            return result(name, number, "failed", f"accepted, but {text}")
        return result(name, number, "passed", None)
