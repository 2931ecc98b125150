"""Every rule that the emulated libcudnn keeps is broken once, and noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.emulator.broken import Answer

RELEASES = ("8.9.7.29", "9.28.0.42")


BROKEN = {
    "x ends early": "x needs 288 bytes, its allocation ends after 287",
    "workspace ends early": "workspace needs",
    "reserve ends early": "reserve_space needs",
    "hy ends early": "hy needs",
    "y nowhere": "no allocation covers y",
    "x null": "no allocation covers x",
    "x misaligned": "x is not aligned",
    "small workspace": "workspace needs",
    "small reserve": "reserve_space needs",
    "large weight space": "the weight space has",
    "overlap": "hy and cy overlap",
    "backward alone": "the reserve space holds no forward pass",
    "backward after inference": "the reserve space holds no forward pass",
    "backward twice": "was used up",
    "backward twice, run": "was used up",
    "weights first": "there was no backward data pass",
    "other lengths": "another problem's forward pass",
    "not sized": "were not asked for this problem",
    "wrong h": "hDesc is not [layers * directions, batchSize, 4]",
    "short h": "hDesc is not [layers * directions, batchSize, 4]",
    "destroyed data": "xDesc is no RNN data descriptor, or destroyed",
    "no stream": "the handle's stream does not exist",
    "other batch built": "cudnnBuildRNNDynamic was not called",
    "small states": "the states need more bytes",
    "weight space of other size": "the weight space has",
}
# Seen only when the work has its turn: the call itself succeeds.
LATE = {
    "other input": "x is not what the forward pass read",
    "spoilt states": "the dropout states were not set, or overwritten",
    "freed": "x was freed before the pass ran",
    "spoilt reserve": "the reserve space holds no forward pass",
}
REFUSED = {
    "wide x": ("BAD_PARAM", "vectorSize != inputSize"),
    "null handle": ("BAD_PARAM", "!handle"),
    "null x descriptor": ("BAD_PARAM", "xDesc == NULL"),
    "all empty": ("BAD_PARAM", "every sequence is empty"),
    "one empty, backward": ("BAD_PARAM", "a sequence is empty"),
    "padded io off": ("BAD_PARAM", "CUDNN_RNN_PADDED_IO_ENABLED"),
    "static unequal": ("NOT_SUPPORTED", "equal length"),
    "static 1025": ("NOT_SUPPORTED", "hiddenSize > 1024"),
    "persistent in two directions": ("NOT_SUPPORTED", "one direction"),
    "build for standard": ("BAD_PARAM", "algo != CUDNN_RNN_ALGO_PERSIST_DYNAMIC"),
    "set mode": ("NOT_SUPPORTED", "CUDNN_WGRAD_MODE_SET"),
    "small_h tanh 385 forward": ("NOT_SUPPORTED", "hiddenSize > 384"),
    "small_h lstm 193 forward": ("NOT_SUPPORTED", "hiddenSize > 192"),
    "small_h tanh 257 backward": ("NOT_SUPPORTED", "hiddenSize > 256"),
    "small_h lstm 129 backward": ("NOT_SUPPORTED", "hiddenSize > 128"),
}
ACCEPTED = (
    "restored reserve",
    "one empty, forward",
    "padded io off, equal",
    "static 1024",
    "small_h tanh 384 forward",
    "small_h lstm 192 forward",
    "small_h tanh 256 backward",
    "small_h lstm 128 backward",
    "wrong device lengths",  # not looked at
    "null device lengths",
)


@pytest.mark.parametrize("release", RELEASES)
def test_rules_that_are_broken_are_noticed(release: str, child: Callable[..., Any]) -> None:
    every: dict[str, Answer] = child("broken:answers", [*BROKEN, *LATE, *REFUSED, *ACCEPTED],
                                     release=release, compute="on")  # fmt: skip
    for name, words in BROKEN.items():
        answer = every[name]
        assert answer.status == ("INVALID_VALUE" if name == "small states" else "BAD_PARAM"), name
        assert words in answer.reason, name
        assert [line.partition(": ")[2] for line in answer.reported] == [answer.reason], name
    for name, words in LATE.items():
        assert every[name].status == "SUCCESS", name
        assert any(words in line for line in every[name].reported), name
    for name, (status, words) in REFUSED.items():
        answer = every[name]
        assert (answer.status, answer.reported) == (status, []), name
        assert words in answer.reason, name
    for name in ACCEPTED:
        assert (every[name].status, every[name].reported) == ("SUCCESS", []), name
    for name in (*BROKEN, *REFUSED):
        assert every[name].last_error == ("" if release < "9" else every[name].reason), name


def test_device_lengths_are_needed_and_must_be_right_before_8_9_1(
    child: Callable[..., Any],
) -> None:
    names = ["null device lengths", "wrong device lengths"]
    missing, wrong = child("broken:answers", names, release="8.5.0.96").values()
    assert (missing.status, missing.reason) == ("BAD_PARAM", "devSeqLengths == NULL")
    assert missing.reported == []
    assert wrong.status == "SUCCESS"
    assert wrong.reported == ["cudnnRNNForward: devSeqLengths are not the lengths of xDesc"]


def test_a_destroyed_handle_is_gone(child: Callable[..., Any]) -> None:
    (answer,) = child("broken:answers", ["destroyed twice"]).values()
    assert answer.status == "BAD_PARAM"
    assert answer.reported == ["cudnnDestroy: there is no such cuDNN handle"]


def test_skip_input_needs_equal_widths(child: Callable[..., Any]) -> None:
    answer = child("broken:skip_input")
    assert (answer.status, answer.reported) == ("BAD_PARAM", [])
    assert "skip_input" in answer.reason


@pytest.mark.parametrize(
    ("what", "words"), [("", None), ("descriptor", "tensor descriptor"), ("handle", "cuDNN handle")]
)
def test_what_is_left_behind_is_reported(
    child: Callable[..., Any], what: str, words: str | None
) -> None:
    found = child("scenarios:leaves", what)
    assert len(found) == (0 if words is None else 1)
    assert all(words is not None and words in line for line in found)


def test_an_allocation_that_cudnn_loses_is_reported(child: Callable[..., Any]) -> None:
    (line,) = child("scenarios:leaves", "", fault="leak@cudnnRNNForward")
    assert "allocation" in line


def test_a_handle_needs_a_context_and_a_device_that_is_supported(child: Callable[..., Any]) -> None:
    assert child("scenarios:without_context")[0] == "NOT_INITIALIZED"
    for release, status in (
        ("8.9.7.29", "ARCH_MISMATCH"),
        ("9.28.0.42", "NOT_SUPPORTED_ARCH_MISMATCH"),
    ):
        assert child("scenarios:handle", release=release, unsupported_arch=1)[0] == status
    assert child("scenarios:handle")[0] == "SUCCESS"
