"""Whether a library really loads: it is opened in a worker, and each of its calls is tried once."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pyharness.device.launch import worker_command
from pyharness.engine.worker import Launch, Worker
from pyharness.errors import HarnessError, UsageError
from pyharness.releases.check import check_library
from pyharness.space.grid import make_grid
from pyharness.spec.calls import call_named
from pyharness.spec.ledger import Death

TIME_LIMIT_S = 20.0
# The alarm outlives exec: whatever the library does, the process ends in time.
_LIMITER = (
    "import os, signal, sys; signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1])); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


@dataclass(frozen=True, slots=True)
class Opening:
    """What became of opening a library.

    ``number``   cudnnGetVersion(), for example 91300; None if it was not answered.
    ``calls``    the calls that it has.
    ``problem``  why it cannot be used, in a line; empty when every call answered.
    ``output``   the last of what the library printed before it ended its process.
    """

    number: int | None
    calls: tuple[str, ...]
    problem: str = ""
    output: str = ""


def open_library(path: Path, limit_s: float = TIME_LIMIT_S) -> Opening:
    """Open a library in a process of its own, and make each call that it has once.

    ``limit_s``  the process is ended after so many seconds.
    """
    command = [sys.executable, "-I", "-c", _LIMITER, str(limit_s), *worker_command()]
    calls: tuple[str, ...] = ()
    started = time.monotonic()
    try:
        check_library(path)
        with Worker(Launch(command, str(path)), capacity=1, timeout_s=limit_s) as worker:
            calls = tuple(worker.opened.calls)
            for name in calls:
                worker.use_grid(make_grid(call_named(name), {}))
                worker.submit_range(0, 1, explain=False)
                end = worker.poll(limit_s)
                if isinstance(end, Death):
                    late = _late(started, limit_s)
                    problem = late or f"{name} ends the process ({end.cause})"
                    return Opening(None, calls, problem, end.output)
                if end is None:
                    return Opening(None, calls, f"{name} does not answer")
            number = worker.version()
    except UsageError as error:
        return Opening(None, calls, error.message.replace(str(path), path.name))
    except HarnessError as error:
        late = _late(started, limit_s)
        problem = late or error.message.replace(str(path), path.name)
        return Opening(None, calls, problem, error.hint)
    except (OSError, ValueError) as error:
        return Opening(None, calls, f"no worker could be used: {error}")
    if isinstance(number, Death):
        problem = f"cudnnGetVersion ends the process ({number.cause})"
        return Opening(None, calls, _late(started, limit_s) or problem, number.output)
    return Opening(number, calls)


def _late(started: float, limit_s: float) -> str:
    """That the time was up, if that is why the process ended."""
    return f"no answer within {limit_s:g} s" if time.monotonic() - started >= limit_s else ""
