"""Explain one problem: who refuses it and why, and what is accepted nearby."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace

from pyharness.analyze.explanation import Explanation, OnDevice, Refusal, Suggestion
from pyharness.analyze.length_moves import MOST_ROWS, length_advice
from pyharness.analyze.observed import Seen, seen_of, told_by
from pyharness.api.blaming import refusal
from pyharness.api.launching import launch_of
from pyharness.api.nearest import Search
from pyharness.api.onward import DeviceChoice, Onward, open_onward
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_search import Limits, StageSearch
from pyharness.api.suggesting import suggestion
from pyharness.api.trying import try_calls
from pyharness.engine.crew import Collapse, Crew
from pyharness.engine.neighbours import Neighbourhood
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, UsageError
from pyharness.releases.model import Release
from pyharness.spec.calls import call_named
from pyharness.spec.documented import Prediction, predictions
from pyharness.spec.enums import ReleaseNumber
from pyharness.spec.ledger import Ledger
from pyharness.spec.length_advice import Advice
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.stage_results import CaseResult

_MOST_SUGGESTIONS = 5
_MOST_CHECKED = 12  # of the suggestions, on a device
_SEVERAL = Limits(cases=80, seconds=5.0)  # for each of several problems
_MANY_ROWS = f"a batch of more than {MOST_ROWS:,} sequences is not looked at row by row"
_MOST_DEATHS = 8  # somebody waits for the answer
_FAILED = (
    "a call ended its process or gave a status without a name: that is a defect of the library or "
    "of its installation, see `pyharness doctor`, and no other problems are tried"
)


def explain(
    release: Release,
    problem: Problem,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    device: DeviceChoice = "first",
) -> Explanation:
    """Why a release refuses a problem, by real calls on it and on problems near it.

    A problem that every host call accepts is taken through the stages of a device, where there is
    one, and what is suggested in place of others is tried there, too.

    Returns  the explanation; of a problem that is accepted only what each call and stage said.
    Raises   UsageError if the problem cannot be handed over, the file is no cuDNN, or a device
             that is given by number cannot be used.
    """
    ledger = Ledger()
    # The worker for the search starts while another one is asked for reasons: half the wait.
    with _crew(release, ledger, timeout_s) as crew, ThreadPoolExecutor(2) as beside:
        opening = beside.submit(open_onward, release, device, timeout_s)
        started = beside.submit(crew.first)
        with ExitStack() as stack:
            stack.callback(_close, opening)
            results = try_calls(release, problem, timeout_s)
            started.result()
            found = _explained(release, crew, ledger, problem, results)
            onward = opening.result()
            if isinstance(onward, Onward):
                return _on_device(found, _near(crew, ledger, found), onward, release, Limits())
            return _on_host(found, onward)


def predictions_of(found: Explanation, release: Release) -> list[tuple[Prediction, Seen | None]]:
    """What documents say of the calls that need a GPU, each with what came of it on the device."""
    on = found.device
    version = release.numbers or (on.version if on else None)
    said = predictions(found.problem, version, told_by(on.facts) if on else None)
    return [(one, seen_of(one, on)) for one in said]


def _close(opening: Future[Onward | str]) -> None:
    with suppress(HarnessError):
        if isinstance(onward := opening.result(), Onward):
            onward.close()


def _on_host(found: Explanation, why: str = "") -> Explanation:
    """The explanation as it is without a device; ``why``: one is here and cannot be used."""
    notes = (f"what needs a GPU was not tried: {why}",) if why else ()
    chosen = found.suggestions[:_MOST_SUGGESTIONS]
    return replace(found, suggestions=chosen, notes=(*found.notes, *notes))


def explain_each(
    release: Release,
    tried: Sequence[tuple[Problem, Sequence[CallResult]]],
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
    onward: Onward | None = None,
    cases: Mapping[int, CaseResult] | None = None,
) -> list[Explanation]:
    """The same of problems that were tried already: what each of their calls said is given.

    Only these calls count, whatever else a problem would make, and of the stages those that a
    case has.

    ``cases``  what became on the device of those that the host accepts, by place.
    """
    ledger, found = Ledger(), []
    with _crew(release, ledger, timeout_s) as crew:
        for place, (problem, results) in enumerate(tried):
            progress("explaining", place, len(tried))
            try:
                one = _explained(release, crew, ledger, problem, results)
                case = (cases or {}).get(place)
                if onward is None or (one.accepted and case is None):
                    found.append(_on_host(one))
                else:
                    near = _near(crew, ledger, one)
                    found.append(_on_device(one, near, onward, release, _SEVERAL, case))
            except UsageError as error:  # a value that is tried nowhere, such as a huge batch
                bad = tuple(Refusal(r, ()) for r in results if r.outcome != "passed")
                note = f"it is not looked into: {error.message}"
                found.append(
                    Explanation(release.name, problem, tuple(results), bad, (), 0, (), (note,))
                )
    return found


def _crew(release: Release, ledger: Ledger, timeout_s: float) -> Crew:
    return Crew(launch_of(release), ledger, 1, timeout_s=timeout_s, most_deaths=_MOST_DEATHS)


def _explained(
    release: Release, crew: Crew, ledger: Ledger, problem: Problem, results: Sequence[CallResult]
) -> Explanation:
    bad = [r for r in results if r.outcome != "passed"]
    found = Explanation(release.name, problem, tuple(results), (), (), 0)
    near = _near(crew, ledger, found)
    if not bad:
        return replace(found, advice=_advice(near, ()))
    if any(r.outcome == "failed" for r in bad):
        # Most problems near it would end their worker too, at a tenth of a second each.
        return replace(found, refusals=tuple(Refusal(r, ()) for r in bad), notes=(_FAILED,))
    try:
        return _searched(found, near, bad, release.numbers)
    except Collapse as error:
        note = f"the search was given up: {error.message}"
        return replace(found, refusals=tuple(Refusal(r, ()) for r in bad), notes=(note,))


def _searched(
    found: Explanation,
    near: Neighbourhood,
    bad: Sequence[CallResult],
    version: ReleaseNumber | None,
) -> Explanation:
    search = Search(near)
    if near.base.get("batch_size", 0) > MOST_ROWS and "seq_lengths" in near.base:
        found = replace(found, notes=(*found.notes, _MANY_ROWS))
    refusals = tuple(refusal(near, search, call_named(r.call), r) for r in bad)
    suggestions: dict[frozenset[tuple[str, str]], Suggestion] = {}
    for moves in search.nearest():
        one = suggestion(found.problem, near.base, moves, version)
        # Two ways to one problem are one suggestion, the nearer way.
        suggestions.setdefault(frozenset(one.problem.given.items()), one)
    return replace(
        found,
        refusals=refusals,
        suggestions=tuple(suggestions.values())[:_MOST_CHECKED],
        searched=search.tried,
        advice=_advice(near, refusals),
    )


def _near(crew: Crew, ledger: Ledger, found: Explanation) -> Neighbourhood:
    """What is near a problem, for the calls that count."""
    roles = {r.role for r in found.results}
    made = [m for m in found.problem.calls(crew.first().opened.calls) if m.role in roles]
    return Neighbourhood(crew, ledger, found.problem, made)


def _on_device(
    found: Explanation,
    near: Neighbourhood,
    onward: Onward,
    release: Release,
    limits: Limits,
    case: CaseResult | None = None,
) -> Explanation:
    """The explanation with what a device says.

    ``case``  what became of the problem there, if it was tried.
    """
    try:
        if not found.accepted:
            return replace(found, suggestions=_checked(found.suggestions, onward))
        case = case or onward.take(found.problem)
    except HarnessError as error:
        return _on_host(found, error.message)
    device = OnDevice(onward.facts, onward.version, case)
    stopped = case.stopped
    if stopped is None or stopped.outcome != "unsupported":
        return replace(found, device=device)
    search = StageSearch(onward, near, found.problem, case, limits)
    blames, together = search.blames()
    made = [
        replace(suggestion(found.problem, search.base, moves, release.numbers), case=case)
        for moves, case in search.accepted[:_MOST_SUGGESTIONS]
    ]
    return replace(
        found,
        device=replace(device, blames=blames, together=together, searched=search.tried),
        suggestions=tuple(made),
        notes=(*found.notes, *([search.note] if search.note else [])),
    )


def _checked(made: Sequence[Suggestion], onward: Onward) -> tuple[Suggestion, ...]:
    """Suggestions with what a device says of them, those first that go all the way."""
    checked: list[Suggestion] = []
    for one in made[:_MOST_CHECKED]:
        if sum(s.case is not None and s.case.complete for s in checked) >= _MOST_SUGGESTIONS:
            break
        checked.append(replace(one, case=onward.take(one.problem)))
    return tuple(sorted(checked, key=lambda s: s.case is None or not s.case.complete))


def _advice(near: Neighbourhood, refusals: Sequence[Refusal]) -> tuple[Advice, ...]:
    """What is refused of the lengths, once each, and what other releases or later calls refuse.

    That is every property of lengths that are accepted, and of refused ones the empty rows.
    """
    told = {a.kind: a for r in refusals for b in r.blames for a in b.rows}
    if "seq_lengths" in near.base:
        for advice in length_advice(near.base):
            if not refusals or advice.kind == "empty":
                told.setdefault(advice.kind, advice)
    return tuple(told.values())
