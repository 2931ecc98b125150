"""``pyharness replay``: logs in words, as data and as tables; tried on releases; captured."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import random
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.releases import Release
from pyharness.spec.axes import parse_values
from pyharness.spec.calls import SET_RNN_DESCRIPTOR, all_axes
from pyharness.spec.tables import TABLES
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.logs.items import command, environment, random_item, record

run = test_main.run  # the fixture
PYHARNESS = [sys.executable, "-m", "pyharness.cli.main"]
OLD, NEW = "8.9.7.29", "9.28.0.42"
UNSORTED = "isSortedSequences == false"


def items() -> list[dict[str, Any]]:
    """One problem that every release takes, three times; one that 9.28 alone refuses; one bad."""
    good = random_item(random.Random(1))
    good.update(data_type=0, math_prec=0, cell_mode=3, hidden_size=7, proj_size=7, layout=0)
    good.update(seq_lengths=[5, 5], max_seq_length=5, modes=[0, 0, 1])
    good.pop("clip", None)
    data = {"data_type": 0, "vector_size": 8, "max_seq_length": 5, "only": "data"}
    return [
        good,
        {**data, "layout": 1, "seq_lengths": [3, 5]},
        {**data, "layout": 1, "seq_lengths": [3, 5]},
        {**data, "layout": 0, "seq_lengths": [5, 9]},
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]) -> Path:
    """What 8.9.7 wrote of these items."""
    return record(cudnn(OLD), items(), tmp_path_factory.mktemp("replay") / "api.log")


def test_what_a_log_holds(run: Run, log: Path) -> None:
    said = run("replay", log)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith(f"{log}: ")
    assert lines[1].startswith("  cuDNN 8.9.7; 1 process, 1 thread; 20")
    assert f"  {3:>12,}  cudnnRNNForward" in lines
    assert "3 distinct problems, the most frequent first" in lines
    first = lines.index("3 distinct problems, the most frequent first") + 1
    assert lines[first].split()[0] == "5"  # 3 forward, 2 backward
    assert "[forward_inference, forward_training," in " ".join(said.out.split())
    # 8.9.7 takes lengths in any order; what it refused without a handle is told.
    assert "seq_lengths=[3,5] max_seq_length=5 batch_size=2 layout=seq_major_packed" in said.out
    assert "logged 1 x cudnnRNNBackwardData_v8 BAD_PARAM: !handle" in said.out
    assert max(map(len, lines)) <= 100 or str(log) in max(lines, key=len)
    # A problem is not told by what differs from our defaults alone.
    assert all(w in lines[first] for w in ("algo=standard", "cell_mode=gru", "data_type=float"))
    assert "pyharness explain" not in said.out


def test_the_order_of_what_is_told(run: Run, log: Path) -> None:
    said = run("replay", log, "--cudnn", OLD, "--cudnn", NEW).out
    heads = [
        "8.9.7.29+cu12 -> 9.28.0.42+cu12: ",
        "  Newly refused\n",
        "cuDNN 8.9.7.29+cu12: 1 problem",
        "cuDNN 9.28.0.42+cu12: 2 problems",
        f"{log}: ",
        "3 distinct problems",
    ]
    assert said.startswith(heads[0])
    assert sorted(heads, key=said.index) == heads
    last = said.splitlines()[-1]
    assert last.endswith(f"pyharness explain --cudnn {NEW} --log {log}")


def test_a_problem_of_nothing_but_defaults_is_told(
    run: Run, tmp_path: Path, cudnn: Callable[[str], Release]
) -> None:
    names = ("algo", "cell_mode", "data_type", "input_size", "hidden_size", "num_layers")
    texts = SET_RNN_DESCRIPTOR.defaults
    item = {**random_item(random.Random(3)), "only": "descriptor", "dropout": 0}
    item.pop("clip", None)
    for name in texts.keys() & item.keys() - {"proj_size", "dropout"}:
        (item[name],) = parse_values(all_axes()[name], texts[name])
    item["proj_size"] = item["hidden_size"]
    said = run("replay", record(cudnn(NEW), [item], tmp_path / "api.log")).out
    told = " ".join(f"{name}={texts[name]}" for name in names)
    assert f" 1 {told} " in " ".join(said.split())


def test_refused_tensors_are_said_not_to_be_tried(
    run: Run, tmp_path: Path, cudnn: Callable[[str], Release]
) -> None:
    item = {**items()[0], "h_dims": [0, 1, 1]}
    said = run("replay", record(cudnn(NEW), [item, item], tmp_path / "api.log")).out
    counted = "2 x cudnnSetTensorNdDescriptor BAD_PARAM"
    assert f"  {counted}\n" in said
    assert "2 refused calls of cudnnSetTensorNdDescriptor counted above and not tried" in said


def test_tables_of_an_earlier_replay_do_not_stay(run: Run, log: Path, tmp_path: Path) -> None:
    def tables() -> set[str]:
        return {p.stem for p in tmp_path.glob("*.parquet")}

    assert run("explain", "--cudnn", NEW, "--log", log, "--out", tmp_path).code == 0
    assert tables() == {"recorded", "validity", "explanations"}
    assert run("replay", log, "--cudnn", OLD, "--out", tmp_path).code == 0
    assert tables() == {"recorded", "validity"}


@pytest.mark.parametrize("name", ["run.json", "recorded", "validity", "explanations"])
def test_a_full_disk_does_not_spoil_the_folder(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_text = Path.write_text
    words = ("explain", "--cudnn", NEW, "--log", log, "--out", tmp_path / "out")

    def fill(path: Path) -> None:
        if name in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")

    class Filling(pq.ParquetWriter):
        def __init__(self, path: Path, *arguments: object, **options: object) -> None:
            fill(path)
            super().__init__(path, *arguments, **options)

    with monkeypatch.context() as planted:
        planted.setattr(pq, "ParquetWriter", Filling)
        planted.setattr(Path, "write_text", lambda path, *o: fill(path) or write_text(path, *o))
        said = run(*words)
        assert said.code == 1
        assert "run the same command again" in said.err
    assert run(*words).code == 0
    assert json.loads((tmp_path / "out" / "run.json").read_text())["state"] == "complete"


def test_what_fails_leaves_no_empty_folder(run: Run, log: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for out in (tmp_path / "a" / "b", kept):
        assert run("replay", tmp_path / "no.log", "--out", out).code == 2
        assert run("explain", "--cudnn", NEW, "--log", log, "--out", out, "--timeout", "0").code
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


def test_what_changes_from_one_release_to_the_next(run: Run, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("replay", log, "--cudnn", OLD, "--cudnn", NEW, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert "cuDNN 8.9.7.29+cu12: 1 problem (1 call) refused, 2 problems (7 calls) accepted" in (
        said.out
    )
    assert "cuDNN 9.28.0.42+cu12: 2 problems (3 calls) refused, 1 problem (5 calls) accepted" in (
        said.out
    )
    step = said.out.partition("8.9.7.29+cu12 -> 9.28.0.42+cu12: ")[2]
    assert step.startswith("1 newly refused\n  Newly refused\n")
    assert f"cudnnSetRNNDataDescriptor of x BAD_PARAM: {UNSORTED}" in step
    recorded = pq.read_table(out / "recorded.parquet")
    assert recorded.column_names == [c.name for c in TABLES["recorded"]]
    rows = recorded.to_pylist()
    assert [(r["order"], r["count"], r["roles"]) for r in rows] == [
        (0, 5, "descriptor, x, y, h"),
        (1, 2, "x"),
        (2, 1, "x"),
    ]
    assert rows[0]["calls"].startswith("cudnnRNNForward 3; cudnnRNNBackwardData_v8 1; ")
    assert (rows[0]["hidden_size"], rows[0]["proj_size"], rows[0]["proj_rule"]) == (7, 7, "same")
    assert (rows[1]["seq_lengths"], rows[1]["hidden_size"]) == ("[3,5]", None)
    validity = pq.read_table(out / "validity.parquet")
    assert validity.column_names == [c.name for c in TABLES["validity"]]
    rows = validity.to_pylist()
    assert len(rows) == 2 * (4 + 1 + 1)
    refused = [r for r in rows if r["reason"] == UNSORTED]
    (row,) = refused
    assert (row["release"], row["status"], row["seq_lengths"]) == (
        "9.28.0.42+cu12",
        "BAD_PARAM",
        "[3,5]",
    )
    assert (row["vector_size"], row["batch_size"], row["layout"]) == (8, 2, "seq_major_packed")
    manifest = json.loads((out / "run.json").read_text())
    assert (manifest["kind"], manifest["state"]) == ("replay", "complete")
    assert [r["name"] for r in manifest["releases"]] == ["8.9.7.29+cu12", "9.28.0.42+cu12"]
    again = run("replay", log, "--out", out)
    assert again.code == 0
    assert not (out / "validity.parquet").exists()  # of the earlier run


def test_the_same_as_data(run: Run, log: Path) -> None:
    data = json.loads(run("replay", log, "--json", "--cudnn", OLD, "--cudnn", NEW).out)
    assert data["cudnn"] == ["8.9.7"]
    assert data["calls"]["cudnnRNNForward"] == 3
    assert [(p["order"], p["count"]) for p in data["problems"]] == [(0, 5), (1, 2), (2, 1)]
    assert data["problems"][1]["problem"]["seq_lengths"] == "[3,5]"
    old, new = data["releases"]
    assert [r["order"] for r in old["refused"]] == [2]
    assert (new["refused"][0]["order"], new["refused"][0]["reason"]) == (1, UNSORTED)
    assert new["outcomes"]["unsupported"] == {"problems": 2, "calls": 3}
    assert data["steps"][0]["newly_refused"] == [1]
    assert "releases" not in json.loads(run("replay", log, "--json").out)


def test_gates(run: Run, log: Path) -> None:
    both = ("--cudnn", OLD, "--cudnn", NEW, "--fail-on")
    said = run("replay", log, *both, "newly_refused,newly_accepted")
    assert (said.code, said.err) == (3, "gate: newly_refused (1)\n")
    assert run("replay", log, *both, "newly_accepted,failed").code == 0
    assert run("replay", log, "--cudnn", NEW, "--fail-on", "refused").code == 3


def test_a_problem_that_kills_the_library_has_failed(
    run: Run, fake: Path, tmp_path: Path, cudnn: Callable[[str], Release]
) -> None:
    items = [
        {**random_item(random.Random(2)), "hidden_size": 666, "proj_size": 666, "cell_mode": 3}
    ]
    items[0].pop("clip", None)
    log = record(cudnn(NEW), items, tmp_path / "api.log")
    said = run("replay", log, "--cudnn", NEW, "--cudnn", fake, "--fail-on", "newly_failed")
    assert said.code == 3
    assert "the worker ended: SIGSEGV" in said.out
    assert "1 newly failing" in said.out


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ([], "no log is given", "--capture -- COMMAND"),
        (["--log", "x", "y"], "--log is where --capture writes", "without it"),
        (["--capture"], "no command is given", "--capture -- python train.py"),
        (["--capture", "--", "no-such-program"], "no-such-program cannot be run", "after --"),
        (["--capture", "--cudnn", "9.28.0.42", "--", "true"], "only records", "afterwards"),
        (["--capture", "--timeout", "5", "--", "touch", "r.log"], "only records", "afterwards"),
        (["--capture", "--log", "", "--", "touch", "r.log"], "--log . is a folder", "a file in it"),
        (["--capture", "--log", ".", "--", "touch", "r.log"], "--log . is a folder", "a file in"),
        (["--capture", "--log", "/", "--", "touch", "r.log"], "--log / is a folder", "a file in"),
        (["--capture", "--log", "full", "--", "touch", "r.log"], "full is a folder", "a file in"),
        (
            ["--capture", "--log", "/proc/x.log", "--", "touch", "r.log"],
            "cannot be written",
            "--log",
        ),
        (
            ["--capture", "--log", "a%i/x.log", "--", "touch", "r.log"],
            "in place of %i in",
            "without %i",
        ),
        (["--capture", "--log", "no/x.log", "--", "touch", "r.log"], "cannot be written", "--log"),
        (["--capture", "--log", f"{'x' * 252}.log", "--", "true"], "cannot be written", "--log"),
        (["nothing.log"], "nothing.log cannot be read", "CUDNN_LOGDEST_DBG"),
        (["text"], "no entry of a cuDNN API log in text", "CUDNN_LOGLEVEL_DBG=3"),
        (["text", "--fail-on", "newly_refused"], "needs 2 --cudnn", "releases"),
        (["text", "--fail-on", "refuse"], "unknown change 'refuse'", "refused"),
        (["text", "--out", "full"], "full is not empty", "another --out"),
    ],
)
def test_what_cannot_be_done(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("epoch 1\n")
    Path("full").mkdir()
    Path("full/other").touch()
    said = run("replay", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert message in said.err
    assert hint in said.err
    assert not list(tmp_path.glob("*.log"))


@pytest.mark.parametrize("release", [OLD, NEW])
def test_a_program_is_recorded_whichever_release_it_loads(
    tmp_path: Path, cudnn: Callable[[str], Release], release: str
) -> None:
    program = cudnn(release)
    done = subprocess.run(
        [*PYHARNESS, "replay", "--capture", "--log", "run.log", "--", *command(program)],
        input=json.dumps(items()),
        env={k: v for k, v in environment(program, "").items() if not k.startswith("CUDNN_LOG")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    (log,) = tmp_path.glob("run.*.log")
    assert f"cuDNN {'.'.join(release.split('.')[:3])}; 1 process" in done.stderr
    assert f"Recorded in {log}" in done.stderr
    assert "3 distinct problems" in done.stderr


def test_what_the_program_is_given_and_gives_is_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PYHARNESS, "replay", "--capture", "--", "sh", "-c", "cat; echo no >&2; exit 7"],
        input="in",
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "in")
    assert done.stderr.startswith("no\nnothing was recorded: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("true", 1),
        ("exit 7", 7),
        ("echo epoch 1 > j.1.log", 1),
        ("echo epoch > j.1.log; exit 7", 7),
    ],
)
def test_a_capture_of_nothing_is_no_success(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("replay", "--capture", "--log", "j.log", "--", "sh", "-c", script)
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("nothing was recorded: ")
    assert ("no entry of a cuDNN API log in" in said.err) == (">" in script)


@pytest.mark.parametrize("release", [OLD, NEW])
@pytest.mark.parametrize(
    ("folder", "words", "name"),
    [
        ("run%d", [], "cudnn-*-*.*.log"),
        ("a%%b", ["--log", "50%/c%d-%%i-%s%i.log"], "50%/c%d-%[0-9]*-%s%i.log"),
    ],
)
def test_a_place_with_percent_signs(
    tmp_path: Path,
    cudnn: Callable[[str], Release],
    release: str,
    folder: str,
    words: list[str],
    name: str,
) -> None:
    program, place = cudnn(release), tmp_path / folder
    (place / "50%").mkdir(parents=True)
    done = subprocess.run(
        [*PYHARNESS, "replay", "--capture", *words, "--", *command(program)],
        input=json.dumps(items()[:1]),
        env=environment(program, ""),
        cwd=place,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    (log,) = (p for p in place.glob(name) if p.is_file())
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, f"Recorded in {log}")


@contextmanager
def started(
    folder: Path, script: str, terminal: bool = False, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A capture of a script that has said that it is ready; both are gone afterwards.

    It ignores no signal, even if the tests run under `nohup` or in the background.
    """

    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with subprocess.Popen(
        [*PYHARNESS, "replay", "--capture", "--", "sh", "-c", script],
        cwd=folder,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=prepare,  # noqa: PLW1509 - no threads run in these tests
        **options,
    ) as process:
        try:
            until = time.monotonic() + 20
            while not (folder / "ready").exists() and time.monotonic() < until:
                time.sleep(0.02)
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 9), (signal.SIGINT, 8), (signal.SIGHUP, 7)]
)
def test_signals_reach_the_program(tmp_path: Path, number: int, code: int) -> None:
    traps = "trap 'exit 9' TERM; trap 'exit 8' INT; trap 'exit 7' HUP; touch ready; "
    with started(tmp_path, traps + "while :; do sleep 0.05; done") as process:
        process.send_signal(number)
        assert process.wait(10) == code


