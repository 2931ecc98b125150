"""The stages of a device in ``explain``, ``audit`` and ``replay``: words, data, tables, gates."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pyharness.releases import Release
from pyharness.spec.stages import STAGES
from pyharness.spec.tables import TABLES
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.emulator.build import EmulatedRelease
from tests.logs.items import random_item, record

run = test_main.run  # the fixture
Emulate = Callable[..., Path]
STATIC = ("algo=persist_static", "seq_lengths=[3,1]", "input_size=4", "hidden_size=8")


@pytest.fixture
def emulate(
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    monkeypatch: pytest.MonkeyPatch,
) -> Emulate:
    """An emulated libcudnn that calculates nothing, and the variables that choose its libcuda."""

    def set_up(**settings: object) -> Path:
        made = emulator(cudnn("9.28.0.42").path, **{"compute": "off", **settings})
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        return made.cudnn

    return set_up


def test_an_explanation_says_how_far_a_problem_goes(run: Run, emulate: Emulate) -> None:
    release = emulate()
    said = run("explain", "--no-since", "--cudnn", release, "hidden_size=8", "input_size=4")
    assert (said.code, said.err) == (0, "")
    head = " ".join(said.out.split("\n\n", maxsplit=1)[0].split())
    assert head == (
        f"cuDNN {release}: all 5 host calls accept hidden_size=8 input_size=4; on Emulated GPU "
        "(emulated) it goes all the way to backward_weights"
    )
    assert "predicted" not in said.out


def test_a_refusal_of_a_stage_in_words(run: Run, emulate: Emulate) -> None:
    release = emulate()
    said = run("explain", "--no-since", "--cudnn", release, *STATIC)
    assert (said.code, said.err) == (0, "")
    _, refusal, stages, nearest, documents, _ = said.out.strip().split("\n\n")
    assert refusal.splitlines() == [
        "forward_inference, cudnnRNNForward: NOT_SUPPORTED",
        "  cuDNN's condition: this algo needs sequences of equal length",
        "  to blame, each enough to change alone:",
        "    algo = persist_static",
        "        allowed: standard, persist_dynamic",
        "    seqLengthArray (seq_lengths) = [3,1]",
        "        allowed: make every row full",
    ]
    assert stages.splitlines() == [
        "passed: descriptor, data, state, sizes",
        "forward_training: NOT_SUPPORTED: this algo needs sequences of equal length",
        "not reached: backward_data, backward_weights",
    ]
    lines = nearest.splitlines()
    assert lines[0].startswith("nearest accepted, of ")
    assert lines[0].endswith(" tried on Emulated GPU (emulated), least change first:")
    assert lines[1:4] == [
        "  1. algo=standard",
        "     sums are taken in another order, and the speed is another",
        "     on the device: goes all the way",
    ]
    start = nearest.index("pyharness explain")
    again = run(*shlex.split(nearest[start : nearest.index("  2. ")])[1:])
    assert "it goes all the way to backward_weights" in " ".join(again.out.split())
    assert documents.startswith("on a GPU (documents, and what Emulated GPU (emulated) did):\n")
    assert "  - confirmed: persist_static needs sequences of equal length\n" in documents
    assert "predicted" not in documents
    assert max(map(len, said.out.replace(str(release), "").splitlines())) <= 100
    alone = run("explain", "--no-since", "--no-device", "--cudnn", release, *STATIC)
    assert "predicted: persist_static needs sequences of equal length" in alone.out
    assert "Emulated GPU" not in alone.out


def test_a_refusal_of_a_stage_as_data(run: Run, emulate: Emulate) -> None:
    release = emulate()
    said = run("explain", "--no-since", "--json", "--cudnn", release, *STATIC)
    data = json.loads(said.out)
    device = data["device"]
    assert (device["name"], device["provenance"], device["complete"]) == (
        "Emulated GPU",
        "emulated",
        False,
    )
    assert device["stopped"]["stage"] == "forward_inference"
    assert [s["stage"] for s in device["stages"]] == list(STAGES)
    assert {b["axis"] for b in device["blames"]} == {"algo", "seq_lengths"}
    assert {c["provenance"] for c in data["calls"]} == {"emulated"}
    assert [s["device"]["complete"] for s in data["suggestions"]] == [True] * len(
        data["suggestions"]
    )
    rules = {p["rule"]: (p["seen"], p["provenance"]) for p in data["predicted"]}
    assert rules["RUN-VARLEN-STATIC"] == ("confirmed", "emulated")
    assert rules["TC-STATIC-NOT"] == ("not_decided", "predicted")


def test_what_the_memory_is_too_small_for(run: Run, emulate: Emulate) -> None:
    release = emulate(memory_bytes=1 << 20)
    said = run("explain", "--no-since", "--cudnn", release, "hidden_size=512", "input_size=4")
    text = " ".join(said.out.split())
    assert "OUT OF MEMORY" in text
    assert "bytes were asked for" in text
    assert "nearest accepted" not in text
    start = text.index("pyharness memory --advice")
    advice = run(*shlex.split(text[start : text.index(" passed: ")])[1:])
    assert (advice.code, advice.err) == (0, "")


def test_contradictory_and_impossible_devices(run: Run, emulate: Emulate) -> None:
    release = emulate()
    for command in (("explain", "hidden_size=8"), ("audit", "--rule", "BD-LEN-ZERO")):
        both = run(*command, "--cudnn", release, "--device", "0", "--no-device")
        assert (both.code, both.out) == (2, "")
        assert "--device 0 and --no-device do not go together" in both.err
        far = run(*command, "--cudnn", release, "--device", "5")
        assert (far.code, far.out) == (2, "")
        assert "there is no device 5: the CUDA driver has 1" in far.err


def test_an_audit_on_a_device(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release, out = emulate(), tmp_path / "audit"
    rules = ("RUN-VARLEN-STATIC", "RUN-VARLEN-DYNAMIC", "BW-ADD", "SET-HID-POS")
    asked = [word for rule in rules for word in ("--rule", rule)]
    said = run("audit", "--cudnn", release, *asked, "--out", out, "--fail-on", "contradicted")
    assert said.code == 3
    assert said.err == "gate: contradicted (1)\n"
    text = " ".join(said.out.split())
    assert "seen on Emulated GPU, emulated: 2 accepted" in text
    assert f"pyharness explain --cudnn {release} batch_size=3" in text
    rows = pd.read_parquet(out / "audit.parquet").set_index("rule")
    assert rows["verdict"].to_dict() == {
        "SET-HID-POS": "holds",
        "RUN-VARLEN-STATIC": "holds",
        "RUN-VARLEN-DYNAMIC": "contradicted",
        "BW-ADD": "needs_a_gpu",
    }
    assert rows["provenance"][["RUN-VARLEN-STATIC", "SET-HID-POS"]].to_list() == ["emulated"] * 2
    assert "tried on real releases on Emulated GPU" in (out / "README.md").read_text()
    host = run("audit", "--cudnn", release, *asked, "--no-device", "--json")
    verdicts = {f["rule"]: f["verdict"] for f in json.loads(host.out)["releases"][0]["findings"]}
    assert verdicts["RUN-VARLEN-STATIC"] == verdicts["RUN-VARLEN-DYNAMIC"] == "needs_a_gpu"


def item(**changes: object) -> dict[str, Any]:
    """A small problem that every stage takes, and what is other."""
    made = random_item(random.Random(1))
    made.pop("clip", None)
    made.update(algo=0, cell_mode=2, bias_mode=2, direction_mode=0, data_type=0, math_prec=0)
    made.update(math_type=0, layout=0, aux_flags=1, num_layers=1)
    made.update(input_size=8, hidden_size=8, proj_size=8)
    made.update(max_seq_length=5, seq_lengths=[5, 5], modes=[1], **changes)
    return made


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]) -> Path:
    """A log of: what goes all the way; an empty row in inference alone, and in training; unequal
    lengths of a persistent algo; and what the host refuses from 9 on."""
    items = [
        item(),
        item() | {"seq_lengths": [5, 0], "modes": [0]},
        item() | {"seq_lengths": [5, 0], "hidden_size": 16, "proj_size": 16},
        item() | {"algo": 1, "seq_lengths": [5, 3]},
        item() | {"layout": 1, "seq_lengths": [3, 5]},
    ]
    return record(cudnn("8.9.7.29"), items, tmp_path_factory.mktemp("stages") / "api.log")


TRAINING = ("forward_training", "backward_data", "backward_weights")


def test_a_recorded_problem_goes_through_the_stages_that_were_recorded(
    run: Run, emulate: Emulate, log: Path, tmp_path: Path
) -> None:
    release, out = emulate(), tmp_path / "out"
    said = run("replay", log, "--cudnn", release, "--out", out)
    assert (said.code, said.err) == (0, "")
    text = " ".join(said.out.split())
    # The empty row is no fault in inference.
    assert f"cuDNN {release} on Emulated GPU (emulated): 3 problems (9 calls) refused, 2" in text
    assert "backward_data, cudnnRNNBackwardData_v8: BAD_PARAM: a sequence is empty" in text
    rows = pd.read_parquet(out / "stages.parquet")
    assert list(rows) == [c.name for c in TABLES["stages"]]
    assert set(rows["provenance"]) == {"emulated"}
    tried = {
        (problem, lengths): dict(zip(own["stage"], own["outcome"], strict=True))
        for (problem, lengths), own in rows.groupby(["problem", "seq_lengths"])
    }
    assert len(tried) == 4  # what the host refused goes nowhere
    by_kind = {(p.split()[0], n, "forward_inference" in s): s for (p, n), s in tried.items()}
    assert by_kind["algo=standard", "[5,0]", True] == {
        **dict.fromkeys(("descriptor", "data", "state", "sizes"), "passed"),
        "build": "skipped",
        "forward_inference": "passed",
    }
    training = {s: by_kind["algo=standard", "[5,0]", False][s] for s in TRAINING}
    assert list(training.values()) == ["passed", "unsupported", "skipped"]
    assert by_kind["algo=persist_static", "[5,3]", False]["forward_training"] == "unsupported"
    host = run("replay", log, "--cudnn", release, "--no-device", "--out", out)
    assert f"cuDNN {release}: 1 problem (3 calls) refused" in " ".join(host.out.split())
    assert not (out / "stages.parquet").exists()


def test_the_gate_sees_what_a_stage_newly_refuses(run: Run, emulate: Emulate, log: Path) -> None:
    a, b = emulate(), emulate(fault="status:NOT_SUPPORTED@cudnnRNNBackwardWeights_v8:*")
    gate = ("--fail-on", "newly_refused", "--json")
    same = run("replay", log, "--cudnn", a, "--cudnn", a, *gate)
    assert (same.code, same.err) == (0, "")
    said = run("replay", log, "--cudnn", a, "--cudnn", b, *gate)
    assert (said.code, said.err) == (3, "gate: newly_refused (1)\n")
    data = json.loads(said.out)
    assert data["steps"][0]["newly_refused"] == [0]
    (found,) = (r for r in data["releases"][1]["refused"] if r["order"] == 0)
    assert (found["stage"], found["call"], found["status"]) == (
        "backward_weights",
        "cudnnRNNBackwardWeights_v8",
        "NOT_SUPPORTED",
    )
    assert data["releases"][1]["provenance"] == "emulated"
    # What was tried on one side alone is compared by what the host says.
    host = run("replay", log, "--cudnn", a, "--cudnn", b, *gate, "--no-device")
    assert host.code == 0


def test_the_problems_of_a_log_are_explained_by_their_stages(
    run: Run, emulate: Emulate, log: Path, tmp_path: Path
) -> None:
    release, out = emulate(), tmp_path / "out"
    said = run("explain", "--log", log, "--cudnn", release, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert f"cuDNN {release}: 3 of 5 recorded problems are refused, 9 of 13 calls" in said.out
    rows = pd.read_parquet(out / "explanations.parquet")
    assert list(rows) == [c.name for c in TABLES["explanations"]]
    blamed = {(r.stage, r.argument) for r in rows.itertuples()}
    assert {
        ("backward_data", "seqLengthArray"),
        ("forward_training", "algo"),
        ("forward_training", "seqLengthArray"),
        ("data", "seqLengthArray"),
    } <= blamed
    assert (out / "stages.parquet").exists()
    suggested = rows[rows["stage"] == "backward_data"]["suggestion"].iloc[0]
    again = run("explain", "--no-since", "--cudnn", release, *suggested.split())
    assert "it goes all the way to backward_weights" in " ".join(again.out.split())
