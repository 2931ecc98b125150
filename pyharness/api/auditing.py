"""The documented rules and the rules of thumb of frameworks, tried on real releases."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import text
from pyharness.analyze.findings import Audit, Finding, Witness
from pyharness.analyze.verdicts import (
    Answers,
    Described,
    Judged,
    compare_allowed,
    judge_acceptance,
    judge_refusal,
    shown_by,
)
from pyharness.api.audit_grids import axis_values, changes, framework_grid, rule_grid
from pyharness.api.diagnosis import explain_collapse
from pyharness.api.driver import is_emulated
from pyharness.api.launching import launch_of
from pyharness.api.onward import DeviceChoice
from pyharness.api.progress import Progress, fetching, silent
from pyharness.api.stage_audit import audit_stages
from pyharness.device import core
from pyharness.engine.answers import ask
from pyharness.engine.crew import Collapse, Crew
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, UsageError
from pyharness.releases.elf import missing_symbols
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release, loaded_version, release_key
from pyharness.space.grid import Grid
from pyharness.spec.calls import call_named
from pyharness.spec.documented.facts import axes_of
from pyharness.spec.documented.language import Predicate
from pyharness.spec.documented.rules import REFUSALS, Framework, Rule, parse_version
from pyharness.spec.documented.tables import places_of, truth_table
from pyharness.spec.enums import ReleaseNumber
from pyharness.spec.ledger import Ledger
from pyharness.spec.statuses import family

_NUMBERS = re.compile(r"[0-9]+(\.[0-9]+)+")
# What a rule with several host calls comes to: the first of these that any call gives.
_WORST: tuple[str, ...] = ("contradicted", "partly", "needs_a_gpu", "holds", "cannot_be_told")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a library said over a grid."""

    grid: Grid
    codes: NDArray[np.uint8]
    names: list[str | None]

    @property
    def answers(self) -> Answers:
        accepted = self._codes_of(lambda name: name == "SUCCESS")
        refused = self._codes_of(lambda name: name not in (None, "SUCCESS"))
        return Answers(accepted, refused)

    def named(self, rule: Rule) -> NDArray[np.bool_]:
        """Where the status is of the family that a rule names; everywhere if it names none."""
        if rule.status not in REFUSALS:
            return np.ones(self.grid.shape, bool)
        return self._codes_of(lambda name: name is not None and family(name) == family(rule.status))

    def refusals(self, rows: NDArray[np.bool_]) -> list[str]:
        """How many of some refused rows have each status, in words, the most frequent first."""
        counts = np.bincount(self.codes.reshape(self.grid.shape)[rows], minlength=len(self.names))
        order = np.argsort(-counts, kind="stable")
        return [f"{counts[code]:,} refused as {self.names[code]}" for code in order if counts[code]]

    def _codes_of(self, wanted: Callable[[str | None], bool]) -> NDArray[np.bool_]:
        table = np.array([wanted(name) for name in self.names], bool)
        return table[self.codes].reshape(self.grid.shape)


class _Bench:
    """One release, open: it answers over grids, each grid once."""

    def __init__(self, release: Release, quiet: Crew, asking: Crew, ledger: Ledger) -> None:
        self.release = release
        self.calls = quiet.first().opened.calls
        self.version = _number(release, quiet)
        self._quiet, self._asking, self._ledger = quiet, asking, ledger
        self._known: dict[tuple[str, tuple[tuple[int, ...], ...]], _Asked] = {}

    def over(self, grid: Grid) -> _Asked:
        """What it says to every row."""
        key = (grid.call.name, grid.values)
        if key not in self._known:
            codes = ask(self._quiet, grid, np.arange(grid.size)).codes
            names: list[str | None] = [None] * 256
            for code in range(len(self._ledger.statuses)):
                names[code] = self._ledger.name_of(code)
            self._known[key] = _Asked(grid, codes, names)
        return self._known[key]

    def witness(self, grid: Grid, row: int | None) -> Witness | None:
        """One row with its reason."""
        if row is None:
            return None
        said = ask(self._asking, grid, np.array([row]))
        reason = self._ledger.texts[said.text_ids[0]] or None
        return Witness(grid.command(row), self._ledger.name_of(int(said.codes[0])), reason)


