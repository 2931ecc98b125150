"""How often the verdict on time is right: thousands of upgrades on the emulator's virtual clock.

    python -m benchmarks.upgrade_simulation [--upgrades 200] [--cases 40] [--jobs 2] [--commands 20]

Nothing is timed here. What a pass takes is told by the clock of the emulated libcuda
(``tests/emulator/clock.hpp``), which has a number for each process on a card and each pass in it:
the same numbers as if the process had run. Their medians go the way that those of a real run go,
from what the processes said to verdicts (``pyharness.api.time_records``). With --commands so many
upgrades are timed by ``pyharness time`` itself, with real processes on the emulator.

Each kind of noise is gone through with four kinds of upgrades:

  nothing    no case changed. ``wrong`` is the share of cases that are called slower or faster,
             ``any`` the share of upgrades that have such a case, ``same`` that of cases rightly
             called the same.
  some       every tenth case is slower by 3 %. ``found`` is the share of these that are called
             slower, ``same`` that of these that are called the same; ``false`` is the share of
             cases that did not change in those that are called changed, a mean over upgrades.
  one        one case is slower by 3 %, the hardest to find: ``found`` is how often it is.
  margin     every other case is slower or faster by exactly the margin, where a wrong ``same`` is
             likeliest. ``same`` is the share of these that are called the same.

``visible`` is the median, where nothing changed, of the least change that a case says it would
have shown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.time_change import (
    LEVEL,
    MARGIN,
    PROCESSES,
    TimeChange,
    alternate,
)
from pyharness.api.time_records import cases_of, judged
from pyharness.engine.alternating import ProblemSeen, Seen, Turn
from pyharness.releases import resolve
from pyharness.space.problems import NamedProblem
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import StageResult
from tests.emulator.build import ROOT, build_emulator, emulate
from tests.emulator.virtual_clock import VirtualClock

REGRESSION = 0.03
MOST_WRONG = 0.05
SAMPLES = 31  # of a case in a process
_PASS, _MODE = "forward_inference", "hot"
_PASSED = StageResult(_PASS, "cudnnRNNForward", "SUCCESS", 0, "passed", None, "emulated")
_THROTTLED = 1.2  # times as long
_Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noise:
    """What makes times differ; shares are standard deviations of the logarithm if not told else.

    ``samples``    of samples within a process.
    ``process``    of each case in each process.
    ``common``     of a process, all of its cases alike.
    ``shared``     of what neighbours in time share; it fades over ``reach`` processes.
    ``knots``      of what neighbours share, drawn where a process ends and the next begins, with a
                   straight line in between: it comes and goes with the processes themselves.
    ``drift``      from the first process to the last, in all.
    ``throttled``  chance of each process that a phase of up to 1.5 processes begins in it, in which
                   samples take 1.2 times as long. Where the card tells of it they are left out.
    ``untold``     share of the phases that the card does not tell of.
    ``clock``      clocks are told, and what is shared is the card's clock.
    ``b_clock``    factor of B's clock, which its times follow.
    """

    name: str
    samples: float = 0.03
    process: float = 0.005
    common: float = 0.0
    shared: float = 0.0
    reach: float = 1.0
    knots: float = 0.0
    drift: float = 0.0
    throttled: float = 0.0
    untold: float = 0.0
    clock: bool = False
    b_clock: float = 1.0

    def settings(self, passes: int) -> dict[str, object]:
        """As the emulator takes them; ``passes`` of a process, each case of another cost."""
        shared = f"{self.shared}:{self.reach * passes}"
        return {
            "noise": self.samples,
            "process_noise": self.process,
            "common_noise": self.common,
            "clock_noise" if self.clock else "card_noise": shared,
            "card_drift": self.drift / (2 * PROCESSES * passes),
        }


_REAL: dict[str, Any] = {"common": 0.003, "shared": 0.004, "drift": 0.05}
NOISES = (
    Noise("quiet: processes 0.3 %", process=0.003),
    Noise("processes 0.6 %", process=0.006),
    Noise("processes 1 %", process=0.01),
    Noise("processes 1.5 %", process=0.015),
    Noise("processes 3 %", process=0.03),
    Noise("samples 20 %", samples=0.2, process=0.003),
    Noise("whole processes 0.6 %, all cases alike", common=0.006),
    Noise("whole processes 3 %, all cases alike", common=0.03),
    Noise("drift 10 %", drift=0.1),
    Noise("drift 30 %", drift=0.3),
    Noise("shared 1 % over 0.3 processes", shared=0.01, reach=0.3),
    Noise("shared 1 % over 1 process", shared=0.01),
    Noise("shared 1 % over 4 processes", shared=0.01, reach=4.0),
    Noise("shared 3 % over 1 process", samples=0.01, process=0.001, shared=0.03),
    Noise("shared 1 %, a line between processes", knots=0.01),
    Noise("shared 3 %, a line between processes", samples=0.01, process=0.001, knots=0.03),
    Noise("throttled", throttled=0.03),
    Noise("throttled, half untold", throttled=0.03, untold=0.5),
    Noise("all of it", throttled=0.01, **_REAL),
    Noise("all of it, clocks told", throttled=0.01, clock=True, **_REAL),
    Noise("B clocked lower by 3 %", clock=True, b_clock=0.97),
)


@dataclass(frozen=True, slots=True)
class Phase:
    """Passes of the card that are throttled, and whether it tells of that."""

    begin: int
    end: int
    told: bool

    def text(self) -> str:
        """As the emulator takes it."""
        return f"after:{self.begin},for:{self.end - self.begin},factor:{_THROTTLED}"


def verdicts_of(
    clock: VirtualClock, noise: Noise, changes: _Numbers, seed: int
) -> list[TimeChange]:
    """One upgrade: what all of its processes say, and the verdict on each case.

    ``changes``  [cases], B over A as it truly is.
    """
    order = alternate(PROCESSES)
    passes = changes.size * SAMPLES
    costs = 20_000.0 * (1 + np.arange(changes.size) / 10)  # each case has noise of its own
    settings = {**noise.settings(passes), "noise_seed": seed}
    random = np.random.default_rng(seed)
    phases = _phases(noise, len(order), passes, random)
    knots = random.normal(0, noise.knots, len(order) + 1)
    problems = [NamedProblem(str(i), "", Problem({}), (_PASS,)) for i in range(changes.size)]
    turns = []
    for place, side in enumerate(order):
        begin = place * passes
        own = [p for p in phases if p.begin < begin + passes and p.end > begin]
        held = {"card_throttle": own[0].text()} if own else {}
        newer = side == "b"
        clock.configure(**settings, **held, clock=noise.b_clock if newer else 1)
        taken, hz = clock.process(place, begin, costs * changes if newer else costs, SAMPLES)
        line = np.linspace(knots[place], knots[place + 1], taken.size)
        taken *= np.exp(line).reshape(taken.shape)
        for phase in own:
            if phase.told:
                taken.reshape(-1)[max(phase.begin - begin, 0) : phase.end - begin] = np.nan
        said = zip(problems, _medians(taken).tolist(), hz.tolist(), strict=True)
        turns.append(Turn(0.0, {p.name: _said(s, f if noise.clock else None) for p, s, f in said}))
    cases = cases_of([(p, p.passes) for p in problems], (_MODE,), turns)
    found = judged(cases, order, 0.0, MARGIN, LEVEL)
    return [found[i] for i in range(len(cases))]


def _said(median_s: float, clock_hz: float | None) -> ProblemSeen:
    known = None if np.isnan(median_s) else median_s
    seen = Seen(_PASS, _MODE, _PASSED, known, SAMPLES, clock_hz=clock_hz)
    return ProblemSeen(0.0, False, (seen,))


def _phases(noise: Noise, processes: int, passes: int, random: np.random.Generator) -> list[Phase]:
    """The throttled phases of a run; none begins in a process that another one is in."""
    found: list[Phase] = []
    for place in np.flatnonzero(random.random(processes) < noise.throttled):
        begin = int((place + random.random()) * passes)
        end = begin + 1 + int(random.uniform(0, 1.5) * passes)
        if not found or found[-1].end <= place * passes:
            found.append(Phase(begin, end, bool(random.random() >= noise.untold)))
    return found


def _medians(samples: _Numbers) -> _Numbers:
    """Medians over the last axis of what is not NaN; NaN where nothing else is."""
    ordered = np.sort(samples, axis=-1)  # NaN last
    count = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    low, high = (
        np.take_along_axis(ordered, at, axis=-1)
        for at in (np.maximum(count - 1, 0) // 2, count // 2)
    )
    return np.asarray((low + high) / 2)[..., 0]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a kind of noise: shares, see the head of this file."""

    wrong: float
    any: float
    nothing_same: float
    visible: float
    found: float
    false: float
    slower_same: float
    one_found: float
    margin_same: float


