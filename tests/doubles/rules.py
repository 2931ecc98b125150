"""What the fake library must answer, told from the arguments by a second hand.

Nothing here uses the code under test: arguments are plain numbers, in the order of the C function.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

HARMFUL = {666: "SIGSEGV", 667: "no answer for", 668: "SIGABRT", 669: "exit status 7"}
BAD_PARAM, NOT_SUPPORTED = 2000, 3000
NAMES = {0: "SUCCESS", BAD_PARAM: "BAD_PARAM", NOT_SUPPORTED: "NOT_SUPPORTED"}
Answer = tuple[int, str | None]
ACCEPTED: Answer = (0, None)


def proj_size(word: str | int, hidden_size: int) -> int:
    """The number that a value of the proj_size axis stands for."""
    rules = {
        "same": hidden_size,
        "half": abs(hidden_size) // 2 * (1 if hidden_size > 0 else -1),
        "over": min(hidden_size + 1, 2**31 - 1),
    }
    return rules[word] if word in rules else int(word)


def descriptor(row: Mapping[str, int | str], *, tame: bool = False) -> Answer | str:
    """The answer to cudnnSetRNNDescriptor_v8, or what ends the process.

    ``row``  the axes by name; proj_size may be a rule's word. Reasons of None are none at all.
    """
    hidden, layers, algo = int(row["hidden_size"]), int(row["num_layers"]), int(row["algo"])
    proj = proj_size(row["proj_size"], hidden)
    if not tame and hidden in HARMFUL:
        return HARMFUL[hidden]
    if not tame and hidden == 670:
        return {1: 12345, 2: 7777, 3: -5}.get(layers, 20000 + layers), None
    if hidden <= 0:
        return BAD_PARAM, "hiddenSize < 1"
    if int(row["aux_flags"]) not in (0, 1):
        return BAD_PARAM, "auxFlags > 1"
    if layers <= 0:
        return BAD_PARAM, f"numLayers < 1 with algo {algo}"
    if proj > hidden:
        return NOT_SUPPORTED, "projSize > hiddenSize"
    if proj < hidden and int(row["cell_mode"]) != 2:
        return NOT_SUPPORTED, "projection without LSTM"
    if int(row["data_type"]) == 1 and algo in (1, 3):
        return NOT_SUPPORTED, None
    return ACCEPTED


def clip(mode: int, lclip: float, rclip: float) -> Answer:
    """The answer to cudnnRNNSetClip_v8 and _v9."""
    if mode not in (0, 1):
        return BAD_PARAM, "clipMode is no mode"
    if math.isnan(lclip) or math.isnan(rclip):
        return BAD_PARAM, "clip is NaN"
    return (NOT_SUPPORTED, "lclip > rclip") if lclip > rclip else ACCEPTED


def data(layout: int, max_seq_length: int, batch_size: int, lengths: Sequence[int]) -> Answer:
    """The answer to cudnnSetRNNDataDescriptor."""
    if max_seq_length < 1:
        return BAD_PARAM, "maxSeqLength < 1"
    if batch_size < 1:
        return BAD_PARAM, "batchSize < 1"
    wrong = [n for n in lengths if n > max_seq_length or n < 0]
    if wrong:
        over = wrong[0] > max_seq_length
        return BAD_PARAM, "seqLength > maxSeqLength" if over else "seqLength < 0"
    if layout == 1 and list(lengths) != sorted(lengths, reverse=True):
        return NOT_SUPPORTED, "isSortedSequences == false"
    return ACCEPTED


def tensor(dims: Sequence[int], strides: Sequence[int]) -> Answer:
    """The answer to cudnnSetTensorNdDescriptor."""
    if not 3 <= len(dims) <= 8:
        return BAD_PARAM, "nbDims out of range"
    if min(dims) < 1:
        return BAD_PARAM, "dim < 1"
    return (NOT_SUPPORTED, "stride < 1") if min(strides) < 1 else ACCEPTED
