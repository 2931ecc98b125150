"""PyTorch as a peer, on the CPU: every kind of problem, and every way that it can go wrong."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pyharness.errors import HarnessError, UsageError
from pyharness.peer.client import PEER_PASSES, PeerCase, PeerTrouble, TorchPeer, torch_build
from pyharness.peer.torch_program import available_bytes
from pyharness.spec.messages import PeerReady
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.torch_algo import TorchBuild

SMALL = "input_size=6 hidden_size=8 max_seq_length=5 batch_size=3"
KINDS = [
    "",
    "cell_mode=gru",
    "cell_mode=rnn_tanh",
    "cell_mode=rnn_relu bias_mode=no_bias",
    "direction_mode=bidirectional num_layers=2",
    "proj_size=half direction_mode=bidirectional",
    "num_layers=3 dropout_rate=0.5",
    "initial_states=null",
    "cell_mode=gru initial_states=null",
    "layout=batch_major_unpacked",
    "layout=seq_major_packed seq_lengths=[5,3,1]",
    "layout=seq_major_packed seq_lengths=[5,5,2] cell_mode=gru direction_mode=bidirectional",
    "layout=seq_major_packed seq_lengths=equal proj_size=3 initial_states=null",
    "data_type=double math_prec=double",
    "data_type=half",
    "data_type=bfloat16 cell_mode=gru",
    "data_type=half math_type=fma_math cell_mode=rnn_tanh",
    "max_seq_length=1 batch_size=1 input_size=1 hidden_size=1",
]


def problem_of(text: str) -> Problem:
    words = dict(word.split("=") for word in f"{SMALL} {text}".split())
    return parse_problem([f"{name}={value}" for name, value in words.items()])


@pytest.fixture(scope="module")
def peer() -> Iterator[TorchPeer]:
    with TorchPeer("cpu") as started:
        yield started


def process_of(peer: TorchPeer) -> psutil.Process:
    processes = [p for p in psutil.Process().children() if "torch_program" in str(p.cmdline())]
    return processes[-1]


def test_it_says_what_it_stands_on(peer: TorchPeer) -> None:
    import importlib.metadata

    facts = peer.facts
    assert facts.version == importlib.metadata.version("torch")
    assert (facts.device_name, facts.cudnn, facts.compute_capability) == ("cpu", None, None)
    assert facts.threads >= 1
    assert torch_build(facts) is None


@pytest.mark.parametrize("text", KINDS)
def test_every_kind_of_problem_runs(peer: TorchPeer, text: str) -> None:
    problem = problem_of(text)
    case = peer.prepare(problem)
    assert isinstance(case, PeerCase), case
    assert case.shapes == problem.shapes
    assert (case.algo_forward, case.algo_backward) == (None, None)
    for pass_name in PEER_PASSES:
        samples = peer.sample(pass_name, "hot", 3)
        assert isinstance(samples, list), samples
        assert len(samples) == 3
        assert all(0 < s < 60 for s in samples)


def test_a_packed_batch_ends_with_its_longest_sequence(peer: TorchPeer) -> None:
    case = peer.prepare(problem_of("layout=seq_major_packed seq_lengths=[4,4,2]"))
    assert isinstance(case, PeerCase)
    assert case.shapes["x"] == (4, 3, 6)


def test_what_it_cannot_express_is_skipped(peer: TorchPeer) -> None:
    trouble = peer.prepare(problem_of("input_mode=skip_input"))
    assert isinstance(trouble, PeerTrouble)
    assert trouble.outcome == "skipped"
    assert "skip_input" in trouble.reason
    assert isinstance(peer.prepare(problem_of("")), PeerCase)


def test_what_the_machine_has_not_got_is_refused_before_it_is_touched(peer: TorchPeer) -> None:
    # 4 * 2 * 150,000^2 weights are 720 GB, which Linux might well lend.
    process = process_of(peer)
    before = process.memory_info().vms
    text = "hidden_size=150000 input_size=150000 batch_size=1 max_seq_length=1"
    trouble = peer.prepare(problem_of(text))
    assert isinstance(trouble, PeerTrouble)
    assert trouble.outcome == "out_of_memory"
    assert "bytes are needed at least" in trouble.reason
    assert process.memory_info().vms - before < 1 << 30
    assert isinstance(peer.prepare(problem_of("")), PeerCase)


def test_the_memory_that_a_machine_has(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:  24576 kB\nMemFree:  16 kB\nMemAvailable:     2048 kB\n")
    assert available_bytes(told) == 2048 * 1024
    told.write_text("MemTotal:  24576 kB\n\n")
    assert available_bytes(told) is None
    assert available_bytes(tmp_path / "none") is None
    available = available_bytes()
    assert available is not None
    assert available == pytest.approx(psutil.virtual_memory().available, rel=0.2)


def test_too_large_a_problem_is_out_of_memory(peer: TorchPeer) -> None:
    huge = problem_of("hidden_size=300000000")
    trouble = peer.prepare(huge)
    assert isinstance(trouble, PeerTrouble)
    assert trouble.outcome == "out_of_memory"
    with pytest.raises(HarnessError, match="no module was prepared"):
        peer.sample("backward", "hot", 1)
    assert isinstance(peer.prepare(problem_of("")), PeerCase)


@pytest.mark.parametrize(
    ("pass_name", "mode", "words"),
    [("backward_data", "hot", "no pass backward_data"), ("backward", "cold", "hot, not cold")],
)
def test_what_it_does_not_time_is_refused(
    peer: TorchPeer, pass_name: str, mode: str, words: str
) -> None:
    assert isinstance(peer.prepare(problem_of("")), PeerCase)
    with pytest.raises(HarnessError, match=words):
        peer.sample(pass_name, mode, 1)


def test_a_death_is_told_and_the_next_peer_works() -> None:
    with TorchPeer("cpu") as peer:
        assert isinstance(peer.prepare(problem_of("")), PeerCase)
        process_of(peer).send_signal(signal.SIGSEGV)
        trouble = peer.sample("backward", "hot", 1)
        assert isinstance(trouble, PeerTrouble)
        assert trouble.outcome == "failed"
        assert "SIGSEGV" in trouble.reason
        assert not peer.alive
        again = peer.prepare(problem_of(""))
        assert isinstance(again, PeerTrouble)
        assert again.outcome == "failed"


def test_a_peer_that_stands_still_is_ended() -> None:
    with TorchPeer("cpu", timeout_s=0.5) as peer:
        process = process_of(peer)
        process.suspend()
        trouble = peer.prepare(problem_of(""))
        assert isinstance(trouble, PeerTrouble)
        assert (trouble.outcome, trouble.reason) == (
            "failed",
            "the peer ended: no answer for 0.5 s",
        )
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_peer_dies_with_its_parent() -> None:
    program = """
