"""Which wheels and which of their members a release needs, and the links that join them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from pyharness.releases.manifest import is_main_library
from pyharness.releases.model import version_key

LIGHT_SUBLIBRARIES = ("adv", "ops", "graph")  # enough for every call that needs no GPU

CUBLAS = "cublas"
NVRTC = "nvrtc"
_PACKAGES = {
    (CUBLAS, 11): "nvidia-cublas-cu11",
    (CUBLAS, 12): "nvidia-cublas-cu12",
    (CUBLAS, 13): "nvidia-cublas",
    (NVRTC, 11): "nvidia-cuda-nvrtc-cu11",
    (NVRTC, 12): "nvidia-cuda-nvrtc-cu12",
    (NVRTC, 13): "nvidia-cuda-nvrtc",
}


def toolkit_package(library: str, cuda_major: int) -> str:
    """The package that brings cuBLAS or NVRTC of a CUDA major."""
    return _PACKAGES[library, cuda_major]


def needs_toolkit(version: str) -> bool:
    """Whether a release aborts the process unless cuBLAS and NVRTC are found.

    Source  8.5, 8.6 and 8.7: the sublibraries need libcublas.so.11 and open libnvrtc.so.
    """
    return version_key(version) < version_key("8.8")


def wanted_of_cudnn(full: bool) -> Callable[[str], bool]:
    """The members to take from a cuDNN wheel: its libraries, all or those of the host calls."""

    def wanted(path: str) -> bool:
        name = _library_name(path)
        if name is None or not name.startswith("libcudnn"):
            return False
        sublibraries = (f"libcudnn_{part}" for part in LIGHT_SUBLIBRARIES)
        return full or is_main_library(path) or name.startswith(tuple(sublibraries))

    return wanted


def wanted_of_cublas(path: str) -> bool:
    """The members to take from a cuBLAS wheel."""
    name = _library_name(path)
    return name is not None and name.startswith(("libcublas.so", "libcublasLt.so"))


def wanted_of_nvrtc(path: str) -> bool:
    """The members to take from an NVRTC wheel; the .alt. twins serve other hosts."""
    name = _library_name(path)
    return name is not None and name.startswith(("libnvrtc.so", "libnvrtc-builtins.so"))


def links(version: str, cuda_major: int, paths: Iterable[str]) -> dict[str, str]:
    """The links by which the sublibraries find cuBLAS and NVRTC with no help from the environment.

    Returns  target by path, both as in a symbolic link; none for a release without NVRTC.
    Source   8.5-8.7 open libnvrtc.so and search only ../../cublas/lib of their RUNPATH; other 8.x
             search ../../nvrtc/lib; CUDA 13 before 9.13 searches the folders of CUDA 12.
    """
    nvrtc = [PurePosixPath(p) for p in paths if wanted_of_nvrtc(p)]
    made: dict[str, str] = {}
    for path in nvrtc:
        if path.name.startswith("libnvrtc.so"):
            made[str(path.with_name("libnvrtc.so"))] = path.name
            if needs_toolkit(version):
                made["nvidia/cublas/lib/libnvrtc.so"] = f"../../{path.relative_to('nvidia')}"
        elif needs_toolkit(version):
            # NVRTC looks for its builtins beside the name that it was opened by
            made[f"nvidia/cublas/lib/{path.name}"] = f"../../{path.relative_to('nvidia')}"
    if nvrtc and cuda_major >= 13:
        made["nvidia/cublas"] = "cu13"
        made["nvidia/cuda_nvrtc"] = "cu13"
    if nvrtc and version_key(version) < version_key("9") and not needs_toolkit(version):
        made["nvidia/nvrtc"] = "cuda_nvrtc"
    return made


def _library_name(path: str) -> str | None:
    """The file name of a shared library in a lib folder; None for anything else."""
    pure = PurePosixPath(path)
    return pure.name if pure.parent.name == "lib" and ".so" in pure.name else None
