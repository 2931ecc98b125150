"""What is missing or broken, what that prevents, and the command that mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyharness.doctor.driver import Driver
from pyharness.doctor.libraries import Library
from pyharness.doctor.machine import Compiled
from pyharness.doctor.supply import CacheState, IndexState
from pyharness.present.units import bytes_text
from pyharness.releases.parts import CUBLAS, NVRTC, toolkit_package

_LEAST_FREE_BYTES = 1_500_000_000  # a release with all that a GPU run needs
_BARE_NVRTC = "libnvrtc.so"  # by this name, 8.5 to 8.7 open it
_TOOLKIT = {CUBLAS: "cuBLAS", NVRTC: "NVRTC"}
_GPU_WORK = "timing, repeatability, accuracy; map, diff and try need no GPU"
_GPU_RUN = "GPU runs with this library"
_HOST_WORK = "map, diff and try with this library"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is missing or broken.

    ``what``      the thing.
    ``prevents``  what cannot be done without it.
    ``commands``  what mends it, each to be copied as it stands: any one of them will do.
    ``advice``    what a person has to do where no command will.
    ``detail``    what a library printed before it ended; may be empty.
    """

    what: str
    prevents: str
    commands: tuple[str, ...] = ()
    advice: str = ""
    detail: str = ""


def find(
    compiled: Compiled,
    driver: Driver,
    libraries: Sequence[Library],
    index: IndexState,
    cache: CacheState,
    packages: Mapping[str, str | None],
) -> Iterator[Finding]:
    """Everything worth mending, the gravest first. ``packages``: see look_at_packages."""
    if compiled.problem:
        yield Finding(
            compiled.problem,
            "whatever calls a library: map, diff and try",
            advice=compiled.remedy,
        )
    yield from _of_shadows(libraries)
    for library in libraries:
        yield from _of_library(library)
    yield from _of_cache(cache)
    if not libraries:
        yield Finding(
            "no cuDNN is installed or cached",
            "map, diff and try until the index can be reached"
            if index.problem
            else "nothing: a release is fetched when it is first asked for",
            ("pyharness fetch latest",),
        )
    if index.problem:
        yield Finding(
            index.problem,
            "fetching releases; what is cached or installed goes on working",
            advice="set PIP_INDEX_URL, HTTPS_PROXY or PIP_CERT as for pip, or copy the cache "
            "folder of a machine that has a network",
        )
    yield from _of_gpu(driver, libraries)
    if driver.gpus:
        yield from _of_packages(driver, packages)


def _of_shadows(libraries: Sequence[Library]) -> Iterator[Finding]:
    """The libraries that LD_LIBRARY_PATH makes other programs mix with another, all in one."""
    shadowed = [library for library in libraries if library.shadowed_by]
    if not shadowed:
        return
    folders = {str(folder): None for library in shadowed for folder in library.shadowed_by}
    names = ", ".join(library.name for library in shadowed[:3])
    more = f" and {len(shadowed) - 3} more" if len(shadowed) > 3 else ""
    yield Finding(
        f"LD_LIBRARY_PATH puts the sublibraries of {', '.join(folders)} in place of those of "
        f"{names}{more}",
        "nothing here, where a worker's own folders come first; in your own programs another "
        "release answers",
        ("unset LD_LIBRARY_PATH",),
    )


def _of_library(library: Library) -> Iterator[Finding]:
    """What is wrong with one library: of several symptoms of one cause, the cause."""
    problem = library.opening.problem if library.opening is not None else ""
    detail = library.opening.output if library.opening is not None and problem else ""
    place, renew = _place(library), _renew(library)
    because = f"{problem}: " if problem else ""
    if library.damaged:
        files = "; ".join(f"{name} is {what}" for name, what in library.damaged.items())
        yield Finding(f"{place}: {files}", _HOST_WORK, renew, detail=detail)
    elif library.missing:
        names = ", ".join(missing.library for missing in library.missing)
        users = ", ".join(dict.fromkeys(missing.needed_by for missing in library.missing))
        yield Finding(
            f"{place}: {because}{names} not found (needed by {users})",
            _HOST_WORK if problem else "the calls that need it; the host calls do without",
            _supply(library),
            _supply_advice(library),
            detail,
        )
    elif library.mixed:
        yield Finding(
            f"{place}: {because}files of several versions lie together ({_versions(library)})",
            f"{_HOST_WORK}: its answers are no release's",
            renew,
            detail=detail,
        )
    elif problem:
        yield Finding(f"{place}: {problem}", _HOST_WORK, renew, detail=detail)
    elif library.absent:
        whole = (f"{one} --full" if one.startswith("pyharness fetch") else one for one in renew)
        absent = ", ".join(library.absent)
        yield Finding(f"{place}: sublibraries not found: {absent}", _GPU_RUN, tuple(whole))
    if library.lies and library.opening is not None:
        yield Finding(
            f"{place}: the library says that it is {library.opening.says}",
            f"{_HOST_WORK}: its answers are another release's",
            renew,
        )


