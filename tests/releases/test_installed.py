"""Libraries on this machine: where they are found, what is missing and what is mixed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyharness.releases import elf, installed, list_installed, missing_dependencies
from pyharness.releases.dependencies import package_hint

Build = Callable[..., Path]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with nothing on it but what a test puts there."""
    monkeypatch.setattr(installed, "sys", SimpleNamespace(path=[str(tmp_path / "site")]))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setattr(elf, "loader_cache", dict)
    monkeypatch.setattr(elf, "_SYSTEM_DIRS", ())
    monkeypatch.setattr(installed, "loader_cache", dict)
    monkeypatch.setattr(installed, "SYSTEM_DIRS", ())
    monkeypatch.setattr(installed, "SYSTEM_PATTERNS", ())


def record(site: Path, package: str, version: str, *libraries: Path) -> None:
    """Claim files for an installed wheel, at the size that they have now."""
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    rows = [f"{p.relative_to(site).as_posix()},sha256=x,{p.stat().st_size}" for p in libraries]
    (info / "RECORD").write_text("\n".join(rows) + "\n")


def test_a_package_is_found_with_its_version_and_cuda(build_library: Build, tmp_path) -> None:
    folder = "site/nvidia/cudnn/lib"
    main = build_library(f"{folder}/libcudnn.so.9", ("cudnnGetVersion",))
    ops = build_library(f"{folder}/libcudnn_ops.so.9")
    record(tmp_path / "site", "nvidia-cudnn-cu12", "9.13.0.50", main, ops)
    (found,) = list_installed()
    assert (found.path, found.version, found.cuda_major) == (main, "9.13.0.50", 12)
    assert found.source == "package"
    assert [(s.part, s.version) for s in found.sublibraries] == [("ops", "9.13.0.50")]
    assert "adv" in found.missing
    assert "ops" not in found.missing
    assert not found.mixed
    assert found.release().name == "9.13.0.50+cu12"


def test_torch_conda_and_the_search_path_are_looked_at(build_library, monkeypatch, tmp_path):
    torch = build_library("site/torch/lib/libcudnn.so.8")
    conda = build_library("conda/lib/libcudnn.so.9.2.0")
    conda.with_name("libcudnn.so.9").symlink_to(conda.name)
    other = build_library("other/libcudnn.so.9.3.0")
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{other.parent}")
    assert [(lib.path, lib.source, lib.version) for lib in list_installed()] == [
        (other, "LD_LIBRARY_PATH", "9.3.0"),
        (conda.with_name("libcudnn.so.9"), "conda", "9.2.0"),
        (torch, "torch", None),
    ]


def test_the_loaders_cache_is_looked_at(build_library, monkeypatch) -> None:
    path = build_library("sys/libcudnn.so.9.1.0")
    monkeypatch.setattr(installed, "loader_cache", lambda: {"libcudnn.so.9": path})
    assert [(lib.source, lib.version) for lib in list_installed()] == [("system", "9.1.0")]


def test_the_same_file_is_listed_once(build_library, monkeypatch) -> None:
    path = build_library("lib/libcudnn.so.9.1.0")
    path.with_name("libcudnn.so.9").symlink_to(path.name)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{path.parent}:{path.parent}")
    assert len(list_installed()) == 1


def test_a_sublibrary_of_another_wheel_is_seen(build_library: Build, tmp_path) -> None:
    folder = "site/nvidia/cudnn/lib"
    main = build_library(f"{folder}/libcudnn.so.9", ("cudnnGetVersion",))
    ops = build_library(f"{folder}/libcudnn_ops.so.9")
    record(tmp_path / "site", "nvidia-cudnn-cu12", "9.13.0.50", main, ops)
    ops.write_bytes(ops.read_bytes() + b"other")
    (found,) = list_installed()
    assert [(s.part, s.version, s.altered) for s in found.sublibraries] == [("ops", None, True)]
    assert found.mixed


