"""Errors that a person can act on.

Every error that leaves pyharness on purpose is a :class:`HarnessError`: it says what was wrong,
what is allowed, and what to do. The command line prints it without a traceback and exits with its
code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

EXIT_OK = 0
EXIT_ENVIRONMENT = 1  # the machine, the network or a library failed; the command was right
EXIT_USAGE = 2  # the command was wrong: change it
EXIT_GATE = 3  # --fail-on, or the gate of an upgrade, found what it looks for
EXIT_INCONCLUSIVE = 4  # an upgrade cannot be judged by what was asked
EXIT_INTERRUPTED = 130  # Ctrl-C; what was written can be resumed


class HarnessError(Exception):
    """Something is wrong and we know what to say about it.

    ``message``  what was wrong, one line.
    ``hint``     what is allowed or what to do; may be empty.
    """

    exit_code = EXIT_ENVIRONMENT

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(HarnessError):
    """The request itself is wrong: an unknown name, a value out of range, a folder in use."""

    exit_code = EXIT_USAGE


def unknown_name(kind: str, name: str, known: Iterable[str], hint: str = "") -> UsageError:
    """The error for a name that does not exist, with the nearest ones that do.

    Returns  a UsageError to raise.
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        suggestion = f"did you mean {', '.join(near)}?"
    elif len(names) <= 24:
        suggestion = f"known: {', '.join(names)}"
    else:
        suggestion = f"known: {', '.join(names[:24])}, … ({len(names)} in all)"
    return UsageError(f"unknown {kind} {name!r}", f"{suggestion} {hint}".strip())
