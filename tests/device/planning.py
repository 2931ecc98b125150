"""What tests do with plans, in a process of its own: the emulator is set up once for a process.

Run as a script: the name of a function below, and its arguments, pickled, on standard input; what
it answers, pickled, on standard output.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyharness.device import core
from pyharness.spec.messages import CompareBuffers, ForgetBuffers, KeepBuffers

SETUP = ("descriptor", "data", "state", "sizes", "build")
PASSES = ("forward_inference", "forward_training", "backward_data", "backward_weights")
ROAD = (*SETUP, "allocate", *PASSES)
WHOLE: dict[str, list[str]] = {name: [] for name in PASSES}  # no guard band is broken
RELU, TANH, LSTM, GRU = range(4)
FLOAT, DOUBLE, HALF, BFLOAT16 = 0, 1, 2, 9
Settings = dict[str, object]
Ask = Callable[..., Any]


def settings(**changes: object) -> Settings:
    """A small LSTM in double precision, changed."""
    network: Settings = {
        "algo": 0, "cell_mode": 2, "bias_mode": 2, "direction_mode": 0, "input_mode": 0,
        "data_type": 1, "math_prec": 1, "math_type": 0, "aux_flags": 1,
        "input_size": 5, "hidden_size": 4, "proj_size": 4, "num_layers": 1, "clip": False,
    }  # fmt: skip
    batch: Settings = {
        "layout": 0, "max_seq_length": 3, "batch_size": 2, "seq_lengths": [3, 3],
        "padding_fill": 1, "dropout": 1, "dropout_rate": 0.0,
        "dev_seq_lengths": 0, "initial_states": 0, "seed": 7,
    }  # fmt: skip
    return {**network, **batch, **changes}


class Bench:
    """A device, an arena and a handle, as the environment chooses them."""

    def __init__(self) -> None:
        _core = core()
        self.memory = bytearray(256)
        self.library = _core.Library(os.environ["TEST_CUDNN"])
        self.driver = _core.Driver(os.environ["PYHARNESS_LIBCUDA"])
        self.device = _core.Device(self.driver, 0)
        self.before = self.device.free_bytes()
        self.arena = _core.Arena(self.device)
        self.handle = _core.Handle(self.library, self.device, _core.Trace(self.memory))

    @property
    def trace(self) -> tuple[str, str]:
        stage, call = bytes(self.memory).decode().split("\0")[:2]
        return stage, call

    @contextmanager
    def plan(self, chosen: Settings) -> Iterator[Any]:
        plan = core().Plan(self.handle, self.arena, chosen)
        try:
            yield plan
        finally:
            plan.close()

    @contextmanager
    def ready(self, chosen: Settings) -> Iterator[Any]:
        """A plan with its memory: every stage before the passes must pass."""
        with self.plan(chosen) as plan:
            for stage in SETUP:
                assert all(status == 0 for _, status, _ in plan.run(stage)), stage
            plan.allocate()
            yield plan

    def close(self) -> int:
        """Gives all back; the bytes that somebody kept."""
        self.arena.release()
        self.handle.close()
        kept = self.before - self.device.free_bytes()
        self.device.close()
        return int(kept)


@contextmanager
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    assert made.close() == 0, "device memory was kept"


def ask(cudnn: str, env: dict[str, str], function: str, *arguments: object) -> Any:
    """What a function below answers, run on these libraries."""
    done = subprocess.run(
        [sys.executable, __file__],
        input=pickle.dumps((function, arguments)),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **env, "TEST_CUDNN": cudnn},
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr.decode()}"
    return pickle.loads(done.stdout)


def run_all(chosen: Settings, stages: tuple[str, ...] = PASSES) -> dict[str, Any]:
    """Every stage: records, sizes, weights, buffers before and after, guards."""
    answer: dict[str, Any] = {"records": {}, "guards": {}}
    with bench() as made, made.plan(chosen) as plan:
        for stage in (*SETUP, *stages):
            answer["records"][stage] = plan.run(stage)
            if stage in PASSES:
                answer["guards"][stage] = plan.broken_guards()
                answer[stage] = {name: plan.read(name) for name in plan.names()}
            if any(status != 0 for _, status, _ in answer["records"][stage]):
                answer["trace"] = made.trace
                break
            if stage == "build":
                answer["sizes"] = plan.sizes()
                plan.allocate()
                answer["weights"] = plan.weights()
                answer["given"] = {name: plan.read(name) for name in plan.names()}
    return answer


def sweep(problems: list[Settings]) -> list[int]:
    """The arena's capacity after each of many problems, run forward and backward."""
    capacities = []
    with bench() as made:
        for chosen in problems:
            with made.ready(chosen) as plan:
                for stage in PASSES:
                    assert all(status == 0 for _, status, _ in plan.run(stage)), stage
                assert plan.broken_guards() == []
            capacities.append(made.arena.capacity_bytes)
    return capacities


