"""The journal of a sweep: nothing of it is lost, and nothing of another run taken for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyharness.errors import HarnessError, UsageError
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.case_journal import NAME, CaseJournal

IDENTITY = {"kind": "stages", "release": "9.28.0.42+cu12", "problems": "abc"}
CASES = {"hidden_size=1": {"outcome": "passed"}, "": [1, None, "ü\n"], "b": {"x": 1.5}}


def filled(folder: Path) -> list[bytes]:
    """A journal with three cases; its lines."""
    journal = CaseJournal(folder, IDENTITY)
    for key, case in CASES.items():
        journal.add(key, case)
    journal.close()
    return (folder / NAME).read_bytes().splitlines(keepends=True)


def test_what_was_kept_is_there_again(tmp_path: Path) -> None:
    assert len(filled(tmp_path)) == 1 + len(CASES)
    journal = CaseJournal(tmp_path, IDENTITY)
    assert journal.cases == CASES
    journal.add("c", 3)
    journal.close()
    again = CaseJournal(tmp_path, IDENTITY)
    assert again.cases == {**CASES, "c": 3}
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_tail_that_a_kill_cut_off_is_dropped_wherever_it_was_cut(tmp_path: Path) -> None:
    lines = filled(tmp_path)
    whole = b"".join(lines)
    ends = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    for cut in sorted({*range(0, len(whole), 9), *ends, *(end - 1 for end in ends[1:])}):
        (tmp_path / NAME).write_bytes(whole[:cut])
        journal = CaseJournal(tmp_path, IDENTITY)
        kept = max(sum(end <= cut for end in ends) - 2, 0)  # the header is no case
        assert list(journal.cases.items()) == list(CASES.items())[:kept]
        journal.add("new", cut)
        journal.close()
        again = CaseJournal(tmp_path, IDENTITY)
        assert again.cases == {**dict(list(CASES.items())[:kept]), "new": cut}
        again.close()


def test_a_last_line_that_the_disk_did_not_keep_whole(tmp_path: Path) -> None:
    lines = filled(tmp_path)
    (tmp_path / NAME).write_bytes(b"".join(lines[:-1]) + b"\0" * 20 + b"\n")
    journal = CaseJournal(tmp_path, IDENTITY)
    assert journal.cases == dict(list(CASES.items())[:2])
    journal.close()
    assert len((tmp_path / NAME).read_bytes().splitlines()) == 3


def test_cases_to_do_again_are_forgotten(tmp_path: Path) -> None:
    filled(tmp_path)
    forget = CaseJournal(tmp_path, IDENTITY, lambda case: case == CASES["b"])
    assert list(forget.cases) == ["hidden_size=1", ""]
    forget.close()
    journal = CaseJournal(tmp_path, IDENTITY)
    assert list(journal.cases) == ["hidden_size=1", ""]
    journal.close()


def told(folder: Path, identity: dict[str, Any] = IDENTITY) -> UsageError:
    before = (folder / NAME).read_bytes()
    with pytest.raises(UsageError) as caught:
        CaseJournal(folder, identity)
    assert (folder / NAME).read_bytes() == before
    return caught.value


def test_another_runs_journal_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    error = told(tmp_path, {**IDENTITY, "problems": "other"})
    assert 'is of another run: problems is "abc", here "other"' in error.message
    assert error.exit_code == 2


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    lines = filled(tmp_path)
    header = {**json.loads(lines[0]), "schema_version": SCHEMA_VERSION + 1}
    (tmp_path / NAME).write_bytes(json.dumps(header).encode() + b"\n" + lines[1])
    assert "written by a newer pyharness" in told(tmp_path).message


@pytest.mark.parametrize(
    ("number", "line"),
    [(1, b"[]\n"), (1, b'{"identity": {}}\n'), (2, b"{\n"), (3, b'{"case": "a"}\n'), (3, b"3\n")],
)
def test_damage_in_the_middle_is_said(tmp_path: Path, number: int, line: bytes) -> None:
    lines = filled(tmp_path)
    lines[number - 1] = line
    (tmp_path / NAME).write_bytes(b"".join(lines))
    assert f"is damaged in line {number}" in told(tmp_path).message


def test_a_case_is_on_the_disk_before_the_next_is_begun(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from pyharness.store.case_journal import CaseJournal
journal = CaseJournal(Path(sys.argv[1]), {IDENTITY!r})
for i in range(1000):
    journal.add(str(i), i)
    print(i, flush=True)
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        said = [int(process.stdout.readline()) for _ in range(5)]
        process.send_signal(signal.SIGKILL)
        said += [int(line) for line in process.stdout.read().splitlines()]
    journal = CaseJournal(tmp_path, IDENTITY)
    known = [journal.cases[str(i)] for i in range(len(said))]
    journal.close()
    assert known == said


def test_a_full_disk_is_told_and_what_was_kept_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = CaseJournal(tmp_path, IDENTITY)
    journal.add("a", 1)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HarnessError, match="cannot take more data"):
        journal.add("b", 2)
    monkeypatch.undo()
    journal.close()
    again = CaseJournal(tmp_path, IDENTITY)
    assert again.cases["a"] == 1
    again.close()
