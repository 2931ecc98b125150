"""Try one problem: every host call, its status, and cuDNN's own words."""

from __future__ import annotations

import numpy as np

from pyharness.api.diagnosis import missing_libraries
from pyharness.api.launching import launch_of
from pyharness.device import core
from pyharness.engine.answers import ask
from pyharness.engine.crew import Crew
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.releases.model import Release
from pyharness.space.grid import make_grid
from pyharness.spec.ledger import Ledger
from pyharness.spec.problem import CallResult, CallTexts, Problem


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
        return [_try_one(release, crew, ledger, one) for one in made]


def _try_one(release: Release, crew: Crew, ledger: Ledger, made: CallTexts) -> CallResult:
    """One call's answer; skipped if the problem has no such call."""

    def result(
        status: str | None, number: int | None, outcome: str, reason: str | None
    ) -> CallResult:
        call = made.call
        return CallResult(made.role, call.name, call.stage, status, number, outcome, reason)

    if made.impossible:
        return result(None, None, "skipped", made.impossible)
    answers = ask(crew, make_grid(made.call, made.texts), np.zeros(1, np.int64))
    code, text = int(answers.codes[0]), ledger.texts[answers.text_ids[0]] or None
    name = ledger.name_of(code)
    if name is None:
        missing, how = missing_libraries(release)
        cause = f"the worker ended: {answers.deaths[0].cause}"
        return result(None, None, "failed", "; ".join(p for p in (cause, missing, how) if p))
    number = ledger.statuses[code]
    if name != "SUCCESS":
        return result(name, number, "unsupported", text)
    if text:
        return result(name, number, "failed", f"accepted, but {text}")
    return result(name, number, "passed", None)
