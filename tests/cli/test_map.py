"""``pyharness map``: what it prints, what it leaves, and what it says to bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.store.reading import MapFolder, read_frame
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.doubles import rules

run = test_main.run  # the fixture
CALL = "cudnnSetRNNDescriptor_v8"
SMALL = ["--axis", "hidden_size=-1,0,64", "--axis", "proj_size=same,over"]


def answers() -> list[str]:
    """The statuses of SMALL by the rules of the fake library."""
    rows = [(h, p) for h in (-1, 0, 64) for p in ("same", "over")]
    fixed = {"num_layers": 1, "algo": 0, "aux_flags": 1, "cell_mode": 2, "data_type": 0}
    said = [rules.descriptor({**fixed, "hidden_size": h, "proj_size": p}) for h, p in rows]
    return [rules.NAMES[int(s[0])] for s in said]


def test_text_on_stdout_tables_in_the_folder(
    run: Run,
    fake: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "new" / "map"
    said = run("map", "--cudnn", fake, "--call", CALL, *SMALL, "--out", out, "--threads", 1)
    assert (said.code, said.err) == (0, "")
    assert "6 problems" in said.out.splitlines()[0]
    counted = {s: answers().count(s) for s in set(answers())}
    assert counted == {"BAD_PARAM": 4, "SUCCESS": 1, "NOT_SUPPORTED": 1}
    for status, rows in counted.items():
        (line,) = [x.split() for x in said.out.splitlines() if x.startswith(f"  {status} ")]
        assert line == [status, str(rows), f"{rows / 6:.2%}"]
    assert "Spot check: 6 problems asked again, 0 answered otherwise" in said.out
    assert said.out.rstrip().endswith(f"tables in {out}")
    assert read_frame(out).status.tolist() == answers()
    reasons = {r["reason"]: r["rows"] for r in MapFolder(out).rows_of("reasons")}
    assert reasons == {"hiddenSize < 1": 4, "projSize > hiddenSize": 1}


def test_json_is_the_manifest_and_the_folder(run: Run, fake: Path, tmp_path: Path) -> None:
    words = ["map", "--cudnn", fake, "--call", CALL, *SMALL, "--reasons", "all", "--json"]
    said = run(*words, "--out", tmp_path / "m")
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    written = json.loads((tmp_path / "m" / "run.json").read_text())
    assert data == {"folder": str(tmp_path / "m"), **written}
    assert (data["kind"], data["state"], data["reasons"]) == ("map", "complete", "all")
    assert data["results"]["rows"] == 6
    assert data["results"]["statuses"] == {s: answers().count(s) for s in set(answers())}
    assert data["release"]["loaded"] == 91300
    assert data["space"]["grids"][0]["axes"]["hidden_size"] == ["-1", "0", "64"]
    again = json.loads(run(*words, "--out", tmp_path / "m").out)
    assert again == data  # the finished map is left as it is


def test_a_folder_is_chosen_where_none_is_given(
    run: Run,
    fake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("map", "--cudnn", fake, "--call", CALL, "--json", "--reasons", "none")
    folder = Path(json.loads(said.out)["folder"])
    assert folder.parts[:2] == ("results", "maps")
    assert len(MapFolder(tmp_path / folder).grids) == 1


def test_a_crash_is_a_row_and_is_told(run: Run, fake: Path, tmp_path: Path) -> None:
    words = ["map", "--cudnn", fake, "--axis", "hidden_size=64,666,65", "--out", tmp_path / "m"]
    said = run(*words, "--threads", 1)
    assert (said.code, said.err) == (0, "")
    assert f"  {CALL} hidden_size=666: SIGSEGV" in said.out
    assert "Failed: the worker did not survive the call" in said.out
    assert read_frame(tmp_path / "m").outcome.tolist() == ["passed", "failed", "passed"]


BAD = [
    (["--preset", "descriptor-ful"], "unknown preset 'descriptor-ful'", "descriptor-full"),
    (["--preset", "zzz"], "unknown preset 'zzz'", "descriptor-core"),
    (["--axis", "hiden_size=1"], "unknown axis 'hiden_size'", "hidden_size"),
    (["--axis", "algo=persist_statik"], "unknown algo 'persist_statik'", "persist_static"),
    (["--axis", "algo"], "cannot read the axis 'algo'", "name=value"),
    (["--axis", "=1"], "cannot read the axis '=1'", "name=value"),
    (["--axis", "algo="], "algo has no values", "at least one"),
    (["--axis", "algo=,"], "algo has no values", "at least one"),
    (["--axis", "algo=0", "--axis", "algo=1"], "the axis algo is given twice", "algo=v1,v2"),
    (["--axis", "hidden_size=9..1"], "the range 9..1 is empty", "from low to high"),
    (["--axis", "hidden_size=0..8*2"], "does not grow", "a of 1 or more"),
    (["--axis", "hidden_size=1..9:0"], "the step of 1..9:0 must be 1 or more", "1..1024:8"),
    (["--axis", "hidden_size=4294967296"], "does not fit", "2147483647"),
    (["--axis", "batch_size=-1..99999999"], "more than 10,000,000 values", "use a step"),
    (["--axis", "batch_size=2000000"], "batch_size: 2000000 cannot be tried", "1048576"),
    (["--call", "cudnnSetRNNDescriptor"], "unknown call 'cudnnSetRNNDescriptor'", CALL),
    (["--call", CALL, "--axis", "layout=all"], f"{CALL} has no axis 'layout'", "DataDescriptor"),
    (["--preset", "clip", "--axis", "algo=all"], "has no axis 'algo'", CALL),
    (["--preset", "clip", "--call", CALL], f"the preset clip has no grid of {CALL}", "SetClip"),
    (
        ["--axis", "algo=0", "--axis", "layout=0"],
        "no call has all of the axes",
        "layout belongs to",
    ),
    (
        ["--axis", "seq_lengths=[5,3]", "--axis", "batch_size=3"],
        "seq_lengths has a list of 2 entries, batch_size is 3",
        "batch_size=2",
    ),
    (["--reasons", "al"], "unknown way of collecting reasons 'al'", "all"),
]


@pytest.mark.parametrize(("words", "message", "hint"), BAD, ids=lambda v: str(v)[:40])
def test_bad_words_are_answered_with_the_right_ones(
    run: Run,
    fake: Path,
    tmp_path: Path,
    words: list[str],
    message: str,
    hint: str,
) -> None:
    said = run("map", "--cudnn", fake, *words, "--out", tmp_path / "m")
    assert (said.code, said.out) == (2, "")
    first, *rest = said.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert hint in "\n".join(rest)
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []


def not_cudnn(folder: Path, kind: str) -> Path:
    """A file or folder that is no cuDNN."""
    target = folder / "libcudnn.so.9"
    if kind == "text":
        target.write_text("not a library\n")
    elif kind == "library":
        source = folder / "one.c"
        source.write_text("int one(void) { return 1; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", target], check=True)
    elif kind == "folder":
        target.mkdir()
    return target


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("text", "not a shared library"),
        ("library", "is not cuDNN"),
        ("folder", "holds no libcudnn.so"),
        ("nothing", "does not exist"),
    ],
)
def test_what_is_not_cudnn(run: Run, tmp_path: Path, kind: str, message: str) -> None:
    library = not_cudnn(tmp_path, kind)
    for words in (["map", "--cudnn", library, "--out", tmp_path / "m"], ["diff", library, library]):
        said = run(*words)
        assert (said.code, said.out) == (2, "")
        assert f"error: {library} " in said.err
        assert message in said.err
        assert "Traceback" not in said.err
    assert not (tmp_path / "m").exists()


def test_an_unknown_release(run: Run, tmp_path: Path) -> None:
    said = run("map", "--cudnn", "instaled", "--out", tmp_path / "m")
    assert (said.code, said.out) == (2, "")
    assert "unknown release 'instaled'" in said.err
    assert "did you mean installed" in said.err


def test_a_library_that_dies_is_no_fault_of_the_command(
    run: Run,
    build: Callable[..., Path],
    tmp_path: Path,
) -> None:
    said = run("map", "--cudnn", build("DIES_ON_LOAD"), "--call", CALL, "--out", tmp_path / "m")
    assert (said.code, said.out) == (1, "")
    assert "a library that cannot bear to be opened" in said.err


def test_a_folder_with_another_run_is_left_alone(run: Run, fake: Path, tmp_path: Path) -> None:
    words = ["map", "--cudnn", fake, "--call", CALL, "--out", tmp_path / "m", "--reasons", "none"]
    assert run(*words).code == 0
    before = {p.name: p.read_bytes() for p in (tmp_path / "m").iterdir()}
    for other in (["--axis", "algo=all"], ["--reasons", "all"]):
        said = run(*words, *other)
        assert (said.code, said.out) == (2, "")
        assert f"{tmp_path / 'm'} holds another run" in said.err
        assert "give another --out" in said.err
    assert {p.name: p.read_bytes() for p in (tmp_path / "m").iterdir()} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    said = run(*words[:-4], "--out", tmp_path / "mine")
    assert said.code == 2
    assert "is not empty and holds no run" in said.err
    said = run(*words[:-4], "--out", tmp_path / "mine" / "letter")
    assert said.code == 2
    assert "is a file" in said.err


# Where the parent ignores SIGINT, as a shell's background jobs do, Python does too.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from pyharness.cli.main import main
main()
"""


