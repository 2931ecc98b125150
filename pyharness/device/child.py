"""What every process that holds a library does first."""

from __future__ import annotations

import resource
import signal

from pyharness.device import core

_MOST_OUTPUT_BYTES = 16 << 20


def prepare() -> None:
    """Binds the process to its parent's life, and lets what the library prints stop at 16 MB.

    The parent keeps it in a file, and reads its end.
    """
    core().die_with_parent()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_OUTPUT_BYTES, _MOST_OUTPUT_BYTES))
