"""Fetching: what arrives is checked, complete or not there, and never fetched twice."""

from __future__ import annotations

import errno
import gc
import hashlib
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from pyharness.errors import EXIT_ENVIRONMENT, HarnessError
from pyharness.releases import fetch, fetch_headers, list_cached, list_offers
from pyharness.releases.cache import held_bytes

LIGHT = {"libcudnn.so.9", "libcudnn_adv.so.9", "libcudnn_graph.so.9", "libcudnn_ops.so.9"}
OPS = "nvidia/cudnn/lib/libcudnn_ops.so.9"
ADV = "nvidia/cudnn/lib/libcudnn_adv.so.9"
MAIN = "nvidia/cudnn/lib/libcudnn.so.9"
# incompressible, and too large to arrive with the directory of the wheel
CONTENT = {
    name: hashlib.shake_256(name.encode()).digest(200_000)
    for name in ("cublas", "cublasLt", "nvblas", "nvrtc", "builtins", "alt")
}


def add_toolkit(index, cuda: int = 12) -> None:
    folder = "cu13" if cuda == 13 else None
    suffix = f"-cu{cuda}" if cuda < 13 else ""
    cublas, nvrtc = folder or "cublas", folder or "cuda_nvrtc"
    index.add(
        f"nvidia-cublas{suffix}",
        f"{cuda}.1.2",
        {
            f"nvidia/{cublas}/lib/libcublas.so.{cuda}": CONTENT["cublas"],
            f"nvidia/{cublas}/lib/libcublasLt.so.{cuda}": CONTENT["cublasLt"],
            f"nvidia/{cublas}/lib/libnvblas.so.{cuda}": CONTENT["nvblas"],
        },
    )
    index.add(
        f"nvidia-cuda-nvrtc{suffix}",
        f"{cuda}.1.3",
        {
            f"nvidia/{nvrtc}/lib/libnvrtc.so.{cuda}": CONTENT["nvrtc"],
            f"nvidia/{nvrtc}/lib/libnvrtc-builtins.so.{cuda}.1": CONTENT["builtins"],
            f"nvidia/{nvrtc}/lib/libnvrtc.alt.so.{cuda}": CONTENT["alt"],
        },
    )


def files_of(folder: Path) -> set[str]:
    return {p.name for p in folder.rglob("*.so*") if p.is_file() and not p.is_symlink()}


def test_only_the_members_of_the_host_calls_are_fetched(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    release = fetch(list_offers()[0])
    assert release.name == "9.26.0.51+cu12"
    assert release.origin == "cache"
    assert release.path == cache / "9.26.0.51+cu12" / MAIN
    assert release.library_dirs == (release.path.parent,)
    assert files_of(cache) == LIGHT
    assert index.asked_for(filename, "nvidia/cudnn/lib/libcudnn_cnn.so.9") == 0
    manifest = json.loads((cache / "9.26.0.51+cu12" / "manifest.json").read_text())
    assert {Path(m["path"]).name for m in manifest["members"]} == LIGHT
    assert manifest["full"] is False


def test_progress_ends_at_the_total_and_never_goes_back(index) -> None:
    index.add_cudnn("9.26.0.51")
    steps: list[tuple[int, int, str]] = []
    fetch(
        list_offers()[0], progress=lambda done, total, member: steps.append((done, total, member))
    )
    done = [step[0] for step in steps]
    assert done == sorted(done)
    assert {step[1] for step in steps} == {4 * 300_000}
    assert done[-1] == 4 * 300_000
    assert {Path(step[2]).name for step in steps} == LIGHT


def test_a_cached_release_is_not_fetched_again(index) -> None:
    index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]
    first = fetch(offer)
    asked = len(index.requests)
    assert fetch(offer) == first
    assert len(index.requests) == asked


