"""doctor on machines that are made for it: sound ones, and broken in each way that it must name."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pyharness import doctor
from pyharness.cli.main import app
from pyharness.doctor import driver, libraries, machine
from pyharness.releases import REQUIRED_SYMBOLS, Release, installed, list_offers
from pyharness.releases import fetch as fetch_offer
from tests.releases import conftest as local

index, offline, cache, no_settings = local.index, local.offline, local.cache, local.no_settings
build_library = local.build_library

Build = Callable[..., Path]
PARTS_9 = (
    "adv",
    "cnn",
    "engines_precompiled",
    "engines_runtime_compiled",
    "graph",
    "heuristic",
    "ops",
)


@pytest.fixture(autouse=True)
def alone(
    request: pytest.FixtureRequest, no_settings: None, cache: Path, monkeypatch, tmp_path: Path
) -> None:
    """A machine with no cuDNN, no NVIDIA hardware, an empty cache and, by itself, no index."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setattr(installed, "loader_cache", dict)
    monkeypatch.setattr(installed, "SYSTEM_DIRS", ())
    monkeypatch.setattr(installed, "SYSTEM_PATTERNS", ())
    monkeypatch.setattr(installed, "sys", type("Sys", (), {"path": [str(tmp_path / "site")]}))
    monkeypatch.setattr(driver, "_KERNEL_VERSION", tmp_path / "no-driver")
    monkeypatch.setattr(driver, "_PCI_DEVICES", tmp_path / "no-devices")
    if not {"index", "offline", "mute_index"} & set(request.fixturenames):
        monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def place(tmp_path: Path, monkeypatch, build_library: Build) -> Callable[..., Path]:
    """Put a library with its sublibraries where doctor finds it; returns its folder."""

    def put(
        source: Path, version: str = "9.13.0", parts: dict[str, str] | tuple[str, ...] = PARTS_9
    ) -> Path:
        folder = tmp_path / "lib"
        folder.mkdir()
        shutil.copy(source, folder / f"libcudnn.so.{version}")
        versions = parts if isinstance(parts, dict) else dict.fromkeys(parts, version)
        empty = build_library("made/empty.so")
        for part, theirs in versions.items():
            shutil.copy(empty, folder / f"libcudnn_{part}.so.{theirs}")
            (folder / f"libcudnn_{part}.so.9").symlink_to(f"libcudnn_{part}.so.{theirs}")
        (folder / "libcudnn.so.9").symlink_to(f"libcudnn.so.{version}")
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
        return folder

    return put


def examine(*options: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["doctor", "--json", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)


def findings(found: dict[str, Any], about: str) -> list[dict[str, Any]]:
    return [f for f in found["findings"] if about in f["what"]]


def only_library(found: dict[str, Any]) -> dict[str, Any]:
    (library,) = found["libraries"]
    return library


def test_a_sound_library_works(fake: Path, place) -> None:
    place(fake)
    code, found = examine()
    library = only_library(found)
    assert (code, found["works"]) == (0, True)
    assert (library["name"], library["source"]) == ("9.13.0", "LD_LIBRARY_PATH")
    assert library["opening"]["says"] == "9.13.0"
    assert len(library["opening"]["calls"]) == 5
    assert library["opening"]["problem"] == ""
    assert not findings(found, "9.13.0")


def test_the_compiled_part_is_described(fake: Path, place) -> None:
    place(fake)
    _, found = examine()
    assert found["compiled"]["compiler"]
    assert found["compiled"]["build_type"]
    assert found["machine"]["cores"] >= 1


def test_without_the_compiled_part_nothing_works(fake: Path, place, monkeypatch) -> None:
    import pyharness.device

    place(fake)
    monkeypatch.setitem(sys.modules, "pyharness.device._core", None)
    monkeypatch.delattr(pyharness.device, "_core", raising=False)
    code, found = examine()
    assert (code, found["works"]) == (1, False)
    (finding,) = findings(found, "compiled part")
    assert "pip install ." in finding["advice"]
    assert only_library(found)["opening"] is None


def test_sublibraries_of_two_versions_are_named(fake: Path, place) -> None:
    place(fake, parts={**dict.fromkeys(PARTS_9, "9.13.0"), "ops": "9.2.0"})
    code, found = examine()
    assert code == 0
    assert only_library(found)["mixed"]["ops"] == "9.2.0"
    (finding,) = findings(found, "several versions")
    assert "9.2.0: ops" in finding["what"]
    assert finding["commands"] == ["pyharness fetch 9.13.0"]


def test_a_sublibrary_that_only_a_gpu_needs(fake: Path, place) -> None:
    place(fake, parts=tuple(part for part in PARTS_9 if part != "cnn"))
    code, found = examine()
    (finding,) = findings(found, "sublibraries not found: cnn")
    assert code == 0
    assert finding["prevents"].startswith("GPU runs")
    assert finding["commands"] == ["pyharness fetch 9.13.0 --full"]


def test_a_sublibrary_that_the_host_calls_need(fake: Path, place) -> None:
    place(fake, parts=tuple(part for part in PARTS_9 if part != "adv"))
    _, found = examine()
    (finding,) = findings(found, "libcudnn_adv.so.9 not found")
    assert "needed by libcudnn.so.9" in finding["what"]


def test_a_library_that_it_is_linked_to(build_library: Build, place) -> None:
    gone = build_library("elsewhere/libgone.so.1", ("gone",))
    main = build_library("made/libcudnn.so.9", REQUIRED_SYMBOLS, "-Wl,--no-as-needed", str(gone))
    place(main)
    code, found = examine()
    (finding,) = findings(found, "libgone.so.1 not found (needed by libcudnn.so.9)")
    assert "map, diff and try" in finding["prevents"]
    assert code == 1


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"", "an empty file"), (b"hello\n", "a text file"), (b"\x7fELF\x02\x01", "a damaged ELF")],
)
def test_a_file_that_is_no_library(tmp_path: Path, place, content: bytes, what: str) -> None:
    path = tmp_path / "libcudnn.so.9"
    path.write_bytes(content)
    place(path)
    code, found = examine()
    (finding,) = findings(found, "libcudnn.so.9 is")
    assert what in finding["what"]
    assert code == 1


