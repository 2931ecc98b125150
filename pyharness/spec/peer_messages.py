"""What a peer, a process that runs a framework, and its parent say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class PrepareModule:
    """Build the module and the tensors of the problem that these words describe."""

    kind: ClassVar[str] = "prepare_module"
    words: list[str]


@dataclass(frozen=True, slots=True)
class PeerReady:
    """What a peer stands on. None where there is no such thing: no cuDNN, no GPU.

    ``cuda``                the CUDA that it was built for: "13.0".
    ``cudnn``               cudnnGetVersion() of the library that it loaded: 91300.
    ``compute_capability``  major and minor.
    """

    kind: ClassVar[str] = "peer_ready"
    version: str
    cuda: str | None
    cudnn: int | None
    device_name: str
    threads: int
    compute_capability: list[int] | None
    multiprocessors: int | None


@dataclass(frozen=True, slots=True)
class ModulePrepared:
    """A forward pass went through; the shapes of x, y, h and c as they were."""

    kind: ClassVar[str] = "module_prepared"
    shapes: dict[str, list[int]]
