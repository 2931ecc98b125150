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
from pyharness.spec.problem import CallResult, Problem


def try_calls(
    release: Release, problem: Problem, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[CallResult]:
    """Puts a problem through every host call of a release.

    Returns  one result a call, in the documented order of the calls.
    Raises   UsageError if the problem cannot be handed over or the file is no cuDNN.
    """
    core()
    ledger = Ledger()
    results = []
    with Crew(launch_of(release), ledger, 1, explain=True, timeout_s=timeout_s) as crew:
        for made in problem.calls(crew.first().opened.calls):
            grid = make_grid(made.call, made.texts)
            answers = ask(crew, grid, np.zeros(1, np.int64))
            reason: str | None
            number: int | None
            code, text = int(answers.codes[0]), ledger.texts[answers.text_ids[0]] or None
            name = ledger.name_of(code)
            if name is None:
                missing, how = missing_libraries(release)
                cause = f"the worker ended: {answers.deaths[0].cause}"
                reason = "; ".join(part for part in (cause, missing, how) if part)
                outcome, number = "failed", None
            else:
                reason, number = text, ledger.statuses[code]
                outcome = "unsupported"
                if name == "SUCCESS":
                    outcome = "failed" if text else "passed"
                    reason = f"accepted, but {text}" if text else None
            results.append(
                CallResult(
                    made.role, made.call.name, made.call.stage, name, number, outcome, reason
                )
            )
    return results
