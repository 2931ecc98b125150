"""The peer process: times problems through PyTorch's modules, as its parent asks.

PyTorch loads a cuDNN of its own, so it is imported here and nowhere else.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pyharness.device import core
from pyharness.peer.torch_network import Clock, TorchNetwork
from pyharness.spec import messages as m
from pyharness.spec.footprint import at_least
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.torch_module import torch_module

_UNSUPPORTED = "CUDNN_STATUS_NOT_SUPPORTED"
_NO_HOST_MEMORY = "can't allocate memory"  # no class of its own tells it


class Session:
    """PyTorch on a device, and the network in use."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch, self._device = torch, device
        self._clock = Clock(torch, device)
        self._network: TorchNetwork | None = None

    def ready(self) -> m.PeerReady:
        """What PyTorch says of itself and of the device."""
        torch, cuda = self._torch, self._device.type == "cuda"
        about = torch.cuda.get_device_properties(self._device) if cuda else None
        return m.PeerReady(
            version=str(torch.__version__),
            cuda=torch.version.cuda,
            cudnn=torch.backends.cudnn.version() if cuda else None,
            device_name=about.name if about else "cpu",
            threads=torch.get_num_threads(),
            compute_capability=[about.major, about.minor] if about else None,
            multiprocessors=about.multi_processor_count if about else None,
        )

    def answer(self, request: m.Message) -> m.Message:
        """What becomes of a request."""
        match request:
            case m.PrepareModule(words):
                return self._prepare(words)
            case m.Sample(pass_name, mode, count) if self._network is not None:
                if mode != "hot":
                    return m.Refused("request", f"a peer is timed hot, not {mode}")
                return self._sample(self._network, pass_name, count)
            case m.Sample():
                return m.Refused("request", "no module was prepared")
            case m.ClosePlan():
                self._network = None
                if self._device.type == "cuda":
                    self._torch.cuda.empty_cache()
                return m.Done()
            case _:
                return m.Refused("request", f"a peer is not asked {request.kind}")

    def refusal(self, error: Exception) -> m.Refused:
        """What an error of PyTorch means."""
        text = str(error)
        if isinstance(error, self._torch.cuda.OutOfMemoryError) or _NO_HOST_MEMORY in text:
            return m.Refused("memory", text)
        return m.Refused("unsupported" if _UNSUPPORTED in text else "call", text)

    def _prepare(self, words: list[str]) -> m.Message:
        self._network = None  # its memory is free before the next needs any
        problem = parse_problem(words)
        asked = torch_module(problem, cuda=self._device.type == "cuda")
        if isinstance(asked, str):
            return m.Refused("unsupported", asked)
        if self._device.type == "cpu" and (lacking := _lacking(problem)):
            return m.Refused("memory", lacking)
        self._torch.backends.cudnn.allow_tf32 = asked.tf32
        self._torch.backends.cuda.matmul.allow_tf32 = asked.tf32
        self._network = TorchNetwork(self._torch, asked, self._device)
        return m.ModulePrepared(self._network.shapes)

    def _sample(self, network: TorchNetwork, pass_name: str, count: int) -> m.Message:
        # whether it trains, what is done before each sample, what is timed
        passes: dict[str, tuple[bool, Callable[[], object], Callable[[Any], object]]] = {
            "forward_inference": (False, lambda: None, lambda _: network.forward()),
            "forward_training": (True, lambda: None, lambda _: network.forward()),
            "backward": (True, network.forward, network.backward),
            "training_step": (True, lambda: None, lambda _: network.backward(network.forward())),
        }
        if pass_name not in passes:
            return m.Refused("request", f"a peer has no pass {pass_name}: {', '.join(passes)}")
        training, first, work = passes[pass_name]

        def before() -> object:
            network.forget()
            return first()

        network.train(training)
        with self._torch.set_grad_enabled(training):
            return m.Sampled(self._clock.samples(count, work, before))


def _lacking(problem: Problem) -> str:
    """What this machine has not got for a problem; empty if it may fit.

    Linux lends memory that it has not got, and ends some process once it is written.
    """
    available = available_bytes()
    needed = at_least(problem, "training")
    if available is None or needed <= available:
        return ""
    return f"{needed:,} bytes are needed at least, {available:,} are available"


def available_bytes(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """The memory of this machine that processes can have without swapping; None if untold."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    told = (line.split() for line in lines)
    return next((int(words[1]) << 10 for words in told if words[:1] == ["MemAvailable:"]), None)


def opened(device: str) -> Session | m.Refused:
    """PyTorch on a device: cpu, or cuda:N."""
    try:
        import torch  # noqa: PLC0415 - only here, and its absence is an answer
    except ImportError as error:
        return m.Refused("load", str(error))
    kind, _, ordinal = device.partition(":")
    if kind == "cuda":
        built = f"PyTorch {torch.__version__} was built "
        if torch.version.cuda is None:
            return m.Refused("driver", f"{built}without CUDA")
        built += f"for CUDA {torch.version.cuda} and "
        if not torch.cuda.is_available():
            return m.Refused("driver", f"{built}finds no GPU that it can use")
        if int(ordinal) >= torch.cuda.device_count():
            return m.Refused("driver", f"{built}sees {torch.cuda.device_count()} GPUs: no {device}")
        torch.cuda.set_device(int(ordinal))
    return Session(torch, torch.device(device))


def serve(connection: Connection, device: str) -> None:
    """Opens the device, then answers requests until the connection closes."""
    session = opened(device)
    if isinstance(session, m.Refused):
        connection.send_bytes(m.encode(session))
        return
    connection.send_bytes(m.encode(session.ready()))
    while True:
        try:
            request = m.decode(connection.recv_bytes())
        except EOFError:
            return
        try:
            answer = session.answer(request)
        except (RuntimeError, ValueError, TypeError) as error:
            answer = session.refusal(error)
        connection.send_bytes(m.encode(answer))


def main() -> None:
    """Entry point: ``torch_program CONNECTION_FD DEVICE``."""
    core().die_with_parent()
    serve(Connection(int(sys.argv[1])), sys.argv[2])
    ctypes.CDLL(None).fflush(None)  # cuDNN's log
    os._exit(0)  # past CUDA's own exit handlers: nothing is left that they could do
