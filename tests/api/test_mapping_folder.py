"""A result folder belongs to one run; what cannot be meant leaves no trace."""

from __future__ import annotations

import errno
import fcntl
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

from pyharness.api import folder as folder_module
from pyharness.api.folder import taken, writable_folder
from pyharness.api.mapping import MapOptions, map_release
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release
from pyharness.space.grid import Grid, Space
from pyharness.space.presets import build_space
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.manifest import read_manifest
from tests.doubles.maps import space_of, table

SPACE = space_of("hidden_size=-1..3")


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(release: Release, space: Space, out: Path, **options: object) -> str:
    """The words of a refusal, which must be a wrong request."""
    with pytest.raises(UsageError) as caught:
        map_release(release, space, out, MapOptions(**options))  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return str(caught.value)


def test_another_run_is_not_overwritten(fake_release: Release, tmp_path: Path) -> None:
    map_release(fake_release, SPACE, tmp_path)
    before = files_in(tmp_path)
    other = Release("9.12.0.46", 12, fake_release.path, "path")
    words = "holds another run: 9.13.0.50+cu12"
    assert words in refused(other, SPACE, tmp_path)
    assert words in refused(fake_release, space_of("hidden_size=-1..4"), tmp_path)
    assert "reasons distinct" in refused(fake_release, SPACE, tmp_path, reasons="none")
    assert files_in(tmp_path) == before


def test_another_library_in_the_same_place_is_another_run(fake: Path, tmp_path: Path) -> None:
    moved = tmp_path / "libcudnn.so.9"
    shutil.copy(fake, moved)
    release = Release(None, None, moved, "path")
    map_release(release, SPACE, tmp_path / "out")
    with moved.open("ab") as library:
        library.write(b"\0")
    assert "holds another run" in refused(release, SPACE, tmp_path / "out")


