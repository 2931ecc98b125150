"""Files are there whole or not at all, and a full disk is said in words."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from pyharness.errors import HarnessError, UsageError
from pyharness.store.files import replacing, sweep, write_json


def write_half(path: Path, error: BaseException) -> None:
    """Fails in the middle of a file."""
    with replacing(path) as scratch:
        scratch.write_text("half")
        raise error


def test_the_scratch_takes_the_place_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "table"
    with replacing(path) as scratch:
        scratch.write_text("new")
        assert not path.exists()
        assert scratch.parent == path.parent, "the same disk: a rename is at once"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), OSError(errno.EIO, "x")])
def test_a_failure_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "table"
    path.write_text("old")
    with pytest.raises(type(error)):
        write_half(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_said(tmp_path: Path, number: int) -> None:
    with pytest.raises(HarnessError, match="cannot take more data") as caught:
        write_half(tmp_path / "table", OSError(number, "no room"))
    assert str(tmp_path) in caught.value.message
    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with (
        pytest.raises(UsageError, match=r"report\.html is a folder"),
        replacing(tmp_path / "report.html"),
    ):
        pytest.fail("nothing is begun")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_json_holds_no_number_that_json_lacks(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1.5})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1.5}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"a": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1.5}


def test_scratch_files_are_swept_and_nothing_else(tmp_path: Path) -> None:
    with replacing(tmp_path / "table") as scratch:
        scratch.write_text("half")
        (tmp_path / "of").mkdir()
        left = tmp_path / scratch.name.replace("table", "validity.parquet")
        left.write_text("half")
        kept = [".lock", "a.1.part", ".notes.part", ".a.b.part", "of"]
        for name in kept[:-1]:
            (tmp_path / name).touch()
        scratch.rename(left)
        sweep(tmp_path)
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted(kept)
        scratch.write_text("whole")
    assert (tmp_path / "table").read_text() == "whole"
