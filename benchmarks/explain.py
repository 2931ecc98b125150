"""How long somebody waits for an explanation, beside the bare call that it is about.

    python benchmarks/explain.py [--cudnn latest] [--rounds 5]

Each time is that of a process from its start, with the release in the cache and in memory. ``bare``
is a Python that opens the library and makes the one call that is refused. ``explain`` is the whole
command with --no-since; ``first`` is until it prints. ``search`` is what it tried. The ratio is the
median over the rounds of explain to bare in the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

from pyharness.releases.locate import resolve
from pyharness.releases.model import Release

PROBLEMS = (
    "algo=persist_static data_type=double math_prec=double",
    "seq_lengths=[5,7,0,3] max_seq_length=7 layout=seq_major_packed",
    "max_seq_length=70000",
    "hidden_size=-5 aux_flags=7 max_seq_length=0",
    "data_type=half math_prec=double algo=persist_static aux_flags=9 cell_mode=gru proj_size=half",
)
BARE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
data = ctypes.c_void_p()
assert library.cudnnCreateRNNDataDescriptor(ctypes.byref(data)) == 0
lengths = (ctypes.c_int * 1)(70000)
assert library.cudnnSetRNNDataDescriptor(data, 0, 0, 70000, 1, 64, lengths, None) != 0
"""


def bare(release: Release) -> float:
    """Seconds of a process that makes one refused call."""
    folders = os.pathsep.join(str(d) for d in (release.path.parent, *release.library_dirs))
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", BARE, str(release.path)],
        check=True,
        env={**os.environ, "LD_LIBRARY_PATH": folders},
    )
    return time.perf_counter() - start


def explained(release: Release, problem: str) -> tuple[float, float]:
    """Seconds until an explanation begins, and until it ends."""
    words = ["explain", "--cudnn", release.name, "--no-since", *problem.split()]
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "pyharness.cli.main", *words], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.read(1)
        first = time.perf_counter() - start
        process.stdout.read()
    return first, time.perf_counter() - start


def tried(release: Release, problem: str) -> int:
    """How many problems the search put to the library."""
    words = ["explain", "--cudnn", release.name, "--no-since", "--json", *problem.split()]
    done = subprocess.run(
        [sys.executable, "-m", "pyharness.cli.main", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(json.loads(done.stdout)["tried"])


def main() -> None:
    """Prints one row a problem, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cudnn", default="latest")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    release = resolve(options.cudnn)
    print(f"cuDNN {release.name}, {options.rounds} rounds, {os.cpu_count()} cores, ", end="")
    print(f"{platform.system()}, Python {platform.python_version()}\n")
    print("| problem | search | bare | first | explain | explain / bare |")
    print("|---|---:|---:|---:|---:|---:|")
    bare(release)  # the files are in memory from here on
    for problem in PROBLEMS:
        searched = tried(release, problem)
        rounds = [(bare(release), *explained(release, problem)) for _ in range(options.rounds)]
        least, first, whole = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio = statistics.median(r[2] / r[0] for r in rounds)
        print(
            f"| `{problem}` | {searched:,} | {least:.2f} s | {first:.2f} s | {whole:.2f} s "
            f"| {ratio:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