def test_files_of_others_are_left_alone(fake_release: Release, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert "is not empty and holds no run" in refused(fake_release, SPACE, tmp_path)
    assert files_in(tmp_path) == {"thesis.txt": b"years of work"}


def test_an_empty_folder_is_used_and_so_is_a_deep_new_one(
    fake_release: Release, tmp_path: Path
) -> None:
    for out in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        out.parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert map_release(fake_release, SPACE, out).state == "complete"
        assert len(table(out)) == SPACE.size
        assert sorted(p.name for p in out.iterdir()) == [
            ".lock",
            "costs.parquet",
            "reasons.parquet",
            "run.json",
            "validity.parquet",
        ]


def test_a_file_is_no_folder(fake_release: Release, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("a file")
    assert "is a file" in refused(fake_release, SPACE, out)
    assert out.read_text() == "a file"


def test_a_folder_in_use_is_refused(fake_release: Release, tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"):
        assert "another process is writing" in refused(fake_release, SPACE, tmp_path)
        assert list(files_in(tmp_path)) == [".lock"]
    assert map_release(fake_release, SPACE, tmp_path).state == "complete"


def test_the_lock_is_one_for_who_had_its_file_open_before(
    fake_release: Release, tmp_path: Path
) -> None:
    manifest = map_release(fake_release, SPACE, tmp_path / "other")
    out = tmp_path / "out"
    out.mkdir()
    (out / ".lock").touch()
    with (out / ".lock").open() as waiting:  # another process, about to ask for the lock
        with taken(out, replace(manifest, state="running")), pytest.raises(BlockingIOError):
            fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert "another process is writing" in refused(fake_release, SPACE, out)


def test_what_a_killed_process_left_is_swept_and_nothing_else(
    fake_release: Release, tmp_path: Path
) -> None:
    left = [".validity.parquet.4194304.part", ".run.json.1.part"]
    kept = [".gitkeep", ".notes.part", ".a.b.part"]
    for name in left + kept:
        (tmp_path / name).write_text("half")
    with FileLock(tmp_path / ".lock"):
        assert "another process is writing" in refused(fake_release, SPACE, tmp_path)
        assert set(left) <= set(files_in(tmp_path)), "they may be the other's"
    assert map_release(fake_release, SPACE, tmp_path).state == "complete"
    names = set(files_in(tmp_path))
    assert not names & set(left)
    assert names >= set(kept)


def test_a_journal_without_its_run_is_in_the_way(fake_release: Release, tmp_path: Path) -> None:
    # Its rows may be another run's.
    (tmp_path / ".journal").mkdir()
    assert "is not empty and holds no run" in refused(fake_release, SPACE, tmp_path)


def test_a_finished_map_is_read_where_nobody_can_write(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = map_release(fake_release, SPACE, tmp_path)

    def refuse(path: Path, option: str = "--out") -> None:
        raise UsageError(f"{path} cannot be written to", option)

    monkeypatch.setattr(folder_module, "writable_folder", refuse)
    assert map_release(fake_release, SPACE, tmp_path) == first


def test_a_folder_that_can_be_written_to_is_made_and_left_empty(tmp_path: Path) -> None:
    writable_folder(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    writable_folder(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is a file") as caught:
        writable_folder(tmp_path / "file" / "c", "--maps")
    assert caught.value.hint == "give another --maps"


def test_a_full_disk_is_not_the_path_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(folder_module, "TemporaryFile", full)
    with pytest.raises(HarnessError, match="cannot take more data") as caught:
        writable_folder(tmp_path / "a" / "b")
    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_what_another_process_finished_meanwhile_is_not_done_again(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The other one ends between the look at the folder and the lock.
    finished = tmp_path / "finished"
    map_release(fake_release, SPACE, finished)
    out = tmp_path / "out"
    out.mkdir()
    running = (finished / "run.json").read_text().replace('"complete"', '"running"')
    (out / "run.json").write_text(running)

    class LateLock(FileLock):
        def acquire(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
            for file in finished.iterdir():
                shutil.copy(file, out)
            return super().acquire(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_module, "FileLock", LateLock)
    before = files_in(finished)
    assert map_release(fake_release, SPACE, out).state == "complete"
    assert files_in(out) == before


@pytest.mark.parametrize("damage", ["{", "{}", '{"schema_version": 1}', "[]"])
def test_a_damaged_manifest_is_told(fake_release: Release, tmp_path: Path, damage: str) -> None:
    (tmp_path / "run.json").write_text(damage)
    assert "run.json cannot be read" in refused(fake_release, SPACE, tmp_path)


def test_a_folder_of_a_newer_pyharness_is_told(fake_release: Release, tmp_path: Path) -> None:
    map_release(fake_release, SPACE, tmp_path)
    manifest = tmp_path / "run.json"
    ours, newer = (f'"schema_version": {n}' for n in (SCHEMA_VERSION, SCHEMA_VERSION + 1))
    manifest.write_text(manifest.read_text().replace(ours, newer))
    assert "was written by a newer pyharness" in refused(fake_release, SPACE, tmp_path)


def test_a_space_too_large_for_the_disk_is_refused(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(total=9, free=9)
    monkeypatch.setattr(folder_module.shutil, "disk_usage", lambda _: usage)
    out = tmp_path / "out"
    words = refused(fake_release, SPACE, out, reasons="none")
    assert "5 problems" in words
    assert "0.0 GB free" in words
    assert "--yes" in words
    assert not out.exists()
    manifest = map_release(fake_release, SPACE, out, MapOptions(reasons="none", yes=True))
    assert manifest.state == "complete"


def test_a_space_that_would_take_hours_is_refused(fake_release: Release, tmp_path: Path) -> None:
    space = space_of("input_size=1..100000", "hidden_size=1..100000")
    words = refused(fake_release, space, tmp_path / "out", reasons="none")
    assert "10,000,000,000 problems" in words
    assert "20.0 GB" in words
    assert "--yes" in words
    assert not (tmp_path / "out").exists()


def test_an_empty_space_is_refused(fake_release: Release, tmp_path: Path) -> None:
    (grid,) = SPACE.grids
    hollow = Space("hollow", (Grid(grid.call, ((), *grid.values[1:])),))
    for space in (hollow, Space("nothing", ())):
        assert "the space is empty" in refused(fake_release, space, tmp_path / "out", yes=True)
    assert not (tmp_path / "out").exists()


def test_a_call_that_the_release_lacks_has_no_rows(build: object, tmp_path: Path) -> None:
    library = build("WITHOUT_OPTIONAL")  # type: ignore[operator]
    release = Release("8.9.7.29", 12, library, "path")
    manifest = map_release(release, build_space("clip", None, ["cell_mode=lstm"]), tmp_path)
    assert manifest.absent_calls == ["cudnnRNNSetClip_v9"]
    assert {r["call"] for r in table(tmp_path)} == {"cudnnRNNSetClip_v8"}
    assert manifest.results["rows"] == 4 * 4 * 36
    assert read_manifest(tmp_path).absent_calls == ["cudnnRNNSetClip_v9"]


@pytest.mark.parametrize(
    ("number", "package", "said"),
    [
        ("91200", "9.13.0.50", "9.12.0"),
        ("91300", "9.13.0.50", None),
        ("8907", "8.9.7.29", None),
        ("8500", "8.5.0.96", None),
        ("91001", "9.10.0.56", "9.10.1"),
    ],
)
def test_a_library_that_says_it_is_another_is_noted(
    fake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: str,
    package: str,
    said: str | None,
) -> None:
    monkeypatch.setenv("FAKE_CUDNN_VERSION", number)
    manifest = map_release(Release(package, 12, fake, "path"), SPACE, tmp_path)
    notes = [f"the library says that it is {said}, its package says {package}"]
    assert manifest.notes == (notes if said else [])
    assert manifest.release["loaded"] == int(number)


def test_a_library_that_only_says_itself_what_it_is(fake: Path, tmp_path: Path) -> None:
    manifest = map_release(Release(None, None, fake, "path"), SPACE, tmp_path)
    assert manifest.release["version"] == "9.13.0"
    assert {r["release"] for r in table(tmp_path)} == {"9.13.0"}


def test_a_library_that_dies_of_being_asked_its_version_is_mapped(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", "cudnnGetVersion")
    manifest = map_release(fake_release, SPACE, tmp_path)
    assert manifest.notes == ["the library ended its process when it was asked its version"]
    assert manifest.results["statuses"] == {"BAD_PARAM": 2, "SUCCESS": 3}


def test_a_library_that_cannot_name_its_statuses_is_one_clear_error(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", "cudnnGetErrorString")
    with pytest.raises(HarnessError, match="the worker ended: SIGABRT") as caught:
        map_release(fake_release, SPACE, tmp_path)
    assert caught.value.hint == "cudnnGetErrorString ends the process"
    assert not (tmp_path / "validity.parquet").exists()


def test_timing_that_kills_does_not_keep_the_other_calls_from_being_studied(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each process may set 300 descriptors: enough for the walk of 44, not for 31 of it.
    wide = space_of("hidden_size=-1..42")
    monkeypatch.setenv("FAKE_CUDNN_LIFE", "300")
    space = build_space("host", None, ["algo=standard", "cell_mode=lstm", "nb_dims=3"])
    few = [g for g in space.grids if g.call.name != "cudnnSetRNNDescriptor_v8"]
    space = Space("few", (*wide.grids, *few))
    manifest = map_release(fake_release, space, tmp_path, MapOptions(1))
    (note,) = manifest.notes
    assert note == "cudnnSetRNNDescriptor_v8 could not be timed: SIGABRT"
    timed = {r["call"] for r in table(tmp_path, "costs")}
    assert timed == {g.call.name for g in few}
    assert {r["call"] for r in table(tmp_path, "reasons")} == timed | {"cudnnSetRNNDescriptor_v8"}
