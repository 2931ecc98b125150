"""What the card itself reaches: a large GEMM and a large copy, measured with CuPy.

cuBLAS is called through CuPy's binding, with the compute type spelled out. No kernel is compiled
and no random number drawn on the device, so that cuBLAS is all that CuPy needs here. It works in
the device's primary context, which is the one that our own plans use.

flop   2 n^3 of a product of two n x n matrices: a multiplication and an addition each.
bytes  2 s of a copy of s bytes: s are read, s are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyharness.spec import messages as m

SIZES = (2048, 4096, 8192, 16384)
COPY_BYTES = 1 << 30
_MOST_SHARE = 0.25  # of the free memory
_MOST_GEMM_S = 0.2  # a GEMM that would take longer is left out; twice the size takes eight times
_BURST_S = 0.05  # back to back between two events, so that the events cost nothing
_MOST_REPEATS = 200
_BURSTS = 5
_BLOCK = 1 << 20  # random elements; the matrices are filled with copies of them


@dataclass(frozen=True, slots=True)
class GemmType:
    """How a GEMM is asked for: names of CuPy's constants."""

    storage: str
    compute: str
    item_bytes: int


_STORAGE = {
    "float": ("CUDA_R_32F", 4),
    "double": ("CUDA_R_64F", 8),
    "half": ("CUDA_R_16F", 2),
    "bfloat16": ("CUDA_R_16BF", 2),
}
_OF_FLOAT = {
    "default_math": "CUBLAS_COMPUTE_32F_FAST_TF32",
    "tensor_op_math": "CUBLAS_COMPUTE_32F_FAST_TF32",
    "tensor_op_math_allow_conversion": "CUBLAS_COMPUTE_32F_FAST_16F",
    "fma_math": "CUBLAS_COMPUTE_32F",
}


def gemm_type(data_type: str, math_type: str) -> GemmType | None:
    """The GEMM whose rate bounds what an RNN of these types can reach.

    float uses TF32 where cuDNN may: under every math type but fma_math. half and bfloat16 are added
    up in float. For fma_math the other types are asked for pedantically, which is as near as cuBLAS
    comes to leaving tensor cores alone.

    Returns  None for a type that there is no such GEMM of.
    Source   cublasComputeType_t in cuBLAS' manual; cudnnMathType_t in cuDNN's.
    """
    if data_type not in _STORAGE or math_type not in _OF_FLOAT:
        return None
    storage, item_bytes = _STORAGE[data_type]
    if data_type == "float":
        return GemmType(storage, _OF_FLOAT[math_type], item_bytes)
    compute = "CUBLAS_COMPUTE_64F" if data_type == "double" else "CUBLAS_COMPUTE_32F"
    pedantic = "_PEDANTIC" if math_type == "fma_math" else ""
    return GemmType(storage, compute + pedantic, item_bytes)


def measure_peak(ordinal: int, data_type: str, math_type: str) -> m.Peak:
    """The best of several large GEMMs, and of several large copies, on this device.

    Returns  the rates; None and why where there is no such GEMM, no CuPy, or it failed.
    """
    kind = gemm_type(data_type, math_type)
    if kind is None:
        return m.Peak(None, None, f"there is no GEMM of {data_type} with {math_type}")
    try:
        import cupy  # noqa: PLC0415 - an extra; its absence is an answer
        from cupy.cuda import cublas  # noqa: PLC0415 - not there without cuBLAS
    except ImportError as error:
        return m.Peak(
            None,
            None,
            f"CuPy with cuBLAS is needed to measure the card's peak ({_words(error)}): "
            "pip install 'pyharness[cuda12]', or cuda13",
        )
    failures = (
        cupy.cuda.runtime.CUDARuntimeError,
        cupy.cuda.memory.OutOfMemoryError,
        cublas.CUBLASError,
    )
    try:
        with cupy.cuda.Device(ordinal), cupy.cuda.Stream(non_blocking=True):
            try:
                bench = _Bench(cupy, cublas)
                return m.Peak(bench.flop_per_s(kind), bench.bytes_per_s(), "")
            finally:  # what follows needs the memory
                cupy.get_default_memory_pool().free_all_blocks()
    except failures as error:
        return m.Peak(None, None, f"the card's peak could not be measured: {_words(error)}")


