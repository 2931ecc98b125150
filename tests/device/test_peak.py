"""The card's peak: what is asked of cuBLAS, and that the rates follow from the times.

CuPy is played by a card with a known rate, so that the true answer is known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyharness.device import peak
from pyharness.device.launch import runner_command
from pyharness.device.peak import gemm_type, measure_peak
from pyharness.engine.process import Launch
from pyharness.engine.runner import Runner
from pyharness.releases import Release
from pyharness.spec.messages import MeasurePeak, Peak
from tests.emulator.build import EmulatedRelease

NAMES = {"CUDA_R_32F": 4, "CUDA_R_64F": 8, "CUDA_R_16F": 2, "CUDA_R_16BF": 2}


class Failure(Exception):
    pass


class Memory:
    """Device memory; it is counted, and remembers whether it was filled."""

    def __init__(self, card: Card, size: int, at: int = 0) -> None:
        self.card, self.size, self.at, self.ptr = card, size, at, object()
        if at == 0:
            card.held += size
            card.most_held = max(card.most_held, card.held)
            if card.held > card.memory:
                raise Failure("out of memory")

    def __del__(self) -> None:
        if self.at == 0:
            self.card.held -= self.size

    def __add__(self, offset: int) -> Memory:
        return Memory(self.card, self.size - offset, offset)

    def copy_from_host(self, address: int, size: int) -> None:
        assert address
        assert size <= self.size
        self.card.filled += size

    def copy_from_device(self, source: Memory, size: int) -> None:
        assert size <= min(self.size, self.at)  # only what was filled before
        self.card.filled += size

    def copy_from_device_async(self, source: Memory, size: int, stream: object) -> None:
        assert stream == "stream"
        self.card.now_ms += 2 * size / self.card.bytes_per_s * 1e3


class Card:
    """A card of this flop rate by size, and this rate of reading and writing."""

    def __init__(
        self, rates: dict[int, float], bytes_per_s: float = 4e12, memory: int = 80 << 30
    ) -> None:
        self.rates, self.bytes_per_s, self.memory = rates, bytes_per_s, memory
        self.now_ms, self.held, self.most_held, self.filled = 0.0, 0, 0, 0
        self.gemms: list[tuple[int, str, str]] = []
        self.entered: list[object] = []
        self.freed = False

    def gemm(self, handle: str, *arguments: Any) -> None:
        transa, transb, m, n, k, one, *rest = arguments
        a, storage, lda, b, storage_b, ldb, zero, c, storage_c, ldc, compute, algo = rest
        assert (handle, transa, transb, algo) == ("handle", "N", "N", "DEFAULT")
        assert m == n == k == lda == ldb == ldc
        assert storage == storage_b == storage_c
        assert len({id(a), id(b), id(c)}) == 3
        assert zero - one == (8 if storage == "CUDA_R_64F" else 4)
        self.gemms.append((m, storage, compute))
        self.now_ms += 2 * m * n * k / self.rates[m] * 1e3

    def module(self) -> ModuleType:
        """This card as the parts of CuPy that are used."""
        card = self

        class Context:
            def __init__(self, what: object) -> None:
                self.what = what

            def __enter__(self) -> None:
                card.entered.append(self.what)

            def __exit__(self, *_: object) -> None:
                return None

        class Event:
            def record(self) -> None:
                self.at = card.now_ms

            def synchronize(self) -> None:
                pass

        def free() -> None:
            card.freed = True

        def elapsed(begin: Event, end: Event) -> float:
            return end.at - begin.at

        compute = {n: n for n in dict.fromkeys(c for _, _, c in CASES)}
        cublas = SimpleNamespace(
            gemmEx=self.gemm, CUBLASError=Failure, CUBLAS_OP_N="N", CUBLAS_GEMM_DEFAULT="DEFAULT",
            **compute,
        )  # fmt: skip
        runtime = SimpleNamespace(
            CUDARuntimeError=Failure, memGetInfo=lambda: (card.memory, 0),
            deviceSynchronize=lambda: None, **{n: n for n in NAMES},
        )  # fmt: skip
        cuda = ModuleType("cupy.cuda")
        cuda.__dict__.update(
            cublas=cublas, runtime=runtime, Event=Event, get_elapsed_time=elapsed,
            memory=SimpleNamespace(OutOfMemoryError=Failure), Device=Context,
            Stream=lambda non_blocking: Context("stream"), get_current_stream=lambda: "stream",
            alloc=lambda size: Memory(card, size),
            device=SimpleNamespace(get_cublas_handle=lambda: "handle"),
        )  # fmt: skip
        cupy = ModuleType("cupy")
        cupy.__dict__.update(
            cuda=cuda, get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=free)
        )
        return cupy


CASES = [
    ("float", "default_math", "CUBLAS_COMPUTE_32F_FAST_TF32"),
    ("float", "tensor_op_math", "CUBLAS_COMPUTE_32F_FAST_TF32"),
    ("float", "tensor_op_math_allow_conversion", "CUBLAS_COMPUTE_32F_FAST_16F"),
    ("float", "fma_math", "CUBLAS_COMPUTE_32F"),
    ("half", "default_math", "CUBLAS_COMPUTE_32F"),
    ("half", "fma_math", "CUBLAS_COMPUTE_32F_PEDANTIC"),
    ("bfloat16", "tensor_op_math", "CUBLAS_COMPUTE_32F"),
    ("double", "default_math", "CUBLAS_COMPUTE_64F"),
    ("double", "fma_math", "CUBLAS_COMPUTE_64F_PEDANTIC"),
]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    def install(card: Card) -> Card:
        cupy = card.module()
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.setitem(sys.modules, "cupy.cuda", cupy.cuda)
        return card

    return install


@pytest.mark.parametrize(("data_type", "math_type", "compute"), CASES)
def test_the_compute_type_follows_the_math_type(
    use, data_type: str, math_type: str, compute: str
) -> None:
    card = use(Card({2048: 1e14, 4096: 3e14, 8192: 6e14, 16384: 5e14}))
    found = measure_peak(1, data_type, math_type)
    assert found.flop_per_s == pytest.approx(6e14)
    assert found.bytes_per_s == pytest.approx(4e12)
    assert found.reason == ""
    asked = {(storage, c) for _, storage, c in card.gemms}
    storage = {"float": "32F", "half": "16F", "bfloat16": "16BF", "double": "64F"}[data_type]
    assert asked == {(f"CUDA_R_{storage}", compute)}
    assert list(dict.fromkeys(s for s, _, _ in card.gemms)) == list(peak.SIZES)
    assert card.entered == [1, "stream"]
    assert card.freed
    assert card.held == 0


def test_matrices_are_filled_to_the_last_byte(use) -> None:
    card = use(Card(dict.fromkeys(peak.SIZES, 1e14)))
    measure_peak(0, "half", "default_math")
    assert card.filled == sum(3 * size**2 * 2 for size in peak.SIZES)


def test_a_slow_type_stops_before_it_takes_long(use) -> None:
    card = use(Card(dict.fromkeys(peak.SIZES, 4e11)))  # 8192 would take 2.7 s
    found = measure_peak(0, "double", "default_math")
    assert found.flop_per_s == pytest.approx(4e11)
    assert {size for size, _, _ in card.gemms} == {2048}
    assert card.now_ms < 2000


def test_a_small_card_is_not_filled(use) -> None:
    card = use(Card(dict.fromkeys(peak.SIZES, 1e14), memory=1 << 30))
    found = measure_peak(0, "float", "default_math")
    assert {size for size, _, _ in card.gemms} == {2048, 4096}
    assert card.most_held <= 1 << 28
    assert found.bytes_per_s == pytest.approx(4e12)


def test_a_card_without_room_has_no_flop_rate(use) -> None:
    use(Card({}, memory=1 << 24))
    found = measure_peak(0, "float", "default_math")
    assert found.flop_per_s is None
    assert found.bytes_per_s == pytest.approx(4e12)


def test_a_failure_is_a_reason(use) -> None:
    card = use(Card(dict.fromkeys(peak.SIZES, 1e14)))

    def fail(*_: object) -> None:
        raise Failure("CUBLAS_STATUS_NOT_SUPPORTED")

    sys.modules["cupy"].cuda.cublas.gemmEx = fail
    found = measure_peak(0, "bfloat16", "default_math")
    words = "the card's peak could not be measured: CUBLAS_STATUS_NOT_SUPPORTED"
    assert found == Peak(None, None, words)
    assert card.freed


@pytest.mark.parametrize(
    ("data_type", "math_type"), [("int8", "default_math"), ("fp8_e4m3", "fma_math"), ("half", "7")]
)
def test_types_without_a_gemm(data_type: str, math_type: str) -> None:
    assert gemm_type(data_type, math_type) is None
    found = measure_peak(0, data_type, math_type)
    assert found == Peak(None, None, f"there is no GEMM of {data_type} with {math_type}")


def test_without_cupy_the_reason_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    found = measure_peak(0, "float", "default_math")
    assert (found.flop_per_s, found.bytes_per_s) == (None, None)
    assert "pip install 'pyharness[cuda12]'" in found.reason


def test_a_runner_measures_and_an_emulated_card_has_no_peak(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release]
) -> None:
    release = emulator(cudnn("9.28.0.42").path)
    launch = Launch(runner_command(), str(release.cudnn), tuple(release.env.items()))
    with Runner(launch, str(release.libcuda), 0) as runner:
        assert runner.peak("half", "default_math") == Peak(
            None, None, "an emulated card has no peak"
        )
        answer = runner.ask(MeasurePeak(0, "int8", "default_math"), 60)
        assert answer == Peak(None, None, "there is no GEMM of int8 with default_math")
        assert not runner.broken


def test_random_numbers_of_each_type() -> None:
    floats = np.random.default_rng(0).standard_normal(peak._BLOCK)
    for data_type in ("float", "double", "half", "bfloat16"):
        kind = gemm_type(data_type, "default_math")
        assert kind is not None
        block = peak._random_block(kind)
        assert block.itemsize == kind.item_bytes
        if data_type == "bfloat16":  # sixteen bits of a float, the lower ones 0
            block = (block.astype(np.uint32) << 16).view(np.float32)
        assert np.allclose(block, floats, rtol=0.01, atol=1e-6)
