"""Reports about memory: what `pyharness memory` says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pyharness.releases import Release
from pyharness.spec.footprint import predict
from pyharness.spec.problem import parse_problem
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.emulator.build import EmulatedRelease
from tests.reports.cases import OTHER

run = test_main.run  # the fixture
ANSWERED = {
    "pytorch/pytorch#599",
    "soumith/cudnn.torch#259",
    "obryanlouis/qa#5",
    "tensorflow/tensorflow#39989",
}


def test_these_are_the_reports_that_it_answers() -> None:
    assert {case.source for case in OTHER if case.answered_by == "memory"} == ANSWERED


def training(run: Run, *words: object) -> dict[str, Any]:
    """The row of training, of one problem."""
    said = run("memory", *words, "--json")
    assert said.code == 0, said.err
    row: dict[str, Any] = json.loads(said.out)["problems"][1]
    return row


def test_six_times_the_memory_with_cudnn(run: Run) -> None:
    # pytorch/pytorch#599: over 14 GiB were in use. One step asks for a tenth of that: buffers of
    # earlier steps were kept.
    words = ["cell_mode=lstm", "input_size=512", "hidden_size=256"]
    row = training(run, *words, "batch_size=512", "max_seq_length=300")
    assert row["bytes"]["reserve_space"] == 5 * 300 * 512 * 256 * 4  # 0.79 GB
    assert 14 * 2**30 / row["bytes"]["total"] > 7


def test_the_reserve_space_bounds_the_batch_and_cannot_be_shared(run: Run) -> None:
    # soumith/cudnn.torch#259
    words = ["cell_mode=rnn_tanh", "direction_mode=bidirectional", "hidden_size=1760"]
    words += ["input_size=1760", "num_layers=7", "max_seq_length=500"]
    said = run("memory", *words, "--fit", "12GiB", "--vary", "batch_size")
    flat = " ".join(said.out.split())
    assert "a reserve space is kept from its forward pass to its backward passes" in flat
    best = max(b for b in range(1, 999) if _total(*words, f"batch_size={b}") <= 12 * 2**30)
    assert f"batch_size={best}: " in flat
    # Shorter sequences leave room for more of them.
    shorter = run("memory", *words[:-1], "max_seq_length=100", "--fit", "12GiB", "--vary",
                  "batch_size", "--json")  # fmt: skip
    assert json.loads(shorter.out)["fits"][0]["value"] > 3 * best


def _total(*words: str) -> int:
    return predict(parse_problem(words), "training").total


def test_no_memory_is_told_as_that_and_not_as_a_fault_of_dropout(
    run: Run,
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # obryanlouis/qa#5: cudnnSetDropoutDescriptor failed where no memory was left for its states.
    device = emulator(cudnn("9.28.0.42").path, memory_bytes=1 << 20)
    for name, value in device.env.items():
        monkeypatch.setenv(name, value)
    words = ["direction_mode=bidirectional", "dropout_rate=0.4", "batch_size=4", "hidden_size=75"]
    row = training(run, "--cudnn", device.cudnn, *words)
    assert row["outcome"] == "out_of_memory"
    assert row["asked_bytes"] > row["free_bytes"]
    assert row["free_bytes"] <= 1 << 20


def test_a_network_of_kilobytes_is_not_what_took_the_memory(run: Run) -> None:
    # tensorflow/tensorflow#39989: the framework had taken all of it before the handle was made.
    words = ["input_size=8", "hidden_size=4", "max_seq_length=10", "batch_size=32"]
    assert training(run, *words)["bytes"]["total"] < 100_000


def test_a_very_long_sequence(run: Run) -> None:
    # pytorch/pytorch#2267: the cause was not found; one reserve space is larger than 2^31 bytes.
    words = ["input_size=900", "hidden_size=600", "num_layers=2", "direction_mode=bidirectional"]
    row = training(run, *words, "batch_size=16", "max_seq_length=6000")
    assert row["bytes"]["reserve_space"] == 5_068_800_000
