"""How fast logs are read, beside a bare sequential read of the same file, and in how much memory.

    python benchmarks/logs.py [--gb 2] [--rounds 3] [--cudnn latest]

A real release writes the log of one training step, which is repeated with other addresses, times
and lengths until the file is large:
  repeated  each step has one of 200 lists of lengths
  new       each step has lengths that no other has: every call is another problem
The file lies in a temporary folder and is removed. Rates are of the fastest round; the ratio is the
median over the rounds of how many times as long as the bare read it took. Memory is the largest
resident set of a process that reads the file, less that of one that reads an empty one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyharness.logs import read_logs
from pyharness.releases.locate import resolve

PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "logs" / "program.py"
BATCH, LONGEST = 32, 200
STEP = {
    "algo": 0,
    "cell_mode": 2,
    "bias_mode": 2,
    "direction_mode": 0,
    "input_mode": 0,
    "data_type": 0,
    "math_prec": 0,
    "math_type": 0,
    "input_size": 512,
    "hidden_size": 1024,
    "proj_size": 1024,
    "num_layers": 2,
    "dropout": 1,
    "aux_flags": 1,
    "layout": 0,
    "max_seq_length": LONGEST,
    "seq_lengths": [LONGEST, *range(BATCH, 1, -1)],
    "modes": [1],
}
READER = """
import sys
from pyharness.logs import read_logs
read_logs(sys.argv[1:])
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def real_step(cudnn: str, folder: Path) -> bytes:
    """The log of one training step, without what comes before it."""
    release, log = resolve(cudnn), folder / "step.log"
    paths = os.pathsep.join(str(d) for d in (release.path.parent, *release.library_dirs))
    variables = {f"CUDNN_LOG{name}_DBG": "1" for name in ("INFO", "WARN", "ERR")}
    variables |= {"CUDNN_LOGLEVEL_DBG": "3", "CUDNN_LOGDEST_DBG": str(log)}
    subprocess.run(
        [sys.executable, str(PROGRAM), str(release.path)],
        input=json.dumps([STEP]),
        text=True,
        env={**os.environ, **variables, "LD_LIBRARY_PATH": paths},
        check=True,
    )
    text = log.read_bytes()
    entries = re.split(rb"(?=\n[IEW]! CuDNN)", text)
    # A program that trains gives a handle: its calls are not refused.
    return b"".join(e for e in entries if e.startswith(b"\nI!") and b"Version" not in e)


def steps(step: bytes, new: bool, rng: random.Random) -> Iterator[bytes]:
    """The step again and again, each time a little different."""
    lists = re.search(rb"seqLengthArray: type=int; val=(\[[^\]]*\])", step)
    assert lists

    def lengths() -> bytes:
        drawn = sorted((rng.randrange(1, LONGEST) for _ in range(BATCH - 1)), reverse=True)
        return b"[%d,%s]" % (LONGEST, b",".join(b"%d" % n for n in drawn))

    def other() -> bytes:
        text = re.sub(
            rb"addr=0x[0-9a-f]+", lambda _: b"addr=0x7f%010x" % rng.randrange(1 << 40), step
        )
        return re.sub(rb":\d\d\.\d{6} ", lambda _: b":%09.6f " % (rng.random() * 60), text)

    others = [other().split(lists[1]) for _ in range(64)]
    pool = [lengths() for _ in range(200)]
    while True:
        yield (lengths() if new else rng.choice(pool)).join(rng.choice(others))


def write(path: Path, step: bytes, new: bool, size: int) -> int:
    written, rng = 0, random.Random(1)
    with path.open("wb") as file:
        for text in steps(step, new, rng):
            written += file.write(text)
            if written >= size:
                return written
    return written


def bare(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 18):
            pass


def seconds(job: Callable[[], object]) -> tuple[float, float]:
    """Wall time and processor time of a job."""
    start, used = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - start, time.process_time() - used


def peak_bytes(*paths: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-c", READER, *map(str, paths)],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cudnn", default="latest")
    options = parser.parse_args()
    print(f"{options.gb:g} GB, {options.rounds} rounds, {os.cpu_count()} cores, ", end="")
    print(f"{platform.system()}, Python {platform.python_version()}")
    print()
    print("| log | problems | bare read | read_logs | its CPU time | read_logs / bare | memory |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="pyharness-benchmark-") as name:
        folder = Path(name)
        step = real_step(options.cudnn, folder)
        log, empty = folder / "api.log", folder / "empty.log"
        empty.touch()
        for kind in ("repeated", "new"):
            size = write(log, step, kind == "new", int(options.gb * 1e9))
            bare(log)  # from here on it lies in memory, if it fits
            times = [
                (seconds(lambda: bare(log)), seconds(lambda: read_logs([log])))
                for _ in range(options.rounds)
            ]
            problems = len(read_logs([log]).problems)
            memory = peak_bytes(log) - peak_bytes(empty)
            cells = [
                kind,
                f"{problems:,}",
                f"{size / min(wall for (wall, _), _ in times) / 1e6:,.0f} MB/s",
                f"{size / min(wall for _, (wall, _) in times) / 1e6:,.0f} MB/s",
                f"{size / min(used for _, (_, used) in times) / 1e6:,.0f} MB/s",
                f"{statistics.median(b[0] / a[0] for a, b in times):.1f}",
                f"{memory / 1e6:,.0f} MB",
            ]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