def test_a_library_for_another_machine(fake: Path, tmp_path: Path, place) -> None:
    content = bytearray(fake.read_bytes())
    content[18] = 183 if content[18] == 62 else 62  # e_machine: x86-64 and AArch64 change places
    path = tmp_path / "libcudnn.so.9"
    path.write_bytes(content)
    place(path)
    _, found = examine()
    assert findings(found, "libcudnn.so.9 is built for")


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("WITHOUT_REQUIRED", "lacks"),
        ("UNLOADABLE", "nobody_defines_this"),
        ("DIES_ON_LOAD", "ended while it opened"),
    ],
)
def test_a_library_that_cannot_be_opened(build: Build, place, variant: str, words: str) -> None:
    place(build(variant))
    code, found = examine()
    assert words in only_library(found)["opening"]["problem"]
    assert findings(found, words)
    assert code == 1


@pytest.mark.parametrize("call", ["cudnnGetVersion", "cudnnSetRNNDescriptor_v8"])
def test_a_library_that_ends_its_process(fake: Path, place, monkeypatch, call: str) -> None:
    place(fake)
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", call)
    code, found = examine()
    opening = only_library(found)["opening"]
    assert opening["problem"] == f"{call} ends the process (SIGABRT)"
    assert opening["output"] == f"{call} ends the process"
    assert code == 1


def test_a_library_that_hangs_is_given_up(tmp_path: Path, place, monkeypatch) -> None:
    source = tmp_path / "hang.c"
    names = {*REQUIRED_SYMBOLS, "cudnnGetRNNDescriptor_v8", "cudnnGetRNNDataDescriptor"}
    names |= {"cudnnGetTensorNdDescriptor"}
    lines = [f"int {name}(void) {{ for (;;) pause(); }}" for name in sorted(names)]
    source.write_text("\n".join(["#include <unistd.h>", *lines, ""]))
    library = tmp_path / "libcudnn.so.9"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    place(library)
    monkeypatch.setattr(libraries, "TIME_LIMIT_S", 1.0)
    code, found = examine()
    assert only_library(found)["opening"]["problem"] == "cudnnGetVersion gives no answer within 1 s"
    assert code == 1


def test_a_library_that_is_another_version_than_its_name(fake: Path, place, monkeypatch) -> None:
    place(fake)
    monkeypatch.setenv("FAKE_CUDNN_VERSION", "91200")
    _, found = examine()
    assert findings(found, "the library says that it is 9.12.0")


def test_a_library_whose_sublibraries_are_another_ones(fake: Path, place, build_library) -> None:
    folder = place(fake)
    build_library("site/nvidia/cudnn/lib/libcudnn.so.9.14.0", ("cudnnGetVersion",))
    _, found = examine()
    shadowed = {lib["name"]: lib["shadowed_by"] for lib in found["libraries"]}
    assert shadowed == {"9.13.0": [], "9.14.0": [str(folder)]}
    (finding,) = findings(found, f"the sublibraries of {folder} in place of those of 9.14.0")
    assert finding["commands"] == ["unset LD_LIBRARY_PATH"]


