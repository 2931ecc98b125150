"""releases and fetch, against an index on this machine that misbehaves on request."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pyharness.cli.main import app
from pyharness.errors import HarnessError
from pyharness.releases import fetch_headers, installed, list_offers
from tests.releases import conftest as local

index, offline, cache, no_settings = local.index, local.offline, local.cache, local.no_settings
build_library = local.build_library

OPS = "nvidia/cudnn/lib/libcudnn_ops.so.9"
COMMAND = [sys.executable, "-m", "pyharness.cli.main"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cuDNN of this machine but what a test puts into LD_LIBRARY_PATH."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setattr(installed, "_places", lambda: iter(_search_path()))


def _search_path() -> list[tuple[str, Path]]:
    value = os.environ.get("LD_LIBRARY_PATH")
    return [("LD_LIBRARY_PATH", Path(value))] if value else []


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def error(result: Result) -> HarnessError:
    assert isinstance(result.exception, HarnessError), result.output
    return result.exception


def document(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert isinstance(result.exception, SystemExit | None), result.exception
    return json.loads(result.stdout)


def cells(text: str, version: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"{version} ")]
    return line.split()


def test_the_table_shows_what_is_offered_cached_and_installed(
    index, build_library: Callable[..., Path], monkeypatch
) -> None:
    index.add_cudnn("9.25.1.1", 12)
    index.add_cudnn("9.25.1.1", 13)
    index.add_cudnn("9.26.0.51", 12)
    library = build_library("lib/libcudnn.so.9.1.0", ("cudnnGetVersion",))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    assert run("fetch", "9.26.0.51").exit_code == 0
    text = run("releases").stdout
    assert [line.split()[0] for line in text.splitlines()[:4]] == [
        "VERSION",
        "9.1.0",
        "9.25.1.1",
        "9.26.0.51",
    ]
    assert cells(text, "9.25.1.1") == ["9.25.1.1", "12,", "13"]
    assert cells(text, "9.26.0.51") == ["9.26.0.51", "12", "cu12", "light", "1", "MB"]
    assert "LD_LIBRARY_PATH" in cells(text, "9.1.0")
    assert "cache   1 release, 1 MB in" in text
    assert "pyharness fetch 9.26.0.51" in text
    found = document("releases")
    assert found["index"] == {"reached": True, "problem": None}
    assert [row["version"] for row in found["releases"]] == ["9.1.0", "9.25.1.1", "9.26.0.51"]
    assert found["releases"][0]["installed"][0]["library"] == str(library)
    assert found["releases"][1]["offered"] == [12, 13]
    assert found["releases"][2]["cached"][0]["name"] == "9.26.0.51+cu12"


def test_sixty_releases_fit_eighty_columns(index, cache: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for minor in range(60):
        for cuda in (11, 12, 13):
            index.add(f"nvidia-cudnn-cu{cuda}", f"9.{minor}.10.100", {"nvidia/x": b""})
    lines = run("releases").stdout.splitlines()
    rows = [line for line in lines if line.startswith("9.")]
    assert len(rows) == 60
    assert [line for line in lines if len(line) > 80] == []
    assert rows[-1].split() == ["9.59.10.100", "11,", "12,", "13"]


def test_offline_the_index_is_not_asked(index) -> None:
    index.add_cudnn("9.25.1.1")
    index.add_cudnn("9.26.0.51")
    run("fetch", "9.26.0.51")
    index.pages.clear()
    result = run("releases", "--offline")
    assert result.exit_code == 0
    assert index.pages == []
    assert "was not asked (--offline)" in result.stdout
    assert "9.25.1.1" not in result.stdout
    assert cells(result.stdout, "9.26.0.51")[1] == "cu12"


def test_without_an_index_what_is_here_is_shown(index, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    run("fetch", "9.26.0.51")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    result = run("releases")
    assert result.exit_code == 0
    assert "cannot be reached" in result.stdout
    assert "connection refused" in result.stdout
    assert "9.26.0.51" in result.stdout
    found = document("releases")
    assert found["index"]["reached"] is False
    assert "connection refused" in found["index"]["problem"]


def test_nothing_known_at_all_is_an_error(offline) -> None:
    result = run("releases")
    assert error(result).exit_code == 1
    assert "no release is cached or installed" in error(result).message


def test_an_index_without_cudnn(index) -> None:
    result = run("releases")
    assert result.exit_code == 0
    assert "offers no cuDNN for this machine" in result.stdout


def test_several_are_fetched_and_then_are_here(index, cache: Path) -> None:
    index.add_cudnn("9.25.1.1", 13)
    index.add_cudnn("9.26.0.51", 12)
    result = run("fetch", "9.25.1.1+cu13", "9.26.0.51")
    first, second = result.stdout.splitlines()
    assert result.exit_code == 0
    words = first.split()
    assert words[:3] == ["9.25.1.1+cu13", "fetched", "in"]
    assert words[-4:] == ["light,", "1", "MB", str(cache / "9.25.1.1+cu13")]
    assert second.startswith("9.26.0.51+cu12 ")
    assert result.stderr == ""
    asked = len(index.pages)
    assert "already here" in run("fetch", "9.26.0.51").stdout
    assert len(index.pages) == asked


def test_all_that_a_gpu_run_needs(index) -> None:
    index.add_cudnn("9.26.0.51")
    index.add("nvidia-cublas-cu12", "12.9.1.4", {"nvidia/cublas/lib/libcublas.so.12": b"x" * 9})
    index.add("nvidia-cuda-nvrtc-cu12", "12.9.1", {"nvidia/cuda_nvrtc/lib/libnvrtc.so.12": b"y"})
    run("fetch", "9.26.0.51")
    result = run("fetch", "9.26.0.51", "--full")
    assert "fetched in" in result.stdout
    assert "   full, " in result.stdout
    assert "already here   full" in run("fetch", "9.26.0.51").stdout
    (outcome,) = document("fetch", "9.26.0.51", "--full")["releases"]
    assert (outcome["already"], outcome["full"], outcome["error"]) == (True, True, None)


def test_the_beginning_of_a_version_and_the_latest(index) -> None:
    index.add_cudnn("9.25.1.1")
    index.add_cudnn("9.26.0.51")
    names = [
        outcome["name"] for outcome in document("fetch", "9.25", "latest", "9.26.0.51")["releases"]
    ]
    assert names == ["9.25.1.1+cu12", "9.26.0.51+cu12", "9.26.0.51+cu12"]


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ("9.26.0.52", "unknown release '9.26.0.52'", "9.26.0.51"),
        ("9.26.0.51+cu11", "unknown release '9.26.0.51+cu11'", "9.26.0.51+cu12"),
        ("9.25", "release 9.25 is ambiguous", "9.25.0.15, 9.25.1.1"),
        ("cudnn", "'cudnn' is not a version", "9.28.0.42+cu13 or latest"),
        ("/usr/lib", "'/usr/lib' is not a version", "latest"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_fetched(
    index, cache: Path, asked: str, message: str, hint: str
) -> None:
    for version in ("9.25.0.15", "9.25.1.1", "9.26.0.51"):
        index.add_cudnn(version)
    result = run("fetch", "9.26.0.51", asked)
    assert error(result).exit_code == 2
    assert error(result).message == message
    assert hint in error(result).hint
    assert index.requests == []
    assert not cache.exists()


def test_one_that_fails_does_not_stop_the_others(index, cache: Path) -> None:
    index.add_cudnn("9.24.1.1", lies={OPS: b"something else"})
    index.add_cudnn("9.26.0.51")
    result = run("fetch", "9.24.1.1", "9.26.0.51")
    assert result.exit_code == 1
    assert "does not match the wheel's RECORD" in result.stderr
    assert result.stdout.startswith("9.26.0.51+cu12   fetched in")
    assert sorted(p.name for p in cache.iterdir() if not p.name.startswith(".")) == [
        "9.26.0.51+cu12"
    ]
    bad, good = document("fetch", "9.24.1.1", "9.26.0.51")["releases"]
    assert (bad["name"], bad["exit_code"]) == (None, 1)
    assert (good["already"], good["exit_code"]) == (True, 0)


def test_without_a_network_what_is_cached_is_found(index, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    run("fetch", "9.26.0.51")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    result = run("fetch", "9.25.1.1", "9.26.0.51")
    assert result.exit_code == 1
    assert "release 9.25.1.1 is not cached" in result.stderr
    assert "already here" in result.stdout


def test_a_broken_transfer_is_told_in_few_words(index) -> None:
    filename = index.add_cudnn("9.26.0.51")
    start, _ = index.member_range(filename, OPS)
    index.cut = lambda request: 1000 if request.start == start else None
    (outcome,) = document("fetch", "9.26.0.51")["releases"]
    message = outcome["error"].splitlines()[0]
    assert message == f"the transfer of {OPS} of {filename} broke off: the connection closed early"


def test_a_server_that_is_gone_is_told_in_few_words(index, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    (offer,) = list_offers()
    object.__setattr__(offer, "url", "http://127.0.0.1:9/files/x.whl")
    monkeypatch.setattr("pyharness.releases.locate.list_offers", lambda: [offer])
    (outcome,) = document("fetch", "9.26.0.51")["releases"]
    message = outcome["error"].splitlines()[0]
    assert (
        message
        == f"the transfer of the directory of {offer.filename} broke off: connection refused"
    )


def test_headers_are_not_fetched_where_no_index_may_be_asked(index, tmp_path, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    (offer,) = list_offers()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(HarnessError, match="use no index"):
        fetch_headers(offer, tmp_path)
    assert index.requests == []


def test_ctrl_c_leaves_no_half_release(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    start, _ = index.member_range(filename, OPS)
    process: list[subprocess.Popen[str]] = []

    def interrupt(request: local.Request) -> int | None:
        if request.start == start:
            process[0].send_signal(signal.SIGINT)
            time.sleep(0.5)
        return None

    index.cut = interrupt
    command = [*COMMAND, "fetch", "9.26.0.51"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        process.append(child)
        output, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert output == ""
    assert errors.startswith("interrupted")
    assert "Traceback" not in errors
    assert not (cache / "9.26.0.51+cu12").exists()
    index.cut = lambda _request: None
    assert run("fetch", "9.26.0.51").exit_code == 0


def test_errors_and_exit_codes_of_the_command_itself(index) -> None:
    index.add_cudnn("9.26.0.51")
    command = [*COMMAND, "fetch", "9.26.0.52"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: unknown release '9.26.0.52'\n  did you mean 9.26.0.51?")


def test_on_a_terminal_a_bar_is_drawn_on_stderr_only(index) -> None:
    index.add_cudnn("9.26.0.51")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [*COMMAND, "fetch", "9.26.0.51"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=environment,
    ) as child:
        output, _ = child.communicate(timeout=60)
    os.close(theirs)
    drawn = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert child.returncode == 0
    assert "9.26.0.51" in drawn
    assert "MB" in drawn
    assert output.startswith("9.26.0.51+cu12   fetched in")
    assert len(output.splitlines()) == 1