def test_a_member_that_differs_from_its_record_is_refused_and_removed(index, cache: Path) -> None:
    index.add_cudnn("9.26.0.51", lies={OPS: b"\1" + b"x" * 299_999})
    with pytest.raises(HarnessError, match=r"libcudnn_ops\.so\.9 of .* does not match") as caught:
        fetch(list_offers()[0])
    assert caught.value.exit_code == EXIT_ENVIRONMENT
    assert list_cached() == []
    assert "libcudnn_ops.so.9" not in files_of(cache)
    assert not list(cache.rglob("*.part"))


@pytest.mark.parametrize("lie", [b"short", b"y" * 400_000])
def test_a_member_of_another_size_is_refused(index, lie: bytes) -> None:
    index.add_cudnn("9.26.0.51", lies={OPS: lie})
    with pytest.raises(HarnessError, match="libcudnn_ops"):
        fetch(list_offers()[0])


def test_a_bit_flipped_on_the_way_is_found(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    start, end = index.member_range(filename, OPS)
    data = bytearray(index.projects["nvidia-cudnn-cu12"][filename])
    data[(start + end) // 2] ^= 1
    index.projects["nvidia-cudnn-cu12"][filename] = bytes(data)
    with pytest.raises(HarnessError, match="libcudnn_ops"):
        fetch(list_offers()[0])
    assert list_cached() == []
    assert not list(cache.rglob("*.part"))


def test_a_wheel_without_checksums_is_refused(index) -> None:
    filename = index.add_cudnn("9.26.0.51")
    wheel = index.projects["nvidia-cudnn-cu12"][filename]
    index.projects["nvidia-cudnn-cu12"][filename] = wheel.replace(b"/RECORD", b"/RECORX")
    with pytest.raises(HarnessError, match="no RECORD"):
        fetch(list_offers()[0])


def test_a_transfer_that_breaks_off_is_resumed_member_by_member(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    broken, _ = index.member_range(filename, OPS)
    index.cut = lambda request: 1000 if request.start == broken else None
    offer = list_offers()[0]
    with pytest.raises(HarnessError, match=r"libcudnn_ops.*broke off") as caught:
        fetch(offer)
    assert "kept" in caught.value.hint
    assert list_cached() == []
    assert not (cache / offer.name).exists()
    assert [index.asked_for(filename, m) for m in (MAIN, ADV, OPS)] == [1, 1, 1]
    index.cut = lambda _request: None
    fetch(offer)
    assert [index.asked_for(filename, m) for m in (MAIN, ADV, OPS)] == [1, 1, 2]
    assert files_of(cache) == LIGHT
    assert not [p for p in cache.iterdir() if p.name.endswith(".staging")]


def test_a_staged_member_that_was_altered_is_fetched_again(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    broken, _ = index.member_range(filename, OPS)
    index.cut = lambda request: 1000 if request.start == broken else None
    offer = list_offers()[0]
    with pytest.raises(HarnessError):
        fetch(offer)
    staged = next(cache.rglob("libcudnn_adv.so.9"))
    staged.write_bytes(b"z" * staged.stat().st_size)
    index.cut = lambda _request: None
    fetch(offer)
    assert index.asked_for(filename, ADV) == 2
    assert set((cache / offer.name / ADV).read_bytes()) != {ord("z")}


def test_an_interrupt_leaves_nothing_half_written(index, cache: Path) -> None:
    index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]

    def stop(done: int, total: int, member: str) -> None:
        if member == OPS:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(offer, progress=stop)
    assert list_cached() == []
    assert not list(cache.rglob("*.part"))
    fetch(offer)
    assert [entry.name for entry in list_cached()] == [offer.name]


def test_a_server_without_byte_ranges_is_named_as_such(index) -> None:
    index.add_cudnn("9.26.0.51")
    index.ranges = False
    with warnings.catch_warnings():
        # The answer that is refused is left open by remotezip, and collected here.
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(HarnessError, match="does not serve parts"):
            fetch(list_offers()[0])
        gc.collect()


def test_space_is_checked_before_anything_is_fetched(index, monkeypatch) -> None:
    filename = index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=1_000_000))
    with pytest.raises(HarnessError, match="1 MB needed, 1 MB free"):
        fetch(offer)
    assert index.asked_for(filename, MAIN) == 0


def test_a_disk_that_fills_up_on_the_way_is_told(index, cache: Path, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]
    real_open = Path.open

    class Full:
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *args: object) -> None:
            self.stream.close()

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def planted(self: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        stream = real_open(self, mode, *args, **kwargs)
        return Full(stream) if self.name == "libcudnn_ops.so.9.part" else stream

    monkeypatch.setattr(Path, "open", planted)
    with pytest.raises(HarnessError, match=r"disk is full.*libcudnn_ops") as caught:
        fetch(offer)
    assert "PYHARNESS_CACHE" in caught.value.hint
    assert not list(cache.rglob("*.part"))


def test_what_a_killed_process_left_half_written_is_swept(index, cache: Path) -> None:
    index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]
    left = cache / f".{offer.name}.staging" / "nvidia/cudnn/lib/libcudnn_cnn.so.9.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    fetch(offer)
    assert not list(cache.rglob("*.part"))


