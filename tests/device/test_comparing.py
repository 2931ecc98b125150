"""Copies of results on the host and through CuPy, which is numpy here; and who lets CuPy in."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.device import cupy_guest
from pyharness.releases import Release
from pyharness.spec.differences import Difference
from pyharness.spec.messages import BuffersKept
from tests.device import planning
from tests.device.numpy_cupy import install
from tests.device.planning import BFLOAT16, DOUBLE, FLOAT, HALF, Ask, settings
from tests.doubles.build import build_shared
from tests.emulator.build import EmulatedRelease
from tests.spec.slow_difference import BYTES, slow_difference

TYPES = {"float": FLOAT, "double": DOUBLE, "half": HALF, "bfloat16": BFLOAT16}
Y = 3 * 2 * 4  # elements of y in planning.settings()
Libraries = Callable[..., Path]


@pytest.fixture(scope="session")
def libraries(shared_tmp: Path) -> Libraries:
    """A folder with empty libraries of these names."""

    def made(folder: str, *names: str) -> Path:
        (shared_tmp / "toolkits").mkdir(exist_ok=True)
        source = shared_tmp / "toolkits" / "empty.cpp"
        source.write_text("")
        for name in names:
            build_shared(
                shared_tmp / "toolkits" / folder / name, f"-Wl,-soname,{name}", str(source)
            )
        return shared_tmp / "toolkits" / folder

    return made


@pytest.fixture
def kept(
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    libraries: Libraries,
    tmp_path: Path,
) -> Iterator[Callable[..., Any]]:
    """Asks planning.kept with CuPy on numpy."""
    release = emulator(cudnn("9.28.0.42+cu12").path)

    def answer(data_type: str, pairs: list[tuple[bytes, bytes]], full: str = "") -> Any:
        own = libraries("own", "libnvrtc.so.12")
        path = os.pathsep.join(filter(None, (str(own), release.env.get("LD_LIBRARY_PATH"))))
        env = {**release.env, "LD_LIBRARY_PATH": path, "PYTHONPATH": str(packages)}
        precise = DOUBLE if data_type == "double" else FLOAT
        chosen = settings(data_type=TYPES[data_type], math_prec=precise)
        return planning.ask(str(release.cudnn), env, "kept", chosen, pairs, full)

    packages = install(tmp_path / "packages")
    yield answer
    assert release.violations == []


def pairs_of(data_type: str) -> list[tuple[bytes, bytes]]:
    """y before and now: equal, one bit apart, a zero of other sign, and whatever bits."""
    rng, size = np.random.default_rng(5), Y * BYTES[data_type]
    one = rng.bytes(size)
    flipped = bytearray(one)
    flipped[7 * BYTES[data_type]] ^= 1
    minus_zero = bytes(size - 1) + b"\x80"
    random = [(rng.bytes(size), rng.bytes(size)) for _ in range(10)]
    return [(one, one), (one, bytes(flipped)), (bytes(size), minus_zero), *random]


@pytest.mark.parametrize("data_type", TYPES)
def test_the_device_says_what_a_plain_loop_says(kept: Callable[..., Any], data_type: str) -> None:
    pairs = pairs_of(data_type)
    keeping, compared, freed = kept(data_type, pairs)
    assert keeping == [BuffersKept({})] * len(pairs)
    expected = [slow_difference(before, now, data_type) for before, now in pairs]
    assert [Difference(**c.differences["y"]) for c in compared] == expected
    assert [d.first for d in expected[:3]] == [None, 7, Y - 1]
    # Once to try it out, at each request, and when what is kept is dropped: a plan finds the memory
    # that it would find without.
    assert freed == 1 + 2 * len(pairs) + 1


def test_where_the_device_has_no_room_the_host_says_it(kept: Callable[..., Any]) -> None:
    pairs = pairs_of("half")
    expected = [slow_difference(before, now, "half") for before, now in pairs]
    for full in ("keep", "compare"):
        keeping, compared, _ = kept("half", pairs, full)
        assert [Difference(**c.differences["y"]) for c in compared] == expected
        assert keeping[0] == BuffersKept({})
        if full == "keep":
            why = "the device has no room for a copy of y"
            assert keeping[1:] == [BuffersKept({"y": why})] * (len(pairs) - 1)


def test_buffers_are_read_in_parts(ask: Ask) -> None:
    read, said = ask(planning.in_parts, settings())
    assert {"x", "y", "w", "workspace"} <= set(read)
    for whole, parts, digest in read.values():
        assert parts == whole
        assert digest == hashlib.sha256(whole).hexdigest()
    size = len(read["x"][0])
    assert said[:3] == [
        f"ValueError: x has {size} bytes, not 4 from {size - 3}",
        f"ValueError: x has {size} bytes, not 0 from {size + 1}",
        f"ValueError: x has {size} bytes, not 2 from {2**64 - 1}",
    ]
    assert said[3].startswith("BufferError")  # these cannot be written
    assert said[4] == "ValueError: a part has gaps"


# What a process says in whose reach CuPy is, then what it has loaded, then if CuPy is among that.
TRIED = """
import sys
from pyharness.device.comparing import Copies
from pyharness.device.cupy_guest import shared_files
copies = Copies()
copies.ordinal = 0
try:
    print(copies._why_not("float") or "on the device")