@pytest.fixture(scope="module")
def real_8_5(cudnn: Callable[[str], Release]) -> Path:
    """The folder of the real 8.5.0.96, from the cache of whoever runs the tests."""
    return cudnn("8.5.0.96").path.parent


def test_the_real_8_5_without_cublas(real_8_5: Path, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "bare" / "nvidia" / "cudnn" / "lib"
    folder.mkdir(parents=True)
    for library in real_8_5.glob("libcudnn*"):
        (folder / library.name).symlink_to(library)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    code, found = examine()
    library = only_library(found)
    assert library["opening"]["problem"] == "cudnnGetVersion ends the process (SIGABRT)"
    assert "libcublas.so.11" in library["opening"]["output"]
    (finding,) = findings(found, "libcublas.so.11")
    assert "libnvrtc.so" in finding["what"]
    assert "LD_LIBRARY_PATH" in finding["advice"]
    assert code == 1


def test_the_index_that_cannot_be_reached(fake: Path, place, offline) -> None:
    place(fake)
    code, found = examine()
    (finding,) = findings(found, "the package index cannot be reached")
    assert "connection refused" in finding["what"]
    assert "fetching releases" in finding["prevents"]
    assert code == 0


def test_nothing_here_and_nothing_to_fetch() -> None:
    code, found = examine()
    assert (code, found["libraries"]) == (1, [])
    (finding,) = findings(found, "no cuDNN is installed or cached")
    assert finding["prevents"] == "map, diff and try until the index can be reached"


def test_nothing_here_but_an_index(index) -> None:
    index.add_cudnn("9.26.0.51")
    code, found = examine()
    assert code == 0
    assert (found["index"]["releases"], found["index"]["newest"]) == (1, "9.26.0.51")
    (finding,) = findings(found, "no cuDNN is installed or cached")
    assert finding["commands"] == ["pyharness fetch latest"]


@pytest.fixture
def mute_index(monkeypatch) -> Iterator[None]:
    """An index that takes a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple/")
        monkeypatch.setenv("PIP_TIMEOUT", "2")
        yield


def test_an_index_that_never_answers_is_given_up(fake: Path, place, mute_index, monkeypatch):
    place(fake)
    monkeypatch.setattr(doctor, "INDEX_LIMIT_S", 0.3)
    code, found = examine()
    assert found["index"]["problem"] == "the package index gives no answer within 0.3 s"
    assert code == 0


def fetch_all() -> None:
    for offer in list_offers():
        fetch_offer(offer)


def test_of_the_cache_the_newest_is_opened(index) -> None:
    index.add_cudnn("9.25.1.1")
    index.add_cudnn("9.26.0.51")
    fetch_all()
    _, found = examine()
    opened = {lib["name"]: lib["opening"] is not None for lib in found["libraries"]}
    assert opened == {"9.26.0.51+cu12": True, "9.25.1.1+cu12": False}
    _, found = examine("--all")
    assert all(lib["opening"] is not None for lib in found["libraries"])
    assert found["cache"]["releases"] == 2


def test_a_cached_release_that_was_cut_short(index, cache: Path) -> None:
    index.add_cudnn("9.26.0.51")
    fetch_all()
    member = cache / "9.26.0.51+cu12" / "nvidia/cudnn/lib/libcudnn_ops.so.9"
    os.truncate(member, 1000)
    _, found = examine()
    assert found["cache"]["damaged"] == ["9.26.0.51+cu12"]
    (finding,) = findings(found, "missing or cut short")
    assert finding["commands"] == ["pyharness fetch 9.26.0.51+cu12"]


def test_a_cache_that_is_a_file(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "file" / "cache"))
    _, found = examine()
    assert findings(found, "is not a folder")


CUDA = """
#include <string.h>
int cuInit(unsigned flags) { return %(init)d; }
int cuGetErrorString(int status, const char **text) { *text = "no device is there"; return 0; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strcpy(name, "Test GPU"); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 85899345920; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 9 : 0;
    return 0;
}
"""


@pytest.fixture
def add_cuda(tmp_path: Path) -> Callable[..., None]:
    """A libcuda in the folder of a library."""

    def add(folder: Path, source: str) -> None:
        (tmp_path / "cuda.c").write_text(source)
        target = folder / "libcuda.so.1"
        command = ["cc", "-shared", "-fPIC", str(tmp_path / "cuda.c"), "-o", str(target)]
        subprocess.run(command, check=True)

    return add


def test_a_gpu_is_described(fake: Path, place, add_cuda) -> None:
    add_cuda(place(fake), CUDA % {"init": 0})
    _, found = examine()
    assert found["driver"]["cuda_version"] == "12.4"
    assert found["driver"]["gpus"] == [
        {"name": "Test GPU", "memory_bytes": 85899345920, "compute_capability": "9.0"}
    ]
    assert not findings(found, "GPU")
    text = CliRunner().invoke(app, ["doctor"]).stdout
    assert "Test GPU, 85.9 GB, compute capability 9.0" in text


def test_a_gpu_run_lacks_its_toolkit(index, place, fake: Path, add_cuda) -> None:
    add_cuda(place(fake), CUDA % {"init": 0})
    index.add_cudnn("9.26.0.51", 13)
    fetch_all()
    _, found = examine()
    (toolkit,) = findings(found, "cuBLAS and NVRTC of CUDA 13 not found")
    assert toolkit["commands"] == ["pyharness fetch 9.26.0.51+cu13 --full"]
    assert findings(found, "the driver serves CUDA 12.4, 9.26.0.51+cu13 needs 13")


def test_a_driver_without_a_device(fake: Path, place, add_cuda) -> None:
    add_cuda(place(fake), CUDA % {"init": 100})
    code, found = examine()
    (finding,) = findings(found, "no device is there")
    assert "map, diff and try need no GPU" in finding["prevents"]
    assert code == 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int x;", "libcuda.so.1 is not complete"),
        ("#include <stdlib.h>\nint cuInit(unsigned f) { abort(); }", "ends the process"),
    ],
)
def test_a_driver_that_is_broken(fake: Path, place, add_cuda, source: str, words: str) -> None:
    add_cuda(place(fake), source)
    code, found = examine()
    assert words in found["driver"]["problem"]
    assert findings(found, words)
    assert code == 0


def test_a_gpu_without_a_driver(fake: Path, place, monkeypatch, tmp_path: Path) -> None:
    (place(fake) / "libcuda.so.1").symlink_to("nowhere")
    device = tmp_path / "devices" / "0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030200\n")
    monkeypatch.setattr(driver, "_PCI_DEVICES", device.parent)
    monkeypatch.setattr(driver, "_ask", lambda: {"problem": "libcuda.so.1: not found"})
    _, found = examine()
    assert findings(found, "an NVIDIA GPU is here, but no driver")


def test_the_version_of_the_kernel_module(fake: Path, place, monkeypatch, tmp_path: Path) -> None:
    place(fake)
    version = tmp_path / "version"
    version.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build\n"
        "GCC version:  gcc version 12.2.0\n"
    )
    monkeypatch.setattr(driver, "_KERNEL_VERSION", version)
    monkeypatch.setattr(driver, "_ask", lambda: {"problem": "libcuda.so.1 cannot be opened"})
    _, found = examine()
    assert found["driver"]["version"] == "550.54.14"
    assert "--gpus all" in findings(found, "the kernel has driver 550.54.14")[0]["advice"]


def test_one_screen(fake: Path, place, tmp_path: Path, monkeypatch) -> None:
    place(fake, parts=("ops",))
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, ["doctor"])
    lines = result.stdout.splitlines()
    assert len(lines) <= 40
    assert [line for line in lines if len(line) > 80] == []
    assert "\x1b" not in result.stdout
    assert lines[-1] == "Mapping what a release accepts (map, diff, try) works here."


def test_what_a_gpu_run_would_say_more_with(fake: Path, place, add_cuda, monkeypatch) -> None:
    folder = place(fake)
    had = {"torch": "2.13.0", "nvidia-ml-py": "13.0", "cupy-cuda12x": "14.0"}
    monkeypatch.setattr(machine, "_version", had.get)
    add_cuda(folder, CUDA % {"init": 0})
    _, found = examine()
    assert found["packages"].items() >= had.items()
    assert not findings(found, "is not installed")
    had.clear()
    _, found = examine()
    commands = {f["what"]: f["commands"] for f in findings(found, "is not installed")}
    assert commands == {
        "CuPy is not installed": ["pip install cupy-cuda12x"],
        "nvidia-ml-py is not installed": ["pip install nvidia-ml-py"],
        "PyTorch is not installed": ["pip install torch"],
    }
    (folder / "libcuda.so.1").unlink()
    _, found = examine()
    assert not findings(found, "is not installed"), "without a GPU nobody needs them"
