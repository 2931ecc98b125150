"""What scripts/gpu_check.sh needs beside the shell: the card's name, the summary of its tables.

``gpu_summary.py card`` prints the name of the GPU, fit for a folder. ``gpu_summary.py write DIR``
writes SUMMARY.md from what the steps left there; exit code 1 if a step failed or has rows that did.
"""

from __future__ import annotations

import csv
import ctypes
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
_MOST = 20
_TIMED_OUT = ("124", "137")
_STOPPED = {"interrupted": "interrupted", "running": "not ended", "stopped": "stopped"}


@dataclass
class Step:
    """One step: how it ended, what is wrong with it, and what there is to tell of it."""

    name: str
    code: str
    seconds: str
    limit: str
    wrong: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """How it ended, in a few words."""
        if self.code == "not run":
            return "FAILED: no time was left for it"
        if self.code in _TIMED_OUT:
            return "FAILED: out of time"
        if self.code != "0":
            return f"FAILED: exit code {self.code}"
        return f"FAILED: {self.wrong[0]}" if self.wrong else "passed"


def probe() -> dict[str, Any]:
    """What the CUDA driver says, asked in a process of its own."""
    program = ROOT / "pyharness" / "doctor" / "cuda_probe.py"
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"gpus": [], "problem": f"libcuda ended its process ({done.returncode})"}
    return found


def card() -> int:
    """Prints the name of the first GPU."""
    found = probe()
    if not found["gpus"]:
        why = found["problem"] or "the driver counts none"
        sys.stderr.write(f"error: no GPU that CUDA can use: {why}\n")
        sys.stderr.write("  PYHARNESS_LIBCUDA names another libcuda\n")
        return 1
    sys.stdout.write(re.sub(r"[^A-Za-z0-9.]+", "-", found["gpus"][0]["name"]).strip("-") + "\n")
    return 0


def driver_is_emulated() -> bool:
    """Whether libcuda is the tests' double, which says so itself."""
    try:
        driver = ctypes.CDLL(os.environ.get("PYHARNESS_LIBCUDA") or "libcuda.so.1")
    except OSError:
        return False
    return hasattr(driver, "pyharness_emulator")


def read_steps(folder: Path) -> list[Step]:
    """The steps that were tried, in order."""
    with (folder / "steps.tsv").open(newline="") as source:
        return [Step(**row) for row in csv.DictReader(source, delimiter="\t")]


