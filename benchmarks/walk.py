"""How close the walk comes to a bare loop, and what a whole map costs: ratios, in one run.

    python benchmarks/walk.py [--rounds 3] [--releases 8.9.7.29,9.12.0.46,latest]

For each release, over the preset descriptor-full and the same library file:
  bare      nested C++ loops around the call, compiled here with -O2
  walk x1   one walker, statuses kept, no table written
  walk x2   two walkers
  map       `pyharness map` from start to exit, tables on disk, default reasons, two walkers
Each round runs all four, one after the other, so that a slow minute of the machine meets all alike;
the table shows the median over the rounds of each round's ratio, and the least time of each.
Memory is the largest sum of the proportional set sizes of the map's process tree, sampled.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from pyharness.api.launching import launch_of
from pyharness.engine.crew import Crew, some, whole
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.space.grid import Grid
from pyharness.space.presets import build_space
from pyharness.spec.axes import PROJ_RULES
from pyharness.spec.ledger import Death, Ledger

HERE = Path(__file__).resolve().parent
DIVISORS = {PROJ_RULES["same"]: 1, PROJ_RULES["half"]: 2}


class Discard:
    """A sink that counts."""

    def __init__(self) -> None:
        self.answered = 0

    def rows(
        self, begin: int, codes: NDArray[np.uint8], text_ids: NDArray[np.uint16] | None
    ) -> None:
        del begin, text_ids
        self.answered += len(codes)

    def death(self, position: int, death: Death) -> None:
        raise RuntimeError(f"row {position}: {death.cause}")


@dataclass
class Times:
    """Seconds of each round."""

    bare: list[float] = field(default_factory=list)
    one: list[float] = field(default_factory=list)
    two: list[float] = field(default_factory=list)
    whole_map: list[float] = field(default_factory=list)
    peak_bytes: int = 0


def compile_bare(grid: Grid, folder: Path) -> Path:
    """Compiles the bare loop with the grid's values in it."""
    lists = {axis.name: values for axis, values in zip(grid.call.axes, grid.values, strict=True)}
    lists["proj_divisor"] = tuple(DIVISORS[v] for v in lists.pop("proj_size"))
    if lists.pop("dropout") != (1,):
        raise RuntimeError("the bare loop always hands over a dropout descriptor")
    defines = [f"-DAXIS_{name}={','.join(map(str, values))}" for name, values in lists.items()]
    target = folder / "bare_loop"
    compiler = os.environ.get("CXX", "c++")
    source = str(HERE / "bare_loop.cpp")
    subprocess.run(
        [compiler, "-std=c++17", "-O2", *defines, source, "-o", str(target), "-ldl"], check=True
    )
    return target


def time_bare(program: Path, release: Release, rows: int) -> float:
    said = subprocess.run(
        [program, release.path], check=True, capture_output=True, text=True
    ).stdout.split()
    if int(said[0]) != rows:
        raise RuntimeError(f"the bare loop made {said[0]} calls, the grid has {rows}")
    return float(said[1])


def time_walk(grid: Grid, release: Release, walkers: int) -> float:
    sink = Discard()
    with Crew(launch_of(release), Ledger(), walkers) as crew:
        crew.run(some(grid, np.arange(1 << 14)), Discard())  # every walker has started
        start = time.perf_counter()
        crew.run(whole(grid), sink)
        spent = time.perf_counter() - start
    if sink.answered != grid.size:
        raise RuntimeError(f"{sink.answered} of {grid.size} rows were answered")
    return spent


def tree_bytes(process: psutil.Process) -> int:
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


def time_map(release: Release, preset: str) -> tuple[float, int]:
    with tempfile.TemporaryDirectory(prefix="pyharness-benchmark-") as out:
        command = [
            *(sys.executable, "-m", "pyharness.cli.main", "map"),
            *("--cudnn", release.name, "--preset", preset, "--threads", "2"),
            *("--out", f"{out}/map"),
        ]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        watched, peak = psutil.Process(process.pid), 0
        while process.poll() is None:
            try:
                peak = max(peak, tree_bytes(watched))
            except psutil.NoSuchProcess:
                break
            time.sleep(0.2)
        if process.wait() != 0:
            raise RuntimeError(f"map of {release.name} failed")
        return time.perf_counter() - start, peak


def measure(release: Release, grid: Grid, preset: str, program: Path, rounds: int) -> Times:
    times = Times()
    for _ in range(rounds):
        times.bare.append(time_bare(program, release, grid.size))
        times.one.append(time_walk(grid, release, 1))
        times.two.append(time_walk(grid, release, 2))
        spent, peak = time_map(release, preset)
        times.whole_map.append(spent)
        times.peak_bytes = max(times.peak_bytes, peak)
    return times


def ratio(a: list[float], b: list[float]) -> float:
    return statistics.median(x / y for x, y in zip(a, b, strict=True))


def row(release: Release, times: Times, size: int) -> str:
    cells = [
        release.name,
        f"{min(times.bare) / size * 1e9:.1f} ns",
        f"{ratio(times.one, times.bare):.2f}",
        f"{ratio(times.one, times.two):.2f}",
        f"{min(times.whole_map):.1f} s",
        f"{ratio(times.whole_map, times.bare):.2f}",
        f"{times.peak_bytes / 1e6:.0f} MB",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--releases", default="8.9.7.29,9.12.0.46,latest")
    parser.add_argument("--preset", default="descriptor-full")
    options = parser.parse_args()
    (grid,) = build_space(options.preset, None, []).grids
    cpu = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        if line.startswith(("model name", "Model"))
    )
    print(f"{grid.size:,} problems ({options.preset}), {options.rounds} rounds")
    print(f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}")
    print()
    print(
        "| release | bare, per call | walk x1 / bare | walk x1 / x2 | map | map / bare "
        "| peak memory |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="pyharness-benchmark-") as folder:
        program = compile_bare(grid, Path(folder))
        for text in options.releases.split(","):
            release = resolve(text)
            times = measure(release, grid, options.preset, program, options.rounds)
            print(row(release, times, grid.size), flush=True)


if __name__ == "__main__":
    main()
