"""Random problems as a program's arguments, and what a log reader must make of them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pyharness.releases import Release
from pyharness.spec.calls import all_axes
from pyharness.spec.recording import Recording
from tests.logs.program import RNN

PROGRAM = Path(__file__).with_name("program.py")
VARIABLES = {
    "CUDNN_LOGLEVEL_DBG": "3",
    "CUDNN_LOGINFO_DBG": "1",
    "CUDNN_LOGWARN_DBG": "1",
    "CUDNN_LOGERR_DBG": "1",
}
FLOAT, DOUBLE, HALF = 0, 1, 2
LSTM = 2
Item = dict[str, Any]
Key = tuple[frozenset[tuple[str, str]], tuple[str, ...]]


def random_item(rng: random.Random) -> Item:
    """A problem that every release accepts on the host, and how often it is run in which mode."""
    cell = rng.randrange(4)
    hidden = rng.choice([1, 2, 7, 64, 1024])
    data_type = rng.choice([FLOAT, DOUBLE, HALF])
    batch, longest = rng.randint(1, 12), rng.randint(1, 60)
    others = sorted((rng.randint(1, longest) for _ in range(batch - 1)), reverse=True)
    item: Item = {
        "algo": 0,
        "cell_mode": cell,
        "bias_mode": rng.randrange(4),
        "direction_mode": rng.randrange(2),
        "input_mode": 0,
        "data_type": data_type,
        "math_prec": DOUBLE if data_type == DOUBLE else FLOAT,
        "math_type": rng.randrange(4),
        "input_size": rng.randint(1, 300),
        "hidden_size": hidden,
        "proj_size": rng.randint(1, hidden) if cell == LSTM and rng.random() < 0.4 else hidden,
        "num_layers": rng.randint(1, 4),
        "dropout": rng.randrange(2),
        "aux_flags": rng.randrange(2),
        "layout": rng.randrange(3),
        "max_seq_length": longest,
        "seq_lengths": [longest] * batch if rng.random() < 0.3 else [longest, *others],
        "modes": [rng.randrange(2) for _ in range(rng.randint(1, 3))],
    }
    if cell == LSTM and rng.random() < 0.4:
        item["clip"] = [-rng.randint(1, 9) / 4, rng.randint(1, 9) / 4]
    return item


def axis_texts(item: Item, major: int) -> dict[str, str]:
    """The axes of an item, spelled as a problem has them."""
    axes = all_axes()
    texts = {name: axes[name].label(item[name]) for name in (*RNN, "aux_flags") if name in item}
    if item.get("only") == "data":
        texts = {"data_type": axes["data_type"].label(item["data_type"])}
        texts["vector_size"] = str(item["vector_size"])
    else:
        texts["dropout"] = "present" if item["dropout"] else "null"
        if item["proj_size"] == item["hidden_size"]:
            texts["proj_size"] = "same"
        if "clip" in item and major >= 9:  # 8.x does not say it where the descriptor is used
            texts.update(clip_mode="minmax", lclip=repr(item["clip"][0]))
            texts["rclip"] = repr(item["clip"][1])
    if item.get("only") != "descriptor":
        lengths, longest = item["seq_lengths"], item["max_seq_length"]
        equal = all(n == longest for n in lengths)
        texts["seq_lengths"] = "equal" if equal else f"[{','.join(map(str, lengths))}]"
        texts["max_seq_length"] = str(longest)
        texts["batch_size"] = str(len(lengths))
        texts["layout"] = axes["layout"].label(item["layout"])
    if item.get("fill"):
        texts["padding_fill"] = "given"
    if "x_width" in item:
        texts["vector_size"] = str(item["x_width"])
    return texts


def key_of(item: Item, major: int, words: tuple[str, ...] = ()) -> Key:
    return frozenset(axis_texts(item, major).items()), words


def expected(items: list[Item], major: int) -> dict[Key, Counter[str]]:
    """Each problem with the calls that are made with it; only of whole problems."""
    found: dict[Key, Counter[str]] = {}
    for item in items:
        calls = found.setdefault(key_of(item, major), Counter())
        for mode in item["modes"]:
            calls["cudnnRNNForward"] += 1
            if mode == 1:
                calls["cudnnRNNBackwardData_v8"] += 1
                calls["cudnnRNNBackwardWeights_v8"] += 1
    return found


def found_in(recording: Recording) -> dict[Key, Counter[str]]:
    """What was read, in the same terms; a problem must stand there once."""
    found: dict[Key, Counter[str]] = {}
    for p in recording.problems:
        key = frozenset(p.problem.given.items()), p.disagreements
        assert key not in found, p
        found[key] = p.calls
    return found


def environment(release: Release, destination: str, threads: int = 1) -> dict[str, str]:
    paths = os.pathsep.join(str(d) for d in (release.path.parent, *release.library_dirs))
    return {
        **os.environ,
        **VARIABLES,
        "CUDNN_LOGDEST_DBG": destination,
        "LD_LIBRARY_PATH": paths,
        "THREADS": str(threads),
    }


def command(release: Release) -> list[str]:
    return [sys.executable, str(PROGRAM), str(release.path)]


def record(release: Release, items: list[Item], log: Path, threads: int = 1) -> Path:
    """Runs the program on these items; returns the log that the library wrote."""
    done = subprocess.run(
        command(release),
        input=json.dumps(items),
        text=True,
        env=environment(release, str(log), threads),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return log
