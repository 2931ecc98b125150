"""Documented rules on the emulator: what it obeys holds, what it does not is contradicted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyharness.analyze.findings import Finding
from pyharness.api.auditing import audit_release
from pyharness.api.device import open_runner
from pyharness.releases import Release
from pyharness.spec.documented.rules import load_rules
from pyharness.spec.problem import parse_problem
from tests.emulator.build import EmulatedRelease

RULES = {r.id: r for r in load_rules()}
Made = Callable[..., Release]


@pytest.fixture
def emulate(
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    monkeypatch: pytest.MonkeyPatch,
) -> Made:
    """An emulated release that calculates nothing, with these settings."""

    def set_up(**settings: object) -> Release:
        made = emulator(cudnn("9.28.0.42").path, **{"compute": "off", **settings})
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        return Release(None, None, made.cudnn, "path")

    return set_up


def audited(release: Release, *ids: str, device: int | None = 0) -> dict[str, Finding]:
    choice = "none" if device is None else device
    audit = audit_release(release, [RULES[i] for i in ids], [], device=choice)
    return {f.rule.id: f for f in audit.findings}


def shown(release: Release, finding: Finding) -> str | None:
    """The stage that refuses the example, asked anew; None if none does."""
    assert finding.witness is not None
    with open_runner(release) as runner:
        case = runner.stages(parse_problem(finding.witness.problem.split()))
    return next((s.stage for s in case.stages if s.outcome == "unsupported"), None)


def test_what_the_emulator_obeys_holds_and_what_it_does_not_is_contradicted(emulate: Made) -> None:
    release = emulate(name="Card X")
    obeyed = {
        "RUN-VARLEN-STATIC": "forward_inference",
        "RUN-VARLEN-SMALLH": "forward_inference",
        "RUN-SMALLH-FWD-SG": "forward_inference",
        "RUN-SMALLH-FWD-MG": "forward_inference",
        "RUN-SMALLH-BWD-SG": "backward_data",
        "RUN-SMALLH-BWD-MG": "backward_data",
        "FW-XVEC": "forward_inference",
        "FW-LEN-ALL-ZERO": "forward_inference",
        "BD-LEN-ZERO": "backward_data",
        "RUN-VARLEN-STD": None,
        "IO-FLAG-EQUAL": None,
        "IO-FLAG-PACKED": None,
        "FW-DSL-NULL": None,
    }
    broken = ("RUN-VARLEN-DYNAMIC", "IO-FLAG", "CLIP-CELL")  # it lets these pass
    found = audited(release, *obeyed, *broken)
    assert {i: f.verdict for i, f in found.items()} == {
        **dict.fromkeys(obeyed, "holds"),
        **dict.fromkeys(broken, "contradicted"),
    }
    for rule, stage in {**obeyed, **dict.fromkeys(broken)}.items():
        assert (found[rule].provenance, found[rule].device) == ("emulated", "Card X")
        assert shown(release, found[rule]) == stage, rule
    edge = found["RUN-SMALLH-FWD-MG"].witness
    assert edge is not None
    assert edge.problem.endswith("algo=persist_static_small_h cell_mode=lstm hidden_size=193")
    assert edge.reason == "hiddenSize > 192 with this algo"


def test_a_planted_contradiction_is_found(emulate: Made) -> None:
    rules = ("IO-FLAG-PACKED", "BD-LEN-ZERO", "FW-DSL-NULL")
    before = audited(emulate(), *rules)
    # The first problem of IO-FLAG-PACKED is refused in inference, and none after it.
    planted = emulate(fault="status:NOT_SUPPORTED@cudnnRNNForward:1")
    after = audited(planted, *rules)
    assert {i: f.verdict for i, f in before.items()} == dict.fromkeys(rules, "holds")
    assert {i: f.verdict for i, f in after.items()} == {
        "IO-FLAG-PACKED": "contradicted",
        "BD-LEN-ZERO": "holds",
        "FW-DSL-NULL": "holds",
    }
    witness = after["IO-FLAG-PACKED"].witness
    assert witness is not None
    assert witness.status == "NOT_SUPPORTED"
    assert "layout=seq_major_packed" in witness.problem


def test_a_refusal_of_everything_says_nothing_of_a_rule(emulate: Made) -> None:
    # No neighbour is accepted: the rule cannot be the one to blame.
    everything = emulate(fault="status:NOT_SUPPORTED@cudnnRNNForward:*")
    found = audited(everything, "RUN-VARLEN-STATIC", "RUN-VARLEN-STD", "BD-LEN-ZERO")
    assert {f.verdict for f in found.values()} == {"cannot_be_told"}
    assert "they ended before, at forward_inference" in found["BD-LEN-ZERO"].seen


def test_another_status_than_the_documented_one_contradicts_a_rule(emulate: Made) -> None:
    # Of the first three cases of the rule forward says BAD_PARAM; the rule names NOT_SUPPORTED.
    release = emulate(fault=[f"status:BAD_PARAM@cudnnRNNForward:{n}" for n in (1, 2, 3, 4)])
    found = audited(release, "RUN-VARLEN-STATIC")["RUN-VARLEN-STATIC"]
    assert found.verdict == "contradicted"
    assert found.witness is not None
    assert found.witness.status == "BAD_PARAM"


def test_what_no_case_can_show_stays_and_says_why(emulate: Made) -> None:
    why = {
        "FW-WORK-SMALL": "a problem does not say required_work_size, work_size",
        "BW-AFTER-DATA": "a problem does not say backward_data_called",
        "FW-YVEC": "no problem on Emulated GPU is one that it speaks of",
        "RUN-CC-PERSIST": "no problem on Emulated GPU is one that it speaks of",
        "TC-STATIC": "no status would show it: tensor cores are used",
        "WP-PSEUDO": "cudnnGetRNNWeightParams is always called as it should be",
    }
    found = audited(emulate(), *why)
    assert {i: (f.verdict, f.seen) for i, f in found.items()} == {
        i: ("needs_a_gpu", words) for i, words in why.items()
    }
    old = audited(emulate(compute_capability="5.2"), "RUN-CC-PERSIST")["RUN-CC-PERSIST"]
    assert old.verdict == "contradicted"  # the emulator does not look at the capability


def test_without_a_device_they_need_one(emulate: Made) -> None:
    found = audited(emulate(), "RUN-VARLEN-STATIC", "SET-HID-POS", device=None)
    assert {i: f.verdict for i, f in found.items()} == {
        "RUN-VARLEN-STATIC": "needs_a_gpu",
        "SET-HID-POS": "holds",
    }
    assert found["SET-HID-POS"].provenance == "emulated"
