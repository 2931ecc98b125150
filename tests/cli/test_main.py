"""The command line as a whole: help, versions, and what becomes of an error."""

from __future__ import annotations

import inspect
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from pyharness import __version__
from pyharness.cli import (
    accuracy,
    atlas,
    audit,
    bench,
    check,
    determinism,
    diff,
    doctor,
    drift,
    explain,
    fetch,
    main,
    map,  # noqa: A004
    memory,
    presets,
    releases,
    replay,
    rules,
    soak,
    time_,
    try_,
    upgrade,
)
from pyharness.errors import HarnessError
from pyharness.space.presets import build_space, preset_names

COMMANDS = {
    "upgrade": upgrade,
    "diff": diff,
    "map": map,
    "memory": memory,
    "try": try_,
    "explain": explain,
    "rules": rules,
    "replay": replay,
    "audit": audit,
    "atlas": atlas,
    "bench": bench,
    "accuracy": accuracy,
    "check": check,
    "determinism": determinism,
    "drift": drift,
    "soak": soak,
    "time": time_,
    "releases": releases,
    "fetch": fetch,
    "presets": presets,
    "doctor": doctor,
}


class Said(NamedTuple):
    """What a command left: its exit code, and what it printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs `pyharness` with these words in this process, as the console script does."""

    def run(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["pyharness", *(str(w) for w in words)])
        code = 0
        try:
            main.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        return Said(code, *capfd.readouterr())

    return run


def test_the_version(run: Run) -> None:
    assert run("--version") == Said(0, f"{__version__}\n", "")


def test_help_names_every_command(run: Run) -> None:
    said = run("--help")
    assert (said.code, said.err) == (0, "")
    for command in COMMANDS:
        assert f"\n  {command} " in said.out
    bare = run()  # without a word help is shown, where and with which code is typer's
    assert bare.out + bare.err == said.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_names_every_option(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = run(command, "--help")
    assert (said.code, said.err) == (0, "")
    parser = vars(typer.main.get_command(main.app))["commands"][command]
    parameters = parser.params
    # What the signature has and what the parser knows are the same.
    assert {p.name for p in parameters} == set(
        inspect.signature(COMMANDS[command].command).parameters
    )
    words = said.out.replace("[", " ").replace("]", " ").replace(",", " ").split()
    for parameter in parameters:
        known = [*parameter.opts, str(parameter.name).upper(), "KEY=VALUE…", "RELEASE…"]
        assert any(k in words for k in known), (parameter.name, said.out)
    assert "--help" in words


@pytest.mark.parametrize("words", [["--help"], ["map", "--help"], ["diff", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    program = (
        "import sys; from pyharness.cli.main import main\n"
        f"sys.argv = ['pyharness', *{words!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'scipy', 'requests', 'pyharness.device._core'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert "Usage: " in done.stdout
    assert (done.returncode, done.stderr) == (0, "[]\n")


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_standard_streams_may_be_closed(closed: str, fake: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pyharness.cli.main", "map", "--call", "cudnnRNNSetClip_v8"]
    words += ["--cudnn", str(fake), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(words)} {closed}"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Walked in" in done.stdout


def test_an_error_of_ours_is_words_on_stderr_and_its_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(HarnessError):
        exit_code = 7

    def fail() -> None:
        raise Odd("it broke", "mend it\nor not")

    app = typer.Typer()
    app.command("one")(fail)
    app.command("two")(fail)
    monkeypatch.setattr(main, "app", app)
    assert run("one") == Said(7, "", "error: it broke\n  mend it\n  or not\n")


def test_an_interrupt_is_said_and_has_its_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyharness.space.presets.preset_data", interrupted)
    assert run("presets") == Said(130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mapp"], "No such command 'mapp'"),
        (["map"], "Missing option '--cudnn'"),
        (["diff", "9.12.0.46"], "Missing argument"),
        (["try", "--cudnn", "9.12.0.46"], "Missing argument"),
        (["map", "--cudnn", "x", "--thread", "2"], "No such option: --thread"),
        (["map", "--cudnn", "x", "--threads", "0"], "Invalid value for '--threads'"),
        (["map", "--cudnn", "x", "--threads", "many"], "Invalid value for '--threads'"),
    ],
)
def test_words_that_no_command_takes(run: Run, words: list[str], message: str) -> None:
    said = run(*words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert "Traceback" not in said.err


def test_presets_in_words_and_as_data(run: Run) -> None:
    said, data = run("presets"), json.loads(run("presets", "--json").out)
    assert said.code == 0
    assert [p["name"] for p in data["presets"]] == preset_names()
    for preset in data["presets"]:
        assert preset["problems"] == build_space(preset["name"], None, []).size
        assert f"{preset['name']} " in said.out
        assert f"{preset['problems']:,}" in said.out
    sizes = {p["name"]: p["problems"] for p in data["presets"]}
    assert sizes["descriptor-full"] >= 50_000_000
    assert sizes["host"] == sum(sizes[n] for n in ("descriptor-core", "data-core", "clip", "state"))
    for call in data["calls"]:
        assert call["call"] in said.out
        for axis in call["axes"]:
            assert f"  {axis['axis']} " in said.out
