"""Whether a library really loads: it is opened in a worker, and each of its calls is tried once."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pyharness.device.launch import loader_path, worker_command
from pyharness.engine.process import Launch
from pyharness.engine.worker import Worker
from pyharness.errors import HarnessError, UsageError
from pyharness.releases.check import check_library
from pyharness.releases.model import loaded_version, sibling_dirs
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

    ``says``     the version that the library itself tells; None if it did not come to that.
    ``calls``    the calls that it has.
    ``problem``  why it cannot be used, in a line; empty when every call answered.
    ``output``   the last of what the library printed before it ended its process.
    """

    says: str | None
    calls: tuple[str, ...]
    problem: str = ""
    output: str = ""


def open_library(path: Path, limit_s: float) -> Opening:
    """Open a library in a process of its own, and make each call that it has once.

    ``limit_s``  the process is ended after so many seconds.
    """
    command = [sys.executable, "-I", "-c", _LIMITER, str(limit_s), *worker_command()]
    calls: tuple[str, ...] = ()
    says: str | None = None
    started = time.monotonic()
    try:
        check_library(path)
        env = (("LD_LIBRARY_PATH", loader_path(sibling_dirs(path))),)
        with Worker(Launch(command, str(path), env), capacity=1, timeout_s=limit_s) as worker:
            calls = tuple(worker.opened.calls)
            number = worker.version()
            if isinstance(number, Death):
                return Opening(None, calls, *_ended("cudnnGetVersion", number, started, limit_s))
            says = loaded_version(number)
            for name in calls:
                worker.use_grid(make_grid(call_named(name), {}))
                worker.submit_range(0, 1, explain=False)
                end = worker.poll(limit_s)
                if isinstance(end, Death):
                    return Opening(says, calls, *_ended(name, end, started, limit_s))
                if end is None:
                    return Opening(says, calls, f"{name} does not answer")
    except UsageError as error:
        return Opening(says, calls, error.message.replace(str(path), path.name))
    except HarnessError as error:
        problem = error.message.replace(str(path), path.name)
        return Opening(says, calls, _late(started, limit_s) or problem, error.hint)
    except (OSError, ValueError) as error:
        return Opening(says, calls, f"no worker could be used: {error}")
    return Opening(says, calls)


def _ended(call: str, death: Death, started: float, limit_s: float) -> tuple[str, str]:
    """Problem and output of an opening that ended in this call."""
    late = _late(started, limit_s)
    problem = f"{call} gives {late}" if late else f"{call} ends the process ({death.cause})"
    return problem, death.output


def _late(started: float, limit_s: float) -> str:
    """That the time was up, if that is why the process ended."""
    return f"no answer within {limit_s:g} s" if time.monotonic() - started >= limit_s else ""