def _number(release: Release, crew: Crew) -> ReleaseNumber:
    """The version of a release as numbers.

    Raises  HarnessError if neither its package nor the library tells it.
    """
    said = release.version
    if said is None:
        number = crew.version()
        said = "" if number is None else loaded_version(number)
    numbers = _NUMBERS.match(said)
    if numbers is None:
        raise HarnessError(
            f"the version of {release.name} is not known", "rules speak of versions: give a release"
        )
    return parse_version(numbers[0])


def audit_release(
    release: Release,
    rules: Sequence[Rule],
    frameworks: Sequence[Framework],
    progress: Progress = silent,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    device: DeviceChoice = "none",
) -> Audit:
    """Tries every rule on a release: on the host, and what that cannot show on a device, if any.

    Returns  one finding a rule, in their order, then one a framework.
    Raises   UsageError if the file is no cuDNN, or a device given by number cannot be used;
             HarnessError if it cannot be used here.
    """
    core()
    ledger = Ledger()
    launch = launch_of(release)
    audit = Audit(release.name)
    total = len(rules) + len(frameworks)
    with (
        Crew(launch, ledger, 1, timeout_s=timeout_s) as quiet,
        Crew(launch, ledger, 1, explain=True, timeout_s=timeout_s) as asking,
    ):
        try:
            bench = _Bench(release, quiet, asking, ledger)
            for rule in rules:
                audit.findings.append(_audit_rule(bench, rule))
                progress(f"{release.name} rules", len(audit.findings), total)
            for framework in frameworks:
                audit.findings.append(_audit_framework(bench, framework))
                progress(f"{release.name} rules", len(audit.findings), total)
        except Collapse as collapse:
            raise explain_collapse(release, collapse) from collapse
    if is_emulated(release):
        audit.findings[:] = [replace(f, provenance="emulated") for f in audit.findings]
    if device != "none":
        audit_stages(audit, release, device, timeout_s, progress)
    return audit


def audit_releases(
    names: Sequence[str],
    rules: Sequence[Rule],
    frameworks: Sequence[Framework],
    progress: Progress = silent,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    device: DeviceChoice = "none",
) -> tuple[list[Audit], list[tuple[str, str]]]:
    """Tries every rule on several releases, each once, fetched where need be.

    Returns  one audit a release, the oldest first; and the releases that could not be used with the
             reason, unless there is no other.
    Raises   UsageError for a name that is none; HarnessError if no release can be used.
    """
    audits: list[tuple[Release, Audit]] = []
    failed: list[tuple[str, HarnessError]] = []
    tried: set[str | Path] = set()
    for name in names:
        try:
            release = resolve(name, progress=fetching(name, progress))
            known: set[str | Path] = {release.name, release.path.resolve()}
            if tried & known:
                continue
            tried |= known
            audit = audit_release(release, rules, frameworks, progress, timeout_s, device)
            audits.append((release, audit))
        except UsageError:
            raise
        except HarnessError as error:
            failed.append((name, error))
    if not audits:
        raise failed[0][1]
    audits.sort(key=lambda pair: release_key(pair[0].version, pair[0].cuda_major))
    return [audit for _, audit in audits], [(name, error.message) for name, error in failed]


def _audit_rule(bench: _Bench, rule: Rule) -> Finding:
    if not rule.covers(bench.version):
        return Finding(rule, "not_applicable", None, f"it speaks of releases {rule.versions}")
    if rule.status == "absent":
        return _audit_absence(bench, rule)
    at = [call for call in rule.host_calls if call in bench.calls]
    if not rule.host_calls:
        return Finding(rule, "needs_a_gpu", None, "none of its calls is answered on the host")
    if not at:
        return Finding(rule, "not_applicable", None, "the release has none of its host calls")
    if rule.status == "declared":
        return Finding(rule, "cannot_be_told", None, "a header says it; no answer can show it")
    if untold := _not_told(rule, at):
        return Finding(rule, "needs_a_gpu", None, f"the host is not told {', '.join(untold)}")
    found = [_audit_at(bench, rule, call) for call in at]
    return min(found, key=lambda f: _WORST.index(f.verdict))