def figures(clock: VirtualClock, noise: Noise, upgrades: int, cases: int, seed: int = 0) -> Figures:
    """Goes through ``upgrades`` upgrades of each kind, of a number of cases that 20 divides."""
    at = np.arange(cases)
    nothing = np.ones(cases)
    some = np.where(at % 10, 1.0, 1 + REGRESSION)
    one = np.where(at, 1.0, 1 + REGRESSION)
    margin = np.where(at % 2, 1.0, np.where(at % 4, 1 + MARGIN, 1 / (1 + MARGIN)))
    seeds = iter(range(seed * 1_000_000, (seed + 1) * 1_000_000))

    def verdicts(changes: _Numbers) -> tuple[NDArray[np.str_], list[float]]:
        """The verdicts [upgrades, cases], and what was visible wherever that is known."""
        found = [verdicts_of(clock, noise, changes, next(seeds)) for _ in range(upgrades)]
        visible = [each.visible for case in found for each in case if each.visible is not None]
        return np.array([[each.verdict for each in case] for case in found]), visible

    said, visible = verdicts(nothing)
    wrong = np.isin(said, ("slower", "faster"))
    said_some, _ = verdicts(some)
    claimed = np.isin(said_some, ("slower", "faster"))
    false = claimed[:, some == 1].sum(axis=1) / np.maximum(claimed.sum(axis=1), 1)
    said_one, _ = verdicts(one)
    said_margin, _ = verdicts(margin)
    return Figures(
        wrong=float(wrong.mean()),
        any=float(wrong.any(axis=1).mean()),
        nothing_same=float((said == "same").mean()),
        visible=float(np.median(visible)),
        found=float((said_some[:, some > 1] == "slower").mean()),
        false=float(false.mean()),
        slower_same=float((said_some[:, some > 1] == "same").mean()),
        one_found=float((said_one[:, 0] == "slower").mean()),
        margin_same=float((said_margin[:, margin != 1] == "same").mean()),
    )