import os, sys
from pyharness.peer.client import TorchPeer
peer = TorchPeer("cpu")
print("torch" in sys.modules, flush=True)
import psutil
print(psutil.Process().children()[0].pid, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    imported, pid = done.stdout.split()
    assert imported == "False", "only the peer's process may import torch"
    assert done.returncode == -signal.SIGKILL
    try:
        _, alive = psutil.wait_procs([psutil.Process(int(pid))], timeout=60)
    except psutil.NoSuchProcess:
        alive = []
    assert not alive


# Stand-ins for PyTorch, to be found in place of it.
NO_TORCH = "raise ImportError('No module named torch')"
NO_GPU = """
__version__ = "2.13.0+cu130"
class version: cuda = "13.0"
class cuda:
    is_available = staticmethod(lambda: COUNT > 0)
    device_count = staticmethod(lambda: COUNT)
"""
DIES = "import os; os.abort()"


def stand_in(folder: Path, source: str) -> tuple[tuple[str, str], ...]:
    (folder / "torch.py").write_text(source)
    return (("PYTHONPATH", str(folder)),)


@pytest.mark.parametrize(
    ("source", "device", "words"),
    [
        (NO_TORCH, "cpu", "peer torch cannot be used: No module named torch"),
        (NO_GPU.replace("COUNT", "0"), "cuda", "was built for CUDA 13.0 and finds no GPU"),
        (NO_GPU.replace("COUNT", "2"), "cuda:2", "for CUDA 13.0 and sees 2 GPUs: no cuda:2"),
    ],
)
def test_a_pytorch_that_will_not_do(tmp_path: Path, source: str, device: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        TorchPeer(device, env=stand_in(tmp_path, source))
    assert caught.value.exit_code == 2
    assert ("pip install torch" in caught.value.hint) == (source == NO_TORCH)


def test_a_pytorch_that_ends_the_process(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="ended while it started: SIGABRT") as caught:
        TorchPeer("cpu", env=stand_in(tmp_path, DIES))
    assert caught.value.exit_code == 1


def test_a_gpu_is_asked_of_a_pytorch_without() -> None:
    import torch

    if torch.version.cuda is not None:
        pytest.skip("this PyTorch was built for CUDA")
    with pytest.raises(UsageError, match="was built without CUDA") as caught:
        TorchPeer("cuda")
    assert f"PyTorch {torch.__version__}" in caught.value.message


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", ""])
def test_a_device_that_is_none(device: str) -> None:
    with pytest.raises(UsageError, match="is no device of a peer"):
        TorchPeer(device)


@pytest.mark.parametrize(
    ("version", "build"),
    [
        ("2.13.0+cu130", TorchBuild((2, 13), 91300, (9, 0), 132)),
        ("1.12.1", TorchBuild((1, 12), 91300, (9, 0), 132)),
        ("2.10.0a0+git1234", TorchBuild((2, 10), 91300, (9, 0), 132)),
    ],
)
def test_what_its_choice_depends_on(version: str, build: TorchBuild) -> None:
    assert torch_build(PeerReady(version, "13.0", 91300, "GPU", 2, [9, 0], 132)) == build


def test_memory_is_given_back_and_taken_again(peer: TorchPeer) -> None:
    problem = problem_of("")
    assert isinstance(peer.prepare(problem), PeerCase)
    assert peer.release() is None
    with pytest.raises(HarnessError, match="no module was prepared"):
        peer.sample("forward_inference", "hot", 1)
    assert peer.release() is None  # nothing to give is no trouble
    assert isinstance(peer.prepare(problem), PeerCase)
    assert peer.sample("forward_inference", "hot", 1)
