"""Benches on emulated releases, in tests: settings in, rows out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pyharness.api.bench_sides import BenchOptions, ReleaseTimer
from pyharness.api.benching import bench
from pyharness.measure.stopping import StoppingRule
from pyharness.releases import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES

SMALL = "hidden_size=8 input_size=4 batch_size=2 max_seq_length=3"
# A few samples and no more; nothing is warmed up, so that calls can be counted.
QUICK = StoppingRule(2, 0.0, 1.0, 60.0)
Row = dict[str, Any]


def options(
    passes: Sequence[str] = PASSES, modes: Sequence[str] = ("hot",), **more: Any
) -> BenchOptions:
    """Options for a short bench."""
    chosen: dict[str, Any] = {"rule": QUICK, "warm_s": 0.0, "timeout_s": 20.0, **more}
    return BenchOptions(tuple(passes), tuple(modes), **chosen)


def named(*words: str, rest: str = SMALL) -> ProblemSet:
    """Problems of these words, each added to what they share."""
    made = [parse_problem(f"{rest} {one}".split()) for one in words]
    return ProblemSet(
        "scene", "", tuple(NamedProblem(str(i), "g", p, PASSES) for i, p in enumerate(made))
    )


@contextmanager
def open_timers(releases: Sequence[Release], chosen: BenchOptions) -> Iterator[list[ReleaseTimer]]:
    """A side for each release, closed in the end."""
    timers = [ReleaseTimer(release, chosen) for release in releases]
    try:
        yield timers
    finally:
        for timer in timers:
            timer.close()


def benched(
    releases: Sequence[Release], problems: ProblemSet, folder: Path, chosen: BenchOptions
) -> list[list[Row]]:
    """The rows of the timings, a list for each release."""
    with open_timers(releases, chosen) as timers:
        runs = bench(timers, problems, folder, chosen)
    return [pq.read_table(run.folder / "timings.parquet").to_pylist() for run in runs]


def row_of(rows: Sequence[Row], name: object, pass_name: str, mode: str | None = "hot") -> Row:
    """One row."""
    key = (str(name), pass_name, mode)
    (found,) = [r for r in rows if (r["name"], r["pass"], r["mode"]) == key]
    return found