def _play(libcuda: Path, upgrades: int, cases: int, numbered: tuple[int, Noise]) -> Figures:
    """The figures of a kind of noise, in a process of its own: the clock's settings are global."""
    seed, noise = numbered
    return figures(VirtualClock(libcuda), noise, upgrades, cases, seed)


_COSTS = {"forward_inference": 20_000, "backward_data": 50_000, "backward_weights": 80_000}
_SLOWER = "backward_data"
# That a process of the command below is given, most of them to warm up; more on a faster machine.
_PASSES = 36_000
_COMMAND = "from pyharness.cli.main import main; main()"


def by_command(libraries: Path, folder: Path, seed: int, slower: bool) -> dict[str, str]:
    """One upgrade through ``pyharness time`` at its default settings, with real processes.

    ``slower``  one pass of three is slower by 3 %, for two problems.
    Returns     verdict by problem and pass
    """
    noise = Noise("", **_REAL)
    settings = noise.settings(_PASSES)
    costs = {f"cost_ns.{name}": cost for name, cost in _COSTS.items()}
    newer = {f"cost_ns.{_SLOWER}": _COSTS[_SLOWER] * (1 + REGRESSION)} if slower else {}
    shared: dict[str, object] = {**settings, "noise_seed": seed, "compute": False, "l2_bytes": 4096}
    real = resolve("9.28.0.42").path
    a = emulate(libraries, folder / "a", real, **shared, **costs)
    b = emulate(libraries, folder / "b", real, **shared, **{**costs, **newer})
    words = ["time", str(a.cudnn), str(b.cudnn), "hidden_size=8", "input_size=4", "batch_size=2"]
    words += ["max_seq_length=3", "--axis", "cell_mode=lstm,gru", "--passes", ",".join(_COSTS)]
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *words, "--out", str(folder / "out"), "--json"],
        env={**os.environ, **a.env},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = json.loads(done.stdout)["time_changes"]
    return {f"{row['problem']} {row['pass']}": row["verdict"] for row in rows}


