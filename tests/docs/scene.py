"""A folder in which a page's commands run as its reader's would: on real releases, or emulated."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyharness.releases import Release
from tests.logs.items import command, environment, random_item, record

_CALL = """#!/bin/bash
words=()
for word in "$@"; do
  case "$word" in
{cases}
  esac
  words+=("$word")
done
exec {python} -m pyharness.cli.main "${{words[@]}}"
"""
_PYTHON = '#!/bin/bash\nexec {python} "$@"\n'
# A program that uses the RNN API: it stands for the reader's own.
_TRAIN = """import json, os, subprocess, sys

env = {{**os.environ, **{env!r}}}
sys.exit(subprocess.run({command!r}, input={items!r}, text=True, env=env).returncode)
"""


def problems() -> list[dict[str, object]]:
    """What the program runs: a network that every release takes, and a packed batch, unsorted."""
    good = random_item(random.Random(1))
    good.update(data_type=0, math_prec=0, cell_mode=2, input_size=16, hidden_size=8, proj_size=8)
    good.update(num_layers=1, layout=0, seq_lengths=[5, 5], max_seq_length=5, modes=[0, 0, 1])
    good.pop("clip", None)
    packed = {"data_type": 0, "vector_size": 16, "max_seq_length": 5, "only": "data", "layout": 1}
    return [good, {**packed, "seq_lengths": [3, 5]}]


_SIZES = {"hidden_size": 16, "input_size": 16, "max_seq_length": 3, "batch_size": 2}
_SMALL = " ".join(f"--axis {name}={size}" for name, size in _SIZES.items())
# A card that is none takes its time: fewer and smaller problems, fewer runs, the same options.
_SHORTER = (
    (r"--preset \S+", f"--preset smoke/cells-lstm-float,cells-gru-float {_SMALL}"),
    *((rf"(?<!axis ){name}=\d\S*", f"{name}={size}") for name, size in _SIZES.items()),
    (r"(--axis hidden_size)=\S+:64", r"\1=16,32"),
    ("algo=all", "algo=standard,persist_static"),
    ("math_type=all", "math_type=default_math,fma_math"),
    (r"--runs \d+", ""),
    (r"(pyharness determinism .*)", r"\1 --runs 3"),
    (
        r"(pyharness determinism (?!.*--conditions).*)",
        r"\1 --conditions same_objects,fresh_process",
    ),
    (r"--(minutes|cycles) \d+", ""),
    (r"(pyharness soak .*)", r"\1 --cycles 40 --minutes 1"),
    (r"(pyharness check .*)", r"\1 --tries 0"),
    (r"--peer torch", ""),
    (r"(pyharness time .*)", r"\1 --processes 6 --passes forward_inference"),
    (r"(pyharness bench .*)", r"\1 --modes hot --passes forward_inference"),
    (r"(pyharness bench .*)", r"\1 --least-samples 3 --least-time 0 --precision 1"),
)


def shorter(line: str) -> str:
    """A command for a GPU, as it is run where there is none."""
    for pattern, instead in _SHORTER:
        line = re.sub(pattern, instead, line)
    return line


@dataclass(frozen=True)
class Scene:
    """A page's folder, and where ``pyharness`` and ``python`` are found for it."""

    folder: Path
    bin: Path
    env: Mapping[str, str]

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """What a shell makes of the line."""
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, **self.env, "PATH": f"{self.bin}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )


def write_tools(folder: Path, releases: Mapping[str, str]) -> Path:
    """A ``pyharness`` that takes each of these words for another, and a ``python``."""
    folder.mkdir(parents=True)
    cases = "\n".join(f"    {word}) word={other} ;;" for word, other in releases.items())
    for name, text in (("pyharness", _CALL), ("python", _PYTHON)):
        file = folder / name
        file.write_text(text.format(cases=cases or "    '') ;;", python=sys.executable))
        file.chmod(0o755)
    return folder


def write_files(folder: Path, old: Release, maps: Path) -> None:
    """What the pages' commands are given: a program, its logs, a problem, lengths and masks."""
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "maps").symlink_to(maps, target_is_directory=True)
    paths = {"LD_LIBRARY_PATH": environment(old, "")["LD_LIBRARY_PATH"]}
    items = json.dumps(problems())
    (folder / "train.py").write_text(_TRAIN.format(command=command(old), items=items, env=paths))
    record(old, problems(), folder / "app.12.log")
    record(old, problems()[:1], folder / "app.13.log")
    (folder / "ci").mkdir()
    packed = gzip.compress((folder / "app.13.log").read_bytes())
    (folder / "ci" / "app.log.gz").write_bytes(packed)
    (folder / "ci" / "gate.toml").write_text('[validity]\nnewly_refused = "any"\n')
    (folder / "requirements.txt").write_text("nvidia-cudnn-cu12==9.12.0.46\n")
    (folder / "problem.json").write_text('{"layout": "seq_major_packed", "batch_size": 2}\n')
    np.save(folder / "lengths.npy", np.array([5, 3, 2]))
    np.save(folder / "mask.npy", np.arange(5) < np.array([[5], [3], [2]]))