def test_ctrl_c_reaches_the_program_once(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    script = "trap 'echo >> got' INT; touch ready; sleep 0.2; sleep 0.2; exit 6"
    with started(tmp_path, script, terminal=True, stdin=theirs) as process:
        os.write(ours, b"\x03")
        assert process.wait(10) == 6
    assert (tmp_path / "got").read_text() == "\n"
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM"])
def test_what_the_caller_ignores_the_program_ignores(tmp_path: Path, name: str) -> None:
    words = shlex.join(
        [*PYHARNESS, "replay", "--capture", "--", "sh", "-c", f"kill -{name} $$; exit 5"]
    )
    done = subprocess.run(
        ["sh", "-c", f"trap '' {name}; exec {words}"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 5


def test_a_log_that_is_there_is_not_written_over(run: Run, tmp_path: Path) -> None:
    there = tmp_path / "run.17.log"
    there.write_text("mine")
    said = run("replay", "--capture", "--log", tmp_path / "run.log", "--", "true")
    assert (said.code, there.read_text()) == (2, "mine")
    assert "run.17.log is there already" in said.err
    there.rename(tmp_path / "run.2024-notes.log")  # not a name that a process would take
    said = run("replay", "--capture", "--log", tmp_path / "run.log", "--", "true")
    assert said.err.startswith("nothing was recorded: the program made no call")
