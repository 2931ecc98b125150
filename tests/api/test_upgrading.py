"""A whole upgrade on emulated releases: a log's verdict, its lock, and what a Ctrl-C leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pyharness.api import diffing, upgrading
from pyharness.api.mapping import MapOptions
from pyharness.api.repeatability import RepeatOptions
from pyharness.api.upgrading import Request, upgrade
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.space.presets import build_space
from pyharness.spec.gate import default_gate, parse_gate
from pyharness.store.case_journal import NAME as JOURNAL
from pyharness.store.manifest import read_manifest
from tests.api import test_staging
from tests.api.test_staging import Made
from tests.api.test_upgrade_device import TIMING
from tests.logs.items import record

emulate = test_staging.emulate  # the fixture
Asked = Callable[..., Request]
PARTS = ("stages", "time", "memory", "determinism", "accuracy", "drift")


@pytest.fixture(autouse=True)
def untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cost of a call is in the verdict, so none is measured here."""
    monkeypatch.setattr(diffing, "time_in_turn", lambda *_: None)


@pytest.fixture
def unreported(monkeypatch: pytest.MonkeyPatch) -> None:
    """No report is looked at, so none is made."""
    monkeypatch.setattr(upgrading, "write_report", lambda *_: [])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]) -> Path:
    """A small LSTM that was run once, and a GRU that was run three times."""
    lstm: dict[str, Any] = {
        **dict.fromkeys(("algo", "bias_mode", "direction_mode", "input_mode", "dropout"), 0),
        "cell_mode": 2,
        "data_type": 0,
        "math_prec": 0,
        "math_type": 0,
        "aux_flags": 0,
        "input_size": 5,
        "hidden_size": 8,
        "proj_size": 8,
        "num_layers": 1,
        "layout": 0,
        "max_seq_length": 4,
        "seq_lengths": [4, 4, 4],
        "modes": [0],
    }
    gru = {**lstm, "cell_mode": 3}
    target = tmp_path_factory.mktemp("log") / "api.log"
    return record(cudnn("9.28.0.42"), [lstm, gru, gru, gru], target)


@pytest.fixture
def asked(emulate: Made, log: Path, tmp_path: Path) -> Asked:
    """An upgrade between two emulated releases; settings are those of the newer one."""

    def request(settings: dict[str, Any] | None = None, **more: Any) -> Request:
        old, new = emulate(), emulate(**(settings or {}))
        return Request(
            str(old.path),
            str(new.path),
            build_space("clip", None, []),
            [str(log)],
            default_gate(True),
            MapOptions(walkers=1),
            timing=TIMING,
            repeating=RepeatOptions(1, ("same_objects",)),
            **more,
        )

    return request


def test_a_log_on_a_gpu(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked({"slower": 1.05, "wrong": "one_ulp"})
    found, folder = upgrade(request, tmp_path / "maps", tmp_path / "u")
    words = {v.question: v.word for v in found.verdicts}
    assert words == {
        "validity": "same",
        "time": "worse",
        "memory": "same",
        "repeatability": "same",
        "accuracy": "worse",
    }
    assert found.word == "failed"
    told = {r.key: (r.word, r.found) for r in found.requirements}
    assert told["time.slower"] == ("failed", 2)
    assert told["accuracy.worse"] == ("failed", 2)
    assert {key for key, (word, _) in told.items() if word != "passed"} == {
        "time.slower",
        "accuracy.worse",
    }
    data = json.loads((folder / "upgrade.json").read_text())
    assert [p["part"] for p in data["parts"]] == list(PARTS)
    assert data["problems"] == {"name": "log api.log", "scope": "log", "count": 2}
    assert (data["device"]["emulated"], data["gate"]["word"]) == (True, "failed")
    evidence = {e["part"]: e for q in data["questions"] for e in q["evidence"]}
    assert set(evidence) == {"replay", "diff", *PARTS}
    # What the log has most often comes first.
    assert [f["times"] for f in evidence["time"]["findings"]] == [3, 1]
    assert "cell_mode=gru" in evidence["time"]["findings"][0]["problem"]
    assert evidence["drift"]["word"] == "other_bits"
    for part in PARTS:
        assert all(f"--log {request.logs[0]}" in c for c in evidence[part]["commands"])
    text = (folder / "upgrade.txt").read_text()
    assert "EMULATED" in text
    assert "WORSE: 2 cases slower by more than 3%; 2 problems less accurate." in text
    manifest = read_manifest(folder)
    assert (manifest.state, manifest.results["verdicts"]) == ("complete", words)
    for name in ("report.html", "report.md", "report.json"):
        assert "9.28.0" in (folder / name).read_text()

    monkeypatch.setattr(upgrading, "write_report", lambda *_: [])
    # The same again runs nothing anew, whatever gate and budget it is asked with.
    made = {p: p.stat().st_mtime_ns for part in PARTS for p in (folder / part).rglob("run.json")}
    gate = parse_gate('time.slower = "none"\naccuracy.worse = "none"', "g", True)
    again, _ = upgrade(
        replace(request, gate=gate, budget_s=1e-6), tmp_path / "maps", tmp_path / "u"
    )
    assert (again.word, {v.question: v.word for v in again.verdicts}) == ("passed", words)
    assert {p: p.stat().st_mtime_ns for p in made} == made


@pytest.mark.usefixtures("unreported")
def test_a_budget_that_ended_is_no_pass(asked: Asked, tmp_path: Path) -> None:
    found, folder = upgrade(asked(budget_s=1e-6), tmp_path / "maps", tmp_path / "u")
    assert found.word == "inconclusive"
    assert {v.question: v.word for v in found.verdicts[1:]} == dict.fromkeys(
        ("time", "memory", "repeatability", "accuracy"), "not_measured"
    )
    assert {r.word for r in found.requirements if not r.key.startswith("time.")} == {"inconclusive"}
    assert not any((folder / part).exists() for part in PARTS)


@pytest.mark.usefixtures("unreported")
def test_one_folder_is_of_one_upgrade_at_a_time(asked: Asked, tmp_path: Path) -> None:
    request, folder = asked(device="none"), tmp_path / "u"
    folder.mkdir()
    with FileLock(folder / ".lock"), pytest.raises(UsageError) as caught:
        upgrade(request, tmp_path / "maps", folder)
    assert caught.value.message == f"another process is writing to {folder}"
    assert [p.name for p in folder.iterdir()] == [".lock"]
    assert upgrade(request, tmp_path / "maps", folder)[0].word == "passed"


@pytest.mark.usefixtures("unreported")
def test_what_a_ctrl_c_leaves_is_gone_on_with(asked: Asked, tmp_path: Path) -> None:
    request, folder, seen = asked(), tmp_path / "u", []

    def interrupt(step: str, done: int, total: int) -> None:
        seen.append((step, done, total))
        if step == "accuracy: cases" and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upgrade(request, tmp_path / "maps", folder, interrupt)
    assert read_manifest(folder).state == "interrupted"
    assert not (folder / "upgrade.json").exists()
    assert (folder / "accuracy" / "old" / JOURNAL).exists()
    assert not list(folder.rglob("*.part"))
    seen.clear()
    found, _ = upgrade(request, tmp_path / "maps", folder, lambda *args: seen.append(args))
    assert (found.word, {v.word for v in found.verdicts}) == ("passed", {"same"})
    assert [done for step, done, _ in seen if step == "accuracy: cases"] == [1, 2, 0, 1, 2]
    assert not [step for step, _, _ in seen if step.startswith(("stages:", "determinism:"))]
    assert read_manifest(folder).state == "complete"