except RuntimeError as error:
    print(error)
print(*sorted(shared_files()))
print("cupy" in sys.modules)
"""


def tried(packages: Path, loader_path: str = "", before: str = "") -> list[str]:
    """What a process says with these packages and this LD_LIBRARY_PATH; ``before``: a program."""
    done = subprocess.run(
        [sys.executable, "-c", before + TRIED],
        env={**os.environ, "PYTHONPATH": str(packages), "LD_LIBRARY_PATH": loader_path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise ImportError('no  driver')", "CuPy cannot be imported: no driver"),
        (
            "def kernel():\n    raise RuntimeError('no\\nkernel')\nCARD.kernel = kernel",
            "CuPy cannot compare float: no kernel",
        ),
        (
            "from tests.device.numpy_cupy import CompileException\ndef kernel():\n"
            "    raise CompileException('bad headers')\nCARD.kernel = kernel",
            "CuPy cannot compare float: bad headers",
        ),
        (
            "maximum = minimum",
            r"CuPy says Difference\(.*most_ulps=0, .*\) of float where numpy says Difference\(.*",
        ),
        ("CARD.full = True", "CuPy cannot compare float: "),
    ],
)
def test_what_cupy_cannot_do_the_host_does(
    libraries: Libraries, tmp_path: Path, program: str, why: str
) -> None:
    own = libraries("own", "libnvrtc.so.12")
    assert re.fullmatch(why, tried(install(tmp_path, program), str(own))[0])


def loading(library: Path) -> str:
    """As 14.2 does it: what is loaded under the name of a library; or else its own."""
    return (
        "import ctypes, os\ndef kernel():\n"
        f"    try:\n        ctypes.CDLL({library.name!r}, os.RTLD_NOLOAD)\n"
        f"    except OSError:\n        ctypes.CDLL({str(library)!r})\n"
        "CARD.kernel = kernel"
    )


def test_cupy_goes_on_with_what_is_cudnns(libraries: Libraries, tmp_path: Path) -> None:
    theirs = libraries("theirs", "libnvrtc.so.12") / "libnvrtc.so.12"
    own = libraries("own", "libnvrtc.so.12") / "libnvrtc.so.12"
    other = libraries("other", "libnvrtc.so.12", "libnvrtc.so.11.2")
    packages = install(tmp_path / "12", loading(theirs))
    # cuDNN would take it from the first folder.
    path = f":{tmp_path}:{own.parent}:{other}"
    assert tried(packages, path) == ["on the device", str(own), "True"]
    # cuDNN has loaded one already, from wherever it found it.
    loaded = f"import ctypes; ctypes.CDLL({str(own)!r})\n"
    for path in ("", str(other)):
        assert tried(packages, path, loaded) == ["on the device", str(own), "True"]
    # CUDA 11 calls it by another name.
    older = install(tmp_path / "11", cuda=11080)
    eleven = str(other / "libnvrtc.so.11.2")
    assert tried(older, str(other)) == ["on the device", eleven, "True"]


def test_without_cudnns_nvrtc_cupy_stays_outside(libraries: Libraries, tmp_path: Path) -> None:
    theirs = libraries("theirs", "libnvrtc.so.12") / "libnvrtc.so.12"
    packages = install(tmp_path, loading(theirs))
    why = "CuPy would bring its own libnvrtc.so.12: cuDNN's is not loaded, nor in LD_LIBRARY_PATH"
    assert tried(packages) == [why, "", "True"]
    # cuDNN's is of another CUDA.
    other = libraries("newer", "libnvrtc.so.13")
    assert tried(packages, str(other)) == [why, "", "True"]


def test_a_cupy_that_is_linked_to_cublas_is_not_imported(
    libraries: Libraries, tmp_path: Path
) -> None:
    own = libraries("own", "libnvrtc.so.12")
    packages = install(tmp_path, "raise AssertionError", "12.3.0")
    said, files, imported = tried(packages, str(own))
    assert said.startswith("CuPy 12.3.0 is linked to cuBLAS, which cuDNN would use from then on")
    assert (files, imported) == ("", "False")


def test_a_library_that_cupy_has_brought_is_no_secret(libraries: Libraries, tmp_path: Path) -> None:
    own = libraries("own", "libnvrtc.so.12")
    theirs = libraries("theirs", "libcublas.so.12") / "libcublas.so.12"
    said, *_ = tried(install(tmp_path, loading(theirs)), str(own))
    assert said.startswith(f"CuPy has loaded {theirs}, which cuDNN would use from now on")


def test_without_cupy_the_host_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_guest, "find_spec", lambda _: None)
    with pytest.raises(cupy_guest.Outside, match="CuPy is not installed"):
        cupy_guest.invite()