def test_sublibraries_of_two_versions_are_mixed(build_library: Build, monkeypatch) -> None:
    path = build_library("lib/libcudnn.so.9.1.0")
    ops = build_library("lib/libcudnn_ops.so.9.2.0")
    for target in (path, ops):
        link = target.with_name(f"{target.name.split('.so.')[0]}.so.9")
        link.symlink_to(target.name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(path.parent))
    (found,) = list_installed()
    assert found.version == "9.1.0"
    assert [s.version for s in found.sublibraries] == ["9.2.0"]
    assert found.mixed


def release_8(build: Build) -> Path:
    """A cuDNN linked as 8.5 to 8.7 are: ops_infer needs cuBLAS, adv_infer needs ops_infer."""
    lib = "r/nvidia/cudnn/lib"
    runpath = "-Wl,--enable-new-dtags,-rpath,$ORIGIN:$ORIGIN/../../cublas/lib"
    keep = "-Wl,--no-as-needed"
    cublas = build("elsewhere/libcublas.so.11", ("cublasCreate",))
    main = build(f"{lib}/libcudnn.so.8", ("cudnnGetVersion",), runpath)
    ops = build(f"{lib}/libcudnn_ops_infer.so.8", (), runpath, keep, str(cublas))
    for part in ("ops_train", "adv_infer", "adv_train"):
        build(f"{lib}/libcudnn_{part}.so.8", (), runpath, keep, str(ops))
    return main


@pytest.fixture
def libc_found(monkeypatch: pytest.MonkeyPatch, build_library: Build) -> None:
    """The C library, which every compiled library needs, is found."""
    libc = build_library("sys/libc.so.6")
    monkeypatch.setattr(elf, "loader_cache", lambda: {"libc.so.6": libc})


def test_what_the_old_releases_miss_is_named_with_its_package(build_library, libc_found) -> None:
    main = release_8(build_library)
    found = [(m.library, m.needed_by, m.package_hint) for m in missing_dependencies(main)]
    assert found == [
        ("libcublas.so.11", "libcudnn_ops_infer.so.8", "nvidia-cublas-cu11"),
        ("libnvrtc.so", "libcudnn_adv_infer.so.8", "nvidia-cuda-nvrtc-cu11"),
    ]


def test_the_folder_of_cublas_serves_both(build_library, libc_found) -> None:
    main = release_8(build_library)
    build_library("r/nvidia/cublas/lib/libcublas.so.11")
    assert [m.library for m in missing_dependencies(main)] == ["libnvrtc.so"]
    build_library("r/nvidia/cublas/lib/libnvrtc.so")
    assert missing_dependencies(main) == []


def test_the_search_path_of_the_environment_counts(build_library, libc_found, monkeypatch) -> None:
    main = release_8(build_library)
    folder = build_library("env/libcublas.so.11").parent
    build_library("env/libnvrtc.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    assert missing_dependencies(main) == []


def test_a_sublibrary_that_is_not_there_is_missing(build_library, libc_found, tmp_path) -> None:
    main = build_library("site/nvidia/cudnn/lib/libcudnn.so.9", (), "-Wl,-rpath,$ORIGIN")
    build_library("site/nvidia/cudnn/lib/libcudnn_ops.so.9")
    record(tmp_path / "site", "nvidia-cudnn-cu13", "9.13.0.50", main)
    assert [(m.library, m.package_hint) for m in missing_dependencies(main)] == [
        ("libcudnn_graph.so.9", "nvidia-cudnn-cu13==9.13.0.50"),
        ("libcudnn_adv.so.9", "nvidia-cudnn-cu13==9.13.0.50"),
    ]


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libcublas.so.11", "nvidia-cublas-cu11"),
        ("libcublasLt.so.12", "nvidia-cublas-cu12"),
        ("libcublas.so.13", "nvidia-cublas"),
        ("libnvrtc.so", "nvidia-cuda-nvrtc-cu11"),
        ("libnvrtc.so.13", "nvidia-cuda-nvrtc"),
        ("libcublas.so.99", ""),
        ("libstdc++.so.6", ""),
    ],
)
def test_the_package_of_a_library(library: str, package: str) -> None:
    assert package_hint(library) == package
