"""The algorithm that PyTorch hands to cuDNN: it chooses by a rule of its own, written down here."""

from __future__ import annotations

from dataclasses import dataclass

# The widest hidden_size for which PyTorch takes persist_static_small_h, forwards and backwards.
SMALL_H = {"rnn_relu": (384, 256), "rnn_tanh": (384, 256), "lstm": (192, 128), "gru": (192, 128)}
_SMALL_H_TORCH, _SMALL_H_CUDNN = (1, 12), 8201
_BFLOAT16_TORCH, _BFLOAT16_CUDNN = (2, 10), 91300


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """What the choice depends on, next to the problem.

    ``torch``               (major, minor) of PyTorch.
    ``cudnn``               cudnnGetVersion() of the cuDNN that it loaded: 91300.
    ``compute_capability``  (major, minor) of the GPU.
    ``multiprocessors``     of the GPU.
    """

    torch: tuple[int, int]
    cudnn: int
    compute_capability: tuple[int, int]
    multiprocessors: int


@dataclass(frozen=True, slots=True)
class AlgoQuestion:
    """What of a problem the choice depends on; ``packed``: a packed sequence is given."""

    cell_mode: str
    data_type: str
    input_size: int
    hidden_size: int
    num_layers: int
    bidirectional: bool
    projected: bool
    packed: bool
    batch_size: int
    steps: int


def torch_algo(asked: AlgoQuestion, build: TorchBuild, *, forward: bool) -> str | None:
    """The algorithm that PyTorch sets in the RNN descriptor.

    ``forward``  of the forward pass; else of the backward pass, which has narrower limits.
    Returns  the enumerator's name; None if PyTorch does not call cuDNN: bfloat16 before 2.10, or
             with a cuDNN before 9.13, or on a GPU before 8.0.
    Source   get_algo and what it calls in aten/src/ATen/native/cudnn/RNN.cpp, use_cudnn in
             aten/src/ATen/native/RNN.cpp. persist_static_small_h came with 1.12 (pull request
             73211, after 62143 was taken back), if cuDNN is 8.2.1 or newer; bfloat16 with 2.10
             (pull request 164411). The rest is the same from 1.11 to 2.13.
    """
    bfloat16 = (
        build.torch >= _BFLOAT16_TORCH
        and build.cudnn >= _BFLOAT16_CUDNN
        and build.compute_capability >= (8, 0)
    )
    if asked.data_type == "bfloat16" and not bfloat16:
        return None
    if asked.projected or asked.packed:
        return "standard"
    if _small_h(asked, build, forward):
        return "persist_static_small_h"
    if asked.data_type == "half" and _sizes_suit(asked) and _gpu_suits(asked, build):
        return "persist_static"
    return "standard"


def _small_h(asked: AlgoQuestion, build: TorchBuild, forward: bool) -> bool:
    forwards, backwards = SMALL_H[asked.cell_mode]
    return (
        build.torch >= _SMALL_H_TORCH
        and build.cudnn >= _SMALL_H_CUDNN
        and build.compute_capability >= (6, 0)
        and asked.data_type != "double"
        and asked.hidden_size <= (forwards if forward else backwards)
    )


def _sizes_suit(asked: AlgoQuestion) -> bool:
    """Whether PyTorch takes persist_static for a network of these sizes, on some GPU."""
    return (
        asked.num_layers == 1
        and not asked.bidirectional
        and asked.hidden_size <= 1024
        and asked.hidden_size % 128 == asked.input_size % 128 == 0
    )


def _gpu_suits(asked: AlgoQuestion, build: TorchBuild) -> bool:
    """Whether PyTorch takes persist_static on this GPU, by batch and steps."""
    batch, steps = asked.batch_size, asked.steps
    major, minor = build.compute_capability
    if major == 7:
        regular = (batch % 16 == 0 and batch not in (80, 112)) or batch == 8
        long = any(
            steps >= least and batch <= most for least, most in ((40, 128), (20, 96), (10, 32))
        )
        return minor != 5 and regular and long
    if major < 8 or minor == 6 or build.multiprocessors < 98 or asked.cell_mode == "gru":
        return False
    wide = asked.cell_mode != "lstm" and batch >= 96 and asked.hidden_size >= 896
    return batch % 8 == 0 and batch <= 128 and not wide
