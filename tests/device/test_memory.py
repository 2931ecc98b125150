"""What a process says of its own memory on the host."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from pyharness.device import memory
from pyharness.device.memory import host_bytes

MIB = 1 << 20
STATUS = """Name:\tpython
VmPeak:\t  900000 kB
VmRSS:\t  5000 kB
{own}RssFile:\t  3000 kB
VmSwap:\t      24 kB
Threads:\t1
SigQ:\t0/31000
"""


def test_it_grows_by_what_is_written_to_and_not_by_files(tmp_path: Path) -> None:
    before = host_bytes()
    kept = bytearray(b"x") * (64 * MIB)
    assert 64 * MIB <= host_bytes() - before < 66 * MIB
    del kept
    before = host_bytes()
    file = tmp_path / "file"
    file.write_bytes(bytes(64 * MIB))
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert sum(mapped[:: mmap.PAGESIZE]) == 0  # every page is resident now
        assert host_bytes() - before < 2 * MIB


@pytest.mark.parametrize(("own", "kb"), [("RssAnon:\t  2000 kB\n", 2024), ("", 5024)])
def test_what_is_swapped_out_counts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, kb: int
) -> None:
    told = tmp_path / "status"
    told.write_text(STATUS.format(own=own))
    monkeypatch.setattr(memory, "_STATUS", told)
    assert host_bytes() == 1024 * kb
