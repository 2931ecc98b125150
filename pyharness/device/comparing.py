"""Copies of results, and what is compared with them: in the device's memory or in the host's.

spec.differences says in both how far they are apart, so both say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pyharness.device.cupy_guest import Outside, invite, shared_files
from pyharness.spec.differences import Comparison, Difference
from pyharness.spec.number_bits import Bits, bits_of

if TYPE_CHECKING:
    from pyharness.device import _core

PART_BYTES = 4 << 20  # of a buffer on its way through the host; a whole number of elements
_DEVICE_BLOCK = 1 << 21  # elements; 160 MB of the device's memory where all of them differ
_TRIAL_ELEMENTS = 4096


def parts(plan: _core.Plan, name: str) -> Iterator[memoryview]:
    """The bytes of a buffer, part by part; each is there until the next one is asked for."""
    size = plan.bytes_of(name)
    memory = memoryview(bytearray(min(size, PART_BYTES)))
    for begin in range(0, size, PART_BYTES):
        part = memory[: size - begin]
        plan.read_part(name, begin, part)
        yield part


class Copy(Protocol):
    """What a buffer was."""

    def compare(self, plan: _core.Plan, name: str, data_type: str) -> Difference:
        """A buffer as it is now beside it; raises ValueError for one of another size."""


class HostCopy:
    """What a buffer was, in the host's memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def compare(self, plan: _core.Plan, name: str, data_type: str) -> Difference:
        """Reads the buffer part by part."""
        _check_size(plan.bytes_of(name), len(self._data))
        comparison = Comparison(data_type)
        before = np.frombuffer(self._data, comparison.bits)
        begin = 0
        for part in parts(plan, name):
            now = np.frombuffer(part, comparison.bits)
            comparison.add(before[begin : begin + now.size], now)
            begin += now.size
        return comparison.difference


class Device:
    """The device's memory, in CuPy's arrays.

    CuPy works in the device's primary context, which our plans use too. A pass has been waited for
    before its results are looked at, and what is asked of CuPy is waited for here: neither stream
    needs to know of the other.
    """

    def __init__(self, cupy: Any, ordinal: int) -> None:
        self.arrays = cupy
        self._cuda, self._device = cupy.cuda, cupy.cuda.Device(ordinal)
        self._pool = cupy.cuda.MemoryPool()
        with self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)

    @contextmanager
    def working(self) -> Iterator[None]:
        """CuPy's arrays are made in here; afterwards it holds no memory but that of copies."""
        with self._device, self._cuda.using_allocator(self._pool.malloc), self._stream:
            try:
                yield
                self._stream.synchronize()
            finally:  # what a plan asks for must not depend on what was compared before
                self._pool.free_all_blocks()

    def bits(self, plan: _core.Plan, name: str) -> Any:
        """A buffer as it is: not a copy."""
        return self.arrays.asarray(plan.buffer(name)).view(np.uint8)

    def try_out(self, data_type: str) -> None:
        """Compares numbers of all kinds here and on the host.

        Raises  Outside if both do not say the same; what CuPy raises if it cannot.
        """
        before, now = _trial(data_type)
        here = Comparison(data_type)
        here.add(before, now)
        with self.working():
            there = Comparison(data_type, self.arrays, _TRIAL_ELEMENTS // 3)
            there.add(self.arrays.asarray(before), self.arrays.asarray(now))
        if here.difference != there.difference:
            raise Outside(
                f"CuPy says {there.difference} of {data_type} where numpy says {here.difference}"
            )


class DeviceCopy:
    """What a buffer was, in the device's memory.

    Raises  MemoryError if there is no room for it.
    """

    def __init__(self, device: Device, plan: _core.Plan, name: str) -> None:
        self._device = device
        with device.working():
            self._bytes = device.bits(plan, name).copy()

    def compare(self, plan: _core.Plan, name: str, data_type: str) -> Difference:
        """On the device; on the host where the device has no room left to do it."""
        device = self._device
        _check_size(plan.bytes_of(name), self._bytes.nbytes)
        try:
            with device.working():
                comparison = Comparison(data_type, device.arrays, _DEVICE_BLOCK)
                now = device.bits(plan, name).view(comparison.bits)
                comparison.add(self._bytes.view(comparison.bits), now)
                return comparison.difference
        except MemoryError:
            return HostCopy(self._bytes.tobytes()).compare(plan, name, data_type)


class Copies:
    """Makes copies: on the device where CuPy may be used and agrees with numpy, or on the host.

    ``ordinal``  of the device; None: its memory is not for CuPy.
    """

    def __init__(self) -> None:
        self.ordinal: int | None = None
        self._device: Device | None = None
        self._tried: dict[str, str] = {}

    def copy(self, plan: _core.Plan, name: str, data_type: str) -> tuple[Copy, str]:
        """A copy of a buffer, and why it is on the host: empty if it is not."""
        if data_type not in self._tried:
            self._tried[data_type] = self._why_not(data_type)
        why = self._tried[data_type]
        if not why and self._device is not None:
            try:
                return DeviceCopy(self._device, plan, name), ""
            except MemoryError:
                why = f"the device has no room for a copy of {name}"
        return HostCopy(plan.read(name)), why

    def give_back(self) -> None:
        """Gives the device what copies held that are no more."""
        if self._device is not None:
            with self._device.working():
                pass

    def _why_not(self, data_type: str) -> str:
        """Why numbers of a type are not compared on the device; empty if they are.

        Raises  RuntimeError if CuPy has brought a library that cuDNN would use.
        """
        if self.ordinal is None:
            return "the device is emulated"
        try:
            cupy = invite()
        except Outside as outside:
            return str(outside)
        before = shared_files()
        why = self._try_out(cupy, self.ordinal, data_type)
        strangers = shared_files() - before
        if strangers:
            raise RuntimeError(
                f"CuPy has loaded {', '.join(sorted(strangers))}, which cuDNN would use from now "
                "on: uninstall CuPy, and the host compares"
            )
        return why

    def _try_out(self, cupy: Any, ordinal: int, data_type: str) -> str:
        """The same, once CuPy is there."""
        try:
            self._device = self._device or Device(cupy, ordinal)
            self._device.try_out(data_type)
        except Outside as outside:
            return str(outside)
        except (RuntimeError, MemoryError, OSError, cupy.cuda.compiler.CompileException) as error:
            return f"CuPy cannot compare {data_type}: {' '.join(str(error).split())}"
        return ""


def _check_size(now: int, before: int) -> None:
    if now != before:
        raise ValueError(f"{now} bytes cannot be compared with {before}")


def _trial(data_type: str) -> tuple[Bits, Bits]:
    """Random bits of a type, which are numbers, infinities and NaN; half of both are the same."""
    kind = np.iinfo(bits_of(data_type))
    rng = np.random.default_rng(0)
    before, now = rng.integers(kind.min, kind.max, (2, _TRIAL_ELEMENTS), kind.dtype, endpoint=True)
    now = np.where(rng.random(_TRIAL_ELEMENTS) < 0.5, before, now)
    before[:4], now[:4] = (0, kind.min, 0, 1), (kind.min, 0, 1, 0)  # zeros of both signs
    return before, now
