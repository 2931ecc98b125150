"""How long it takes to say how far two results are apart, beside what reading them takes.

    python benchmarks/comparing.py [--megabytes 100] [--rounds 9]

Two results of one size lie in the host's memory: equal, with another last element, or with no equal
element. ``compare`` is what the harness does with them; ``copy``, the bare limit, reads as many
bytes once and writes them. Both are the median of the rounds, in which they run one after the
other; ``compare / copy`` is the median of what each round had.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from pyharness.spec.differences import difference
from pyharness.spec.number_bits import BITS


def seconds(work: Callable[[], object]) -> float:
    """What something takes once."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Prints a row a type and pair, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    size = options.megabytes * 1_000_000
    print(f"{options.rounds} rounds of {options.megabytes} MB, {os.cpu_count()} cores, ", end="")
    print(f"{platform.system()}\n")
    print("| type | pair | compare | copy | compare / copy |")
    print("|---|---|---:|---:|---:|")
    numbers = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    numbers[7::8] &= 0x3F  # no number of any type is a NaN
    numbers[3::8] &= 0x3F
    numbers[1::2] &= 0x3F
    before, to = numbers.tobytes(), np.empty_like(numbers)
    for data_type, kind in BITS.items():
        last = numbers.copy()
        last[-np.dtype(kind).itemsize] ^= 1
        every = numbers.view(kind) ^ kind(1)
        for pair, changed in (("equal", numbers), ("last", last), ("all", every)):
            now = changed.tobytes()
            rounds = [
                (
                    seconds(partial(difference, before, now, data_type)),
                    seconds(lambda: np.copyto(to, numbers)),
                )
                for _ in range(options.rounds)
            ]
            compare, copy = (1e3 * statistics.median(x) for x in zip(*rounds, strict=True))
            ratio = statistics.median(round_[0] / round_[1] for round_ in rounds)
            print(f"| {data_type} | {pair} | {compare:.1f} ms | {copy:.1f} ms | {ratio:.1f} |")


if __name__ == "__main__":
    main()
