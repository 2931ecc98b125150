"""Reports about results that differ, are wrong, or cost memory: the command that shows each, on an
emulated release with the same fault, and on one without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pyharness.spec.soak import DEVICE_USED, HOST_USED
from tests.cli import test_main, test_map_stages
from tests.cli.test_main import Run
from tests.cli.test_map_stages import Emulate
from tests.reports.cases import GPU, OTHER

run = test_main.run  # the fixtures
emulate = test_map_stages.emulate
Data = dict[str, Any]
SMALL = "hidden_size=8 input_size=4 batch_size=2 max_seq_length=4"
PADDED = "seq_lengths=[4,2] aux_flags=padded_io_enabled"
COMMANDS = ("determinism", "accuracy", "check", "soak")


def differing(data: Data) -> set[tuple[str, str]]:
    """Conditions and tensors that do not repeat."""
    rows = data["repeatability"]
    return {(r["condition"], r["buffer"]) for r in rows if r["verdict"] == "not_repeatable"}


def beyond(data: Data) -> set[tuple[str, str]]:
    """Problems and tensors that rounding does not explain."""
    return {(r["name"], r["buffer"]) for r in data["accuracy"] if r["verdict"] == "beyond"}


def violated(data: Data) -> set[str]:
    """Checks that do not hold."""
    return {r["check"] for r in data["equivalences"] if r["verdict"] == "violated"}


def leaking(data: Data) -> set[str]:
    """What of the memory is called a leak."""
    trends = data["results"]["trends"]
    return {name for name, trend in trends.items() if trend["verdict"] == "leak"}


FINDS: dict[str, Callable[[Data], set[Any]]] = {
    "determinism": differing,
    "accuracy": beyond,
    "check": violated,
    "soak": leaking,
}


@dataclass(frozen=True)
class Shown:
    """A report as a fault, and what the command has to find.

    ``words``   of the command, beside a small problem.
    ``fault``   settings of the emulator.
    ``found``   all that is found.
    ``clean``   it is tried without the fault, too.
    """

    source: str
    command: str
    words: str
    fault: dict[str, Any]
    found: set[Any] = field(default_factory=set)
    clean: bool = True


EVERY = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")
ONCE = "--conditions same_objects --runs"
SHOWN = (
    # Of 40 runs one is wrong: who runs a problem twice does not see it.
    Shown(
        "apache/mxnet#16391",
        "determinism",
        f"direction_mode=bidirectional num_layers=2 {ONCE} 40",
        {"fault": "flip:dx@cudnnRNNBackwardData_v8:33"},
        {("same_objects", "dx")},
    ),
    Shown(
        "soumith/cudnn.torch#197",
        "determinism",
        "dropout=present dropout_rate=0.5 num_layers=2 --conditions same_objects,dropout_reseeded "
        "--runs 4",
        {"wrong": "stale_dropout"},
        {("dropout_reseeded", name) for name in EVERY},
    ),
    Shown(
        "pytorch/pytorch#18110",
        "determinism",
        f"direction_mode=bidirectional num_layers=3 {ONCE} 4",
        {"wrong": "order_run"},
        {("same_objects", name) for name in EVERY},
    ),
    Shown(
        "pytorch/pytorch#39849",
        "determinism",
        f"{ONCE} 4",
        {"wrong": "order_run"},
        {("same_objects", name) for name in EVERY},
    ),
    # Each run takes a process. That there is nothing to be found: tests/api/test_planted.py.
    Shown(
        "NVIDIA cuDNN 7.x release notes (known issues)",
        "determinism",
        "--conditions same_objects,cublas_workspace --runs 2",
        {"wrong": "order_cublas"},
        {("cublas_workspace", name) for name in EVERY},
        clean=False,
    ),
    Shown(
        "tensorflow/tensorflow#60192",
        "determinism",
        f"{PADDED} --conditions same_objects,padding_garbage --runs 2",
        {"wrong": "padding_read"},
        {("padding_garbage", name) for name in EVERY},
    ),
    # The first pass of the process, and no other.
    Shown(
        "NVIDIA cuDNN 7.6.0 release notes",
        "accuracy",
        "algo=persist_static --axis seed=0..2",
        {"fault": "flip:dx@cudnnRNNBackwardData_v8:1"},
        {(f"{SMALL} algo=persist_static seed=0", "dx")},
    ),
    Shown(
        "chainer/chainer#3955",
        "accuracy",
        "direction_mode=bidirectional num_layers=2",
        {"fault": "nan:dhx@cudnnRNNBackwardData_v8:1"},
        {(f"{SMALL} direction_mode=bidirectional num_layers=2", "dhx")},
    ),
    Shown(
        "jax-ml/jax#15183",
        "accuracy",
        f"direction_mode=bidirectional {PADDED}",
        {"wrong": "reverse_from_padding"},
        {
            (f"{SMALL} direction_mode=bidirectional {PADDED}", name)
            for name in ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")
        },
    ),
    Shown(
        "microsoft/onnxruntime#1361",
        "check",
        f"{PADDED} padding_fill=given --tries 0",
        {"wrong": "padding_unwritten"},
        {"padding_filled"},
    ),
    Shown(
        "soumith/cudnn.torch#278",
        "check",
        "--checks chunks_are_whole,inference_is_training --tries 0",
        {"wrong": "carried_state"},
        {"chunks_are_whole"},
    ),
    Shown(
        "pytorch/pytorch#1183",
        "soak",
        "direction_mode=bidirectional --cycles 150",
        {"fault": "leak_device:65536@cudnnRNNBackwardWeights_v8:*", "memory_bytes": 1 << 30},
        {DEVICE_USED},
    ),
    # Slowly: the memory of the host, 64 kB each time.
    Shown(
        "pytorch/pytorch#3665",
        "soak",
        "--cycles 300",
        {"fault": "leak_host:65536@cudnnDestroyRNNDescriptor:*"},
        {HOST_USED},
        clean=False,  # as the one before
    ),
)


def test_these_are_the_reports_that_they_answer() -> None:
    told = {(c.source, c.answered_by) for c in OTHER if c.answered_by in COMMANDS}
    told |= {(c.source, c.shown_by) for c in GPU if c.shown_by}
    assert {(shown.source, shown.command) for shown in SHOWN} == told


@pytest.mark.parametrize("shown", [pytest.param(shown, id=shown.source) for shown in SHOWN])
def test_the_command_shows_it_and_shows_nothing_where_it_is_not(
    shown: Shown, run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    for name, settings in (("faulty", shown.fault), *([("clean", {})] if shown.clean else [])):
        words = [shown.command, "--cudnn", emulate(**settings), *SMALL.split()]
        said = run(*words, *shown.words.split(), "--out", tmp_path / name, "--json")
        assert said.code == 0, said.err
        found = FINDS[shown.command](json.loads(said.out))
        assert found == (shown.found if settings else set()), name
