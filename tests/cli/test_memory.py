"""``pyharness memory``: by formula, on the emulator, as text, data and tables; what it refuses."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.releases import Release
from pyharness.spec.footprint import TERMS, predict
from pyharness.spec.problem import parse_problem
from pyharness.spec.tables import TABLES
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.emulator.build import EmulatedRelease
from tests.logs.items import random_item, record

run = test_main.run  # the fixture
Cudnn = Callable[[str], Release]
WORDS = ("hidden_size=128", "batch_size=20", "max_seq_length=2000")
MIB = 1 << 20


def rows(folder: Path) -> list[dict[str, Any]]:
    return pq.read_table(folder / "memory.parquet").to_pylist()


def total(*words: str) -> int:
    return predict(parse_problem(words), "training").total


@pytest.fixture
def emulated(
    emulator: Callable[..., EmulatedRelease], cudnn: Cudnn, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., EmulatedRelease]:
    """An emulated device with these settings, chosen by the environment."""

    def set_up(**settings: object) -> EmulatedRelease:
        made = emulator(cudnn("9.28.0.42").path, **settings)
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        return made

    return set_up


# By formula.


def test_one_problem_in_words(run: Run) -> None:
    said = run("memory", *WORDS, "--fit", "1GiB", "--vary", "batch_size", "--advice")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("predicted by formula; with --cudnn a release says ")
    training = next(line for line in lines if line.startswith("  training "))
    assert training.split()[1:5] == ["388", "KiB", "824", "KiB"]
    assert "what grows with what" in said.out
    assert "  max_seq_length 2,000 to 8,000" in said.out
    best = max(b for b in range(1, 400) if total(*WORDS[::2], f"batch_size={b}") <= 1 << 30)
    assert f"  batch_size={best}: " in said.out
    assert f"  batch_size={best + 1} asks for 1.0" in said.out
    assert "most of it, " in said.out
    assert "is the reserve space" in said.out
    assert "  batch_size=10: saves " in said.out
    assert "  inference: saves " in said.out
    flat = " ".join(said.out.split())
    assert all(term.words in flat and term.source in flat for term in TERMS)
    assert max(map(len, lines)) <= 100


def test_the_same_as_data(run: Run) -> None:
    said = run("memory", *WORDS, "--fit", "500MB", "--vary", "hidden_size", "--advice", "--json")
    data = json.loads(said.out)
    inference, training = data["problems"]
    assert (training["forward_mode"], training["provenance"]) == ("training", "predicted")
    assert training["bytes"]["total"] == training["predicted_bytes"]["total"] == total(*WORDS)
    assert training["problem"] == {
        "hidden_size": "128",
        "batch_size": "20",
        "max_seq_length": "2000",
    }
    assert inference["bytes"]["reserve_space"] == 0
    assert set(training["error"].values()) == {None}
    (fit,) = data["fits"]
    assert (fit["axis"], fit["limit_bytes"], fit["proven"]) == ("hidden_size", 500_000_000, True)
    assert fit["size"] <= 500_000_000 < fit["beyond"]
    assert data["advice"][0]["order"] == 0
    assert {"axis", "mode", "part", "exponent", "first", "last"} == set(data["growth"][0])
    assert {t["grade"] for t in data["formula"]} == {"shape", "reported", "guess"}
    assert (data["release"], data["device"]) == (None, None)


def test_inference_alone(run: Run) -> None:
    said = run("memory", *WORDS, "--inference", "--fit", "100MB", "--vary", "batch_size")
    assert "training" not in said.out.partition("the formula")[0]
    assert "batch_size=20 max_seq_length=2000, inference" in " ".join(said.out.split())


def test_a_preset_with_an_axis_and_its_table(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    axes = ("--axis", "max_seq_length=10,40", "--axis", "dropout_rate=0.25")
    said = run("memory", "--preset", "small-h", *axes, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith(f"Tables in {out}\n")
    table = pq.read_table(out / "memory.parquet")
    assert table.column_names == [c.name for c in TABLES["memory"]]
    found = rows(out)
    assert len(found) == 2 * (found[-1]["order"] + 1)
    for row in found:
        words = row["problem"].split()
        ours = predict(parse_problem(words), row["forward_mode"])
        assert row["total_bytes"] == row["predicted_total_bytes"] == ours.total
        assert row["reserve_space_bytes"] == ours.reserve_space
        assert row["name"]
        assert row["max_seq_length"] in (10, 40)
        assert (row["dropout_rate"], row["dropout_states_bytes"]) == (0.25, 4 * MIB)
        assert f"max_seq_length={row['max_seq_length']}" in words
        assert (row["outcome"], row["provenance"]) == ("passed", "predicted")
        assert row["release"] is row["device"] is row["total_error"] is row["free_bytes"] is None
    growth = said.out.partition("what grows with what")[2]
    assert "max_seq_length 10 to 40" in growth
    manifest = json.loads((out / "run.json").read_text())
    assert (manifest["kind"], manifest["state"]) == ("memory", "complete")
    assert manifest["started"] <= manifest["ended"]
    # An earlier answer is replaced; other runs and files are not.
    again = run("memory", *WORDS, "--out", out)
    assert again.code == 0
    assert len(rows(out)) == 2
    (out / "run.json").write_text('{"kind": "replay"}')
    assert run("memory", *WORDS, "--out", out).err.startswith(f"error: {out} holds another run\n")


def test_sizes_that_no_device_has(run: Run, tmp_path: Path) -> None:
    most = 2**31 - 1
    words = [f"{n}={most}" for n in ("hidden_size", "input_size", "num_layers")]
    words += ["batch_size=1000", "max_seq_length=65535"]
    said = run("memory", *words, "--advice", "--fit", "1GB", "--out", tmp_path / "out")
    assert (said.code, said.err) == (0, "")
    assert "skipped: it would need more than 2^60 bytes" in said.out
    assert [r["total_bytes"] for r in rows(tmp_path / "out")] == [None, None]
    # Not even one layer fits, and the hidden size alone can be made so small that it does.
    fit = run("memory", *words[1:], "--fit", "1GB", "--vary", "num_layers", "--json")
    assert json.loads(fit.out)["fits"][0]["value"] is None
    words = ["batch_size=1", "max_seq_length=1", "input_size=1", f"hidden_size={most}"]
    fit = run("memory", *words, "--fit", "1GB", "--vary", "hidden_size", "--json")
    found = json.loads(fit.out)["fits"][0]
    assert found["proven"]
    assert found["size"] <= 10**9 < found["beyond"]


def test_what_a_release_refuses(run: Run, cudnn: Cudnn) -> None:
    release = cudnn("9.28.0.42").name
    words = ("max_seq_length=65536", "batch_size=2")
    said = run("memory", "--cudnn", release, *words, "--advice", "--fit", "10GB")
    assert said.code == 0
    assert said.out.startswith(f"cuDNN {release}: predicted by formula, no GPU was asked: ")
    assert "unsupported: cudnnSetRNNDataDescriptor NOT_SUPPORTED: maxSeqLength >" in " ".join(
        said.out.split()
    )
    assert "nothing was tried: the problem is refused" in said.out
    fit = run(*("memory", "--cudnn", release, *words, "--fit", "900GB", "--vary", "max_seq_length"))
    assert "  max_seq_length=65535: " in fit.out
    assert "larger values are not tried" in fit.out


def test_problems_of_a_log(run: Run, cudnn: Cudnn, tmp_path: Path) -> None:
    item = random_item(random.Random(1))
    item.update(data_type=0, math_prec=0, cell_mode=3, hidden_size=7, proj_size=7, layout=0)
    item.update(seq_lengths=[5, 5], max_seq_length=5, modes=[0, 0, 1])
    item.pop("clip", None)
    log = record(cudnn("9.28.0.42"), [item], tmp_path / "api.log")
    said = run("memory", "--log", log, "--json")
    assert said.code == 0
    problem = json.loads(said.out)["problems"][-1]
    assert (problem["problem"]["batch_size"], problem["problem"]["hidden_size"]) == ("2", "7")
    words = [f"{n}={t}" for n, t in problem["problem"].items()]
    assert problem["bytes"]["total"] == total(*words)
    item["modes"] = [0]  # it was run for inference alone
    log = record(cudnn("9.28.0.42"), [item], tmp_path / "served.log")
    served = json.loads(run("memory", "--log", log, "--json").out)["problems"]
    assert [p["forward_mode"] for p in served] == ["inference"]


# On the emulator.


def test_sizes_of_a_device_and_the_error_of_the_formula(
    run: Run, emulated: Callable[..., EmulatedRelease], tmp_path: Path
) -> None:
    device = emulated()
    said = run("memory", "--cudnn", device.cudnn, *WORDS, "--out", tmp_path / "out")
    assert (said.code, said.err, device.violations) == (0, "", [])
    assert ": emulated on " in " ".join(said.out.split())
    assert "0.0%" in said.out
    assert "+0.0%" not in said.out
    assert "the formula" not in said.out
    inference, training = rows(tmp_path / "out")
    assert {r["provenance"] for r in (inference, training)} == {"emulated"}
    assert {r["outcome"] for r in (inference, training)} == {"passed"}
    # The emulator's own formula: the gates of four parts and of 16 steps, and in training a state;
    # 256 bytes are the least step.
    state = 4 * 128 * 20
    workspace = 4 * state * (4 + 16)
    assert (inference["workspace_bytes"], training["workspace_bytes"]) == (
        workspace,
        -(-(workspace + state) // 256) * 256,
    )
    assert inference["reserve_space_bytes"] == 0
    for row in (inference, training):
        ours = predict(parse_problem(WORDS), row["forward_mode"])
        assert row["predicted_workspace_bytes"] == ours.workspace
        for part, predicted in {**ours.parts, "total": ours.total}.items():
            seen = row[f"{part}_bytes"]
            error = row[f"{part}_error"]
            assert error == (None if seen == 0 else pytest.approx((predicted - seen) / seen))
        assert row["tensor_error"] == 0
        assert row["workspace_error"] not in (0, None)
        assert row["total_bytes"] == sum(row[f"{p}_bytes"] for p in ours.parts)
    assert training["reserve_space_error"] not in (0, None)


def test_what_fits_a_device_whose_sizes_rise_and_fall(
    run: Run, emulated: Callable[..., EmulatedRelease], tmp_path: Path
) -> None:
    device = emulated()
    words = ("memory", "--cudnn", device.cudnn, "hidden_size=64", "max_seq_length=40")
    batches = ",".join(str(b) for b in range(1, 80))
    assert run(*words, "--axis", f"batch_size={batches}", "--out", tmp_path / "out").code == 0
    trained = [r for r in rows(tmp_path / "out") if r["forward_mode"] == "training"]
    sizes = {r["batch_size"]: r["total_bytes"] for r in trained}
    falls = [b for b in range(1, 79) if sizes[b + 1] < sizes[b]]
    assert falls
    for limit in (sizes[falls[-1] + 1], sizes[64]):
        said = run(*words, "--fit", f"{limit}B", "--vary", "batch_size", "--json")
        fit = json.loads(said.out)["fits"][0]
        assert fit["value"] == max(b for b, size in sizes.items() if size <= limit)
        assert fit["proven"]
    assert device.violations == []


def test_a_small_device_is_out_of_memory_and_the_sweep_goes_on(
    run: Run, emulated: Callable[..., EmulatedRelease], tmp_path: Path
) -> None:
    device = emulated(memory_bytes=64 * MIB)
    said = run(
        *("memory", "--cudnn", device.cudnn, "--device", "0", "hidden_size=128"),
        *(
            "max_seq_length=2000",
            "--axis",
            "batch_size=1,20,2",
            "--out",
            tmp_path / "out",
            "--advice",
        ),
    )
    assert (said.code, device.violations) == (0, [])
    trained = [r for r in rows(tmp_path / "out") if r["forward_mode"] == "training"]
    assert [r["outcome"] for r in trained] == ["passed", "out_of_memory", "passed"]
    assert trained[1]["asked_bytes"] == trained[1]["total_bytes"] > trained[1]["free_bytes"]
    assert trained[1]["free_bytes"] == 64 * MIB
    assert {r["asked_bytes"] for r in trained[::2]} == {None}
    assert "out of memory: it asks for " in said.out
    assert ", fits" in said.out


def test_a_call_that_fails_is_a_row(
    run: Run, emulated: Callable[..., EmulatedRelease], tmp_path: Path
) -> None:
    device = emulated(fault="status:NOT_SUPPORTED@cudnnGetRNNTempSpaceSizes:1")
    axes = ("--axis", "batch_size=2,4")
    said = run("memory", "--cudnn", device.cudnn, *axes, "--out", tmp_path / "out")
    assert said.code == 0
    found = rows(tmp_path / "out")
    assert [r["outcome"] for r in found] == ["unsupported"] * 2 + ["passed"] * 2
    assert {(r["call"], r["status"]) for r in found[:2]} == {
        ("cudnnGetRNNTempSpaceSizes", "NOT_SUPPORTED")
    }
    assert {r["total_bytes"] for r in found[:2]} == {None}


def test_a_crash_is_a_row_and_the_next_has_a_new_worker(
    run: Run, emulated: Callable[..., EmulatedRelease], tmp_path: Path
) -> None:
    device = emulated(fault="crash@cudnnGetRNNWeightSpaceSize:2")
    axes = ("--axis", "batch_size=2,4,6")
    assert run("memory", "--cudnn", device.cudnn, *axes, "--out", tmp_path / "out").code == 0
    found = rows(tmp_path / "out")[::2]
    assert [r["outcome"] for r in found] == ["passed", "failed", "passed"]
    assert found[1]["call"] == "cudnnGetRNNWeightSpaceSize"
    assert "SIGSEGV" in found[1]["reason"]


def test_a_release_that_does_not_know_the_gpu_answers_by_formula_and_says_why(
    run: Run, emulated: Callable[..., EmulatedRelease]
) -> None:
    device = emulated(unsupported_arch=1)
    words = ("memory", "--cudnn", device.cudnn, "batch_size=8")
    said = run(*words)
    flat = " ".join(said.out.split())
    assert (said.code, said.err) == (0, "")
    assert "predicted by formula, no GPU was asked: cuDNN" in flat
    assert "does not support this GPU: Emulated GPU, compute capability 8.0" in flat
    assert "choose another release" in flat
    asked = run(*words, "--device", "0")
    assert (asked.code, asked.out) == (2, "")
    assert "does not support this GPU" in asked.err


def test_a_gpu_is_left_out_on_request(run: Run, emulated: Callable[..., EmulatedRelease]) -> None:
    words = ("memory", "--cudnn", emulated().cudnn, "hidden_size=0", "--no-device")
    said = run(*words, "--json")
    data = json.loads(said.out)
    assert (data["device"], data["without"]) == (None, "--no-device is given")
    assert data["problems"][0]["call"] == "cudnnSetRNNDescriptor_v8"
    assert "every call may use the same workspace" not in run(*words).out  # there is none


def test_a_preset_is_weighed_in_the_modes_that_it_runs(run: Run) -> None:
    data = json.loads(run("memory", "--preset", "deepbench", "--json").out)
    groups = {(p["name"].partition("-")[0], p["forward_mode"]) for p in data["problems"]}
    assert groups == {("training", "training"), ("server", "inference"), ("device", "inference")}
    assert len(data["problems"]) == 125
    only = json.loads(run("memory", "--preset", "deepbench", "--inference", "--json").out)
    assert {p["forward_mode"] for p in only["problems"]} == {"inference"}
    assert len(only["problems"]) == 125


# Requests that are wrong.

BAD: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "no problem is given"),
    "key": (["hiden_size=8"], "unknown key 'hiden_size'"),
    "value": (["hidden_size=many"], "hidden_size: 'many' is no integer"),
    "preset": (["--preset", "smok"], "unknown preset 'smok'"),
    "preset and words": (["--preset", "smoke", "hidden_size=8"], "both the preset smoke and"),
    "vary alone": (["batch_size=8", "--vary", "batch_size"], "--vary batch_size needs to know"),
    "fit alone": (["batch_size=8", "--fit", "1GB"], "--fit needs to know what may change"),
    "no unit": (["batch_size=8", "--fit", "24", "--advice"], "--fit: '24' is no size: it has no"),
    "no size": (["batch_size=8", "--fit", "lots", "--advice"], "--fit: 'lots' is no size"),
    "axis to vary": (
        ["batch_size=8", "--fit", "1GB", "--vary", "algo"],
        "--vary algo is no axis that memory grows with\n  allowed: batch_size, max_seq_length, ",
    ),
    "varied already": (
        ["--axis", "batch_size=1,2", "--fit", "1GB", "--vary", "batch_size"],
        "--vary batch_size looks for its largest value",
    ),
    "device without a release": (["batch_size=8", "--device", "1"], "--device needs a release"),
    "log and words": (["--log", "api.log", "batch_size=8"], "--log brings its own problems"),
    "device and none": (
        ["batch_size=8", "--cudnn", "9.28.0.42", "--device", "1", "--no-device"],
        "--device 1 and --no-device do not go together",
    ),
    "log and preset": (["--log", "api.log", "--preset", "smoke"], "--log brings its own problems"),
    "release": (["batch_size=8", "--cudnn", "/nowhere/libcudnn.so"], "/nowhere/libcudnn.so"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_request(run: Run, tmp_path: Path, case: str) -> None:
    words, message = BAD[case]
    out = tmp_path / "out"
    said = run("memory", *words, "--out", out)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {message}")
    assert len(said.err.splitlines()) >= 2
    assert not out.exists()


def test_a_device_that_is_not_there(run: Run, emulated: Callable[..., EmulatedRelease]) -> None:
    device = emulated(devices=2)
    said = run("memory", "--cudnn", device.cudnn, "--device", "2", "batch_size=8")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error: there is no device 2: the CUDA driver has 2\n  allowed for --device: 0 to 1\n"
    )


def test_no_driver_at_all(run: Run, cudnn: Cudnn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    said = run("memory", "--cudnn", cudnn("9.28.0.42").name, "--device", "0", "batch_size=8")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: there is no CUDA driver: ")
