"""What the harness uses of CuPy, on numpy: device memory must be memory of this process.

As a package of its own, `cupy`, in a folder that install() fills.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = ("count_nonzero", "flatnonzero", "maximum", "minimum", "where")


class OutOfMemoryError(MemoryError):
    """CuPy's is one, too."""


class CompileException(Exception):
    """CuPy's is no RuntimeError."""


class Array(np.ndarray):
    """An array whose copies may find no room."""

    def copy(self, *arguments: Any) -> Any:
        CARD.ask()
        return super().copy(*arguments)


class Card:
    """What becomes of the double.

    ``full``    no memory can be had.
    ``kernel``  called before each function.
    ``inside``  contexts that are open; whatever is asked for outside of them is refused.
    ``freed``   how often the pool gave all back.
    """

    def __init__(self) -> None:
        self.full = False
        self.kernel: Any = lambda: None
        self.inside: list[str] = []
        self.freed = 0

    def ask(self) -> None:
        assert self.inside == ["device", "pool", "stream"]
        if self.full:
            raise OutOfMemoryError

    @contextmanager
    def context(self, name: str) -> Iterator[None]:
        self.inside.append(name)
        try:
            yield
        finally:
            assert self.inside.pop() == name


CARD = Card()


class Context:
    """A device or a stream."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.waited = False

    def __enter__(self) -> None:
        CARD.inside.append(self._name)
        self.waited = False

    def __exit__(self, kind: object, *_: object) -> None:
        assert CARD.inside.pop() == self._name
        assert self.waited or self._name == "device" or kind is not None

    def synchronize(self) -> None:
        self.waited = True


class MemoryPool:
    """Counts."""

    def malloc(self) -> None:
        raise AssertionError

    def free_all_blocks(self) -> None:
        CARD.freed += 1


def asarray(shared: Any) -> Array:
    """An array on memory that is shared, or on a numpy array."""
    assert CARD.inside == ["device", "pool", "stream"]
    if isinstance(shared, np.ndarray):
        return shared.view(Array)
    shown = shared.__cuda_array_interface__
    (size,), kind = shown["shape"], np.dtype(shown["typestr"])
    address, read_only = shown["data"]
    assert not read_only
    assert shown["strides"] is None
    memory = (ctypes.c_char * (size * kind.itemsize)).from_address(address)
    return np.frombuffer(memory, kind).view(Array)


def contents(cuda: int) -> dict[str, Any]:
    """What the module has; ``cuda``: version of its CUDA runtime, 12090 for example."""

    def counted(name: str) -> Any:
        def call(*arguments: Any) -> Any:
            CARD.kernel()
            if name == "flatnonzero":
                CARD.ask()
            return getattr(np, name)(*arguments)

        return call

    cuda_module = SimpleNamespace(
        Device=lambda ordinal: Context("device"),
        Stream=lambda non_blocking: Context("stream"),
        MemoryPool=MemoryPool,
        using_allocator=lambda malloc: CARD.context("pool"),
        compiler=SimpleNamespace(CompileException=CompileException),
        runtime=SimpleNamespace(runtimeGetVersion=lambda: cuda),
    )
    functions = {name: counted(name) for name in FUNCTIONS}
    return {"asarray": asarray, "cuda": cuda_module, **functions}


def install(folder: Path, program: str = "", version: str = "14.2.0", cuda: int = 12090) -> Path:
    """Makes the package in a folder.

    ``program``  what it does at the end of its import; CARD is there.
    """
    package = folder / "cupy"
    package.mkdir(parents=True)
    (package / "_version.py").write_text(f"__version__ = '{version}'\n")
    (package / "__init__.py").write_text(
        f"import sys\nsys.path.append({str(ROOT)!r})\n"
        "from tests.device.numpy_cupy import CARD, contents\n"
        f"globals().update(contents({cuda}))\n{program}\n"
    )
    return folder
