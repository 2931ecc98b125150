"""The runner process: one cuDNN release on one device, and one plan at a time.

It answers its parent until the connection closes; then it gives back what it holds, in order.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from pyharness.device import core
from pyharness.device.bench import Bench
from pyharness.device.child import prepare
from pyharness.device.load import Load
from pyharness.device.memory import memory_now
from pyharness.device.peak import measure_peak
from pyharness.spec import messages as m
from pyharness.spec.device_facts import EMULATOR_SYMBOL
from pyharness.spec.stages import PASSES, blocked_by, stages_until
from pyharness.spec.statuses import PREFIX

if TYPE_CHECKING:
    from pyharness.device import _core


class _Session:
    """One opened library, its device, and the plan that is open.

    ``receive``  gives the frame behind a request.
    """

    def __init__(
        self, library: _core.Library, trace: _core.Trace, receive: Callable[[], bytes]
    ) -> None:
        self._library = library
        self._trace = trace
        self._device: _core.Device | None = None
        self._handle: _core.Handle | None = None
        self._arena: _core.Arena | None = None
        self._plan: _core.Plan | None = None
        self._data_type = 0
        self._load: Load | None = None
        self._bench = Bench(receive)

    def answers(self, request: m.Message) -> Iterator[m.Message | bytes]:
        """What is answered to a request; what went wrong on the device is an answer too."""
        _core = core()
        try:
            yield from self._answers(request)
        except _core.CudaError as error:
            yield m.CudaFailed(*error.args)
        except _core.CudnnError as error:
            call, status, reason = error.args
            yield m.CudnnRefused(call, self._name(status), status, reason)
        except _core.OutOfMemory as error:
            yield m.NoMemory("", *error.args)
        except _core.LoadError as error:  # functions that only a handle asks for
            yield m.Refused("load", str(error))

    def close(self) -> None:
        """Gives back the plan, the memory, the handle and the device, in this order."""
        with suppress(RuntimeError):  # who waits for this end does not ask how it went
            self._close_load()
        with suppress(RuntimeError):
            self._close_plan()
            if self._arena is not None:
                self._arena.release()
        self._handle = self._arena = None
        with suppress(RuntimeError):
            if self._device is not None:
                self._device.close()

    def _answers(self, request: m.Message) -> Iterator[m.Message | bytes]:
        match request:
            case m.AskVersion():
                yield m.Version(self._library.version)
            case m.OpenDevice(libcuda, ordinal):
                yield self._open(libcuda, ordinal)
            case m.CreateHandle() | m.RenewStream():
                self._renew(request)
                yield m.Done()
            case m.RunStages(settings, until):
                yield from self._run(settings, until)
            case m.Capture(pass_name) if self._plan is not None:
                yield m.Captured(self._records(self._plan.capture(pass_name)))
            case m.Sample(pass_name, mode, count) if self._plan is not None:
                yield m.Sampled(
                    self._plan.sample(pass_name, mode, count), self._plan.broken_guards()
                )
            case m.FillPlan() | m.RunPass() if self._plan is not None:
                yield self._made(request, self._plan)
            case m.LoadPlan(settings, count):
                yield from self._loaded(settings, count)
            case m.MeasurePeak() | m.AskMemory():
                yield self._looked_at(request)
            case m.ClosePlan(memory):
                self._close_plan()
                if memory and self._arena is not None:
                    self._arena.release()
                yield m.Done()
            case _:
                yield from self._bench.answers(request, self._plan, self._data_type)

    def _open(self, libcuda: str, ordinal: int) -> m.Message:
        _core = core()
        try:
            driver = _core.Driver(libcuda)
        except _core.LoadError as error:
            return m.Refused("driver", str(error))
        count = driver.device_count()
        if not 0 <= ordinal < count:
            return m.NoSuchDevice(count)
        self._device = device = _core.Device(driver, ordinal)
        self._arena = _core.Arena(device)
        emulated = driver.emulated or self._library.has(EMULATOR_SYMBOL)
        self._bench.copies.ordinal = None if emulated else ordinal
        return m.DeviceOpened({**device.facts(), "emulated": emulated})

    def _run(self, settings: dict[str, Any], until: str) -> Iterator[m.Message]:
        """Each stage's calls; a stage that needs what did not pass is left out."""
        self._close_plan()
        _core = core()
        self._plan = plan = _core.Plan(self._handle, self._arena, settings)
        self._data_type = settings["data_type"]
        ended: set[str] = set()
        sizes: dict[str, int] | None = None
        free_bytes: int | None = None
        allocated = False
        lacking: tuple[int, int] | None = None
        for stage in stages_until(until):
            if blocked_by(stage, ended):
                continue
            if lacking is not None:
                yield m.NoMemory(stage, *lacking)
                break
            try:
                if stage in PASSES and not allocated:
                    yield m.Filling(sum((sizes or {}).values()))
                    lacking = _allocate(plan, stage)
                    allocated = True
                records = self._records(plan.run(stage))
            except _core.CudnnError as error:  # the weights were not to be had
                call, status, reason = error.args
                records = self._records([(call, status, reason)])
            except _core.OutOfMemory as error:
                yield m.NoMemory(stage, *error.args)
                break
            broken = plan.broken_guards() if allocated else []
            yield m.StageDone(stage, records, broken)
            if broken:
                break
            if any(status != "SUCCESS" for _, status, _, _ in records):
                ended.add(stage)
            elif stage == "sizes":
                sizes, free_bytes = plan.sizes(), self._free_bytes()
        yield m.Staged(sizes, free_bytes)

    def _renew(self, request: m.CreateHandle | m.RenewStream) -> None:
        """Makes a handle, with which the plan of the one before goes, or just its stream."""
        if isinstance(request, m.RenewStream) and self._handle is not None:
            self._handle.renew_stream()
            return
        self._close_plan()
        if self._handle is not None:
            self._handle.close()
        self._handle = core().Handle(self._library, self._device, self._trace)

    def _made(self, request: m.FillPlan | m.RunPass, plan: _core.Plan) -> m.Message:
        """Fills a plan that was built, or runs one of its passes once."""
        if isinstance(request, m.FillPlan):
            plan.allocate()
            return m.Done()
        if self._load is not None:
            self._load.enqueue()
        if request.graph:
            plan.sample(request.pass_name, "graph", 0)  # no sample, but the run before the first
            records: list[list[Any]] = [["cuGraphLaunch", "SUCCESS", 0, ""]]
        else:
            records = self._records(plan.run(request.pass_name))
        return m.StageDone(request.pass_name, records, plan.broken_guards())

    def _looked_at(self, request: m.MeasurePeak | m.AskMemory) -> m.Message:
        """What the device can do, or has left."""
        if isinstance(request, m.MeasurePeak):
            return measure_peak(request.ordinal, request.data_type, request.math_type)
        assert self._device is not None
        return memory_now(self._device, request.largest)

    def _loaded(self, settings: dict[str, Any] | None, count: int) -> Iterator[m.Message]:
        """Begins a load, or ends the one that is there."""
        self._close_load()
        if settings is None:
            yield m.Done()
            return
        assert self._device is not None
        self._load = load = Load(self._library, self._device, self._trace, count)
        try:
            refused = load.build(settings)
            if refused is None:
                yield m.Filling(load.bytes)
                load.fill()
        except BaseException:
            self._close_load()
            raise
        if refused is not None:
            self._close_load()
            yield m.StageDone(refused[0], self._records(refused[1]), [])
        else:
            yield m.Done()

    def _close_load(self) -> None:
        load, self._load = self._load, None
        if load is not None:
            load.close()

    def _free_bytes(self) -> int:
        """What the next plan can have: what is free, and what the arena holds already."""
        assert self._device is not None
        assert self._arena is not None
        return self._device.free_bytes() + self._arena.capacity_bytes

    def _records(self, records: Sequence[tuple[str, int, str]]) -> list[list[Any]]:
        """The calls with the names of their statuses; one of the driver begins its reason so."""
        return [
            [
                call,
                self._name(status) if call.startswith("cudnn") else reason.partition(":")[0],
                status,
                reason,
            ]
            for call, status, reason in records
        ]

    def _name(self, status: int) -> str:
        name = self._library.status_name(status)
        return name.removeprefix(PREFIX) if name.startswith(PREFIX) else str(status)

    def _close_plan(self) -> None:
        plan, self._plan = self._plan, None
        if plan is not None:
            plan.close()


