"""The Python API of what needs a GPU: bench, memory, determinism, accuracy, drift, check, soak.

Each takes its problems as the command does: ``problem`` is axis name to value or ``key=value``
words, ``preset`` a set of problems, ``axes`` multiply either by the values of an axis, ``logs`` are
a program's cuDNN API logs. ``device`` is the GPU by its number. What ``out`` names keeps tables and
run.json; a run that was interrupted there is gone on with. Without it they are kept nowhere.
Several names, of passes or conditions, may be one text with commas, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.api.accuracy import measure_release
from pyharness.api.bench_sides import BenchOptions, ReleaseTimer, Timer
from pyharness.api.bench_torch import TorchTimer
from pyharness.api.benching import bench as bench_sides
from pyharness.api.checking import CheckOptions, check_release, checks_of
from pyharness.api.drift import drift_between
from pyharness.api.driver import require_driver
from pyharness.api.memory_files import memory_folder, write_memory
from pyharness.api.onward import DeviceChoice
from pyharness.api.progress import silent
from pyharness.api.public_frames import (
    Problem,
    folder_for,
    frame_of,
    on_device,
    problems_of,
    require_whole,
)
from pyharness.api.public_values import Names, chosen, joined, number, require_timeout, whole
from pyharness.api.repeatability import RepeatOptions, conditions_of, repeat_release
from pyharness.api.scales import Wanted, open_scales
from pyharness.api.soaking import SoakOptions, soak_release
from pyharness.api.weighing import Wishes, weigh
from pyharness.engine.soaking import Limits
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError
from pyharness.measure.stopping import StoppingRule
from pyharness.releases.locate import resolve
from pyharness.spec.footprint import modes_of
from pyharness.spec.timed import TIMED_PASSES, TIMING_MODES
from pyharness.store.manifest import now
from pyharness.store.reading import table_frame

if TYPE_CHECKING:
    import pandas as pd

_MANY = 100_000


def bench(
    cudnn: str | Sequence[str],
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    torch: str | None = None,
    passes: Names | None = None,
    modes: Names | None = None,
    rule: StoppingRule | None = None,
    device: int = 0,
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """How long each pass takes, on releases side by side.

    ``cudnn``  a release, or several; none for PyTorch alone.
    ``torch``  device of PyTorch to time beside them: cpu or cuda.
    ``rule``   when a row has been timed for long enough.
    Returns    one row a side, problem, pass and mode, as in the table ``timings``.
    Raises     UsageError for anything that the command would refuse.
    """
    import pandas as pd  # noqa: PLC0415 - slow, and only for frames

    names = [cudnn] if isinstance(cudnn, str) else list(cudnn)
    require_timeout(timeout_s)
    if not names and torch is None:
        raise UsageError("nothing to time on is given", "a release, torch, or both")
    problems = problems_of(problem, preset, axes, logs)
    options = BenchOptions(
        passes=chosen("pass", passes, TIMED_PASSES),
        modes=chosen("mode", modes, TIMING_MODES),
        rule=rule or StoppingRule(),
        ordinal=device,
        shared=len(names) + (torch is not None) > 1,
        timeout_s=timeout_s,
    )
    if names:
        require_driver()
    timers: list[Timer] = []
    try:
        for name in names:
            timers.append(ReleaseTimer(resolve(name, full=True), options))  # noqa: PERF401 - closed
        if torch is not None:
            timers.append(TorchTimer(torch, options))
        with folder_for(out) as folder:
            runs = bench_sides(timers, problems, folder, options, resume=True)
            require_whole(*(run.manifest for run in runs))
            frames = [table_frame(run.folder, "timings") for run in runs]
    finally:
        for timer in timers:
            timer.close()
    return pd.concat(frames, ignore_index=True)


def memory(
    cudnn: str | None = None,
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    device: DeviceChoice = "first",
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """How many bytes problems ask for: observed on a GPU, predicted by formula elsewhere.

    ``cudnn``   the release to ask; None: the formula alone.
    ``device``  number of the GPU; first: the first, where there is one; none.
    Returns     one row a problem and forward mode, as in the table ``memory``.
    Raises      UsageError for anything that the command would refuse.
    """
    if device not in ("first", "none"):
        whole("device", device, 0, _MANY)
    require_timeout(timeout_s)
    weighed = problems_of(problem, preset, axes, logs).problems
    named = preset is not None
    wanted = [Wanted(c.problem, modes_of(c.passes), c.name if named else None) for c in weighed]
    started = now()
    with folder_for(out) as folder, memory_folder(folder):
        with open_scales(cudnn, device, timeout_s, silent) as scales:
            found = weigh(wanted, scales, Wishes())
        write_memory(found, scales.release, folder, started)
        return table_frame(folder, "memory")


def determinism(
    cudnn: str,
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    runs: int = 10,
    conditions: Names | None = None,
    device: int = 0,
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """Whether results repeat bit by bit, condition by condition.

    ``runs``        under each condition.
    ``conditions``  as in the guide; None: all.
    Returns         one row a problem, tensor and condition, as in the table ``repeatability``.
    Raises          UsageError for anything that the command would refuse.
    """
    whole("runs", runs, 1, _MANY)
    require_timeout(timeout_s)
    options = RepeatOptions(runs, conditions_of(joined(conditions)), device, timeout_s)
    problems = problems_of(problem, preset, axes, logs)
    (release,) = on_device([cudnn])
    return frame_of("repeatability", out, lambda to: repeat_release(release, problems, to, options))


def accuracy(
    cudnn: str,
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    device: int = 0,
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """How far each tensor is from float64, and whether rounding explains it.

    Returns  one row a problem, pass and tensor, as in the table ``accuracy``.
    Raises   UsageError for anything that the command would refuse.
    """
    require_timeout(timeout_s)
    problems = problems_of(problem, preset, axes, logs)
    (release,) = on_device([cudnn])
    return frame_of(
        "accuracy", out, lambda to: measure_release(release, problems, to, device, timeout_s)
    )


def drift(
    a: str,
    b: str,
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    device: int = 0,
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """Which tensors have other bits on another release, and how far they are.

    ``a, b``  the older and the newer release.
    Returns   one row a problem, pass and tensor, as in the table ``drift``.
    Raises    UsageError for anything that the command would refuse.
    """
    require_timeout(timeout_s)
    problems = problems_of(problem, preset, axes, logs)
    older, newer = on_device([a, b])
    return frame_of(
        "drift", out, lambda to: drift_between(older, newer, problems, to, device, timeout_s)
    )


def check(
    cudnn: str,
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    checks: Names | None = None,
    tries: int | None = None,
    device: int = 0,
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """Whether the equivalences hold that must, and the smallest problem that shows where not.

    ``checks``  as in the guide; None: all.
    ``tries``   smaller problems that are tried at most; None: as the command.
    Returns     one row a problem, check and tensor, as in the table ``equivalences``.
    Raises      UsageError for anything that the command would refuse.
    """
    require_timeout(timeout_s)
    options = CheckOptions(checks_of(joined(checks)), ordinal=device, timeout_s=timeout_s)
    if tries is not None:
        options = replace(options, most_tries=whole("tries", tries, 0, _MANY))
    problems = problems_of(problem, preset, axes, logs)
    (release,) = on_device([cudnn])
    return frame_of("equivalences", out, lambda to: check_release(release, problems, to, options))


def soak(
    cudnn: str,
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    minutes: float | None = None,
    cycles: int | None = None,
    seed: int = 0,
    device: int = 0,
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """What memory does while plans of changing size come and go in one process.

    ``minutes, cycles``  when it ends, whichever comes first; one of them is needed.
    ``seed``             of the order of the problems, and of their sizes.
    Returns              one row a sample, as in the table ``soak``; run.json has the verdicts.
    Raises               UsageError for anything that the command would refuse.
    """
    if minutes is None and cycles is None:
        raise UsageError("a soak needs an end", "give minutes, cycles, or both")
    require_timeout(timeout_s)
    limits = Limits(
        inf if cycles is None else whole("cycles", cycles, 1, 10**9),
        inf if minutes is None else 60 * number("minutes", minutes, 0.001, 100_000),
    )
    options = SoakOptions(limits, whole("seed", seed, 0, 2**32 - 1), device, timeout_s)
    problems = problems_of(problem, preset, axes, logs)
    (release,) = on_device([cudnn])
    return frame_of("soak", out, lambda to: soak_release(release, problems, to, options))
