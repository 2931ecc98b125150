"""Explain one problem: who refuses it and why, and what is accepted nearby."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyharness.analyze.explanation import Change, Explanation, Refusal, Suggestion
from pyharness.analyze.length_moves import MOST_ROWS, length_advice
from pyharness.analyze.moves import Move, rank
from pyharness.api.blaming import refusal
from pyharness.api.launching import launch_of
from pyharness.api.nearest import Search
from pyharness.api.progress import Progress, silent
from pyharness.api.trying import try_calls
from pyharness.engine.crew import Collapse, Crew
from pyharness.engine.neighbours import Neighbourhood
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError
from pyharness.releases.model import Release
from pyharness.spec.calls import Call, all_axes
from pyharness.spec.documented import predictions
from pyharness.spec.enums import ReleaseNumber
from pyharness.spec.ledger import Ledger
from pyharness.spec.length_advice import Advice
from pyharness.spec.problem import CallResult, Problem

_MOST_SUGGESTIONS = 5
_MANY_ROWS = f"a batch of more than {MOST_ROWS:,} sequences is not looked at row by row"
_MOST_DEATHS = 8  # somebody waits for the answer
_FAILED = (
    "a call ended its process or gave a status without a name: that is a defect of the library or "
    "of its installation, see `pyharness doctor`, and no other problems are tried"
)


def explain(
    release: Release, problem: Problem, timeout_s: float = DEFAULT_TIMEOUT_S
) -> Explanation:
    """Why a release refuses a problem, by real calls on it and on problems near it.

    Returns  the explanation; of a problem that is accepted only what each call said.
    Raises   UsageError if the problem cannot be handed over or the file is no cuDNN.
    """
    ledger = Ledger()
    # The worker for the search starts while another one is asked for reasons: half the wait.
    with _crew(release, ledger, timeout_s) as crew, ThreadPoolExecutor(1) as beside:
        started = beside.submit(crew.first)
        results = try_calls(release, problem, timeout_s)
        started.result()
        return _explained(release, crew, ledger, problem, results)


def explain_each(
    release: Release,
    tried: Sequence[tuple[Problem, Sequence[CallResult]]],
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
) -> list[Explanation]:
    """The same of problems that were tried already: what each of their calls said is given.

    Only these calls count, whatever else a problem would make.
    """
    ledger, found = Ledger(), []
    with _crew(release, ledger, timeout_s) as crew:
        for place, (problem, results) in enumerate(tried):
            progress("explaining", place, len(tried))
            try:
                found.append(_explained(release, crew, ledger, problem, results))
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
    roles = {r.role for r in results}
    made = [m for m in problem.calls(crew.first().opened.calls) if m.role in roles]
    bad = [r for r in results if r.outcome != "passed"]
    found = Explanation(release.name, problem, tuple(results), (), (), 0)
    near = Neighbourhood(crew, ledger, problem, made)
    if not bad:
        return replace(found, advice=_advice(near, ()))
    if any(r.outcome == "failed" for r in bad):
        # Most problems near it would end their worker too, at a tenth of a second each.
        return replace(found, refusals=tuple(Refusal(r, ()) for r in bad), notes=(_FAILED,))
    try:
        return _searched(found, near, {m.role: m.call for m in made}, bad, release.numbers)
    except Collapse as error:
        note = f"the search was given up: {error.message}"
        return replace(found, refusals=tuple(Refusal(r, ()) for r in bad), notes=(note,))


def _searched(
    found: Explanation,
    near: Neighbourhood,
    calls: Mapping[str, Call],
    bad: Sequence[CallResult],
    version: ReleaseNumber | None,
) -> Explanation:
    search = Search(near)
    if near.base.get("batch_size", 0) > MOST_ROWS and "seq_lengths" in near.base:
        found = replace(found, notes=(*found.notes, _MANY_ROWS))
    refusals = tuple(refusal(near, search, calls[r.role], r) for r in bad)
    suggestions: dict[frozenset[tuple[str, str]], Suggestion] = {}
    for moves in search.nearest():
        suggestion = _suggestion(found.problem, near.base, moves, version)
        # Two ways to one problem are one suggestion, the nearer way.
        suggestions.setdefault(frozenset(suggestion.problem.given.items()), suggestion)
    return replace(
        found,
        refusals=refusals,
        suggestions=tuple(suggestions.values())[:_MOST_SUGGESTIONS],
        searched=search.tried,
        advice=_advice(near, refusals),
    )


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


def _suggestion(
    problem: Problem,
    base: Mapping[str, int],
    moves: Sequence[Move],
    version: ReleaseNumber | None,
) -> Suggestion:
    axes = all_axes()
    changes = tuple(
        Change({n: axes[n].label(v) for n, v in m.changes.items() if v != base[n]}, m.words, m.cost)
        for m in moves
    )
    given = dict(problem.given)
    if any("seq_lengths" in m.changes for m in moves):
        # What followed from the old lengths is said, or it would follow from the new ones.
        for name in ("batch_size", "max_seq_length"):
            given.setdefault(name, str(base[name]))
    for change in changes:
        given.update(change.changes)
    new = Problem(given)
    refused = tuple(p for p in predictions(new, version) if p.refuses and p.speaks_of(new))
    return Suggestion(new, changes, rank(moves).levels, refused)
