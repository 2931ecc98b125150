"""Parents and workers: who dies with whom, and that cuDNN is only ever loaded by a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pyharness.engine.answers import Answers
from pyharness.engine.crew import Crew, whole
from pyharness.engine.worker import Launch, Worker
from pyharness.spec.ledger import Death, Ledger
from tests.doubles.walking import descriptors, differences

Start = Callable[..., Launch]
PARENT = """
import sys, time
from pyharness.device.launch import worker_command
from pyharness.engine.worker import Launch, Worker
from pyharness.space.grid import make_grid
from pyharness.spec.calls import SET_RNN_DESCRIPTOR
worker = Worker(Launch(worker_command(), sys.argv[1]), timeout_s=600)
worker.use_grid(make_grid(SET_RNN_DESCRIPTOR, {"hidden_size": sys.argv[2]}))
if sys.argv[3] == "busy":
    worker.submit_range(0, 1, False)
print("ready", flush=True)
time.sleep(600)
"""


CLOSED = """
import os, sys
for fd in (0, 1, 2):
    os.close(fd)
from pyharness.device.launch import worker_command
from pyharness.engine.worker import Launch, Worker
with Worker(Launch(worker_command(), sys.argv[1])) as worker:
    os._exit(7 if worker.opened else 8)
"""


def gone(process: psutil.Process) -> bool:
    """Whether a process ends within a generous time; the outcome does not depend on how fast."""
    _, alive = psutil.wait_procs([process], timeout=60)
    return not alive


@pytest.mark.parametrize(
    ("state", "blow"),
    [("resting", signal.SIGKILL), ("busy", signal.SIGKILL), ("busy", signal.SIGTERM)],
)
def test_a_worker_dies_with_its_parent(fake: Path, state: str, blow: signal.Signals) -> None:
    command = [sys.executable, "-c", PARENT, str(fake), "667", state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        (worker,) = psutil.Process(parent.pid).children()
        assert "pyharness.device.worker" in " ".join(worker.cmdline())
        parent.send_signal(blow)
        assert gone(worker)
        parent.wait(60)


def test_a_worker_starts_where_the_standard_streams_are_closed(fake: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, str(fake)], check=False, capture_output=True, timeout=60
    )
    assert done.returncode == 7


def test_ctrl_c_at_the_terminal_does_not_reach_the_worker(launch: Start) -> None:
    with Worker(launch()) as worker:
        (process,) = psutil.Process().children()
        assert os.getsid(process.pid) != os.getsid(0)
        assert worker.version() == 91300


def test_a_worker_killed_from_outside_costs_the_row_that_it_was_on(
    launch: Start, tmp_path: Path
) -> None:
    # Row 667 hangs until the blow comes, so that it falls on a known row.
    log = tmp_path / "log"
    grid = descriptors(hidden_size="1..665,667,680..900")
    answers, ledger = Answers(grid.size), Ledger()
    with Crew(launch(LOG=log), ledger, 1, timeout_s=600) as crew:

        def tick() -> None:
            lines = log.read_text().splitlines() if log.exists() else []
            if lines and lines[-1].split(" ")[2].split(",")[9] == "667":
                children = psutil.Process().children()
                if children and children[0].pid == int(lines[-1].split()[0]):
                    children[0].kill()

        crew.run(whole(grid), answers, tick)
    assert {p: d.cause for p, d in answers.deaths.items()} == {665: "SIGKILL"}
    wrong = differences(grid, answers, ledger)
    assert [(w[0]["hidden_size"], w[2]) for w in wrong] == [(667, "SIGKILL")]


def test_who_dies_before_a_job_begins_dies_on_its_first_row(launch: Start) -> None:
    with Worker(launch()) as worker:
        worker.use_grid(descriptors(hidden_size="1..5"))
        worker.submit_range(0, 5, False)
        while worker.poll(0.05) is None:
            pass
        assert worker.board.cursor == 5
        (process,) = psutil.Process().children()
        process.kill()
        while process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        worker.submit_range(0, 5, False)
        death = worker.poll(60)
    assert isinstance(death, Death)
    assert (death.position, death.cause) == (0, "SIGKILL")


def test_a_worker_killed_at_rest_is_replaced(launch: Start) -> None:
    ledger = Ledger()
    first, second = descriptors(hidden_size="1..5"), descriptors(hidden_size="-1..5")
    with Crew(launch(), ledger, 1) as crew:
        answers = Answers(first.size)
        crew.run(whole(first), answers)
        (process,) = psutil.Process().children()
        process.kill()
        while process.status() != psutil.STATUS_ZOMBIE:  # nobody has asked how it ended
            time.sleep(0.01)
        answers = Answers(second.size)
        crew.run(whole(second), answers)
    assert differences(second, answers, ledger) == []


def test_the_parent_never_loads_cudnn(fake: Path, tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from pyharness.api.mapping import map_release
from pyharness.releases import Release
from pyharness.space.presets import build_space
release = Release("9.13.0.50", 12, Path(sys.argv[1]), "path")
space = build_space(None, "cudnnSetRNNDescriptor_v8", ["hidden_size=-5..5"])
assert map_release(release, space, Path(sys.argv[2])).state == "complete"
print(Path("/proc/self/maps").read_text())
"""
    command = [sys.executable, "-c", program, str(fake), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "_core" in done.stdout, "the maps list what is loaded"
    assert "libcudnn" not in done.stdout
