"""The Python API of an upgrade: one release against another."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.analyze.time_change import LEVEL, MARGIN, PROCESSES
from pyharness.api.diffing import DEFAULT_MAPS, row_reasons
from pyharness.api.mapping import MapOptions
from pyharness.api.onward import DeviceChoice
from pyharness.api.public import default_walkers
from pyharness.api.public_frames import Problem, folder_for, frame_of, on_device, problems_of
from pyharness.api.public_values import Names, chosen, number, require_timeout, whole
from pyharness.api.time_change import TimeOptions, compare_time
from pyharness.api.upgrade_budget import DEFAULT_BUDGET, parse_budget
from pyharness.api.upgrading import Request, read_gate
from pyharness.api.upgrading import upgrade as upgrade_release
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.space.presets import build_space
from pyharness.spec.stages import PASSES
from pyharness.spec.timed import TIMED_PASSES, TIMING_MODES

if TYPE_CHECKING:
    import pandas as pd

    from pyharness.analyze.upgrade import Upgrade


def upgrade(
    old: str,
    new: str,
    *,
    logs: Names = (),
    preset: str = "host",
    problems: str | None = None,
    budget: str = DEFAULT_BUDGET,
    gate: str | Path | None = None,
    device: DeviceChoice = "first",
    out: str | Path | None = None,
    maps: str | Path = DEFAULT_MAPS,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Upgrade:
    """May the pin be raised: a verdict on each question, and the gate's word on all of them.

    ``logs``      a program's cuDNN API logs.
    ``preset``    space of host calls; ``problems``: set to run on a GPU where there is no log.
    ``budget``    time for all of it: 90s, 30m, 1h.
    ``gate``      TOML file that says what must not be worse; None: the default.
    ``device``    number of the GPU; first: the first, where there is one; none.
    ``out``       folder for tables and report; without one they are kept nowhere.
    Returns       ``word`` of the gate (passed, failed, inconclusive), its ``requirements``, and
                  ``verdicts``, each with ``question``, ``word`` and ``evidence``.
    Raises        UsageError for anything that the command would refuse.
    """
    require_timeout(timeout_s)
    if device not in ("first", "none"):
        whole("device", device, 0, 100_000)
    files = [logs] if isinstance(logs, str) else [str(name) for name in logs]
    space = build_space(preset, None, [])
    rules = read_gate(None if gate is None else Path(gate), bool(files))
    options = MapOptions(default_walkers(), timeout_s, row_reasons(space))
    budget_s = parse_budget(budget)
    request = Request(old, new, space, files, rules, options, problems, device, budget_s)
    with folder_for(out) as folder:
        return upgrade_release(request, Path(maps), folder)[0]


def time_change(
    old: str,
    new: str,
    problem: Problem = (),
    *,
    preset: str | None = None,
    axes: Mapping[str, Any] | None = None,
    logs: Names = (),
    passes: Names = PASSES,
    modes: Names = ("hot",),
    processes: int = PROCESSES,
    margin: float = MARGIN,
    level: float = LEVEL,
    budget_s: float = inf,
    device: int = 0,
    out: str | Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> pd.DataFrame:
    """What got slower or faster, timed in turn in fresh processes of both releases.

    ``processes``  a side: an even number from 6 on.
    ``margin``     share that a change must exceed to matter.
    ``level``      share of wrong findings that is allowed.
    ``budget_s``   time for all of it; problems that do not fit are cut from the end.
    Returns        one row a problem, pass and mode, as in the table ``time_changes``.
    Raises         UsageError for anything that the command would refuse.
    """
    require_timeout(timeout_s)
    options = TimeOptions(
        processes=whole("processes", processes, 2, 1000),
        margin=number("margin", margin, 0, inf),
        level=number("level", level, 0, 1),
        budget_s=number("budget_s", budget_s, 0, inf),
        passes=chosen("pass", passes, TIMED_PASSES),
        modes=chosen("mode", modes, TIMING_MODES),
        ordinal=whole("device", device, 0, 100_000),
        timeout_s=timeout_s,
    )
    problems = problems_of(problem, preset, axes, logs)
    older, newer = on_device([old, new])
    return frame_of(
        "time_changes",
        out,
        lambda to: compare_time((older, newer), problems, to, options, resume=True),
    )
