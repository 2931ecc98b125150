"""What is missing or broken, what that prevents, and the command that mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyharness.api.doctor.driver import Driver
from pyharness.api.doctor.libraries import Library
from pyharness.api.doctor.machine import Compiled
from pyharness.api.doctor.supply import CacheState, IndexState
from pyharness.present.units import bytes_text
from pyharness.releases.parts import toolkit_package

_LEAST_FREE_BYTES = 1_500_000_000  # a release with all that a GPU run needs
_GPU_WORK = "timing, repeatability and accuracy; map, diff and try need no GPU"
_HOST_WORK = "map, diff and try with this library"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is missing or broken.

    ``what``      the thing.
    ``prevents``  what cannot be done without it.
    ``mend``      the command, or what a person has to do where no command will.
    ``detail``    what a library said before it ended; may be empty.
    """

    what: str
    prevents: str
    mend: str
    detail: str = ""


def find(
    compiled: Compiled,
    driver: Driver,
    libraries: Sequence[Library],
    index: IndexState,
    cache: CacheState,
) -> Iterator[Finding]:
    """Everything worth mending, the gravest first."""
    if compiled.problem:
        yield Finding(
            compiled.problem, "every call of a library: map, diff and try", compiled.remedy
        )
    for library in libraries:
        yield from _of_library(library)
    yield from _of_cache(cache)
    if not libraries:
        yield Finding(
            "no cuDNN is installed or cached",
            "nothing for good: a release is fetched when it is first asked for",
            "pyharness fetch latest",
        )
    if index.problem:
        yield Finding(
            index.problem,
            "fetching releases; those that are cached or installed go on working",
            "set PIP_INDEX_URL, HTTPS_PROXY or PIP_CERT as for pip, or copy the folder "
            f"{cache.folder} from a machine that has a network",
        )
    yield from _of_gpu(driver, libraries)


def _of_library(library: Library) -> Iterator[Finding]:
    """What is wrong with one library; of several symptoms of one cause, the cause."""
    opening = library.opening
    broken = opening is not None and bool(opening.problem)
    detail = opening.output if opening is not None and broken else ""
    if library.damaged:
        files = "; ".join(f"{name} is {what}" for name, what in library.damaged.items())
        yield Finding(f"{_place(library)}: {files}", _HOST_WORK, _renew(library), detail)
    elif library.missing:
        names = ", ".join(missing.library for missing in library.missing)
        wanting = ", ".join(dict.fromkeys(missing.needed_by for missing in library.missing))
        ends = f"{opening.problem}, because " if opening is not None and broken else ""
        yield Finding(
            f"{_place(library)}: {ends}{names} is not found (needed by {wanting})",
            _HOST_WORK if broken else "calls that use it; the host calls answer without",
            _supply(library),
            detail,
        )
    elif opening is not None and broken and not library.mixed:
        yield Finding(f"{_place(library)}: {opening.problem}", _HOST_WORK, _renew(library), detail)
    if library.mixed:
        yield Finding(
            f"{_place(library)}: files of several versions lie together ({_versions(library)})",
            f"{_HOST_WORK}: answers belong to no release"
            + (f"; {opening.problem}" if opening is not None and broken else ""),
            _renew(library),
            detail,
        )
    absent = _absent(library)
    if absent and not library.damaged:
        yield Finding(
            f"{_place(library)}: {', '.join(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} not beside it",
            "GPU runs with this library",
            _renew(library),
        )


def _absent(library: Library) -> list[str]:
    """Sublibraries that are not there, without those that are told as missing already."""
    told = {missing.library.split(".so", 1)[0] for missing in library.missing}
    return [part for part in library.absent if f"libcudnn_{part}" not in told]


def _of_cache(cache: CacheState) -> Iterator[Finding]:
    if cache.problem:
        yield Finding(
            f"the cache: {cache.problem}",
            "fetching releases",
            "export PYHARNESS_CACHE=FOLDER, a folder that you may write",
        )
    elif cache.free_bytes is not None and cache.free_bytes < _LEAST_FREE_BYTES:
        yield Finding(
            f"the disk of the cache has {bytes_text(cache.free_bytes)} left",
            "fetching more than a release or two",
            "export PYHARNESS_CACHE=FOLDER on a larger disk, or remove folders of "
            f"{cache.folder / 'releases'}",
        )
    if cache.damaged:
        yield Finding(
            f"in the cache, files of {', '.join(cache.damaged)} are missing or cut short",
            "nothing for good: what is missing is fetched again when it is asked for",
            f"pyharness fetch {' '.join(cache.damaged)}",
        )