def _not_told(rule: Rule, at: Sequence[str]) -> list[str]:
    """The fields of a rule that its host calls are not given, sorted."""
    own = {axis.name for call in at for axis in call_named(call).axes}
    return sorted(name for name in rule.when.names if not own.issuperset(axes_of(name)))


def _audit_absence(bench: _Bench, rule: Rule) -> Finding:
    missing = missing_symbols(bench.release.path, rule.calls)
    there = [call for call in rule.calls if call not in missing]
    if there:
        return Finding(rule, "contradicted", there[0], f"the library exports {', '.join(there)}")
    return Finding(rule, "holds", rule.calls[0], f"the library does not export {rule.calls[0]}")


def _audit_at(bench: _Bench, rule: Rule, call: str) -> Finding:
    """A rule judged at one host call."""
    grid = rule_grid(rule, call)
    asked = bench.over(grid)
    answers, applies = asked.answers, _truth(rule.when, grid)
    fields = places_of(rule.when.names, call_named(call))
    places = (fields, changes(grid), axis_values(grid))
    later = bool(rule.later_calls)
    if rule.status in (*REFUSALS, "unstated"):
        judged = judge_refusal(applies, answers, asked.named(rule), *places, later=later)
    else:
        shown = rule.sign is not None and shown_by(_truth(rule.sign, grid), applies, answers)
        unseen = rule.status == "effect" and not shown
        judged = judge_acceptance(applies, answers, *places, later=later or unseen)
    return Finding(
        rule,
        judged.verdict,
        call,
        _words(rule, judged, asked, int((applies & ~answers.accepted & ~answers.refused).sum())),
        int(judged.kept.sum()),
        int(judged.broken.sum()),
        judged.not_counted,
        bench.witness(grid, judged.witness),
        _conjunctions(judged.where),
    )


def _truth(predicate: Predicate, grid: Grid) -> NDArray[np.bool_]:
    table = truth_table(predicate, grid.call, grid.values)
    return np.broadcast_to(table, grid.shape)


def _conjunctions(where: Described | None) -> tuple[str, ...]:
    return () if where is None else tuple(text(c) for c in where.conditions)


def _words(rule: Rule, judged: Judged, asked: _Asked, deaths: int) -> str:
    """What was seen, as far as a verdict needs it."""
    accepted = int((asked.answers.accepted & (judged.kept | judged.broken)).sum())
    seen = [f"{accepted:,} accepted"] if accepted else []
    said = [", ".join([*seen, *asked.refusals(judged.refused)])]
    match judged.verdict:
        case "needs_a_gpu" if rule.status == "unstated" or rule.status in REFUSALS:
            said[0] += f": not checked here; {rule.later_calls[0]} or later may refuse"
        case "needs_a_gpu":
            said[0] += f": whether {rule.effect or 'later calls accept them'}, only a run shows"
        case "holds" if rule.status == "effect":
            said.append(rule.note)
    if judged.not_counted:
        said.append(f"{judged.not_counted:,} not counted (another rule may have refused them)")
    if deaths:
        said.append(f"{deaths:,} not counted (they ended the worker)")
    return "; ".join(filter(None, said))


def _audit_framework(bench: _Bench, framework: Framework) -> Finding:
    if not framework.covers(bench.version):
        return Finding(
            framework, "not_applicable", None, f"it chooses so for releases {framework.versions}"
        )
    grid = framework_grid(framework)
    said, among = bench.over(grid).answers, _truth(framework.among, grid)
    answers = Answers(said.accepted & among, said.refused & among)
    allowed = _truth(framework.when, grid) & among
    found = compare_allowed(allowed, answers, changes(grid), axis_values(grid))
    refused = found.wider.rows if found.wider else 0
    others = found.narrower.rows if found.narrower else 0
    return Finding(
        framework,
        found.verdict,
        grid.call.name,
        f"of {found.allowed:,} that it allows {refused:,} are refused; {others:,} others accepted",
        found.allowed - refused,
        refused,
        0,
        bench.witness(grid, found.witness),
        _conjunctions(found.wider),
        _conjunctions(found.narrower),
    )
