"""A workbench on the emulated device: what is read is right, what is changed shows."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from pyharness.device.launch import runner_command
from pyharness.engine.poisoning import run_poisoned, settle_padding
from pyharness.engine.process import Launch
from pyharness.engine.runner import Runner, StageFailed
from pyharness.engine.workbench import OUTPUTS, Workbench
from pyharness.errors import HarnessError, UsageError
from pyharness.reference.layouts import numbers
from pyharness.reference.network import Network, backward, forward
from pyharness.releases import Release
from pyharness.spec.differences import Difference
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES
from tests.emulator.build import EmulatedRelease

RELEASE = "9.28.0.42"
SMALL = ("hidden_size=5", "input_size=3", "batch_size=2", "max_seq_length=4", "num_layers=2")
PROBLEM = parse_problem(SMALL)
WIDE = parse_problem([*SMALL, "data_type=double", "math_prec=double"])
DROPPING = parse_problem([*SMALL, "dropout_rate=0.5", "seed=3"])
Open = Callable[..., Any]


@pytest.fixture
def bench(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release]
) -> Iterator[Open]:
    """Opens workbenches on an emulator with these settings; none may break its rules."""
    releases: list[EmulatedRelease] = []

    @contextmanager
    def opened(timeout_s: float = 20, /, **settings: object) -> Iterator[Workbench]:
        release = emulator(cudnn(RELEASE).path, **settings)
        releases.append(release)
        launch = Launch(runner_command(), str(release.cudnn), tuple(release.env.items()))
        with Runner(launch, str(release.libcuda), 0, timeout_s) as runner:
            yield Workbench(runner)

    yield opened
    assert [v for release in releases for v in release.violations] == []


def ready(work: Workbench, problem: Any = PROBLEM) -> Workbench:
    """The same with a problem open."""
    case = work.open(problem)
    assert case.stopped is None
    assert [s.stage for s in case.stages][-1] == "build"
    return work


def trained(work: Workbench) -> Workbench:
    """The same after every pass, inference last."""
    for name in (*PASSES[1:], PASSES[0]):
        work.run(name)
    return work


def test_every_output_is_that_of_the_reference(bench: Open) -> None:
    with bench() as work:
        trained(ready(work, WIDE))
        assert work.tensors() == OUTPUTS
        got = {name: numbers(work.read(name), "double") for name in work.buffers() if name in
               (*OUTPUTS, "x", "hx", "cx", "dy", "dhy", "dcy", "w")}  # fmt: skip
        parts = work.weights()
    network = Network.of(WIDE)
    weights = {
        p.name: got["w"][p.offset // 8 :][: p.rows * p.cols].reshape(p.rows, p.cols) for p in parts
    }
    assert sorted(weights) == sorted(w.name for w in network.shape.weights)
    series, state = {"x": (4, 2, 3), "dy": (4, 2, 5)}, (2, 2, 5)
    given = {n: got[n].reshape(series.get(n, state)) for n in ("x", "dy", "hx", "cx", "dhy", "dcy")}
    ahead = forward(network, weights, given["x"], [4, 4], given["hx"], given["cx"], tape=True)
    back = backward(network, weights, ahead, given["dy"], given["dhy"], given["dcy"])
    for name in OUTPUTS[:-1]:
        expected = getattr(ahead if name in OUTPUTS[:3] else back, name)
        assert np.allclose(got[name], expected.reshape(-1), rtol=0, atol=1e-13), name
    for part in parts:
        gradient = got["dw"][part.offset // 8 :][: part.rows * part.cols]
        assert np.allclose(gradient, back.dw[part.name].reshape(-1), rtol=0, atol=1e-13), part


def test_what_is_written_is_read_and_used(bench: Open) -> None:
    with bench() as work:
        ready(work).run("forward_inference")
        x, y = work.read("x"), work.read("y")
        work.write("x", bytes(len(x)))
        assert work.read("x") == bytes(len(x))
        work.run("forward_inference")
        assert work.read("y") != y
        work.write("x", x)
        work.run("forward_inference")
        assert work.read("y") == y
        with pytest.raises(HarnessError, match="x has 96 bytes, not 95"):
            work.write("x", x[1:])
        with pytest.raises(HarnessError, match="no buffer is called z"):
            work.write("z", b"1")
        assert work.read("x") == x  # the process still understands us
        assert not work.runner.broken


def test_the_same_again_has_the_same_bits(bench: Open) -> None:
    with bench() as work:
        trained(ready(work)).keep("first", OUTPUTS)
        assert work.compared_on == dict.fromkeys(OUTPUTS, "host: the device is emulated")
        digests = work.digest(OUTPUTS)
        assert digests["y"] == hashlib.sha256(work.read("y")).hexdigest()
        for handle in (None, False, True):
            if handle is not None:
                assert work.reopen(handle).stopped is None
                assert set(work.read("y")) == {0}  # it is not computed yet
            trained(work)
            assert all(d.same for d in work.compare("first", OUTPUTS).values())
            assert work.digest(OUTPUTS) == digests


def test_a_flipped_bit_is_found_where_it_is(bench: Open) -> None:
    # The second of these passes has bit 30 of an element of y flipped by the emulator; of the
    # others none.
    with bench(fault="flip:y@cudnnRNNForward:2") as work:
        ready(work).run("forward_inference")
        work.keep("first", ["y", "hy"])
        good = np.frombuffer(work.read("y"), np.int32)
        work.run("forward_inference")
        bad = np.frombuffer(work.read("y"), np.int32)
        (where,) = np.flatnonzero(good != bad)
        found = work.compare("first", ["y", "hy"])
        assert found["hy"] == Difference(elements=20)
        flipped = found["y"]
        assert (flipped.elements, flipped.differing, flipped.first) == (40, 1, where)
        bits = int(good[where]) ^ int(bad[where])
        assert flipped.most_ulps == bits > 0
        assert flipped.most_ulps.bit_count() == 1
        apart = bad.view(np.float32)[where].astype(float) - good.view(np.float32)[where]
        assert flipped.most_abs == abs(apart)
        work.run("forward_inference")
        assert work.compare("first", ["y"])["y"].same


def test_poison_is_seen_and_a_pass_writes_over_it(bench: Open) -> None:
    with bench() as work:
        trained(ready(work)).keep("first", OUTPUTS)
        for byte in (0x00, 0xFF, 0x7F):
            work.poison(["workspace", "reserve_space", *OUTPUTS], byte)
            for name in ("workspace", "reserve_space", *OUTPUTS):
                assert set(work.read(name)) == {byte}
            trained(work)
            assert all(d.same for d in work.compare("first", OUTPUTS).values())


def test_what_is_unwritten_stays_poisoned(bench: Open) -> None:
    with bench(fault="unwritten:hy@cudnnRNNForward:*") as work:
        ready(work).poison(["hy", "y"], 0x2A)
        work.run("forward_inference")
        assert set(work.read("hy")) == {0x2A}
        assert set(work.read("y")) != {0x2A}


def test_dropout_goes_on_and_begins_again(bench: Open) -> None:
    with bench() as work:
        ready(work, DROPPING).run("forward_training")
        work.keep("first", ["y"])
        work.run("forward_training")
        assert not work.compare("first", ["y"])["y"].same
        work.reseed()
        work.run("forward_training")
        assert work.compare("first", ["y"])["y"].same


def test_dropout_is_seeded_by_the_library(bench: Open) -> None:
    with bench(fault="status:NOT_SUPPORTED@cudnnSetDropoutDescriptor:2") as work:
        ready(work, DROPPING)
        with pytest.raises(StageFailed) as caught:
            work.reseed()
        assert caught.value.result.call == "cudnnSetDropoutDescriptor"
        work.reseed()
        ready(work).reseed()  # nothing is dropped, and nothing is asked


def test_the_workspace_is_poisoned_as_large_as_it_ever_is(bench: Open) -> None:
    with bench() as work:
        case = work.open(PROBLEM)
        assert case.sizes is not None
        work.run("forward_inference")
        less, most = (case.sizes[f"workspace_bytes.{name}"] for name in PASSES[:2])
        assert len(work.read("workspace")) == less < most
        work.poison(["workspace"], 0x11)
        assert work.read("workspace") == bytes([0x11]) * most
        trained(work)
        with pytest.raises(HarnessError, match="a byte is 0 to 255"):
            work.poison(["workspace"], 256)


def test_every_alignment_gives_the_same(bench: Open) -> None:
    with bench() as work:
        trained(ready(work, DROPPING)).keep("first", OUTPUTS)
        for alignment in (16, 48, 128, 240, 0):
            assert work.reopen(alignment=alignment).stopped is None
            trained(work)
            assert all(d.same for d in work.compare("first", OUTPUTS).values())
        for wrong in (8, 256, -16):
            with pytest.raises(UsageError, match=f"alignment {wrong} is none of"):
                work.reopen(alignment=wrong)


def test_another_stream(bench: Open) -> None:
    # The runner's own is the first.
    with bench(fault="status:2@cuStreamCreate:3") as work:
        trained(ready(work)).keep("first", OUTPUTS)
        work.new_stream()
        work.poison(OUTPUTS, 0xFF)
        trained(work)
        assert all(d.same for d in work.compare("first", OUTPUTS).values())
        with pytest.raises(StageFailed, match="cuStreamCreate"):
            work.new_stream()


def test_a_load_runs_beside_each_pass(bench: Open) -> None:
    other = parse_problem(["hidden_size=7", "cell_mode=gru", "data_type=half", "batch_size=3"])
    # After three passes of the load the fourth is ours; 5 to 7 and 9 to 11 are the load's, and
    # without it the 13th is ours again.
    with bench(fault=[f"unwritten:hy@cudnnRNNForward:{n}" for n in (4, 6, 13)]) as work:
        ready(work).load(other, 3)
        for poisoned in (True, False):
            work.poison(["hy"], 0x2A)
            work.run("forward_inference")
            assert (set(work.read("hy")) == {0x2A}) == poisoned
        work.keep("first", OUTPUTS[:2])
        work.reopen(handle=True)  # the load goes on
        work.run("forward_inference")
        assert all(d.same for d in work.compare("first", OUTPUTS[:2]).values())
        work.load(None)
        work.poison(["hy"], 0x2A)
        work.run("forward_inference")
        assert set(work.read("hy")) == {0x2A}


def test_a_load_that_is_not_to_be_had(bench: Open) -> None:
    with bench(memory_bytes=1 << 22) as work:
        ready(work)
        with pytest.raises(StageFailed) as refused:
            work.load(parse_problem(["hidden_size=0"]))
        assert refused.value.result.outcome == "unsupported"
        with pytest.raises(StageFailed) as full:
            work.load(parse_problem(["hidden_size=512", "batch_size=64"]))
        assert full.value.result.outcome == "out_of_memory"
        work.load(PROBLEM)
        trained(work)


def test_a_graph_repeats_its_pass(bench: Open) -> None:
    with bench() as work:
        trained(ready(work)).keep("first", OUTPUTS)
        with pytest.raises(HarnessError, match="the pass has not been captured"):
            work.run("forward_training", graph=True)
        for name in PASSES[1:]:
            assert work.capture(name).outcome == "passed"
        work.poison(OUTPUTS, 0xFF)
        for name in PASSES[1:]:
            work.run(name, graph=True)
        assert all(d.same for d in work.compare("first", OUTPUTS).values())


def test_one_copy_a_key(bench: Open) -> None:
    with bench() as work:
        ready(work).run("forward_inference")
        work.keep("a", ["y", "hy"])
        work.keep("a", ["y"])
        with pytest.raises(HarnessError, match="nothing of hy is kept under 'a'"):
            work.compare("a", ["hy"])
        with pytest.raises(HarnessError, match="workspace holds no numbers"):
            work.keep("a", ["workspace"])
        work.forget("a")
        with pytest.raises(HarnessError, match="nothing of y is kept under 'a'"):
            work.compare("a", ["y"])
        work.keep("b", ["y"])
        ready(work, WIDE)
        with pytest.raises(HarnessError, match="320 bytes cannot be compared with 160"):
            work.compare("b", ["y"])


def test_a_thousand_repeats_need_no_more_memory_than_two(bench: Open) -> None:
    # y has 64 * 64 * 512 floats: 8 MB. Nothing is calculated.
    words = ["hidden_size=512", "input_size=8", "batch_size=64", "max_seq_length=64"]
    output = 8 << 20
    with bench(compute="off") as work:
        ready(work, parse_problem(words))
        child = psutil.Process().children()[-1]
        with traced():
            before = begin_peak(child)
            work.write("y", bytes(output))
            work.keep("first", ["y"])
            work.write("y", bytes(output - 1) + b"\1")
            # What grows so much is seen.
            assert tracemalloc.get_traced_memory()[1] >= output
            assert peak(child) - before > output / 2

        with traced():
            before = begin_peak(child)
            for run in range(1000):
                found = work.compare("first", ["y"])["y"]
                assert found == Difference(1 << 21, 1, (1 << 21) - 1, 1 << 24, 2.0**-125)
                if run % 50 == 0:
                    work.digest(["y"])
                    work.keep("other", ["y"])
            assert tracemalloc.get_traced_memory()[1] < output / 2
            # A copy more, and parts of 4 MB on their way.
            assert peak(child) - before < 2 * output


@contextmanager
def traced() -> Iterator[None]:
    """Our own memory is counted: what the process has says nothing, it keeps what others freed."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def begin_peak(process: psutil.Process) -> int:
    """The memory that a process has; peak() says the most from now on."""
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    return int(process.memory_info().rss)