def _command(libraries: Path, upgrade: int) -> str:
    """A line on an upgrade through the command."""
    slower = upgrade % 2 == 1
    with tempfile.TemporaryDirectory() as scratch:
        said = by_command(libraries, Path(scratch) / "run", upgrade, slower)
    changed = [v for case, v in said.items() if slower and case.endswith(_SLOWER)]
    rest = [v for case, v in said.items() if not slower or not case.endswith(_SLOWER)]
    cells = [
        f"{changed.count('slower')} of {len(changed)}",
        str(sum(v in ("slower", "faster") for v in rest)),
        str(rest.count("same")),
        str(rest.count("inconclusive")),
    ]
    kind = f"{_SLOWER} +3 %" if slower else "nothing"
    return f"| {upgrade} | {kind} | {' | '.join(cells)} |"


def main() -> None:
    """Prints a row a kind of noise, as Markdown; fails if more is wrong than may be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrades", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--commands", type=int, default=0)
    options = parser.parse_args()
    if options.upgrades < 1 or options.cases < 20 or options.cases % 20:
        parser.error("--upgrades from 1 on, --cases a multiple of 20")
    with tempfile.TemporaryDirectory() as scratch:
        libraries = build_emulator(ROOT / "build" / "emulator-tests", Path(scratch) / "libraries")
        worst = _simulate(libraries, options)
        if options.commands:
            print("\n| upgrade | what changed | found | wrong | same | inconclusive |")
            print("|---:|---|---:|---:|---:|---:|")
            for upgrade in range(options.commands):
                print(_command(libraries, upgrade), flush=True)
    if worst > MOST_WRONG:
        raise SystemExit(f"{worst:.1%} are wrong where {MOST_WRONG:.0%} may be")


def _simulate(libraries: Path, options: argparse.Namespace) -> float:
    """Prints the table; the largest share of what may not be wrong."""
    print(
        f"{4 * options.upgrades * len(NOISES):,} simulated upgrades of {options.cases} cases, "
        f"{PROCESSES} processes a side, margin {MARGIN:.0%}, level {LEVEL:.0%}, "
        f"{os.cpu_count()} cores, {platform.system()}\n"
    )
    print("| noise | nothing: wrong | any | same | visible ", end="")
    print("| some: found | false | same | one: found | margin: same |")
    print("|---|" + 9 * "---:|")
    worst = 0.0
    libcuda = libraries / "libcuda.so.1"
    play = partial(_play, libcuda, options.upgrades, options.cases)
    with ProcessPoolExecutor(options.jobs) as pool:
        for noise, seen in zip(NOISES, pool.map(play, enumerate(NOISES)), strict=True):
            shares = " | ".join(f"{share:.1%}" for share in astuple(seen))
            print(f"| {noise.name} | {shares} |", flush=True)
            worst = max(worst, seen.wrong, seen.false, seen.slower_same, seen.margin_same)
    return worst


if __name__ == "__main__":
    main()
