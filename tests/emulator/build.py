"""Builds the emulated libraries, and sets them up to behave as a test wants them to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).parents[2]
LIBRARIES = ("libcuda.so.1", "libcudnn.so.9", "libnvidia-ml.so.1")
# What libcuda and libnvidia-ml must know before a libcudnn is loaded.
CARD_SETTINGS = frozenset(
    {
        *("memory_bytes", "memory_step_bytes", "devices", "name", "compute_capability"),
        *("multiprocessors", "l2_bytes", "driver_version"),
    }
)


@dataclass(frozen=True)
class EmulatedRelease:
    """A folder of emulated libraries: the path of its libcudnn, and the variables for it."""

    cudnn: Path
    env: dict[str, str]

    @property
    def libcuda(self) -> Path:
        """The libcuda that is beside it."""
        return self.cudnn.with_name("libcuda.so.1")

    @property
    def violations(self) -> list[str]:
        """The rules that were broken up to now, by any process, as "function: what"."""
        report = Path(self.env["PYHARNESS_EMULATOR_REPORT"])
        return report.read_text().splitlines() if report.exists() else []


def build_emulator(folder: Path, target: Path, *options: str) -> Path:
    """Builds in ``folder``, once for all processes that share ``target``, which gets the libraries.

    ``options``  of CMake, for example PYHARNESS_SANITIZE=ON.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        if target.exists():
            return target
        generator = ["-G", "Ninja"] if _tool("ninja") else []
        defines = [f"-D{option}" for option in ("PYHARNESS_BUILD_EMULATOR=ON", *options)]
        _run("-S", str(ROOT), "-B", str(folder), *generator, *defines)
        targets = [f"emulated_{name}" for name in ("cuda", "cudnn", "nvidia-ml")]
        _run("--build", str(folder), "--parallel", "2", "--target", *targets)
        # A later build in the same folder replaces its files; these stay what they are.
        _link_all(folder / "emulator", target)
    return target


def emulate(libraries: Path, folder: Path, real: Path, /, **settings: object) -> EmulatedRelease:
    """Sets the libraries up in ``folder``, which is made, with these settings.

    ``real``      the libcudnn that answers what is decided on the host.
    ``settings``  as emulator.conf has them; ``fault`` may be a list.
    """
    _link_all(libraries, folder)
    texts = [(key, text) for key, value in settings.items() for text in _texts(value)]
    early = [f"{key}={text}" for key, text in texts if _is_early(key, text)]
    late = [f"{key}={text}" for key, text in texts if not _is_early(key, text)]
    conf = "\n".join([f"cudnn={real}", *late, ""])
    (folder / "emulator.conf").write_text(conf)
    path = os.environ.get("LD_LIBRARY_PATH", "")
    env = {
        "PYHARNESS_LIBCUDA": str(folder / "libcuda.so.1"),
        "PYHARNESS_EMULATOR": "\n".join(early),
        "PYHARNESS_EMULATOR_STATE": str(folder / "state"),
        "PYHARNESS_EMULATOR_REPORT": str(folder / "report"),
        "LD_LIBRARY_PATH": f"{folder}:{path}" if path else str(folder),  # for libnvidia-ml
    }
    return EmulatedRelease(folder / "libcudnn.so.9", env)


def _texts(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(each) for each in value]
    if isinstance(value, bool):
        return ["on" if value else "off"]
    return [str(value)]


def _is_early(key: str, text: str) -> bool:
    """Whether libcuda must know it from the start: of the card, or a fault of the driver."""
    return key in CARD_SETTINGS or (key == "fault" and "@cudnn" not in text)


def _link_all(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for name in LIBRARIES:
        try:
            (target / name).hardlink_to(source / name)
        except OSError:  # another file system
            shutil.copy2(source / name, target / name)


def _tool(name: str) -> str | None:
    """A tool of this environment, or of the machine."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def _run(*arguments: str) -> None:
    cmake = _tool("cmake")
    assert cmake, "these tests need cmake: python -m pip install 'pyharness[test]'"
    done = subprocess.run([cmake, *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
