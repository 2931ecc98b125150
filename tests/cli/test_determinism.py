"""``pyharness determinism``: what it prints, its exit codes, and bad input."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyharness.api.progress import Progress
from pyharness.releases import Release
from tests.cli import test_main, test_map_stages
from tests.cli.test_main import Run
from tests.logs.items import record
from tests.logs.test_real_logs import base

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
    assert max(len(line) for line in lines if not line.startswith("Tables in")) <= 80
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
    assert any("y: 1 of 4 runs, first run 2, element 0;" in line for line in lines)
    whole = ("pyharness determinism", "Tables in")  # a command and a path are not broken
    assert max(len(line) for line in lines if not any(w in line for w in whole)) <= 80
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


def test_a_problem_that_is_random_is_told_once(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = ["--cudnn", emulate(fault="flip:y@cudnnRNNForward:2+"), *SMALL, "--runs", "2"]
    chosen = ["--conditions", "same_objects,load,poisoned", "--out", tmp_path / "out"]
    lines = run("determinism", *words, *chosen).out.splitlines()
    # Every run but the first has the flip: the first of all, and not that of a later condition.
    assert [line for line in lines if line.startswith("  same_objects, ")]
    told = [line.split() for line in lines if "DIFFERS" in line]
    assert told == [["same_objects", "DIFFERS", "in", "1", "of", "1"]]


@pytest.mark.parametrize(
    ("fault", "gates", "expected"),
    [
        (FLIP, "failed", (0, "")),
        (FLIP, "not_repeatable,failed", (3, "gate: not_repeatable (1)\n")),
        ("crash@cudnnRNNForward:3", "not_repeatable", (0, "")),
        ("crash@cudnnRNNForward:3", "not_repeatable, failed", (3, "gate: failed (5)\n")),
    ],
)
def test_gates(
    run: Run,
    emulate: Emulate,
    tmp_path: Path,
    fault: str,
    gates: str,
    expected: tuple[int, str],
) -> None:
    words = ["--cudnn", emulate(fault=fault), *SMALL, "cell_mode=gru", "--out", tmp_path / "out"]
    said = run("determinism", *words, "--conditions", "same_objects", "--fail-on", gates)
    assert (said.code, said.err) == expected


def test_what_failed_is_tried_again_under_another_limit(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    release = emulate(fault="crash@cudnnRNNForward:3")
    words = ["--cudnn", release, *SMALL[1:], "--axis", "hidden_size=4,8", "--runs", "3"]
    words += ["--conditions", "same_objects", "--out", tmp_path / "out"]
    said = run("determinism", *words)
    # One process runs both problems, so that the first one's third pass ends it.
    assert "Failed: a defect, not a difference" in said.out
    conf = release.with_name("emulator.conf")
    conf.write_text("\n".join(t for t in conf.read_text().splitlines() if "fault" not in t))
    again = run("determinism", *words)
    assert again.err.endswith("is complete: nothing is run anew\n")
    assert again.out == said.out
    mended = run("determinism", *words, "--timeout", "11")
    assert (mended.code, mended.err) == (0, "")
    assert "Failed" not in mended.out


def test_the_problems_of_a_log(
    run: Run, emulate: Emulate, cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    log = record(cudnn("9.28.0.42"), [base(hidden_size=6)], tmp_path / "api.log")
    said = run("determinism", "--cudnn", emulate(), "--log", log, *SAME, "--out", tmp_path / "out")
    assert " of log api.log" in said.out.splitlines()[0]
    assert [line for line in said.out.splitlines() if line.startswith("same_objects")]
    refused = run("determinism", "--cudnn", emulate(), "--log", log, *SMALL)
    assert refused.code == 2
    assert "--log brings its own problems" in refused.err


def test_time_beside_repeatability(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    axes = ["--axis", "algo=standard,persist_static", "--axis", "math_type=default_math,fma_math"]
    words = ["--cudnn", emulate(fault=FLIP), *SMALL, *axes, "--runs", "2", "--trade-off"]
    words += ["--conditions", "same_objects", "--out", tmp_path / "out"]
    said = run("determinism", *words)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    begin = lines.index("Time beside repeatability (training_step, hot; median, over the fastest)")
    assert lines[begin + 1].split() == SMALL
    told = " ".join(" ".join(lines[begin:]).split())
    assert "60.00 µs x 1.00 standard math_type=default_math: differs under same_objects" in told
    assert told.count(": repeatable") == 3
    assert "the fastest choice repeats: it costs nothing" in said.out
    assert max(len(line) for line in lines[begin:] if not line.startswith("Tables")) <= 80
    again = run("determinism", *words, "--json")
    data = json.loads(again.out)
    assert len(data["trade_offs"]) == 4
    assert {r["without_choice"] for r in data["trade_offs"]} == {" ".join(SMALL)}
    plain = run("determinism", *[w for w in words if w != "--trade-off"], "--json")
    assert "trade_offs" not in json.loads(plain.out)


def test_a_choice_that_fails_while_it_is_timed(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    # Three forward passes are for the repetition, many for the time.
    words = ["--cudnn", emulate(fault="crash@cudnnRNNForward:9"), *SMALL, "--runs", "2"]
    words += ["--conditions", "same_objects", "--trade-off", "--out", tmp_path / "out"]
    said = run("determinism", *words, "--fail-on", "failed")
    assert (said.code, said.err) == (3, "gate: failed (1)\n")
    assert "same_objects 2 same, <77.64%" in " ".join(said.out.split())
    assert "SIGSEGV" in said.out
    assert "no choice could be timed" in said.out


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
        (["hidden_size=8", "--fail-on", "repeatable"], ["unknown result", "not_repeatable"]),
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