def _of_gpu(driver: Driver, libraries: Sequence[Library]) -> Iterator[Finding]:
    if driver.gpus:
        yield from _of_gpu_run(driver, libraries)
    elif driver.loaded:
        yield Finding(
            f"the driver has no GPU to offer: {driver.problem or 'it counts none'}",
            _GPU_WORK,
            "unset CUDA_VISIBLE_DEVICES, and look at what `nvidia-smi` says",
        )
    elif driver.version is not None:
        yield Finding(
            f"the kernel has driver {driver.version}, but {driver.problem}",
            _GPU_WORK,
            "in a container: start it with --gpus all; else install the driver's libraries",
        )
    elif driver.pci_gpus:
        yield Finding(
            "an NVIDIA GPU is here, but no driver",
            _GPU_WORK,
            "install the driver: sudo apt install nvidia-driver, or as your system has it",
        )
    else:
        yield Finding(
            "no NVIDIA driver and no GPU", _GPU_WORK, "use a machine with a GPU; nothing to install"
        )


def _of_gpu_run(driver: Driver, libraries: Sequence[Library]) -> Iterator[Finding]:
    """What a GPU run with the newest library of each source would lack."""
    newest = {library.source: library for library in reversed(libraries)}
    for library in newest.values():
        cuda = library.cuda_major
        lacking = [{"cublas": "cuBLAS", "nvrtc": "NVRTC"}[kind] for kind in library.missing_toolkit]
        if lacking and cuda is not None:
            packages = " ".join(toolkit_package(kind, cuda) for kind in library.missing_toolkit)
            cached = f"pyharness fetch {library.name} --full"
            yield Finding(
                f"{_place(library)}: {' and '.join(lacking)} of CUDA {cuda} not found",
                "GPU runs with this library",
                cached if library.source == "cache" else f"pip install {packages}",
            )
        serves = driver.cuda_version
        if cuda is not None and serves is not None and int(serves.split(".", 1)[0]) < cuda:
            yield Finding(
                f"the driver serves CUDA {serves}, {library.name} needs {cuda}",
                "GPU runs with this library",
                f"pyharness fetch VERSION+cu{serves.split('.', 1)[0]} --full, or a newer driver",
            )


def _place(library: Library) -> str:
    where = "cached" if library.source == "cache" else f"from {library.source}"
    return f"{library.name} ({where})"


def _versions(library: Library) -> str:
    """The versions that lie together, each with the parts that have it."""
    parts: dict[str, list[str]] = {}
    for part, version in (library.mixed or {}).items():
        parts.setdefault(version, []).append(part)
    return "; ".join(f"{version}: {', '.join(names)}" for version, names in parts.items())


def _renew(library: Library) -> str:
    """The command that brings the library anew, whole."""
    folder = library.path.parent
    if library.source == "cache":
        return f"rm -r {folder.parents[2]} && pyharness fetch {library.name}"
    if library.source == "package" and library.cuda_major is not None:
        package = f"nvidia-cudnn-cu{library.cuda_major}=={library.version}"
        return f"pip install --force-reinstall {package}"
    if library.source == "torch":
        return "pip install --force-reinstall torch"
    if library.source == "conda":
        return "conda install --force-reinstall cudnn"
    other = f"use --cudnn {library.version}" if library.version else "use --cudnn latest"
    return f"install cuDNN in {folder} anew, or {other}, which is fetched"


def _supply(library: Library) -> str:
    """The command that brings what a library needs."""
    packages = sorted({m.package_hint for m in library.missing if m.package_hint})
    ours = [package for package in packages if package.startswith("nvidia-")]
    if any(missing.library.startswith("libcudnn") for missing in library.missing):
        return _renew(library)
    commands = [f"pip install {' '.join(ours)}"] if ours and library.source == "package" else []
    if library.version is not None and library.source != "cache":
        commands.insert(0, f"pyharness fetch {library.name}, which brings all that it needs")
    elif library.source == "cache":
        commands.insert(0, _renew(library))
    return ", or ".join(commands) or "put the folder that has it into LD_LIBRARY_PATH"