def start(*words: object, **env: str) -> subprocess.Popen[str]:
    """`pyharness` as a process of its own."""
    command = [sys.executable, "-c", PROGRAM, *(str(w) for w in words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **env})


def test_an_interrupted_map_goes_on_where_it_stopped(fake: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "m", tmp_path / "log"
    words: list[Any] = ["map", "--cudnn", fake, "--out", out, "--threads", 1, "--timeout", 60]
    words += ["--reasons", "all", "--axis", "hidden_size=1..665,667,700..800"]  # 667 hangs
    with start(*words, FAKE_CUDNN_LOG=str(log)) as process:
        deadline = time.monotonic() + 60
        while not (log.exists() and ",667,667," in log.read_text()):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed, told) == (130, "", "interrupted\n")
    assert json.loads((out / "run.json").read_text())["state"] == "running"
    assert not (out / "validity.parquet").exists()
    assert [p for p in out.iterdir() if p.name.endswith(".part")] == []
    with start(*words, "--json", FAKE_CUDNN_TAME="1") as process:
        printed, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")
    assert json.loads(printed)["state"] == "complete"
    frame = read_frame(out)
    assert frame.hidden_size.tolist() == [*range(1, 666), 667, *range(700, 801)]
    assert set(frame.status) == {"SUCCESS"}
