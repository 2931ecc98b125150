"""What the harness adds on the host to each call that it times, beside a bare loop.

    python benchmarks/overhead.py [--samples 20000] [--rounds 15]

One process makes a plan on the emulated libraries. Then each function that a timed loop calls is
replaced by an empty one, so that what is left is the loop: ``bare`` makes the same calls of cuDNN
and the driver through the same pointers and nothing else; ``harness`` is the compiled function that
`pyharness bench` calls for its samples, with its events made and read. Both are nanoseconds a
sample. ``added`` is their difference over the calls of a sample, ``ratio`` is harness over bare;
medians over the rounds of what each round had, in which both run one after the other.

The last line is what the host time of a call that takes none would be recorded as.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from pyharness.releases.locate import resolve

ROOT = Path(__file__).resolve().parent.parent
LIMIT_NS = 2000.0


def tool(name: str) -> str:
    """A tool of this environment, or of the machine."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is needed: python -m pip install {name}")
    return found


def build(folder: Path) -> Path:
    """Builds the program and the emulated libraries as the extension is built: Release."""
    defines = ("-DPYHARNESS_BUILD_EMULATOR=ON", "-DPYHARNESS_BUILD_BENCHMARKS=ON")
    for step in (
        ("-S", str(ROOT), "-B", str(folder), *defines),
        ("--build", str(folder), "--target", "overhead", "emulated_cuda", "emulated_cudnn"),
    ):
        done = subprocess.run([tool("cmake"), *step], check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
    return folder / "overhead"


def measure(program: Path, samples: int, rounds: int) -> list[list[str]]:
    """What the program says, a list of words a line."""
    emulator = program.parent / "emulator"
    env = {"PYHARNESS_EMULATOR": f"cudnn={resolve('9.28.0.42').path};compute=off;l2_bytes=4096"}
    done = subprocess.run(
        [program, emulator / "libcuda.so.1", emulator / "libcudnn.so.9", str(samples), str(rounds)],
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    )
    return [line.split() for line in done.stdout.splitlines()]


def main() -> None:
    """Prints one row a loop, as Markdown; fails if a call costs more than the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    loops = defaultdict(list)
    program = build(ROOT / "build" / "overhead")
    for name, mode, *calls_and_times in measure(program, options.samples, options.rounds):
        cudnn, cuda, *times = (float(word) for word in calls_and_times)
        loops[name, mode, int(cudnn), int(cuda)].append(times)
    print(
        f"{options.rounds} rounds of {options.samples:,} samples, {os.cpu_count()} cores, ", end=""
    )
    print(f"{platform.system()}\n")
    print("| pass | mode | calls of cuDNN + driver | bare | harness | added a call | ratio |")
    print("|---|---|---:|---:|---:|---:|---:|")
    worst, enqueued = 0.0, 0.0
    for (name, mode, cudnn, cuda), rounds in loops.items():
        bare, harness = (statistics.median(r[i] for r in rounds) for i in (0, 1))
        added = statistics.median((r[1] - r[0]) / (cudnn + cuda) for r in rounds)
        ratio = statistics.median(r[1] / r[0] for r in rounds)
        worst = max(worst, added)
        enqueued = max(enqueued, statistics.median(r[2] for r in rounds))
        print(
            f"| {name} | {mode} | {cudnn} + {cuda} | {bare:.1f} ns | {harness:.1f} ns "
            f"| {added:.1f} ns | {ratio:.1f} |"
        )
    print(f"\nA call that takes no time would be recorded as {enqueued:.0f} ns of enqueueing.")
    if max(worst, enqueued) > LIMIT_NS:
        raise SystemExit(f"more than {LIMIT_NS:.0f} ns a call")


if __name__ == "__main__":
    main()