def _allocate(plan: _core.Plan, stage: str) -> tuple[int, int] | None:
    """Takes a plan's memory, before the first pass that needs it.

    Returns  bytes asked for and free where inference fits and training does not; None if both do.
    Raises   OutOfMemory if not even that fits, or the driver has not what it called free;
             CudnnError if the weights were not to be had.
    """
    try:
        plan.allocate()
    except core().OutOfMemory as error:
        asked, free = error.args
        if stage != PASSES[0] or asked <= free:
            raise
        plan.allocate_inference()
        return asked, free
    return None


def serve(connection: Connection, library_path: str, trace_fd: int) -> None:
    """Opens the library, then answers requests until the connection closes."""
    _core = core()
    memory = mmap.mmap(trace_fd, 0)
    try:
        library = _core.Library(library_path)
    except OSError as error:
        connection.send_bytes(m.encode(m.Refused("load", str(error))))
        return
    connection.send_bytes(m.encode(m.Done()))
    session = _Session(library, _core.Trace(memory), connection.recv_bytes)
    try:
        while True:
            request = m.decode(connection.recv_bytes())
            for answer in _answers(session, request):
                connection.send_bytes(answer if isinstance(answer, bytes) else m.encode(answer))
    except (EOFError, ConnectionError):
        session.close()


def _answers(session: _Session, request: m.Message) -> Iterator[m.Message | bytes]:
    try:
        yield from session.answers(request)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        yield m.Refused("call", f"{type(error).__name__}: {error}")


def main() -> None:
    """Entry point: ``runner CONNECTION_FD TRACE_FD LIBRARY``."""
    prepare()
    connection_fd, trace_fd, library_path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    serve(Connection(connection_fd), library_path, trace_fd)
    # Past the exit handlers of library and driver: some releases crash in them.
    os._exit(0)
