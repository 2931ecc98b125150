"""A run that was cut off goes on where it stopped, and ends as if nothing had happened."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from pyharness.api.mapping import MapOptions, map_release
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.store.manifest import read_manifest
from tests.doubles.maps import calls_in, run_map, space_of, start_map, table

# 17,000 rows in tasks of about a quarter; one of a later task hangs until the run is cut off.
AXES = ["algo=0..16", "hidden_size=600..699", "num_layers=-4..5"]
ROWS = 17 * 100 * 10


def hidden_of(arguments: str) -> int:
    """The hidden_size of a counted call."""
    return int(arguments.split(",")[9])


def algo_of(arguments: str) -> int:
    """The algo of a counted call."""
    return int(arguments.split(",", maxsplit=1)[0])


def wait_for_hang(log: Path) -> None:
    """Until the library has counted the call that it hangs in."""
    seen = 0
    while True:
        text = log.read_text() if log.exists() else ""
        complete = text[: text.rfind("\n") + 1]
        for line in complete[seen:].splitlines():
            arguments = line.split(" ", 2)[2]
            if (algo_of(arguments), hidden_of(arguments)) == (12, 667):
                return
        seen = len(complete)
        time.sleep(0.02)


@pytest.fixture(scope="module")
def whole(fake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same map, made without an interruption."""
    out = tmp_path_factory.mktemp("whole")
    for reasons in ("none", "all"):
        done = run_map(fake, out / reasons, AXES, reasons=reasons, TAME=1)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return out