def sample(chosen: Settings, wanted: list[tuple[str, str, int]]) -> list[list[float]]:
    """Samples of (pass, mode, count), one after the other on one plan."""
    taken = []
    with bench() as made, made.ready(chosen) as plan:
        for name, mode, count in wanted:
            if mode == "graph":
                records = plan.capture(name)
                assert all(status == 0 for _, status, _ in records), records
            taken.append(plan.sample(name, mode, count))
            assert plan.broken_guards() == []
    return taken


def capture(chosen: Settings, names: list[str]) -> list[list[tuple[str, int, str]]]:
    """What is said to capturing some passes; each is then run as it is."""
    said = []
    with bench() as made, made.ready(chosen) as plan:
        for name in names:
            said.append(plan.capture(name))
            if name in PASSES:
                assert all(status == 0 for _, status, _ in plan.run(name)), name
    return said


def raised(chosen: Settings, stages: Sequence[str]) -> dict[str, Any]:
    """What is raised on the way through the stages, where, and how many bytes are kept then."""
    _core = core()
    said: dict[str, Any] = {"error": None, "trace": ("", ""), "kept": None}
    made = None
    try:
        made = Bench()
        with made.plan(chosen) as plan:
            try:
                for stage in stages:
                    plan.allocate() if stage == "allocate" else plan.run(stage)
            finally:
                said["trace"] = made.trace
    except (OSError, RuntimeError) as error:
        said.update(error=type(error).__name__, args=error.args)
    if made is not None and said["error"] != "CudaError":  # after one the device is of no use
        said["kept"] = made.close()
    return said


def out_of_order(chosen: Settings) -> list[str]:
    """What is said to each of many calls that come too early, too late or ask for nonsense."""
    said = []

    def refuses(action: Callable[[], object]) -> None:
        try:
            action()
        except (RuntimeError, ValueError, KeyError) as error:
            said.append(f"{type(error).__name__}: {error.args[0]}")
        else:
            said.append("nothing")

    _core = core()
    with bench() as made:
        with made.plan(chosen) as plan:
            refuses(plan.sizes)
            refuses(plan.allocate)
            refuses(lambda: plan.run("sizes"))
            refuses(lambda: plan.run("forward_inference"))
            refuses(lambda: plan.run("forwards"))
            refuses(lambda: plan.read("x"))
        with made.ready(chosen) as plan:
            refuses(plan.allocate)
            refuses(lambda: plan.run("build"))
            refuses(lambda: plan.read("z"))
            refuses(lambda: plan.write("x", b"too short"))
            refuses(lambda: plan.buffer("z"))
            refuses(lambda: plan.sample("forward_training", "lukewarm", 1))
            refuses(lambda: plan.sample("forward_training", "graph", 1))
            refuses(made.arena.release)
            with made.plan(chosen) as second:
                for stage in SETUP:
                    second.run(stage)
                refuses(second.allocate)
        with made.plan(chosen) as plan:
            for stage in SETUP:
                plan.run(stage)
            plan.allocate_inference()
            assert {"dx", "dy", "dhx", "dcx", "dw"}.isdisjoint(plan.names())
            assert plan.run("forward_inference")[-1][1] == 0
            assert plan.broken_guards() == []
            refuses(lambda: plan.run("forward_training"))
            refuses(lambda: plan.sample("training_step", "hot", 1))
            refuses(plan.allocate)
        refuses(lambda: plan.run("forward_inference"))
        refuses(lambda: plan.read("x"))
        for wrong in ({"hidden": 3}, {"seq_lengths": [3]}, {"dev_seq_lengths": 3},
                      {"alignment": 8}, {"alignment": 256}):  # fmt: skip
            refuses(lambda wrong=wrong: _core.Plan(made.handle, made.arena, {**chosen, **wrong}))
        less = {name: value for name, value in chosen.items() if name != "seed"}
        refuses(lambda: _core.Plan(made.handle, made.arena, less))
    refuses(lambda: _core.Plan(made.handle, made.arena, chosen))
    refuses(lambda: _core.Arena(made.device))
    return said


def closed_by_the_device(chosen: Settings) -> list[str]:
    """Closes the device under a plan, an arena and a handle; what they say afterwards."""
    made = Bench()
    plan = core().Plan(made.handle, made.arena, chosen)
    for stage in SETUP:
        plan.run(stage)
    plan.allocate()
    plan.run("forward_training")
    made.device.close()
    said = [f"capacity {made.arena.capacity_bytes}"]
    for action in (plan.broken_guards, made.device.synchronize, lambda: plan.buffer("x")):
        try:
            action()
        except RuntimeError as error:
            said.append(str(error))
    plan.close()
    made.handle.close()
    made.device.close()
    return said


