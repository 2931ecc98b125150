"""One worker: what it says of a library, what it refuses, and that nothing of it stays behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from pyharness.device.launch import worker_command
from pyharness.engine.worker import Launch, Worker
from pyharness.errors import HarnessError, UsageError
from pyharness.spec.ledger import Death
from pyharness.spec.messages import Done
from tests.doubles.walking import descriptors

Start = Callable[..., Launch]
Build = Callable[..., Path]
CALLS = [
    "cudnnSetRNNDescriptor_v8",
    "cudnnRNNSetClip_v8",
    "cudnnRNNSetClip_v9",
    "cudnnSetRNNDataDescriptor",
    "cudnnSetTensorNdDescriptor",
]


def open_files() -> dict[str, str]:
    """Every open descriptor of this process and what it leads to."""
    folder = Path("/proc/self/fd")
    open_now = [fd for fd in folder.iterdir() if os.path.lexists(fd)]  # not the listing's own
    return {fd.name: str(fd.readlink()) for fd in open_now}


def finish(worker: Worker) -> Done | Death:
    """Waits for the job."""
    while (end := worker.poll(0.05)) is None:
        pass
    return end


def test_it_says_what_the_library_is(launch: Start) -> None:
    with Worker(launch(VERSION=91200)) as worker:
        assert worker.opened.calls == CALLS
        assert worker.version() == 91200
        names = worker.status_names([0, 2000, 3000, 12345, -5])
        assert names == ["SUCCESS", "BAD_PARAM", "NOT_SUPPORTED", "12345", "-5"]


def test_a_library_without_an_optional_call_is_used_without_it(build: Build) -> None:
    with Worker(Launch(worker_command(), str(build("WITHOUT_OPTIONAL")))) as worker:
        assert worker.opened.calls == [c for c in CALLS if c != "cudnnRNNSetClip_v9"]


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("WITHOUT_REQUIRED", "has no cudnnCreateDropoutDescriptor"),
        ("UNLOADABLE", "nobody_defines_this"),
    ],
)
def test_a_library_that_is_no_cudnn_is_refused(build: Build, variant: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        Worker(Launch(worker_command(), str(build(variant))))
    assert caught.value.exit_code == 2


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "libcudnn.so.9"
    text.write_text("not a library")
    with pytest.raises(UsageError, match=r"cannot be used as cuDNN: .*file too short|invalid ELF"):
        Worker(Launch(worker_command(), str(text)))


def test_a_library_that_ends_the_process_when_it_is_opened(build: Build) -> None:
    with pytest.raises(HarnessError, match=r"ended while it opened .*SIGABRT") as caught:
        Worker(Launch(worker_command(), str(build("DIES_ON_LOAD"))))
    assert caught.value.hint == "a library that cannot bear to be opened"
    assert caught.value.exit_code == 1


def test_a_version_that_kills_is_a_death(launch: Start) -> None:
    with Worker(launch(ABORT_IN="cudnnGetVersion")) as worker:
        death = worker.version()
    assert isinstance(death, Death)
    assert (death.cause, death.output) == ("SIGABRT", "cudnnGetVersion ends the process")


@pytest.mark.parametrize(("begin", "count"), [(-1, 1), (0, 6), (5, 1), (0, 0)])
def test_rows_outside_the_grid_are_refused_and_the_worker_goes_on(
    launch: Start, begin: int, count: int
) -> None:
    with Worker(launch()) as worker:
        worker.use_grid(descriptors(hidden_size="1..5"))
        worker.submit_range(begin, count, False)
        with pytest.raises(HarnessError, match="could not do it: rows outside the grid"):
            finish(worker)
        worker.submit_range(4, 1, False)
        assert finish(worker) == Done()


@pytest.mark.parametrize("row", [-1, 5])
def test_a_row_outside_the_grid_is_refused(launch: Start, row: int) -> None:
    with Worker(launch()) as worker:
        worker.use_grid(descriptors(hidden_size="1..5"))
        worker.submit_rows(np.array([0, row], np.int64), False)
        with pytest.raises(HarnessError, match="a row outside the grid"):
            finish(worker)


def test_more_rows_than_the_board_holds_are_refused(launch: Start) -> None:
    with Worker(launch(), capacity=4) as worker:
        worker.use_grid(descriptors(hidden_size="1..5"))
        worker.submit_range(0, 5, False)
        with pytest.raises(HarnessError, match="more rows than the board holds"):
            finish(worker)
        worker.submit_range(1, 4, False)
        assert finish(worker) == Done()
        assert worker.board.cursor == 4


def test_a_call_that_the_library_lacks_is_refused(build: Build) -> None:
    from pyharness.space.grid import make_grid
    from pyharness.spec.calls import SET_CLIP_V9

    with Worker(Launch(worker_command(), str(build("WITHOUT_OPTIONAL")))) as worker:
        worker.use_grid(make_grid(SET_CLIP_V9, {}))
        worker.submit_range(0, 1, False)
        with pytest.raises(HarnessError, match="the library has no cudnnRNNSetClip_v9"):
            finish(worker)


def test_what_the_library_prints_is_kept_from_the_terminal(
    launch: Start, capfd: pytest.CaptureFixture[str]
) -> None:
    with Worker(launch()) as worker:
        worker.use_grid(descriptors(hidden_size="673,669"))
        worker.submit_range(0, 2, False)
        death = finish(worker)
    assert isinstance(death, Death)
    assert (death.position, death.cause) == (1, "exit status 7")
    assert death.output.endswith(("noise on stdout 3999", "noise on stderr 3999"))
    assert len(death.output) <= 2000
    assert capfd.readouterr() == ("", "")


def test_a_flood_of_words_does_no_harm(launch: Start) -> None:
    # 60 MB and more on stdout and stderr: neither the disk nor the walk may suffer.
    with Worker(launch()) as worker:
        worker.use_grid(descriptors(hidden_size="673", num_layers="1..380,0"))
        worker.submit_range(0, 381, False)
        assert finish(worker) == Done()
        codes, statuses = worker.board.codes(381), worker.board.statuses
        assert [statuses[c] for c in codes] == [0] * 380 + [2000]
        assert worker.version() == 91300


def test_timing_gives_a_sample_a_repeat_and_survives_a_death(launch: Start) -> None:
    with Worker(launch()) as worker:
        worker.use_grid(descriptors(hidden_size="1..99,668"))
        samples = worker.time_rows(np.arange(99), 3)
        assert isinstance(samples, list)
        assert len(samples) == 3
        assert all(0 < s < 60 for s in samples)
        death = worker.time_rows(np.arange(100), 3)
    assert isinstance(death, Death)
    assert death.cause == "SIGABRT"


def test_nothing_is_left_of_workers_that_ended_in_any_way(launch: Start, build: Build) -> None:
    with Worker(launch()):
        pass  # whatever Python opens once is open from here on
    before = open_files()
    for hidden in ("1", "666", "667", "668", "669"):
        with Worker(launch(), timeout_s=0.2) as worker:
            worker.use_grid(descriptors(hidden_size=hidden))
            worker.submit_range(0, 1, False)
            finish(worker)
    with Worker(launch()) as worker:
        worker.use_grid(descriptors(hidden_size="667"))
        worker.submit_range(0, 1, False)  # left alone in the middle of a call
    for variant in ("WITHOUT_REQUIRED", "DIES_ON_LOAD"):
        with pytest.raises(HarnessError):
            Worker(Launch(worker_command(), str(build(variant))))
    assert open_files() == before
    assert psutil.Process().children() == []


def test_loading_its_parts_is_no_hang(launch: Start) -> None:
    """The first descriptor takes two seconds, as hundreds of MB from a cold disk would."""
    with Worker(launch(SLOW_IN="cudnnCreateRNNDescriptor"), timeout_s=0.5) as worker:
        worker.use_grid(descriptors(hidden_size="1..3"))
        worker.submit_range(0, 3, explain=False)
        assert finish(worker) == Done()
        assert worker.board.cursor == 3