class _Bench:
    """The current device, measured in the current stream."""

    def __init__(self, cupy: Any, cublas: Any) -> None:
        self._cupy, self._cublas = cupy, cublas
        free_bytes, _ = cupy.cuda.runtime.memGetInfo()
        self._most_bytes = int(free_bytes * _MOST_SHARE)

    def flop_per_s(self, kind: GemmType) -> float | None:
        """The best rate of the sizes that fit; None if none does."""
        rates: list[float] = []
        seconds = 0.0
        for size in SIZES:
            fits = 3 * size**2 * kind.item_bytes <= self._most_bytes
            if not fits or (rates and 8 * seconds > _MOST_GEMM_S):
                break
            seconds = self._best(self._gemm(kind, size))
            rates.append(2 * size**3 / seconds)
        return max(rates, default=None)

    def bytes_per_s(self) -> float:
        """The best rate of copies on the device."""
        size = min(COPY_BYTES, self._most_bytes // 2)
        to, source = self._cupy.cuda.alloc(size), self._cupy.cuda.alloc(size)
        stream = self._cupy.cuda.get_current_stream()
        return 2 * size / self._best(lambda: to.copy_from_device_async(source, size, stream))

    def _gemm(self, kind: GemmType, size: int) -> Callable[[], object]:
        """The product of two matrices of random numbers; zeros would use less power."""
        import numpy as np  # noqa: PLC0415 - CuPy brings it

        cublas, runtime = self._cublas, self._cupy.cuda.runtime
        block = _random_block(kind)
        a, b, c = (self._filled(block, size**2 * kind.item_bytes) for _ in range(3))
        handle = self._cupy.cuda.device.get_cublas_handle()
        storage, compute = getattr(runtime, kind.storage), getattr(cublas, kind.compute)
        factors = np.array([1, 0], np.float64 if kind.item_bytes == 8 else np.float32)
        one, zero = factors.ctypes.data, factors[1:].ctypes.data

        def multiply(_keep: object = factors) -> None:
            cublas.gemmEx(
                handle, cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_N, size, size, size,
                one, a.ptr, storage, size, b.ptr, storage, size,
                zero, c.ptr, storage, size, compute, cublas.CUBLAS_GEMM_DEFAULT,
            )  # fmt: skip

        return multiply

    def _filled(self, block: Any, size: int) -> Any:
        """Memory on the device that holds a block of the host again and again."""
        memory = self._cupy.cuda.alloc(size)
        filled = min(block.nbytes, size)
        memory.copy_from_host(block.ctypes.data, filled)
        while filled < size:
            more = min(filled, size - filled)
            (memory + filled).copy_from_device(memory, more)
            filled += more
        self._cupy.cuda.runtime.deviceSynchronize()  # our stream does not wait for these copies
        return memory

    def _best(self, work: Callable[[], object]) -> float:
        """Seconds of one execution, from the fastest of several bursts; the first warms up."""
        repeats, best = 1, float("inf")
        self._burst(work, 1)
        for _ in range(_BURSTS):
            best = min(best, self._burst(work, repeats))
            repeats = max(1, min(_MOST_REPEATS, int(_BURST_S / best)))
        return best

    def _burst(self, work: Callable[[], object], repeats: int) -> float:
        begin, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        begin.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(begin, end)) / 1e3 / repeats


def _words(error: Exception) -> str:
    return " ".join(str(error).split())


def _random_block(kind: GemmType) -> Any:
    """Random numbers of a storage type, as an array of the host."""
    import numpy as np  # noqa: PLC0415 - CuPy brings it

    drawn = np.random.default_rng(0).standard_normal(_BLOCK)
    if kind.storage == "CUDA_R_16BF":  # the upper half of a float
        return (drawn.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return drawn.astype(f"f{kind.item_bytes}")