def closed_handle(chosen: Settings) -> list[str]:
    """Closes the handle under a plan; what the plan says afterwards."""
    said = []
    made = Bench()
    with made.ready(chosen) as plan:
        made.handle.close()
        for action in (
            lambda: plan.run("forward_inference"),
            lambda: plan.sample("forward_inference", "hot", 1),
            lambda: plan.capture("forward_inference"),
            lambda: core().Plan(made.handle, made.arena, chosen),
        ):
            try:
                action()
            except RuntimeError as error:
                said.append(str(error))
    assert made.close() == 0
    return said


def shared(chosen: Settings) -> dict[str, tuple[dict[str, object], bytes, bytes]]:
    """Of each buffer: its interface, the bytes at its address, and what read() says."""
    seen = {}
    with bench() as made, made.ready(chosen) as plan:
        for name in plan.names():
            shown = plan.buffer(name).__cuda_array_interface__
            address, _ = shown["data"]
            held = plan.read(name)
            seen[name] = shown, ctypes.string_at(address, len(held)), held
    return seen


def rewritten(chosen: Settings) -> tuple[bytes, bytes, bytes]:
    """y of a pass, of the same with x zeroed, and of the same with the first x again."""
    with bench() as made, made.ready(chosen) as plan:
        x, ys = plan.read("x"), []
        for data in (x, bytes(len(x)), x):
            plan.write("x", data)
            plan.run("forward_inference")
            ys.append(plan.read("y"))
    first, zeroed, again = ys
    return first, zeroed, again


def kept(
    chosen: Settings, pairs: list[tuple[bytes, bytes]], full: str = ""
) -> tuple[list[Any], list[Any], int]:
    """What is said to keeping y as it was before, and to comparing it with y now, of each pair.

    ``full``  keep or compare: CuPy finds no memory for that, but of the first pair.
    Returns   the answers to both, and how often CuPy gave its memory back.
    """
    from cupy import CARD  # tests.device.numpy_cupy

    from pyharness.device.bench import Bench as Results

    results, keeping, comparing = Results(lambda: b""), list[Any](), list[Any]()
    results.copies.ordinal = 0
    with bench() as made, made.ready(chosen) as plan:
        data_type = int(chosen["data_type"])  # type: ignore[call-overload]
        for run, (before, now) in enumerate(pairs):
            plan.write("y", before)
            CARD.full = run > 0 and full == "keep"
            keeping += results.answers(KeepBuffers("first", ["y"]), plan, data_type)
            plan.write("y", now)
            CARD.full = run > 0 and full == "compare"
            comparing += results.answers(CompareBuffers("first", ["y"]), plan, data_type)
            assert plan.read("y") == now
        list(results.answers(ForgetBuffers("first"), plan, data_type))
    assert CARD.inside == []
    return keeping, comparing, CARD.freed


def in_parts(chosen: Settings) -> tuple[dict[str, tuple[bytes, bytes, str]], list[str]]:
    """Of each buffer: its bytes, the same in parts of 8, and SHA-256 by the harness.

    Returns  also what is said to parts that cannot be read.
    """
    from pyharness.device import bench as results
    from pyharness.device import comparing

    comparing.PART_BYTES = 8
    read, said = {}, []
    with bench() as made, made.ready(chosen) as plan:
        for name in plan.names():
            parts = b"".join(bytes(part) for part in comparing.parts(plan, name))
            read[name] = plan.read(name), parts, results._digest(plan, name)
        size = plan.bytes_of("x")
        wrong: list[tuple[int, Any]] = [(size - 3, bytearray(4)), (size + 1, bytearray(0)),
                                        (2**64 - 1, bytearray(2)), (0, b"1234"),
                                        (0, memoryview(bytearray(8))[::2])]  # fmt: skip
        for begin, to in wrong:
            try:
                plan.read_part("x", begin, to)
            except (BufferError, ValueError) as error:
                said.append(f"{type(error).__name__}: {error}")
    return read, said


def facts() -> dict[str, object]:
    """What the device says of itself, and the driver."""
    with bench() as made:
        said = {**made.device.facts(), "emulated": made.driver.emulated}
        return {**said, "version": made.driver.version, "count": made.driver.device_count()}


def main() -> None:
    """Entry point."""
    function, arguments = pickle.load(sys.stdin.buffer)
    answer = globals()[function](*arguments)
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()
