"""The Python API on emulated releases: each command's table as a frame, and its ways of ending."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pyharness
from pyharness.api import public_device, public_frames
from pyharness.errors import UsageError
from pyharness.measure.stopping import StoppingRule
from pyharness.releases import Release
from pyharness.spec.footprint import predict
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES
from pyharness.spec.tables import TABLES
from tests.api import test_staging
from tests.api.test_staging import Made

emulate = test_staging.emulate  # the fixture
SMALL = {"hidden_size": 8, "input_size": 5, "batch_size": 3, "max_seq_length": 4}
WORDS = [f"{name}={value}" for name, value in SMALL.items()]
FAULT = "flip:dx@cudnnRNNBackwardData_v8:*"
QUICK = StoppingRule(2, 0.0, 1.0, 1.0)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders are made that nobody named."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def columns(frame: pd.DataFrame, table: str) -> None:
    assert list(frame.columns) == [c.name for c in TABLES[table]]


def test_accuracy_as_a_frame(emulate: Made, scratch: Path) -> None:
    release = str(emulate(fault=FAULT).path)
    axes = {"cell_mode": ["gru", "lstm"], "seed": range(2)}
    frame = pyharness.accuracy(release, SMALL, axes=axes)
    columns(frame, "accuracy")
    assert set(zip(frame.cell_mode, frame.seed, strict=True)) == {
        (cell, seed) for cell in ("gru", "lstm") for seed in (0, 1)
    }
    beyond = frame[frame.verdict == "beyond"]
    assert beyond.buffer.tolist() == ["dx"] * 4
    assert str(frame.status_code.dtype) == "Int32"
    assert list(scratch.iterdir()) == []
    assert [p.name for p in scratch.parent.iterdir() if p.name == "results"] == []


def test_drift_keeps_its_tables_where_it_is_told_to(emulate: Made, tmp_path: Path) -> None:
    a, b = (str(emulate(**more).path) for more in ({}, {"fault": FAULT}))
    frame = pyharness.drift(a, b, WORDS, out=tmp_path / "out")
    columns(frame, "drift")
    assert frame[frame.verdict == "drifted"].buffer.tolist() == ["dx"]
    kept = pd.read_parquet(tmp_path / "out" / "drift.parquet")
    assert kept.verdict.tolist() == frame.verdict.tolist()
    again = pyharness.drift(a, b, WORDS, out=tmp_path / "out")  # complete: nothing is run
    assert again.equals(frame)
    maps = tmp_path / "maps"
    axes = {"algo": "standard"}
    changes = pyharness.diff(a, b, axes=axes, maps=maps, drift=tmp_path / "out", out=tmp_path)
    assert changes.count("drifted") == 1
    assert pd.read_parquet(tmp_path / "changes.parquet").change.tolist() == ["drifted"]


def test_determinism_as_a_frame(emulate: Made, scratch: Path) -> None:
    release = str(emulate().path)
    conditions = ["same_objects", "graph"]
    frame = pyharness.determinism(release, SMALL, runs=3, conditions=conditions)
    columns(frame, "repeatability")
    assert set(frame.condition) == set(conditions)
    assert set(frame.verdict) == {"repeatable"}
    assert set(frame.runs) == {3}
    assert list(scratch.iterdir()) == []
    with pytest.raises(UsageError, match="unknown condition 'grpah'"):
        pyharness.determinism(release, SMALL, conditions=["grpah"])


def test_bench_of_two_releases_as_one_frame(emulate: Made, tmp_path: Path, scratch: Path) -> None:
    fast, slow = (
        str(emulate(compute="off", l2_bytes=4096, cost_ns=cost).path) for cost in (1000, 3000)
    )
    chosen = {"passes": ["forward_inference"], "modes": ["hot"], "rule": QUICK}
    frame = pyharness.bench([fast, slow], SMALL, **chosen)  # type: ignore[arg-type]
    columns(frame, "timings")
    assert len(frame) == 2
    medians = dict(zip(frame.release, frame.median_s, strict=True))
    (a,) = [v for name, v in medians.items() if fast in name]
    (b,) = [v for name, v in medians.items() if slow in name]
    assert b / a == pytest.approx(3)
    assert list(scratch.iterdir()) == []
    with pytest.raises(UsageError, match="unknown pass 'forward'"):
        pyharness.bench(fast, SMALL, passes=["forward"])
    with pytest.raises(UsageError, match="nothing to time on"):
        pyharness.bench([], SMALL)


def test_bench_of_pytorch_alone(scratch: Path) -> None:
    pytest.importorskip("torch")
    frame = pyharness.bench([], SMALL, torch="cpu", passes=["forward_inference"], rule=QUICK)
    assert frame["pass"].tolist() == ["forward_inference"]
    assert frame.release[0].startswith("torch ")
    assert list(scratch.iterdir()) == []


def test_memory_by_formula_and_observed(emulate: Made, scratch: Path) -> None:
    said = predict(parse_problem(WORDS), "training")
    formula = pyharness.memory(None, SMALL)
    columns(formula, "memory")
    assert set(formula.provenance) == {"predicted"}
    training = formula[formula.forward_mode == "training"]
    assert training.total_bytes.tolist() == [said.total]
    observed = pyharness.memory(str(emulate().path), SMALL)
    assert set(observed.provenance) == {"emulated"}
    alone = pyharness.memory(str(emulate().path), SMALL, device="none")
    assert set(alone.provenance) == {"predicted"}
    assert list(scratch.iterdir()) == []


def test_check_and_soak_as_frames(emulate: Made, scratch: Path) -> None:
    release = str(emulate().path)
    checks = ["padding_filled", "inference_is_training"]
    frame = pyharness.check(release, SMALL, checks=checks)
    columns(frame, "equivalences")
    assert set(frame[frame.outcome == "passed"].verdict) == {"holds"}
    with pytest.raises(UsageError, match="unknown check 'padded'"):
        pyharness.check(release, SMALL, checks=["padded"])
    samples = pyharness.soak(release, SMALL, cycles=12)
    columns(samples, "soak")
    assert samples.cycle.max() == 12
    with pytest.raises(UsageError, match="a soak needs an end"):
        pyharness.soak(release, SMALL)
    assert list(scratch.iterdir()) == []


def test_a_ctrl_c_is_handed_on_and_what_was_found_is_kept(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, real, seen = str(emulate().path), public_device.measure_release, []

    def interrupted(*args: object, **more: object) -> object:
        def tick(step: str, done: int, total: int) -> None:
            seen.append(done)
            if done == 1 and len(seen) == 2:
                raise KeyboardInterrupt

        return real(*args, progress=tick, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(public_device, "measure_release", interrupted)
    axes = {"seed": range(3)}
    with pytest.raises(KeyboardInterrupt):
        pyharness.accuracy(release, SMALL, axes=axes, out=tmp_path / "out")
    assert set(pd.read_parquet(tmp_path / "out" / "accuracy.parquet").seed) == {0}
    frame = pyharness.accuracy(release, SMALL, axes=axes, out=tmp_path / "out")
    assert set(frame.seed) == {0, 1, 2}
    assert set(frame["pass"]) == set(PASSES)
    assert seen[2:] == [1, 2, 3]


def test_without_a_driver_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")

    def resolve(*_args: object, **_more: object) -> Release:
        raise AssertionError("a release was asked for")

    for module in (public_device, public_frames):
        monkeypatch.setattr(module, "resolve", resolve)
    asked: list[Callable[[], object]] = [
        lambda: pyharness.accuracy("9.28.0.42", SMALL),
        lambda: pyharness.drift("9.12.0.46", "9.28.0.42", SMALL),
        lambda: pyharness.time_change("9.12.0.46", "9.28.0.42", SMALL),
        lambda: pyharness.bench("9.28.0.42", SMALL),
        lambda: pyharness.determinism("9.28.0.42", SMALL),
        lambda: pyharness.check("9.28.0.42", SMALL),
        lambda: pyharness.soak("9.28.0.42", SMALL, cycles=1),
    ]
    for ask in asked:
        with pytest.raises(UsageError, match="there is no CUDA driver"):
            ask()
    with pytest.raises(UsageError, match="no problem is given"):
        pyharness.accuracy("9.28.0.42")
    with pytest.raises(UsageError, match="--log brings its own problems"):
        pyharness.accuracy("9.28.0.42", SMALL, logs=["api.log"])


def test_it_is_loaded_only_when_it_is_used() -> None:
    code = (
        "import sys, pyharness; before = set(sys.modules)\n"
        "assert not any(m.startswith(('pyharness.api', 'pandas', 'numpy')) for m in before)\n"
        "names = [n for n in dir(pyharness) if n.islower() and not n.startswith('_')]\n"
        "assert all(callable(getattr(pyharness, n)) for n in names), names\n"
        "print(len(names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(pyharness.__all__) - 3  # two errors and the version


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        ("soak", {"cycles": 0}, "cycles=0 is not allowed"),
        ("soak", {"cycles": 2.5}, "cycles=2.5 is no whole number"),
        ("soak", {"minutes": 0}, "minutes=0.0 is not allowed"),
        ("soak", {"minutes": -1}, "minutes=-1.0 is not allowed"),
        ("soak", {"minutes": float("nan")}, "minutes=nan is not allowed"),
        ("soak", {"minutes": "long"}, "minutes='long' is no number"),
        ("soak", {"cycles": 1, "seed": -1}, "seed=-1 is not allowed"),
        ("determinism", {"runs": 0}, "runs=0 is not allowed"),
        ("determinism", {"conditions": []}, "unknown condition ''"),
        ("check", {"tries": -1}, "tries=-1 is not allowed"),
        ("bench", {"passes": []}, "unknown pass ''"),
        ("accuracy", {"timeout_s": 0}, "timeout_s=0.0 is not allowed"),
        ("accuracy", {"logs": "nowhere.log"}, "nowhere.log cannot be read"),
        ("memory", {"device": "one"}, "device='one' is no whole number"),
    ],
)
def test_what_the_command_refuses_is_refused(
    command: str, given: dict[str, Any], said: str, emulate: Made
) -> None:
    problem = () if "logs" in given else SMALL
    with pytest.raises(UsageError, match=re.escape(said)):
        getattr(pyharness, command)(str(emulate().path), problem, **given)


def test_one_name_or_word_need_not_be_a_list(emulate: Made) -> None:
    path = emulate().path
    words = " ".join(WORDS)
    frame = pyharness.determinism(str(path), words, runs=1, conditions="graph, same_objects")
    assert set(frame.condition) == {"graph", "same_objects"}
    frame = pyharness.check(str(path), WORDS, checks="padding_filled")
    assert set(frame.check.dropna()) <= {"padding_filled"}
