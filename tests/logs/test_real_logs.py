"""Logs that real releases write: what goes in comes out."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.logs import read_logs
from pyharness.releases import Release
from pyharness.spec.recording import Said
from tests.logs.items import (
    Item,
    command,
    environment,
    expected,
    found_in,
    key_of,
    random_item,
    record,
)

RELEASES = ("8.5.0.96", "8.9.7.29", "9.10.2.21", "9.12.0.46", "9.28.0.42")
SIZES = "inputSize < 1 || hiddenSize < 1 || numLayers < 1"
Cudnn = Callable[[str], Release]


def major(release: str) -> int:
    return int(release.partition(".")[0])


def base(**changes: object) -> Item:
    """One fixed problem."""
    return {**random_item(random.Random(5)), "cell_mode": 2, "modes": [0], **changes}


@pytest.mark.parametrize("release", RELEASES)
def test_problems_come_back_exactly_with_their_counts(
    cudnn: Cudnn, tmp_path: Path, release: str
) -> None:
    rng = random.Random(release)
    items = [random_item(rng) for _ in range(40)]
    items += rng.choices(items, k=20)
    log = record(cudnn(release), items, tmp_path / "api.log")
    recording = read_logs([log])
    due, found = expected(items, major(release)), found_in(recording)
    if major(release) == 8:  # where clipping is told apart from what is clipped
        clipped = {k: n for k, n in found.items() if ("clip_mode", "minmax") in k[0]}
        clips = Counter(tuple(item["clip"]) for item in items if "clip" in item)
        told: Counter[tuple[float, float]] = Counter()
        for (given, _), calls in clipped.items():
            assert set(calls) == {"cudnnRNNSetClip_v8"}
            bounds = dict(given)
            told[float(bounds["lclip"]), float(bounds["rclip"])] += calls.total()
        assert told == clips
        found = {k: n for k, n in found.items() if k not in clipped}
    assert found == due
    assert (recording.incomplete, recording.not_held) == (0, Counter())
    for p in recording.problems:
        asked = p.calls["cudnnRNNForward"]
        if asked:  # the sizes were asked for before each, without a handle: that is told of it
            sizes = {s.call: n for s, n in p.said.items() if s.call.startswith("cudnnGetRNN")}
            assert sizes["cudnnGetRNNTempSpaceSizes"] == asked
            assert sizes["cudnnGetRNNWeightSpaceSize"] >= 1
    made = Counter(sum(due.values(), Counter()))
    for name, count in made.items():
        assert recording.calls[name] == count
    assert recording.calls["cudnnCreateRNNDescriptor"] == len(items)
    assert len(recording.origins) == 1
    stages = sum((p.stages for p in recording.problems), Counter())
    assert stages["forward_training"] == stages["backward_data"] == made["cudnnRNNBackwardData_v8"]


@pytest.mark.parametrize("release", RELEASES[1:])
def test_what_is_refused_is_a_problem_of_its_own(
    cudnn: Cudnn, tmp_path: Path, release: str
) -> None:
    items = [
        base(hidden_size=0, proj_size=1, only="descriptor"),
        base(only="data", vector_size=8, seq_lengths=[5, 9], max_seq_length=7, layout=0),
        base(only="data", vector_size=8, seq_lengths=[1] * 3, max_seq_length=70_000, layout=0),
        base(algo=9, only="descriptor"),
    ]
    recording = read_logs([record(cudnn(release), items, tmp_path / "api.log")])
    said = {frozenset(p.problem.given.items()): p for p in recording.problems}
    assert len(said) == len(items)
    first = said[key_of(items[0], major(release))[0]]
    assert first.roles == ("descriptor",)
    assert first.said == {Said("cudnnSetRNNDescriptor_v8", "BAD_PARAM", SIZES): 1}
    long = said[key_of(items[2], major(release))[0]]
    assert (long.roles, long.stages) == (("x",), {"data": 1})
    reason = "maxSeqLength > (0x7fff * 2 + 1)"
    assert long.said == {Said("cudnnSetRNNDataDescriptor", "NOT_SUPPORTED", reason): 1}
    # The library has no word for an algo that it does not know; the problem is there all the same.
    assert said[key_of(items[3], major(release))[0]].said == {}


def test_descriptors_that_contradict_each_other_are_told(cudnn: Cudnn, tmp_path: Path) -> None:
    wrong = base(
        proj_size=7,
        hidden_size=7,
        direction_mode=0,
        num_layers=2,
        input_size=16,
        data_type=0,
        math_prec=0,
        layout=0,
        max_seq_length=5,
        seq_lengths=[5, 3, 2],
        x_width=12,
        y_width=9,
        y_lengths=[5, 4, 2],
        h_dims=[2, 3, 8],
    )
    wrong.pop("clip", None)
    recording = read_logs([record(cudnn("9.28.0.42"), [wrong], tmp_path / "api.log")])
    (whole,) = [p for p in recording.problems if "y" in p.roles]
    assert whole.disagreements == (
        "x is 12 wide, input_size is 16",
        "y is 9 wide, the output is 7",
        "h is [2, 3, 8], [2, 3, 7] is due",
        "seq_lengths differ, first in row 1: 3 in x, 4 in y",
    )
    assert frozenset(whole.problem.given.items()) == key_of(wrong, 9)[0]
    assert len(recording.problems) == 1


@pytest.mark.parametrize("release", ["8.9.7.29", "9.28.0.42"])
def test_threads_of_a_process(cudnn: Cudnn, tmp_path: Path, release: str) -> None:
    rng = random.Random(11)
    items = [random_item(rng) for _ in range(12)] * 10
    for item in items:
        item.pop("clip", None)
    log = record(cudnn(release), items, tmp_path / "api.log", threads=4)
    recording = read_logs([log])
    assert found_in(recording) == expected(items, major(release))
    assert recording.incomplete == 0
    assert len({process for process, _ in recording.origins}) == 1
    assert len(recording.origins) == 4
    refused = sum(p.said.total() for p in recording.problems if "y" in p.roles)
    assert refused >= sum(p.count for p in recording.problems)  # every one without a handle


def test_processes_that_write_to_one_place_never_make_a_problem_up(
    cudnn: Cudnn, tmp_path: Path
) -> None:
    rng = random.Random(13)
    several = [[random_item(rng) for _ in range(12)] * 4 for _ in range(3)]
    release = cudnn("9.28.0.42")
    with (tmp_path / "mixed.log").open("ab") as mixed:
        running = [
            subprocess.Popen(
                command(release),
                env=environment(release, "stdout"),
                stdin=subprocess.PIPE,
                stdout=mixed,
            )
            for _ in several
        ]
        for process, items in zip(running, several, strict=True):
            assert process.stdin is not None
            process.stdin.write(json.dumps(items).encode())
            process.stdin.close()
        assert [process.wait() for process in running] == [0, 0, 0]
    recording = read_logs([tmp_path / "mixed.log"])
    due = expected([item for items in several for item in items], 9)
    for key, calls in found_in(recording).items():
        if "cudnnRNNForward" in calls:
            assert key in due
            assert calls <= due[key]
        else:
            assert any(
                key[0] <= whole[0] | {("vector_size", w)} for whole in due for w in widths(key)
            )


def widths(key: tuple[frozenset[tuple[str, str]], tuple[str, ...]]) -> list[str]:
    """The width of a data descriptor that was set, which a whole problem need not name."""
    return [text for name, text in key[0] if name == "vector_size"] or ["0"]
