"""Documented rules on real releases: what is known of them must come out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from pyharness import try_problem
from pyharness.analyze.findings import Audit, Finding, spans
from pyharness.api.auditing import audit_release
from pyharness.api.launching import launch_of
from pyharness.engine.answers import ask
from pyharness.engine.crew import Crew
from pyharness.releases import Release, resolve
from pyharness.space.presets import build_space
from pyharness.spec.documented.rules import (
    REFUSALS,
    Rule,
    load_contradictions,
    load_frameworks,
    load_rules,
)
from pyharness.spec.documented.tables import truth_table
from pyharness.spec.ledger import Ledger

V8, V912, V928 = "8.9.7.29+cu12", "9.12.0.46+cu12", "9.28.0.42+cu12"
RELEASES = (V8, V912, V928)
REFUSING = (*REFUSALS, "unstated")


@cache
def audited(release: str) -> Audit:
    """Every rule on a release, once for all tests."""
    return audit_release(resolve(release), list(load_rules()), load_frameworks())


def found(release: str, rule: str) -> Finding:
    finding = audited(release).of(rule)
    assert finding is not None
    return finding


@pytest.mark.parametrize("release", RELEASES)
def test_proj_size_zero_is_refused_and_hidden_size_turns_projection_off(release: str) -> None:
    zero = found(release, "SET-PROJ-ZERO-RUST")
    assert zero.verdict == "contradicted"
    assert zero.witness is not None
    assert (zero.witness.problem, zero.witness.status) == ("proj_size=0", "BAD_PARAM")
    assert found(release, "SET-PROJ-EQ").verdict == "holds"
    assert found(release, "SET-PROJ-LARGE").verdict == "holds"


def test_the_comment_on_proj_size_is_of_the_newer_headers() -> None:
    assert found(V912, "SET-PROJ-ZERO").verdict == "not_applicable"
    assert found(V928, "SET-PROJ-ZERO").verdict == "contradicted"
    assert found(V928, "SET-PROJ-ZERO").witness == found(V928, "SET-PROJ-ZERO-RUST").witness


@pytest.mark.parametrize("release", RELEASES)
def test_the_size_of_a_skipped_input_is_not_checked_by_the_descriptor(release: str) -> None:
    skip = found(release, "SET-SKIP-SIZE")
    assert (skip.verdict, skip.as_said) == ("needs_a_gpu", 0)
    assert skip.witness is not None
    assert skip.witness.status == "SUCCESS"
    assert "not checked here" in skip.seen


def test_zero_lengths() -> None:
    assert found(V8, "DD-LEN-ZERO-NEW").verdict == "holds"
    assert found(V8, "DD-LEN-ZERO-KEPT").verdict == "contradicted"
    for release in (V912, V928):
        new = found(release, "DD-LEN-ZERO-NEW")
        assert (new.verdict, new.conditions) == ("partly", ("layout=seq_major_packed",))
        assert new.witness is not None
        assert new.witness.status == "BAD_PARAM"
        kept = found(release, "DD-LEN-ZERO-KEPT")
        assert (kept.verdict, kept.conditions) == ("partly", ("layout!=seq_major_packed",))
    assert found(V8, "DD-PACKED-SORT").verdict == "needs_a_gpu"
    assert found(V928, "DD-PACKED-SORT").verdict == "holds"
    assert found(V928, "BD-LEN-ZERO").verdict == "needs_a_gpu"


def test_bfloat16() -> None:
    for release in (V8, V912):
        assert found(release, "SET-BF16-PRE").verdict == "holds"
        assert found(release, "SET-BF16-POST").verdict == "not_applicable"
        assert found(release, "DD-DTYPE-BF16-OLD").verdict == "holds"
        assert found(release, "PT-BFLOAT16").verdict == "not_applicable"
    assert found(V928, "SET-BF16-POST").verdict == "holds"
    assert found(V928, "SET-BF16-PRE").verdict == "not_applicable"
    pytorch = found(V928, "PT-BFLOAT16")
    assert pytorch.verdict == "narrower"
    # 4 cells, 2 directions, 12 hidden sizes: all with standard; with persist_static_small_h the
    # 9 sizes up to 384 for the 2 plain cells, the 5 up to 192 for the 2 others.
    assert pytorch.as_said == 8 * 12 + 2 * 2 * (9 + 5)
    assert not any(words == "algo!=standard and math_prec=float" for words in pytorch.spared)


@pytest.mark.parametrize("release", RELEASES)
def test_no_more_than_65535_steps(release: str) -> None:
    most = found(release, "DD-MAXSEQ-MOST")
    assert most.verdict == "contradicted"
    assert most.witness is not None
    assert most.witness.problem == "max_seq_length=65536"
    assert most.witness.status == "NOT_SUPPORTED"


@pytest.mark.parametrize("release", RELEASES)
def test_double_data_and_the_persistent_algos(release: str) -> None:
    assert found(release, "SET-DOUBLE-STATIC").verdict == "holds"
    assert found(release, "SET-DOUBLE-SMALLH").verdict == "holds"
    other = found(release, "SET-DOUBLE-NONSTD")
    assert other.verdict == "partly"
    assert other.conditions == ("algo=persist_dynamic",)
    # 4 cells each; a projection is refused for itself, and two biases are all that they take.
    assert other.seen.startswith("4 accepted, 8 refused as NOT_SUPPORTED; 12 not counted (another")
    assert found(release, "SET-DOUBLE-STATIC").as_said == 4
    assert found(release, "SET-DOUBLE-SMALLH").as_said == 4
    assert found(release, "SET-DOUBLE-DYN-OK").verdict == "needs_a_gpu"  # accepted so far


def test_calls_that_came_and_went() -> None:
    assert found(V8, "CLIP-V9-ABSENT").verdict == "holds"
    assert found(V928, "CLIP-V9-ABSENT").verdict == "not_applicable"
    assert found(V8, "LEGACY-GONE").verdict == "not_applicable"
    assert found(V928, "LEGACY-GONE").verdict == "holds"


@pytest.mark.parametrize("release", RELEASES)
def test_pytorch_hands_over_nothing_that_is_refused(release: str) -> None:
    for rule in ("PT-SMALL-H-FORWARD", "PT-SMALL-H-BACKWARD", "PT-STATIC"):
        assert found(release, rule).verdict == "narrower"
    assert found(release, "PT-PROJECTION").verdict == "agrees"
    forward = found(release, "PT-SMALL-H-FORWARD").spared
    # The thresholds that the framework keeps and the descriptor does not know.
    assert any("hidden_size>=193" in words for words in forward)
    assert any("hidden_size>=385" in words for words in forward)
    tried = found(release, "TF-PERSISTENT")
    assert tried.verdict == "wider"  # it tries, and takes what answers


@pytest.mark.parametrize("release", RELEASES)
def test_every_question_is_answered_or_said_to_need_a_gpu(release: str) -> None:
    for question in load_contradictions():
        verdicts = {found(release, rule).verdict for rule in question.rules}
        decided = verdicts & {"holds", "contradicted", "partly"}
        assert decided or question.gpu, question.id


@pytest.mark.parametrize("release", [V8, V928])
def test_try_says_what_the_audit_saw(release: str, cudnn: Callable[[str], Release]) -> None:
    shown = [
        f
        for f in audited(release).findings
        if f.witness and f.verdict in ("contradicted", "partly", "wider")
    ]
    assert len(shown) >= 5
    for finding in shown:
        assert finding.witness is not None
        results = try_problem(str(cudnn(release).path), finding.witness.problem.split())
        said = {(r.status, r.reason) for r in results if r.call == finding.call}
        assert (finding.witness.status, finding.witness.reason) in said, finding


@pytest.mark.parametrize("release", [V8, V928])
def test_no_problem_of_the_presets_is_accepted_against_a_rule_that_holds(release: str) -> None:
    # Spaces that were not made for these rules, tens of times larger: a second opinion.
    held = [
        f.rule
        for f in audited(release).findings
        if f.verdict == "holds" and isinstance(f.rule, Rule) and f.rule.status in REFUSING
    ]
    assert len(held) > 15
    launch, ledger, seen = launch_of(resolve(release)), Ledger(), set()
    with Crew(launch, ledger, 2) as crew:
        for preset in ("descriptor-sizes", "data-full", "clip"):
            for grid in build_space(preset, None, []).grids:
                if grid.call.name not in crew.first().opened.calls:
                    continue
                codes = ask(crew, grid, np.arange(grid.size)).codes.reshape(grid.shape)
                accepted = codes == ledger.code(0)
                for rule in held:
                    if grid.call.name in rule.host_calls:
                        table = truth_table(rule.when, grid.call, grid.values)
                        assert not (table & accepted).any(), rule.id
                        seen |= {rule.id} if table.any() else set()
    assert len(seen) > 15


def test_neighbouring_releases_with_the_same_finding_are_one_span() -> None:
    audits = [audited(r) for r in RELEASES]
    assert [names for names, _ in spans(audits, "SET-HID-POS")] == [list(RELEASES)]
    zero = spans(audits, "DD-LEN-ZERO-NEW")
    assert [(names, f.verdict) for names, f in zero] == [
        ([V8], "holds"),
        ([V912, V928], "partly"),
    ]
    assert spans(audits, "NO-SUCH-RULE") == []
