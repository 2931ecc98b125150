"""The journal gives back what was put in, after any end of the process that wrote it."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyharness.errors import HarnessError
from pyharness.space.grid import Grid
from pyharness.spec.ledger import FAILED, NOT_RUN, Death
from pyharness.store.journal import Journal
from tests.doubles.walking import descriptors

ROWS = 40
GRIDS = (descriptors(hidden_size=f"1..{ROWS}"), descriptors(hidden_size="1..3"))
# (begin, count) of a run of answers; a count of 0 is a death of the row.
STEPS = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS)), max_size=12)


def of_row(row: int) -> tuple[int, str]:
    """The status and the text that these tests give a row."""
    return 1000 + row % 5, "" if row % 3 else f"reason {row % 7}"


class Filled:
    """A journal filled step by step, and what must stand in it."""

    def __init__(self, folder: Path, grids: tuple[Grid, ...], with_texts: bool) -> None:
        self.journal = Journal(folder, grids, with_texts)
        self.known: dict[int, tuple[int, str] | str] = {}

    def step(self, begin: int, count: int) -> None:
        ledger, grid = self.journal.ledger, self.journal.grids[0]
        if count == 0:
            grid.death(begin, Death(begin, f"signal of {begin}", "last words\n"))
            self.known[begin] = f"signal of {begin}"
            return
        rows = range(begin, min(begin + count, ROWS))
        codes = np.array([ledger.code(of_row(r)[0]) for r in rows], np.uint8)
        texts = np.array([ledger.text_id(of_row(r)[1]) for r in rows], np.uint16)
        ledger.names.update({s: f"NAME_{s}" for s in ledger.unnamed()})
        grid.rows(begin, codes, texts)
        self.known.update({r: of_row(r) for r in rows})


def contents(journal: Journal) -> dict[int, tuple[int, str] | str]:
    """What a journal says of each row that it does not call pending."""
    ledger, grid = journal.ledger, journal.grids[0]
    assert grid.text_ids is not None
    pending = {r for begin, count in grid.pending for r in range(begin, begin + count)}
    found: dict[int, tuple[int, str] | str] = {}
    for row in set(range(ROWS)) - pending:
        code = int(grid.codes[row])
        if code == FAILED:
            found[row] = grid.deaths[row].cause
        else:
            found[row] = ledger.statuses[code], ledger.texts[grid.text_ids[row]]
            assert ledger.names[ledger.statuses[code]] == f"NAME_{ledger.statuses[code]}"
    assert grid.answered == len(found)
    assert grid.ready == min(pending, default=ROWS)
    return found


def disjoint(steps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The steps that touch no row twice: nobody walks a row again."""
    taken: set[int] = set()
    kept = []
    for begin, count in steps:
        rows = set(range(begin, min(begin + max(count, 1), ROWS)))
        if not rows & taken:
            taken |= rows
            kept.append((begin, count))
    return kept


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A new folder for every example."""
    return lambda: tmp_path_factory.mktemp("journal")


@given(steps=STEPS, cut=st.integers(0, 12))
@settings(max_examples=60)
def test_it_gives_back_what_was_put_in(
    fresh: Callable[[], Path], steps: list[tuple[int, int]], cut: int
) -> None:
    steps, folder = disjoint(steps), fresh()
    first = Filled(folder, GRIDS, with_texts=True)
    for step in steps[:cut]:
        first.step(*step)
    assert contents(first.journal) == first.known
    # Not closed: the process is gone, and another one takes the folder over.
    second = Filled(folder, GRIDS, with_texts=True)
    assert contents(second.journal) == first.known
    second.known = dict(first.known)
    for step in steps[cut:]:
        second.step(*step)
    first.journal.close()
    second.journal.close()
    third = Journal(folder, GRIDS, with_texts=True)
    assert contents(third) == second.known
    assert third.grids[1].pending == [(0, 3)]
    third.remove()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_cut_off_is_forgotten_and_written_over(tmp_path: Path, cut: int) -> None:
    first = Filled(tmp_path, GRIDS, with_texts=True)
    first.step(0, 4)
    first.step(10, 4)
    first.journal.close()
    log = tmp_path / ".journal" / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[:-cut])
    second = Filled(tmp_path, GRIDS, with_texts=True)
    assert contents(second.journal) == {r: of_row(r) for r in range(4)}
    second.step(20, 2)
    second.journal.close()
    assert all(json.loads(line) for line in log.read_text().splitlines())
    third = Journal(tmp_path, GRIDS, with_texts=True)
    assert contents(third) == {r: of_row(r) for r in (*range(4), 20, 21)}
    third.close()


def test_rows_stand_before_the_line_that_says_so(tmp_path: Path) -> None:
    # What another process sees in the files when the line is written.
    seen = []
    journal = Journal(tmp_path, GRIDS, with_texts=False)
    grid = journal.grids[0]
    log = journal.log

    def look(entry: dict[str, object]) -> None:
        seen.append((tmp_path / ".journal" / "0.codes").read_bytes()[3:6])
        log(entry)

    journal.log = look  # type: ignore[method-assign]
    code = journal.ledger.code(0)
    grid.rows(3, np.full(3, code, np.uint8), None)
    grid.death(8, Death(8, "SIGSEGV", ""))
    assert seen == [bytes([code] * 3)] * 2
    assert (tmp_path / ".journal" / "0.codes").read_bytes()[8] == FAILED
    journal.close()


def test_a_file_of_the_wrong_size_is_made_anew(tmp_path: Path) -> None:
    # The disk was full while it was made.
    (tmp_path / ".journal").mkdir()
    (tmp_path / ".journal" / "0.codes").write_bytes(b"\1\1\1")
    journal = Journal(tmp_path, GRIDS, with_texts=False)
    assert journal.grids[0].codes.tolist() == [NOT_RUN] * ROWS
    assert journal.grids[0].pending == [(0, ROWS)]
    journal.close()


@pytest.mark.parametrize("rows", [1, (1 << 22) - 1, 1 << 22, (1 << 22) + 5])
def test_large_files_are_filled_to_the_end(tmp_path: Path, rows: int) -> None:
    journal = Journal(tmp_path, (), with_texts=False)
    codes = journal.map_file("codes", np.uint8, rows)
    texts = journal.map_file("texts", np.uint16, rows)
    assert codes.shape == texts.shape == (rows,)
    assert np.all(codes == NOT_RUN)
    assert not texts.any()
    assert (tmp_path / ".journal" / "codes").stat().st_blocks * 512 >= rows, "no holes"
    journal.close()


def files_in(folder: Path) -> list[str]:
    """The names in the journal's folder."""
    return sorted(p.name for p in (folder / ".journal").iterdir())