def peak(process: psutil.Process) -> int:
    """The most memory that a process has had since begin_peak()."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_what_stops_a_problem_on_its_way(bench: Open) -> None:
    with bench(memory_bytes=1 << 22) as work:
        refused = work.open(parse_problem(["hidden_size=0"]))
        assert refused.stopped is not None
        assert (refused.stopped.stage, refused.stopped.outcome) == ("descriptor", "unsupported")
        full = work.open(parse_problem(["hidden_size=512", "batch_size=64"]))
        assert full.stopped is not None
        assert (full.stopped.stage, full.stopped.outcome) == ("forward_inference", "out_of_memory")
        assert full.asked_bytes is not None
        assert full.free_bytes is not None
        assert full.asked_bytes > full.free_bytes
        assert not work.runner.broken
        trained(ready(work))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("sticky@cudnnRNNForward", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("overrun:y@cudnnRNNForward", "y: byte 1 behind the end"),
        ("crash@cudnnRNNForward", "SIGSEGV"),
        ("status:EXECUTION_FAILED@cudnnRNNForward", "planted fault"),
    ],
)
def test_a_failure_is_told_and_breaks_the_runner(bench: Open, fault: str, said: str) -> None:
    with bench(fault=fault) as work:
        ready(work)
        with pytest.raises(StageFailed, match=said) as caught:
            work.run("forward_inference")
        assert caught.value.result.outcome == "failed"
        assert caught.value.result.call in ("cudnnRNNForward", "cuCtxSynchronize")
        assert work.runner.broken


def test_a_pass_that_is_refused_breaks_nothing(bench: Open) -> None:
    with bench(fault="status:NOT_SUPPORTED@cudnnRNNForward:1") as work:
        ready(work)
        with pytest.raises(StageFailed) as caught:
            work.run("forward_inference")
        assert (caught.value.result.status, caught.value.result.outcome) == (
            "NOT_SUPPORTED",
            "unsupported",
        )
        assert not work.runner.broken
        work.run("forward_inference")


def test_padding_that_nobody_fills_is_no_nan_for_backward(bench: Open) -> None:
    words = ["hidden_size=4", "input_size=3", "batch_size=2", "max_seq_length=3"]
    words += ["seq_lengths=[3,1]", "padding_fill=null", "layout=batch_major_unpacked"]
    with bench() as work:
        ready(work, parse_problem(words))
        assert run_poisoned(work, "forward_training") == ["y", "hy", "cy"]
        before = np.frombuffer(work.read("y"), np.float32).reshape(2, 3, 4)
        assert np.isnan(before[1, 1:]).all()
        assert not np.isnan(before[0]).any()
        settle_padding(work, "float")
        after = np.frombuffer(work.read("y"), np.float32).reshape(2, 3, 4)
        np.testing.assert_array_equal(after, np.nan_to_num(before, nan=0.0))
