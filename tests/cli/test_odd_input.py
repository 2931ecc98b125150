"""Odd paths, numbers and keys: one clear message and its exit code, never a traceback."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from pyharness.cli import main
from pyharness.cli.progress import shown, shown_bytes
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
LONG = "a" * 300
CLIP = ["--call", "cudnnRNNSetClip_v9", "--reasons", "none"]


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("file", "{tmp}/file is a file"),
        ("file/x", "{tmp}/file is a file"),
        ("file/x/y", "{tmp}/file is a file"),
        (LONG, "File name too long"),
        (f"new/{LONG}/x", "File name too long"),
        ("/proc/x", "No such file or directory"),
        ("loop/x", "{tmp}/loop is no folder"),
        ("nowhere", "{tmp}/nowhere is no folder"),
        ("/dev/null/x", "/dev/null is no folder"),
    ],
    ids=lambda v: v[:12],
)
def test_an_out_that_can_be_no_folder(
    run: Run, fake: Path, tmp_path: Path, out: str, why: str
) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("not there")
    before = sorted(tmp_path.iterdir())
    said = run("map", "--cudnn", fake, *CLIP, "--out", tmp_path / out)
    told = f"{tmp_path / out} cannot be used as a folder for tables: {why.format(tmp=tmp_path)}"
    assert said == (2, "", f"error: {told}\n  give another --out\n")
    assert sorted(tmp_path.iterdir()) == before


def test_an_out_that_cannot_be_written_to(
    run: Run, fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No chmod: it would not keep root out.
    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "scratch")

    monkeypatch.setattr("pyharness.api.folder.TemporaryFile", refuse)
    said = run("map", "--cudnn", fake, *CLIP, "--out", tmp_path / "new" / "out")
    assert (said.code, said.out) == (2, "")
    assert f"{tmp_path / 'new' / 'out'} cannot be used" in said.err
    assert "Read-only file system" in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def raising(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], test_main.Said]:
    """Runs a command that raises this."""

    def with_error(error: Exception) -> test_main.Said:
        def fail() -> None:
            raise error

        app = typer.Typer(pretty_exceptions_enable=False)
        app.command("one")(fail)
        app.command("two")(fail)
        monkeypatch.setattr(main, "app", app)
        return run("one")

    return with_error


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(errno.EIO, "I/O error", "/data/x"), 1, "/data/x: I/O error"),
        (PermissionError(errno.EACCES, "Permission denied"), 1, "Permission denied"),
        (OSError("two\nlines"), 1, "two lines"),
        (OSError(), 1, "OSError"),
        (
            RuntimeError("Could not determine home directory."),
            2,
            "a path cannot be read: Could not determine home directory.",
        ),
    ],
    ids=str,
)
def test_what_the_system_refuses_is_one_line(
    raising: Callable[[Exception], test_main.Said], error: Exception, code: int, words: str
) -> None:
    assert raising(error) == (code, "", f"error: {words}\n")


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyError("x"), TypeError("x"), RuntimeError("x")], ids=repr
)
def test_a_defect_of_ours_is_not_hidden(
    raising: Callable[[Exception], test_main.Said], error: Exception
) -> None:
    with pytest.raises(type(error)):
        raising(error)


@pytest.mark.parametrize("seconds", ["inf", "1e30", "nan", "0", "-1", "86401", "soon"])
@pytest.mark.parametrize("command", ["map", "try"])
def test_a_time_limit_that_is_none(run: Run, fake: Path, command: str, seconds: str) -> None:
    words = [] if command == "map" else ["hidden_size=1"]
    said = run(command, "--cudnn", fake, *words, "--timeout", seconds)
    assert (said.code, said.out) == (2, "")
    assert "Invalid value for '--timeout'" in said.err
    assert "Traceback" not in said.err


def test_the_longest_time_limit_works(run: Run, fake: Path) -> None:
    assert run("try", "--cudnn", fake, "--timeout", 86_400, "hidden_size=1").code == 0


@pytest.mark.parametrize("word", ["tensor= h", "tensor=h,", " tensor=h,h".strip(), "tensor=h "])
def test_one_tensor_however_it_is_spelled(run: Run, fake: Path, word: str) -> None:
    said = run("try", "--cudnn", fake, word)
    assert (said.code, said.err) == (0, "")
    assert "tensor descriptor of h" in said.out
    assert "tensor descriptor of c" not in said.out


class Terminal(io.StringIO):
    """A stderr that says that it is a terminal, and keeps what is written."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("path", ["/a/[/red]/libcudnn.so.9", "/a/[red]/libcudnn.so.9"])
def test_brackets_in_a_path_are_no_markup(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown("[/unit]") as progress:
        progress(f"fetching {path}", 1, 2)
    assert f"fetching {path}" in terminal.getvalue()
    assert "1 of 2 [/unit]" in terminal.getvalue()
    with shown_bytes(path) as fetched:
        fetched(1, 2, "member")
    assert terminal.getvalue().count(path) >= 2


# The command cleans up for a while after the first Ctrl-C.
PROGRAM = """
import signal, time
signal.signal(signal.SIGINT, signal.{before})
import pyharness.space.presets as presets
from pyharness.cli.main import main

def slow(*_):
    try:
        print("at work", flush=True)
        time.sleep({work})
    finally:
        print("cleaning", flush=True)
        until = time.monotonic() + 1
        while time.monotonic() < until:
            time.sleep(0.01)
        print("clean", flush=True)
    raise SystemExit(0)

presets.preset_data = slow
import sys
sys.argv = ["pyharness", "presets"]
main()
"""


def started(before: str, work: float) -> subprocess.Popen[str]:
    """A command that is at work."""
    program = PROGRAM.format(before=before, work=work)
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    return process


def test_more_interrupts_do_not_keep_it_from_cleaning_up() -> None:
    with started("default_int_handler", 60) as process:
        assert process.stdout is not None
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "cleaning\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "clean\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_an_interrupt_that_the_caller_ignores_stays_ignored() -> None:
    with started("SIG_IGN", 0.5) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "cleaning\nclean\n", "")


def test_the_handler_is_put_back(run: Run) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert run("--version").code == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("words", [["upgrade", "9.12.0.46", "9.28.0.42"], ["memory", "seed=1"]])
def test_a_name_that_no_file_can_have_is_bad_input(
    cudnn: Callable[[str], object], run: Run, tmp_path: Path, words: list[str]
) -> None:
    for version in ("9.12.0.46", "9.28.0.42"):
        cudnn(version)
    said = run(*words, "--out", tmp_path / LONG)
    assert (said.code, "name too long" in said.err.lower(), "Traceback" in said.err) == (
        2,
        True,
        False,
    )