def test_a_lock_that_cannot_be_taken_is_told(index, cache: Path) -> None:
    index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]
    (cache / f".{offer.name}.lock").mkdir(parents=True)
    with pytest.raises(HarnessError, match="cannot lock"):
        fetch(offer)


def test_two_processes_fetch_once(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    code = (
        "from pyharness.releases import fetch, list_offers\nprint(fetch(list_offers()[0]).path)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {process.communicate(timeout=60)[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert printed == {str(cache / "9.26.0.51+cu12" / MAIN)}
    assert [index.asked_for(filename, m) for m in (MAIN, ADV, OPS)] == [1, 1, 1]


def test_a_full_fetch_upgrades_a_light_one_by_what_is_missing(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    add_toolkit(index)
    offer = list_offers()[0]
    fetch(offer)
    release = fetch(offer, full=True)
    assert index.asked_for(filename, ADV) == 1
    assert index.asked_for(filename, "nvidia/cudnn/lib/libcudnn_cnn.so.9") == 1
    assert files_of(cache) == LIGHT | {
        "libcudnn_cnn.so.9",
        "libcublas.so.12",
        "libcublasLt.so.12",
        "libnvrtc.so.12",
        "libnvrtc-builtins.so.12.1",
    }
    root = cache / offer.name / "nvidia"
    assert release.library_dirs == tuple(
        root / name / "lib" for name in ("cudnn", "cublas", "cuda_nvrtc")
    )
    assert (root / "cuda_nvrtc/lib/libnvrtc.so").read_bytes() == CONTENT["nvrtc"]
    assert list_cached()[0].full
    asked = len(index.requests)
    assert fetch(offer, full=True) == release
    assert fetch(offer) == release
    assert len(index.requests) == asked


def test_releases_share_the_files_that_are_the_same(index, cache: Path) -> None:
    index.add_cudnn("9.26.0.51")
    index.add_cudnn("9.27.0.42")
    add_toolkit(index)
    first, second = (fetch(offer, full=True) for offer in list_offers())
    name = "../../cublas/lib/libcublasLt.so.12"
    assert (first.path.parent / name).samefile(second.path.parent / name)
    cublas = next(iter(index.projects["nvidia-cublas-cu12"]))
    assert index.asked_for(cublas, "nvidia/cublas/lib/libcublasLt.so.12") == 1
    one, other = entries = list_cached()
    twice = [
        path.stat().st_size
        for member in one.manifest.members
        if (path := one.folder / member.path).samefile(other.folder / member.path)
    ]
    assert twice
    assert held_bytes(entries) == one.size_bytes + other.size_bytes - sum(twice)


def test_a_damaged_release_is_mended_by_the_next_fetch(index, cache: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]
    fetch(offer)
    (cache / offer.name / OPS).write_bytes(b"cut short")
    assert list_cached() == []
    fetch(offer)
    assert (cache / offer.name / OPS).stat().st_size == 300_000
    assert [index.asked_for(filename, m) for m in (ADV, OPS)] == [1, 2]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', '{"schema": 1, "members": []}'])
def test_a_folder_without_a_readable_manifest_is_no_release(index, cache, text: str) -> None:
    index.add_cudnn("9.26.0.51")
    offer = list_offers()[0]
    fetch(offer)
    (cache / offer.name / "manifest.json").write_text(text)
    assert list_cached() == []
    fetch(offer)
    assert [entry.name for entry in list_cached()] == [offer.name]


@pytest.mark.parametrize("version", ["8.5.0.96", "8.7.0.84"])
def test_the_releases_that_abort_without_cublas_get_it(index, cache: Path, version: str) -> None:
    add_toolkit(index, 11)
    index.add_cudnn(version, cuda=11)
    release = fetch(list_offers()[0])
    root = cache / release.name / "nvidia"
    assert (root / "cublas/lib/libcublas.so.11").is_file()
    # the folder that the sublibraries search for the name libnvrtc.so
    assert (root / "cublas/lib/libnvrtc.so").read_bytes() == CONTENT["nvrtc"]
    assert (root / "cublas/lib/libnvrtc-builtins.so.11.1").read_bytes() == CONTENT["builtins"]
    assert not list_cached()[0].full


def test_other_releases_of_version_8_find_nvrtc_where_they_look(index, cache: Path) -> None:
    add_toolkit(index)
    index.add_cudnn("8.9.7.29")
    release = fetch(list_offers()[0], full=True)
    path = release.path.parent / "../../nvrtc/lib/libnvrtc.so"
    assert path.read_bytes() == CONTENT["nvrtc"]


def test_cuda_13_is_found_in_the_folders_of_cuda_12_too(index, cache: Path) -> None:
    add_toolkit(index, 13)
    index.add_cudnn("9.12.0.46", cuda=13)
    folder = fetch(list_offers()[0], full=True).path.parent
    assert (folder / "../../cublas/lib/libcublas.so.13").read_bytes() == CONTENT["cublas"]
    assert (folder / "../../cuda_nvrtc/lib/libnvrtc.so.13").read_bytes() == CONTENT["nvrtc"]
    assert (folder / "../../cu13/lib/libcublas.so.13").is_file()


def test_a_cache_that_cannot_be_made_is_told(index, monkeypatch, tmp_path: Path) -> None:
    index.add_cudnn("9.26.0.51")
    (tmp_path / "file").touch()
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(HarnessError, match="cannot make the cache folder"):
        fetch(list_offers()[0])


def test_headers_come_without_libraries_and_once(index, tmp_path: Path) -> None:
    filename = index.add_cudnn("9.26.0.51")
    index.add(
        "nvidia-cuda-runtime-cu12", "12.9.1", {"nvidia/cuda_runtime/include/cuda_runtime.h": b"r"}
    )
    index.add(
        "nvidia-cuda-nvcc-cu12", "12.9.2", {"nvidia/cuda_nvcc/include/crt/host_defines.h": b"h"}
    )
    offer = list_offers()[0]
    folders = fetch_headers(offer, tmp_path / "headers")
    assert [folder.parent.name for folder in folders] == ["cudnn", "cuda_nvcc", "cuda_runtime"]
    assert {p.name for f in folders for p in f.rglob("*") if p.is_file()} == {
        "cudnn.h",
        "cuda_runtime.h",
        "host_defines.h",
    }
    assert index.asked_for(filename, MAIN) == 0
    asked = len(index.requests)
    assert fetch_headers(offer, tmp_path / "headers") == folders
    assert len(index.requests) == asked