def runs_of(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The folders below that hold a run, with what each says of itself."""
    found = sorted(folder.rglob("run.json"))
    return [(path.parent, json.loads(path.read_text("utf-8"))) for path in found]


def tell_tests(step: Step, folder: Path) -> None:
    """Counts of the tests, the names of those that failed, and why some were skipped."""
    report = folder / "tests.xml"
    if not report.exists():
        step.wrong.append("the tests left no report")
        return
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - written by pytest just now
    failed = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    skipped = [c.find("skipped") for c in cases]
    why = Counter(str(s.get("message")) for s in skipped if s is not None)
    step.lines.append(
        f"{len(cases) - len(failed) - why.total()} tests passed, {len(failed)} failed, "
        f"{why.total()} skipped"
    )
    step.lines += [f"- FAILED {c.get('classname')}.{c.get('name')}" for c in failed[:_MOST]]
    step.lines += [f"- {n} skipped: {text}" for text, n in why.most_common(_MOST)]
    if failed:
        step.wrong.append(f"{len(failed)} tests failed")
    if not cases:
        step.wrong.append("no test ran")


def tell_runs(step: Step, folder: Path) -> None:
    """What cuDNN refused, and everything that failed."""
    runs = runs_of(folder / step.name)
    if not runs:
        step.wrong.append("it left no table")
    for place, run in runs:
        results, name = run.get("results", {}), run["release"]["name"]
        if run["state"] in _STOPPED:
            step.wrong.append(f"{place.name} is {_STOPPED[run['state']]}")
        for failure in results.get("failures", ()):
            where = ", ".join(w for w in (failure.get("stage"), failure["call"]) if w)
            text = f"{where}: {failure['cause']}" if where else failure["cause"]
            step.lines.append(f"- FAILED on {name}: {text}; {failure['problem']}")
        for refusal in results.get("refusals", ())[:_MOST]:
            step.lines.append(
                f"- refused on {name}, {refusal['cases']} problems: {refusal['stage']}, "
                f"{refusal['call']}: {refusal['status']}: {refusal['reason'] or '(no reason)'}"
            )
        step.lines += [f"- note of {name}: {note}" for note in run.get("notes", ())]
        counts = Counter(results.get("statuses", {}))
        for stage in results.get("stages", {}).values():
            counts.update({f"stages {k}": n for k, n in stage.items()})
        for bad in ("failed", "out_of_memory", "stages failed", "stages out_of_memory"):
            if counts[bad]:
                step.wrong.append(f"{counts[bad]} {bad.replace('stages ', 'stages: ')}")


def tell_stages(step: Step, folder: Path) -> None:
    """Outcomes by stage."""
    tell_runs(step, folder)
    for _, run in runs_of(folder / step.name):
        for stage, outcomes in run.get("results", {}).get("stages", {}).items():
            counted = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.items() if n)
            step.lines.append(f"- {stage}: {counted}")


def tell_times(step: Step, folder: Path) -> None:
    """A table of medians, with PyTorch's beside them."""
    import pandas as pd  # noqa: PLC0415 - the summary is written without it too

    tell_runs(step, folder)
    files = sorted((folder / step.name).rglob("timings.parquet"))
    frames = [frame for frame in map(pd.read_parquet, files) if len(frame)]
    if not frames:
        step.wrong.append("nothing was timed")
        return
    every = pd.concat(frames)
    for _, row in every[every["outcome"] != "passed"].drop_duplicates(["name", "pass"]).iterrows():
        what = f"{row['name']}, {row['pass']}, {row['mode']}"
        step.lines.append(f"- {row['outcome']}: {what}: {row['call']}: {row['reason']}")
    passed = every[every["outcome"] == "passed"]
    releases = [r for r in passed["release"].unique() if not r.startswith("torch")]
    if not releases:
        step.wrong.append("nothing was timed on a release")
        return
    peers = [r for r in passed["release"].unique() if r.startswith("torch")]
    at = passed.set_index(["release", "name", "pass", "mode"]).sort_index()
    columns = ["problem", "pass", "hot", "graph", "Tflop/s", "of the card's peak", *peers]
    step.lines += ["", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for name, what in passed[["name", "pass"]].drop_duplicates().itertuples(index=False):
        for release in releases:
            row = (release, name, what)
            cells = [_micro(_value(at, "median_s", *row, mode)) for mode in ("hot", "graph")]
            flops, share = (_value(at, c, *row, "hot") for c in ("flop_per_s", "of_peak_flop"))
            cells += ["" if flops is None else f"{flops / 1e12:.3g}"]
            cells += ["" if share is None else f"{share:.1%}"]
            cells += [_micro(_value(at, "median_s", p, name, what, "hot")) for p in peers]
            step.lines.append(f"| {name} | {what} | {' | '.join(cells)} |")


def _value(at: Any, column: str, *key: str) -> float | None:
    """A number of a row; None where there is none."""
    value = at.loc[key][column] if key in at.index else None
    return None if value is None or value != value else float(value)  # noqa: PLR0124 - nan


def _micro(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:.4g} µs"


def tell_memory(step: Step, folder: Path) -> None:
    """How far the formula is from what the library said."""
    import pandas as pd  # noqa: PLC0415 - the summary is written without it too

    tell_runs(step, folder)
    for path in sorted((folder / step.name).rglob("memory.parquet")):
        frame = pd.read_parquet(path)
        for part in ("weight_space", "workspace", "reserve_space", "total"):
            error = frame[f"{part}_error"].dropna()
            if len(error):
                step.lines.append(
                    f"- the formula of {part}: {error.min():+.0%} to {error.max():+.0%} off, "
                    f"{len(error)} rows"
                )
        if (frame["outcome"] != "passed").any():
            step.wrong.append("a problem that was refused or failed")


def tell_verdicts(step: Step, folder: Path) -> None:
    """How often each verdict was given, by what was asked."""
    import pandas as pd  # noqa: PLC0415 - the summary is written without it too

    tell_runs(step, folder)
    asked = {"repeat": "condition", "accuracy": "buffer", "check": "check"}[step.name]
    for path in sorted((folder / step.name).rglob("*.parquet")):
        frame = pd.read_parquet(path)
        for what, rows in frame.groupby(asked, sort=False):
            counts = Counter(rows["verdict"].dropna())
            step.lines.append(f"- {what}: {', '.join(f'{n} {v}' for v, n in counts.items())}")


def tell_upgrade(step: Step, folder: Path) -> None:
    """The verdict on each question, and what found no time."""
    tell_runs(step, folder)
    data = json.loads((folder / step.name / "upgrade.json").read_text("utf-8"))
    step.lines += [f"- {q['question']}: {q['word']}" for q in data["questions"]]
    step.lines += [f"- {p['part']}: {p['why']}" for p in data["parts"] if p["why"]]


def tell_soak(step: Step, folder: Path) -> None:
    """What is said of each kind of memory."""
    tell_runs(step, folder)
    for _, run in runs_of(folder / step.name):
        results = run.get("results", {})
        step.lines.append(f"- {results.get('cycles')} cycles: {results.get('verdict')}")
        for what, trend in results.get("trends", {}).items():
            step.lines.append(f"- {what}: {trend['verdict']}")


TELLERS = {
    "tests": tell_tests,
    "stages": tell_stages,
    "bench": tell_times,
    "deepbench": tell_times,
    "memory": tell_memory,
    "repeat": tell_verdicts,
    "accuracy": tell_verdicts,
    "check": tell_verdicts,
    "upgrade": tell_upgrade,
    "soak": tell_soak,
}


def _about(folder: Path) -> str:
    """The device and the release in words."""
    for _, run in runs_of(folder):
        device = run.get("device") or {}
        if "compute_capability" in device and "emulated" in device:
            return f"{device['name']}, cuDNN {run['release']['name']}"
    gpus = probe()["gpus"]
    release = os.environ.get("PYHARNESS_CHECK_CUDNN", "installed")
    return f"{gpus[0]['name'] if gpus else 'no GPU'}, cuDNN {release}"


def lines_of(steps: list[Step], emulated: bool, about: str) -> Iterator[str]:
    """The summary, line by line."""
    bad = [step for step in steps if step.verdict != "passed"]
    ended = f"{len(steps)} steps passed"
    if bad:
        ended = f"{len(bad)} of {len(steps)} steps FAILED: {', '.join(s.name for s in bad)}"
    head = "EMULATED, nothing here was seen on a GPU: " if emulated else ""
    yield f"# {head}{about}: {ended}"
    yield ""
    yield "| step | | seconds | at most |"
    yield "|---|---|---:|---:|"
    for step in steps:
        yield f"| {step.name} | {step.verdict} | {step.seconds} | {step.limit} |"
    for step in steps:
        if step.lines or step.wrong:
            yield ""
            yield f"## {step.name}"
            yield ""
            yield from (f"- FAILED: {wrong}" for wrong in dict.fromkeys(step.wrong))
            yield from step.lines


def write(folder: Path) -> int:
    """Writes SUMMARY.md, and prints its first part."""
    steps = read_steps(folder)
    for step in steps:
        try:
            if step.code != "not run" and step.name in TELLERS:
                TELLERS[step.name](step, folder)
        except (ImportError, OSError, ValueError, KeyError) as error:
            step.wrong.append(f"its tables cannot be read: {type(error).__name__}: {error}")
    text = "\n".join(lines_of(steps, driver_is_emulated(), _about(folder))) + "\n"
    (folder / "SUMMARY.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text.partition("\n## ")[0].rstrip() + "\n")
    return int(any(step.verdict != "passed" for step in steps))


def main() -> int:
    """Entry point."""
    match sys.argv[1:]:
        case ["card"]:
            return card()
        case ["write", folder]:
            return write(Path(folder))
    sys.stderr.write(f"{__doc__}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