@pytest.mark.parametrize(
    ("blow", "reasons", "walkers"),
    [(signal.SIGINT, "none", 1), (signal.SIGKILL, "none", 1), (signal.SIGKILL, "all", 2)],
)
def test_a_run_cut_off_is_resumed(
    fake: Path, whole: Path, tmp_path: Path, blow: signal.Signals, reasons: str, walkers: int
) -> None:
    out, first, second = tmp_path / "out", tmp_path / "first", tmp_path / "second"

    with start_map(
        fake, out, AXES, reasons=reasons, walkers=walkers, LOG=first, HANG_ALGO=12
    ) as process:
        wait_for_hang(first)
        journal = out / ".journal" / "log.jsonl"
        while not journal.exists() or not journal.stat().st_size:
            time.sleep(0.02)
        process.send_signal(blow)
        _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if blow == signal.SIGINT else -signal.SIGKILL), err
    assert not (out / "validity.parquet").exists()
    assert read_manifest(out).state == "running"
    kept = {
        row
        for entry in map(json.loads, journal.read_text().splitlines())
        for row in range(entry["begin"], entry["begin"] + entry["count"])
    }
    assert kept, "something was found before the blow"

    done = run_map(fake, out, AXES, reasons=reasons, walkers=walkers, LOG=second, TAME=1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert table(out) == table(whole / reasons)
    assert not (out / ".journal").exists()
    # What the walk of the second run asked: the first calls, as many as were left.
    left = ROWS - len(kept)
    asked = Counter(row_of(a) for _, a in calls_in(second)[:left])
    assert set(asked.values()) == {1}
    assert set(asked) == set(range(ROWS)) - kept


def row_of(arguments: str) -> int:
    """The row of a counted call."""
    values = [int(v) for v in arguments.split(",")]
    return (values[0] * 100 + values[9] - 600) * 10 + values[11] + 4


def test_a_line_cut_off_in_the_middle_is_walked_again(
    fake: Path, whole: Path, tmp_path: Path
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    with start_map(fake, out, AXES, LOG=log, HANG_ALGO=12) as process:
        wait_for_hang(log)
        process.kill()
        process.communicate(timeout=60)
    journal = out / ".journal" / "log.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) >= 2
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:-5])
    again = tmp_path / "again"
    done = run_map(fake, out, AXES, LOG=again, TAME=1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert table(out) == table(whole / "none")
    cut = json.loads(lines[-1])
    asked = {row_of(a) for _, a in calls_in(again)}
    assert set(range(cut["begin"], cut["begin"] + cut["count"])) <= asked


def test_deaths_of_the_first_run_are_not_died_again(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_CUDNN_LOG", str(log))
    space = space_of("hidden_size=1..5,668,6..9,669")

    def interrupt(step: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    # The first report comes when the first worker has died; all before it is in the journal.
    with pytest.raises(KeyboardInterrupt):
        map_release(fake_release, space, tmp_path / "out", MapOptions(1, reasons="none"), interrupt)
    assert [hidden_of(a) for _, a in calls_in(log)] == [1, 2, 3, 4, 5, 668]
    log.unlink()
    map_release(fake_release, space, tmp_path / "out", MapOptions(1, reasons="none"))
    rows = table(tmp_path / "out")
    assert [r["hidden_size"] for r in rows if r["outcome"] == "failed"] == [668, 669]
    assert [r["reason"] for r in rows if r["reason"]] == [
        "the worker ended: SIGABRT",
        "the worker ended: exit status 7",
    ]
    asked = [hidden_of(a) for _, a in calls_in(log)]
    assert 668 not in asked
    assert asked.count(669) == 1


def test_the_same_run_again_walks_nothing(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_CUDNN_LOG", str(tmp_path / "log"))
    out, space = tmp_path / "out", space_of("hidden_size=-1..9")
    for release in (fake_release, Release(None, None, fake_release.path, "path")):
        out = tmp_path / (release.version or "unknown")
        first = map_release(release, space, out)
        before = {p.name: p.read_bytes() for p in out.iterdir()}
        calls = len(calls_in(tmp_path / "log"))
        again = map_release(release, space, out)
        assert again == first
        assert {p.name: p.read_bytes() for p in out.iterdir()} == before
        assert len(calls_in(tmp_path / "log")) == calls


@pytest.mark.parametrize(
    ("limit", "where"),
    [
        ("(10_000, resource.RLIM_INFINITY) if not step else None", "journal"),
        ("(2_000, resource.RLIM_INFINITY) if done else None", "table"),
        ("(10, resource.RLIM_INFINITY) if done else None", "log"),
    ],
    ids=["journal", "table", "log"],
)
def test_a_full_disk_is_told_once_and_the_run_goes_on_afterwards(
    fake: Path, whole: Path, tmp_path: Path, limit: str, where: str
) -> None:
    # A limit on the size of files stands for the full disk; Python ignores its signal.
    extra = f"""
import resource
def progress(step, done, total):
    limit = {limit}
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
progress("", 0, 0)
"""
    out = tmp_path / "out"
    done = run_map(fake, out, AXES, extra=extra, TAME=1)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("error:") == 1
    assert "cannot take more data" in done.stdout
    assert "free some space and run the same command again" in done.stdout
    assert not (out / "validity.parquet").exists()
    assert sorted(p.name for p in out.iterdir()) == [".journal", ".lock", "run.json"]
    done = run_map(fake, out, AXES, TAME=1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert table(out) == table(whole / "none")


def test_a_library_that_nothing_survives_leaves_what_was_found(
    fake_release: Release, tmp_path: Path
) -> None:
    space = space_of("hidden_size=668,0,1", "num_layers=1..20")
    with pytest.raises(HarnessError, match="8 workers ended before they answered") as caught:
        map_release(fake_release, space, tmp_path, MapOptions(1, reasons="none"))
    assert "libfake_part.so.8" in caught.value.hint
    manifest = read_manifest(tmp_path)
    assert manifest.state == "stopped"
    assert "8 workers ended" in manifest.notes[-1]
    assert manifest.results["statuses"] == {"failed": 8}
    rows = table(tmp_path)
    assert [(r["status"], r["outcome"], r["num_layers"]) for r in rows] == [
        (None, "failed", layers) for layers in range(1, 9)
    ]
    shutil.rmtree(tmp_path)