def test_a_disk_without_room_is_told_before_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    need = 3 * (ROWS + 3)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=need - 1))
    with pytest.raises(HarnessError, match=r"it needs 0\.0 MB, 0\.0 MB are free") as caught:
        Journal(tmp_path, GRIDS, with_texts=True)
    assert caught.value.exit_code == 1
    assert str(tmp_path) in caught.value.message
    assert [n for n in files_in(tmp_path) if n != "log.jsonl"] == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=need))
    Journal(tmp_path, GRIDS, with_texts=True).close()
    # Its files are there: going on needs no more.
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=0))
    Journal(tmp_path, GRIDS, with_texts=True).close()


def test_a_mount_that_does_not_say_what_is_free_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(total=0, free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    Journal(tmp_path, GRIDS, with_texts=True).close()


@pytest.mark.parametrize(
    ("grids", "limit"), [(GRIDS[:1], ROWS - 1), ((GRIDS[1], GRIDS[0]), 2 * ROWS - 1)]
)
def test_arrays_that_the_disk_did_not_take_are_gone(
    tmp_path: Path, grids: tuple[Grid, ...], limit: int
) -> None:
    # A limit on the size of files stands for a disk that others fill meanwhile.
    program = f"""
import resource
from pathlib import Path
from tests.store.test_journal import GRIDS, Journal, HarnessError
grids = {"GRIDS[:1]" if len(grids) == 1 else "(GRIDS[1], GRIDS[0])"}
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
try:
    Journal(Path({str(tmp_path)!r}), grids, with_texts=True)
except HarnessError as error:
    print(error.message)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert "cannot take more data: File too large" in done.stdout
    assert done.stderr == ""
    assert files_in(tmp_path) == ["log.jsonl"]
    journal = Journal(tmp_path, grids, with_texts=True)
    assert all(np.all(g.codes == NOT_RUN) for g in journal.grids)
    journal.close()


def test_an_array_of_an_earlier_run_outlives_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Filled(tmp_path, GRIDS[:1], with_texts=True)
    first.step(0, 4)
    first.journal.close()

    make = Journal.map_file

    def fail(journal: Journal, name: str, kind: type[np.generic], rows: int) -> object:
        if name == "1.texts":
            raise OSError(errno.ENOSPC, "no room")
        return make(journal, name, kind, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "map_file", fail)
        with pytest.raises(OSError, match="no room"):
            Journal(tmp_path, GRIDS, with_texts=True)
    assert files_in(tmp_path) == ["0.codes", "0.texts", "log.jsonl"]
    again = Journal(tmp_path, GRIDS, with_texts=True)
    assert contents(again) == first.known
    again.close()
