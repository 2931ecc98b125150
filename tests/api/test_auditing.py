"""Documented rules on the fake library, whose own rules are few and known (tests/doubles)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness import try_problem
from pyharness.analyze.findings import Audit, Finding
from pyharness.api.audit_grids import changes, rule_grid
from pyharness.api.auditing import audit_release, audit_releases
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release
from pyharness.spec.calls import CALLS
from pyharness.spec.documented.rules import load_frameworks, load_rules

RULES = {r.id: r for r in load_rules()}
FRAMEWORKS = {f.id: f for f in load_frameworks()}


def audited(release: Release, *ids: str) -> dict[str, Finding]:
    rules = [RULES[i] for i in ids if i in RULES]
    frameworks = [FRAMEWORKS[i] for i in ids if i in FRAMEWORKS]
    audit = audit_release(release, rules, frameworks)
    assert [f.rule.id for f in audit.findings] == [r.id for r in (*rules, *frameworks)]
    return {f.rule.id: f for f in audit.findings}


def test_each_verdict_on_the_library_of_the_tests(fake_release: Release) -> None:
    found = audited(
        fake_release,
        "SET-HID-POS",  # hidden_size < 1: BAD_PARAM
        "SET-MP-FLOAT",  # accepted, and no later call may refuse
        "CLIP-ORDER",  # NOT_SUPPORTED, the document says BAD_PARAM
        "SET-DOUBLE-NONSTD",  # refused for two algos of three
        "SET-SKIP-SIZE",  # accepted, a later call may refuse
        "SET-DOUBLE-STATIC",  # NOT_SUPPORTED without a reason
        "DD-LEN-ZERO-NEW",
        "SET-PROJ-ZERO-RUST",  # accepted for an LSTM only
        "CLIP-V8-DEP",
        "FW-WORK-SMALL",
        "SET-BF16-PRE",
    )
    assert {i: f.verdict for i, f in found.items()} == {
        "SET-HID-POS": "holds",
        "SET-MP-FLOAT": "contradicted",
        "CLIP-ORDER": "contradicted",
        "SET-DOUBLE-NONSTD": "partly",
        "SET-SKIP-SIZE": "needs_a_gpu",
        "SET-DOUBLE-STATIC": "holds",
        "DD-LEN-ZERO-NEW": "holds",
        "SET-PROJ-ZERO-RUST": "partly",
        "CLIP-V8-DEP": "cannot_be_told",
        "FW-WORK-SMALL": "needs_a_gpu",
        "SET-BF16-PRE": "not_applicable",
    }


def test_the_witness_is_the_smallest_with_status_and_reason(fake_release: Release) -> None:
    found = audited(fake_release, "SET-MP-FLOAT", "CLIP-ORDER", "SET-DOUBLE-STATIC")
    mp, clip, static = (found[i].witness for i in found)
    assert mp is not None
    assert (mp.problem, mp.status, mp.reason) == ("math_prec=double", "SUCCESS", None)
    assert clip is not None
    assert (clip.problem, clip.status, clip.reason) == (
        "lclip=inf",
        "NOT_SUPPORTED",
        "lclip > rclip",
    )
    assert static is not None
    words = "algo=persist_static data_type=double math_prec=double"
    assert (static.problem, static.status, static.reason) == (words, "NOT_SUPPORTED", None)


def test_what_is_true_in_part_says_where_it_is_not(fake_release: Release) -> None:
    found = audited(fake_release, "SET-DOUBLE-NONSTD")["SET-DOUBLE-NONSTD"]
    # The fake library has no rule for persist_dynamic but the one on projection.
    assert found.conditions == ("algo=persist_dynamic",)
    assert found.witness is not None
    assert found.witness.problem == "algo=persist_dynamic data_type=double math_prec=double"


def test_a_reason_is_asked_for_where_a_rule_is_broken_by_refusal(fake_release: Release) -> None:
    found = audited(fake_release, "DD-LEN-ZERO-NEW", "DD-PACKED-SORT")
    sort = found["DD-PACKED-SORT"]
    assert sort.verdict == "holds"
    assert sort.witness is not None
    assert sort.witness.reason == "isSortedSequences == false"
    assert found["DD-LEN-ZERO-NEW"].verdict == "holds"


def test_the_functions_that_a_library_has(build: Callable[..., Path]) -> None:
    old = Release("8.9.7.29", 12, build("WITHOUT_OPTIONAL"), "path")
    assert audited(old, "CLIP-V9-ABSENT")["CLIP-V9-ABSENT"].verdict == "holds"
    ids = ("CLIP-V9-ABSENT", "LEGACY-GONE", "CLIP-ORDER")
    whole = audited(Release("8.9.7.29", 12, build(), "path"), *ids)
    assert whole["CLIP-V9-ABSENT"].verdict == "contradicted"
    assert "cudnnRNNSetClip_v9" in whole["CLIP-V9-ABSENT"].seen
    assert whole["LEGACY-GONE"].verdict == "not_applicable"
    assert whole["CLIP-ORDER"].call == "cudnnRNNSetClip_v8"
    new = audited(Release("9.13.0.50", 12, build(), "path"), *ids)
    assert (new["CLIP-V9-ABSENT"].verdict, new["LEGACY-GONE"].verdict) == (
        "not_applicable",
        "holds",
    )


def test_a_library_without_a_name_is_asked_for_its_version(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_CUDNN_VERSION", "8907")
    found = audited(Release(None, None, fake, "path"), "SET-BF16-PRE", "SET-BF16-POST")
    assert found["SET-BF16-PRE"].verdict == "contradicted"  # the fake library accepts bfloat16
    assert found["SET-BF16-POST"].verdict == "not_applicable"
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", "cudnnGetVersion")
    with pytest.raises(HarnessError, match=r"the version of .* is not known"):
        audited(Release(None, None, fake, "path"), "SET-BF16-PRE")


def test_a_library_that_dies_in_every_call_is_said(
    fake_release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", "cudnnSetRNNDescriptor_v8")
    with pytest.raises(HarnessError, match="8 workers ended before they answered a single case"):
        audited(fake_release, "SET-HID-POS")


def test_a_framework_on_the_library_of_the_tests(fake_release: Release) -> None:
    found = audited(fake_release, "PT-SMALL-H-FORWARD", "TF-PERSISTENT", "PT-PROJECTION")
    small = found["PT-SMALL-H-FORWARD"]
    assert small.verdict == "narrower"  # the fake library has no bound on hidden_size
    assert any("hidden_size>=193" in words for words in small.spared)
    wide = found["TF-PERSISTENT"]
    assert wide.verdict == "wider"
    assert wide.conditions == ("algo=persist_static and data_type=double",)
    assert wide.witness is not None
    assert wide.witness.problem == "algo=persist_static data_type=double math_prec=double"
    # It accepts projection with any algo, PyTorch asks for standard.
    assert found["PT-PROJECTION"].verdict == "narrower"
    assert all("algo!=standard" in words for words in found["PT-PROJECTION"].spared)


def test_a_release_that_cannot_be_used_does_not_stop_the_others(
    fake: Path, build: Callable[..., Path]
) -> None:
    rules = [RULES["SET-HID-POS"]]
    dying = str(build("DIES_ON_LOAD"))
    audits, failed = audit_releases([dying, str(fake)], rules, [])
    assert [len(a.findings) for a in audits] == [1]
    assert [name for name, _ in failed] == [dying]
    with pytest.raises(HarnessError):
        audit_releases([dying], rules, [])
    with pytest.raises(UsageError):  # the command was wrong: nothing is skipped
        audit_releases([str(fake), "no such release"], rules, [])


def test_progress_is_told(fake_release: Release) -> None:
    told: list[tuple[str, int, int]] = []
    rules = [RULES["SET-HID-POS"], RULES["CLIP-ORDER"]]
    audit_release(
        fake_release, rules, [], progress=lambda step, done, total: told.append((step, done, total))
    )
    assert [(done, total) for _, done, total in told] == [(1, 2), (2, 2)]


HOSTED = [r for r in RULES.values() if r.host_calls and r.status not in ("absent", "declared")]
ASKED = [
    (r.id, call)
    for r in HOSTED
    for call in r.host_calls
    if r.when.names <= {a.name for c in CALLS for a in c.axes}
]


@pytest.mark.parametrize(("rule", "call"), ASKED)
def test_a_grid_is_small_and_holds_problems_on_both_sides(rule: str, call: str) -> None:
    from pyharness.spec.documented.tables import truth_table

    grid = rule_grid(RULES[rule], call)
    assert grid.size <= 100_000
    said = truth_table(RULES[rule].when, grid.call, grid.values)
    assert said.any()
    if RULES[rule].when.text != "True":
        assert not said.all()
    assert changes(grid).shape == grid.shape
    assert changes(grid).min() <= 1  # the simplest problem is close to the defaults


def test_changes_count_what_differs_from_the_defaults() -> None:
    grid = rule_grid(RULES["DD-LEN-OVER"], "cudnnSetRNNDataDescriptor")
    counted = changes(grid).reshape(-1)
    for row in range(0, grid.size, 37):
        command = grid.command(row)
        assert counted[row] == len(command.split()), command


def test_try_says_what_the_audit_saw(fake: Path, fake_release: Release) -> None:
    found = audited(fake_release, *(r.id for r in HOSTED))
    shown = [f for f in found.values() if f.witness and f.verdict in ("contradicted", "partly")]
    assert len(shown) > 5
    for finding in shown:
        assert finding.witness is not None
        results = try_problem(str(fake), finding.witness.problem.split() or ["num_layers=1"])
        said = {r.status for r in results if r.call == finding.call}
        if finding.call != "cudnnRNNSetClip_v8":  # `try` takes the newest clipping call
            assert finding.witness.status in said, finding


def test_an_audit_counts_and_finds() -> None:
    audit = Audit("9.13", [Finding(RULES["SET-HID-POS"], "holds", None, "")])
    assert (audit.count("holds"), audit.count("partly")) == (1, 0)
    assert audit.of("SET-HID-POS") is audit.findings[0]
    assert audit.of("CLIP-NAN") is None
