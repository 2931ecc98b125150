"""What memory a runner's device and process have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyharness.spec import messages as m

if TYPE_CHECKING:
    from pyharness.device import _core

_STATUS = Path("/proc/self/status")
# Of the process alone: the pages of files come and go as the system likes. A kernel that does not
# tell them apart counts them in.
_OWN, _ALL = ("RssAnon", "VmSwap"), ("VmRSS", "VmSwap")


def memory_now(device: _core.Device, largest: bool) -> m.MemoryTold:
    """Asks device and system.

    ``largest``  take blocks of the device to find the largest one.
    """
    block = device.largest_block() if largest else None
    return m.MemoryTold(largest_bytes=block, host_bytes=host_bytes(), **device.memory())


def host_bytes() -> int:
    """What this process has of the host's memory, resident or swapped out.

    Source  proc(5), /proc/pid/status: sizes in kB.
    """
    words = (line.split() for line in _STATUS.read_text("ascii", "replace").splitlines())
    sizes = {w[0].rstrip(":"): int(w[1]) for w in words if w[2:] == ["kB"]}
    names = _OWN if _OWN[0] in sizes else _ALL
    return 1024 * sum(sizes.get(name, 0) for name in names)
