"""The API log of a program on a GPU, with the handle and the stream in every entry."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from pyharness.logs import read_logs
from tests.gpu.conftest import Gpu

pytestmark = pytest.mark.gpu

PROGRAM = """
import torch
lstm = torch.nn.LSTM(24, 40, num_layers=2, bidirectional=True, device="cuda")
with torch.cuda.stream(torch.cuda.Stream()):
    for _ in range(2):
        lstm(torch.randn(7, 3, 24, device="cuda"))[0].sum().backward()
torch.cuda.synchronize()
"""
ON_A_DEVICE = re.compile(rb"GPU=\d+; Handle=0x[0-9a-f]+; StreamId=0x[0-9a-f]+")


def test_what_a_program_ran_is_read_back(gpu: Gpu, tmp_path: Path) -> None:
    if gpu.facts["emulated"]:
        pytest.skip("the emulator logs no call")
    if not torch.cuda.is_available():
        pytest.skip(f"PyTorch {torch.__version__} uses no GPU")
    log = tmp_path / "api.log"
    env = {**os.environ, "CUDNN_LOGLEVEL_DBG": "3", "CUDNN_LOGDEST_DBG": str(log)}
    subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, timeout=120)
    assert ON_A_DEVICE.search(log.read_bytes())
    recording = read_logs([log])
    assert (recording.incomplete, recording.not_held) == (0, Counter())
    assert recording.versions == {torch.backends.cudnn.version()}
    ran = [one for one in recording.problems if one.stages["forward_training"]]
    assert len(ran) == 1
    asked = {
        "cell_mode": 2, "data_type": 0, "direction_mode": 1, "input_size": 24, "hidden_size": 40,
        "num_layers": 2, "batch_size": 3, "max_seq_length": 7,
    }  # fmt: skip
    assert {name: ran[0].problem.value(name) for name in asked} == asked
    passes = ("forward_training", "backward_data", "backward_weights")
    assert [ran[0].stages[name] for name in passes] == [2, 2, 2]