def _of_cache(cache: CacheState) -> Iterator[Finding]:
    elsewhere = "export PYHARNESS_CACHE=FOLDER"
    if cache.problem:
        yield Finding(f"the cache: {cache.problem}", "fetching releases", (elsewhere,))
    elif cache.free_bytes is not None and cache.free_bytes < _LEAST_FREE_BYTES:
        yield Finding(
            f"the disk of the cache has {bytes_text(cache.free_bytes)} left",
            "fetching more than a release or two",
            (elsewhere,),
            f"use another disk, or remove folders of {cache.folder / 'releases'}",
        )
    if cache.damaged:
        yield Finding(
            f"in the cache, files of {', '.join(cache.damaged)} are missing or cut short",
            "nothing: what is missing is fetched again when it is asked for",
            (f"pyharness fetch {' '.join(cache.damaged)}",),
        )


def _of_gpu(driver: Driver, libraries: Sequence[Library]) -> Iterator[Finding]:
    if driver.gpus:
        yield from _of_gpu_run(driver, libraries)
    elif driver.loaded:
        yield Finding(
            f"the driver has no GPU to offer: {driver.problem or 'it counts none'}",
            _GPU_WORK,
            ("nvidia-smi",),
            "see what it lists, and look at CUDA_VISIBLE_DEVICES",
        )
    elif driver.version is not None:
        yield Finding(
            f"the kernel has driver {driver.version}, but {driver.problem}",
            _GPU_WORK,
            advice="in a container: start it with --gpus all; else install the driver's libraries",
        )
    elif driver.pci_gpus:
        yield Finding(
            "an NVIDIA GPU is here, but no driver", _GPU_WORK, ("sudo apt install nvidia-driver",)
        )
    elif "cannot open shared object" in driver.problem or not driver.problem:
        yield Finding(
            "no NVIDIA driver and no GPU",
            _GPU_WORK,
            advice="use a machine with a GPU: nothing to install on this one",
        )
    else:
        yield Finding(f"no driver that works: {driver.problem}", _GPU_WORK, ("nvidia-smi",))


def _of_gpu_run(driver: Driver, libraries: Sequence[Library]) -> Iterator[Finding]:
    """What a GPU run with the newest library of each source would lack."""
    newest = {library.source: library for library in reversed(libraries)}
    for library in newest.values():
        cuda = library.cuda_major
        if cuda is None:
            continue
        lacking = [_TOOLKIT[kind] for kind in library.missing_toolkit]
        if lacking:
            packages = " ".join(toolkit_package(kind, cuda) for kind in library.missing_toolkit)
            cached = library.source == "cache"
            yield Finding(
                f"{_place(library)}: {' and '.join(lacking)} of CUDA {cuda} not found",
                _GPU_RUN,
                (f"pyharness fetch {library.name} --full",)
                if cached
                else (f"pip install {packages}",),
            )
        serves = driver.cuda_version
        if serves is not None and int(serves.split(".", 1)[0]) < cuda:
            yield Finding(
                f"the driver serves CUDA {serves}, {library.name} needs {cuda}",
                _GPU_RUN,
                advice=f"a newer driver, or a release for CUDA {serves.split('.', 1)[0]}",
            )


def _of_packages(driver: Driver, packages: Mapping[str, str | None]) -> Iterator[Finding]:
    """Packages that a GPU run has more to say with."""
    cuda = (driver.cuda_version or "").partition(".")[0]
    cupy = f"cupy-cuda{cuda}x" if cuda in ("12", "13") else "cupy-cuda12x"
    if packages.get("cupy", "") is None:  # where it is, it may be named after its CUDA
        yield Finding(
            "CuPy is not installed",
            "comparing times with what the card itself reaches, and results on the card",
            (f"pip install {cupy}",),
        )
    if packages.get("nvidia-ml-py") is None:
        yield Finding(
            "nvidia-ml-py is not installed",
            "reading clocks, temperature and power, and leaving throttled samples out",
            ("pip install nvidia-ml-py",),
        )
    if packages.get("torch") is None:
        yield Finding(
            "PyTorch is not installed",
            "timing it beside cuDNN (--peer torch)",
            ("pip install torch",),
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


def _renew(library: Library) -> tuple[str, ...]:
    """Commands that bring the library anew, or another in its place."""
    if library.source == "cache":
        return (f"rm -r {library.path.parents[3]} && pyharness fetch {library.name}",)
    if library.source == "package" and library.cuda_major is not None:
        package = f"nvidia-cudnn-cu{library.cuda_major}=={library.version}"
        return (f"pip install --force-reinstall {package}",)
    if library.source == "torch":
        return ("pip install --force-reinstall torch",)
    if library.source == "conda":
        return ("conda install --force-reinstall cudnn",)
    return (f"pyharness fetch {library.version or 'latest'}",)


def _supply(library: Library) -> tuple[str, ...]:
    """Commands that bring what a library needs."""
    if library.source == "cache" or any(m.library.startswith("libcudnn") for m in library.missing):
        return _renew(library)
    known = (f"pyharness fetch {library.name}",) if library.version is not None else ()
    if any(missing.library == _BARE_NVRTC for missing in library.missing):
        return known  # no package brings a file of that name
    hints = sorted({missing.package_hint for missing in library.missing})
    packages = " ".join(hint for hint in hints if hint.startswith("nvidia-"))
    return (*known, f"pip install {packages}") if packages else known


def _supply_advice(library: Library) -> str:
    """What else has to be done for a library to find what it needs."""
    others = sorted({m.package_hint for m in library.missing if "(" in m.package_hint})
    if others:
        return f"install {', '.join(others)}"
    if library.source in ("cache", "package"):
        return ""
    return (
        "a fetched release comes with all that it needs; this one needs the folders of what is "
        "missing in LD_LIBRARY_PATH"
    )
