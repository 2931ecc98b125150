"""The device of a run: which one, whether it is there, and why it cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyharness.api.diagnosis import missing_libraries
from pyharness.api.driver import chosen_libcuda, is_emulated
from pyharness.api.launching import runner_launch_of
from pyharness.device import core
from pyharness.doctor.driver import Gpu, look_at_driver
from pyharness.engine.case import cuda_words
from pyharness.engine.runner import NoRunner, Runner
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, UsageError
from pyharness.releases.dependencies import missing_on_device, missing_toolkit, package_hint
from pyharness.releases.elf import NotElfError
from pyharness.releases.model import Release
from pyharness.spec import messages as m
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.ledger import Death
from pyharness.spec.statuses import canonical

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_DOCTOR = "`pyharness doctor` shows what is here, and what mends it"


@dataclass(frozen=True, slots=True)
class Here:
    """The GPUs of this machine.

    ``why``  why there is none; empty where there is one.
    """

    gpus: tuple[Gpu, ...]
    why: str


def device_here() -> Here:
    """The GPUs that CUDA can use, asked in a process apart: it never raises."""
    driver = look_at_driver()
    return Here(driver.gpus, "" if driver.gpus else driver.problem or "the driver has no GPU")


def open_runner(
    release: Release,
    ordinal: int = 0,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    warm: set[str] | None = None,
    env: Mapping[str, str | None] | None = None,
) -> Runner:
    """A runner of a release on a device.

    ``warm``  what runners before it have done once, see engine.runner.Runner.
    ``env``   variables that its process gets on top of ours; None: one of ours that it lacks.

    Raises  UsageError if there is no driver, no GPU or no such device, if the release does not
            support the GPU, or lacks a library, with the command that brings it; HarnessError for
            what no other command would mend.
    """
    core()
    try:
        launch = runner_launch_of(release, env)
        runner = Runner(launch, chosen_libcuda(), ordinal, timeout_s, warm)
    except NoRunner as error:
        raise _explained(error, release, ordinal) from None
    lacking = None if runner.facts.emulated else _toolkit_missing(release)
    if lacking is not None:
        runner.close()
        raise lacking
    return runner


def _toolkit_missing(release: Release) -> UsageError | None:
    """The error of a release whose cuBLAS or NVRTC is not found; None if they are."""
    missing = missing_toolkit(release.path, release.cuda_major, release.library_dirs)
    if not missing:
        return None
    return UsageError(
        f"cuDNN {release.name} runs on a GPU only with {', '.join(missing)}, which "
        f"{'is' if len(missing) == 1 else 'are'} not found",
        _remedy(release, missing),
    )


def _remedy(release: Release, libraries: list[str]) -> str:
    """The command that brings libraries."""
    if release.version is not None and release.origin == "cache":
        return f"`pyharness fetch {release.name} --full` brings all that a GPU run needs"
    hints = sorted({hint for hint in map(package_hint, libraries) if hint})
    return (
        f"install {', '.join(hints) or 'the CUDA toolkit'} and put the folders into "
        "LD_LIBRARY_PATH, or use a release by version: `pyharness fetch VERSION --full` brings "
        "all that a GPU run needs"
    )


def _explained(error: NoRunner, release: Release, ordinal: int) -> HarnessError:
    """The error that says why there is no runner, and what to do.

    Returns  an error to raise.
    """
    match error.answer:
        case m.Refused("load", message):
            return UsageError(
                f"{release.path} cannot be used as cuDNN: {message}",
                "give a version, installed, latest or the path of a libcudnn.so; "
                "`pyharness doctor` shows what is here",
            )
        case m.Refused("driver", message):
            return UsageError(f"there is no CUDA driver: {message}", _DOCTOR)
        case m.NoSuchDevice(0):
            return UsageError("there is no GPU: the CUDA driver has no device", _DOCTOR)
        case m.NoSuchDevice(count):
            allowed = "0" if count == 1 else f"0 to {count - 1}"
            return UsageError(
                f"there is no device {ordinal}: the CUDA driver has {count}",
                f"allowed for --device: {allowed}",
            )
        case m.CudaFailed(code=code) as failed:
            if code == _NO_DEVICE:
                return UsageError(f"there is no GPU: {cuda_words(failed)}", _DOCTOR)
            return HarnessError(f"device {ordinal} cannot be used: {cuda_words(failed)}", _DOCTOR)
        case m.CudnnRefused() as refused:
            return _refused(refused, release, error.facts)
        case Death(cause=cause, output=output):
            what = f"the worker ended while it opened cuDNN {release.name} on the device: {cause}"
            return _with_missing(what, output, release)
        case _:
            return error


def _refused(refused: m.CudnnRefused, release: Release, facts: DeviceFacts | None) -> HarnessError:
    """Why cuDNN gives no handle."""
    if canonical(refused.status) == "NOT_SUPPORTED_ARCH_MISMATCH" and facts is not None:
        return UsageError(
            f"cuDNN {release.name} does not support this GPU: {facts.name}, compute capability "
            f"{facts.compute_capability} ({refused.call}: {refused.status})",
            "choose another release: older GPUs need an older one, newer GPUs a newer one; "
            "`pyharness releases` lists them",
        )
    reason = f": {refused.reason}" if refused.reason else ""
    return _with_missing(
        f"cuDNN {release.name} cannot be used on the device: {refused.call} answers "
        f"{refused.status}{reason}",
        "",
        release,
    )


def _with_missing(what: str, said: str, release: Release) -> HarnessError:
    """An error with the libraries that are missing, if any: then the command can be mended."""
    try:
        if is_emulated(release):
            return HarnessError(what, said)  # a test double has no sublibraries to miss
        host, how = missing_libraries(release)
        missing = missing_toolkit(release.path, release.cuda_major, release.library_dirs)
        missing += missing_on_device(release.path)
    except (OSError, NotElfError):
        host, how, missing = "", "", []
    if not host and not missing:
        return HarnessError(what, said or _DOCTOR)
    words = [f"not found: {', '.join(missing)}", _remedy(release, missing)] if missing else []
    return UsageError(what, "\n".join(part for part in (*words, host, how, said) if part))
