"""``pyharness determinism``: what it prints, its exit codes, and bad input."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyharness.api.progress import Progress
from tests.cli import test_main, test_map_stages
from tests.cli.test_main import Run

run = test_main.run  # the fixtures
emulate = test_map_stages.emulate
Emulate = Callable[..., Path]
SMALL = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3"]
FLIP = "flip:y@cudnnRNNForward:3"
SAME = ["--conditions", "same_objects,graph", "--runs", "4"]


def test_what_it_prints_where_nothing_differs(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = ["--cudnn", emulate(), *SMALL, *SAME, "--fail-on", "not_repeatable"]
    said = run("determinism", *words, "--out", tmp_path / "out")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("9.28.0 on Emulated GPU: 1 problem of hidden_size=8")
    assert "EMULATED: a test double computed these results, not a GPU" in lines
    # 4 clean runs rule out more than 1 - 0.05^(1/4).
    cells = [line.split() for line in lines if line.startswith(("same_objects", "graph"))]
    assert cells == [[c, "4", "same,", "<52.71%"] for c in ("same_objects", "graph")]
    assert max(map(len, lines)) <= 100
    again = run("determinism", *words, "--out", tmp_path / "out")
    assert again.out == said.out
    assert again.err == f"{tmp_path / 'out'} is complete: nothing is run anew\n"


def test_what_differs_is_told_with_a_command_that_repeats_it(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    words = ["--cudnn", emulate(fault=FLIP), *SMALL, *SAME, "--out", tmp_path / "out"]
    said = run("determinism", *words)
    assert said.code == 0
    lines = said.out.splitlines()
    assert ["same_objects", "DIFFERS", "in", "1", "of", "1"] in [line.split() for line in lines]
    assert any("y: first in run 2 of 4, element 0;" in line for line in lines)
    assert max(len(line) for line in lines if "pyharness determinism" not in line) <= 100
    (command,) = [line for line in lines if line.startswith("    pyharness determinism")]
    again = run(
        *shlex.split(command)[1:], "--out", tmp_path / "again", "--fail-on", "not_repeatable"
    )
    assert again.code == 3
    assert "same_objects" in again.out
    assert "graph " not in again.out


def test_json_has_rows_and_summary(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = ["--cudnn", emulate(fault=FLIP), *SMALL, *SAME, "--out", tmp_path / "out", "--json"]
    said = run("determinism", *words, "--fail-on", "not_repeatable")
    assert said.code == 3
    data = json.loads(said.out)
    verdicts = {(r["condition"], r["buffer"]): r["verdict"] for r in data["repeatability"]}
    assert verdicts.pop(("same_objects", "y")) == "not_repeatable"
    assert set(verdicts.values()) == {"repeatable"}
    summary = {s["condition"]: s for s in data["summary"]}
    assert summary["same_objects"]["verdict"] == "not_repeatable"
    assert summary["graph"]["clean_runs"] == 4
    assert summary["graph"]["failure_rate_bound"] == pytest.approx(1 - 0.05**0.25)
    assert data["run"]["state"] == "complete"


def test_dropout_that_goes_on_fails_no_gate(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = [
        *SMALL,
        "cell_mode=gru",
        "num_layers=2",
        "dropout_rate=0.5",
        "--runs",
        "2",
        "--out",
        tmp_path / "out",
    ]
    chosen = ["--conditions", "dropout_continued", "--fail-on", "not_repeatable"]
    said = run("determinism", "--cudnn", emulate(), *words, *chosen)
    assert said.code == 0
    assert "dropout_continued differs by design (1 problem: y, hy, dx, dhx, dw)" in said.out
    assert "differs, by design" in said.out


def test_a_ctrl_c_keeps_what_is_there(
    run: Run, emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def shown(unit: str) -> Iterator[Progress]:
        assert unit == "cases"

        def interrupt(step: str, done: int, total: int) -> None:
            if (step, done) == ("cases", 1):
                raise KeyboardInterrupt

        yield interrupt

    words = ["--cudnn", emulate(), *SMALL[1:], "--axis", "hidden_size=4,8", *SAME]
    with monkeypatch.context() as patched:
        patched.setattr("pyharness.cli.progress.shown", shown)
        said = run("determinism", *words, "--out", tmp_path / "out")
    assert said.code == 130
    assert said.err == "interrupted: the same command goes on\n"
    assert "1 not done (interrupted)" in " ".join(said.out.split())
    said = run("determinism", *words, "--out", tmp_path / "out")
    assert said.code == 0
    assert "2 problems" in said.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["hidden_size=8", "--conditions", "grap"], ["unknown condition 'grap'", "graph"]),
        (["hidden_size=8", "--fail-on", "repeatable"], ["unknown verdict", "not_repeatable"]),
        ([], ["no problem is given"]),
        (["hidden=8"], ["unknown key 'hidden'", "hidden_size"]),
        (["--preset", "nothing"], ["nothing"]),
        (["hidden_size=8", "--device", "7"], ["there is no device 7"]),
    ],
)
def test_bad_input(run: Run, emulate: Emulate, words: list[str], expected: list[str]) -> None:
    said = run("determinism", "--cudnn", emulate(), *words)
    assert (said.code, said.out) == (2, "")
    for text in expected:
        assert text in said.err


def test_without_a_driver(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    said = run("determinism", "--cudnn", "9.28.0.42", *SMALL)
    assert said.code == 2
    assert "there is no CUDA driver" in said.err
