"""One problem through every host call, on real releases and on the fake library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness import try_problem
from pyharness.api.trying import try_calls
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release
from pyharness.spec.problem import CallResult, parse_problem

ROLES = ["descriptor", "x", "y", "h", "c"]
SIZES = "inputSize < 1 || hiddenSize < 1 || numLayers < 1"
STATIC = "algo == CUDNN_RNN_ALGO_PERSIST_STATIC || algo == CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H"
UNSORTED = "isSortedSequences == false"


def by_role(results: list[CallResult]) -> dict[str, CallResult]:
    return {r.role: r for r in results}


@pytest.mark.parametrize(("release", "number"), [("8.9.7.29", 3), ("9.28.0.42", 2000)])
def test_a_size_of_zero_in_the_words_of_the_library(release: str, number: int) -> None:
    results = by_role(try_problem(release, {"hidden_size": 0}))
    assert list(results) == ROLES
    assert results["descriptor"] == CallResult(
        "descriptor",
        "cudnnSetRNNDescriptor_v8",
        "descriptor",
        "BAD_PARAM",
        number,
        "unsupported",
        SIZES,
    )
    assert results["x"].status == "SUCCESS"  # input_size wide
    for role, call in (("y", "cudnnSetRNNDataDescriptor"), ("h", "cudnnSetTensorNdDescriptor")):
        assert (results[role].call, results[role].status) == (call, "BAD_PARAM")
    assert str(results["y"].reason) == "maxSeqLength <= 0 || batchSize <= 0 || vectorSize <= 0"


@pytest.mark.parametrize(("release", "number"), [("8.9.7.29", 9), ("9.28.0.42", 3000)])
def test_what_is_not_supported_in_the_words_of_the_library(release: str, number: int) -> None:
    words = ["algo=persist_static", "data_type=double", "math_prec=double"]
    results = by_role(try_problem(release, words))
    said = results.pop("descriptor")
    assert (said.status, said.status_code, said.reason) == ("NOT_SUPPORTED", number, STATIC)
    for result in results.values():
        assert (result.status, result.outcome, result.reason) == ("SUCCESS", "passed", None)


def test_a_list_of_lengths_sets_the_batch() -> None:
    words = ["seq_lengths=[3,5,1]", "max_seq_length=5", "layout=seq_major_packed"]
    results = by_role(try_problem("9.28.0.42", words))
    assert (results["x"].status, results["x"].reason) == ("BAD_PARAM", UNSORTED)
    good = ["seq_lengths=[5,3,1]", *words[1:]]
    assert {r.status for r in try_problem("9.28.0.42", good)} == {"SUCCESS"}


@pytest.mark.parametrize(
    ("release", "call"),
    [("8.9.7.29", "cudnnRNNSetClip_v8"), ("9.28.0.42", "cudnnRNNSetClip_v9")],
)
def test_clipping_is_tried_where_it_is_asked_for(release: str, call: str) -> None:
    results = by_role(try_problem(release, ["lclip=1", "rclip=-1"]))
    assert list(results) == ["descriptor", "clip", "x", "y", "h", "c"]
    assert (results["clip"].call, results["clip"].status) == (call, "BAD_PARAM")
    assert "lclip > rclip" in str(results["clip"].reason)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the fake library writes every call and its arguments."""
    monkeypatch.setenv("FAKE_CUDNN_LOG", str(tmp_path / "calls"))
    return tmp_path / "calls"


def test_every_call_gets_the_arguments_of_the_problem(fake: Path, log: Path) -> None:
    words = ["cell_mode=lstm", "hidden_size=32", "proj_size=half", "input_size=48"]
    words += ["direction_mode=bidirectional", "num_layers=2", "data_type=half"]
    words += ["seq_lengths=[5,3,0]", "max_seq_length=7", "lclip=-2", "rclip=3"]
    results = try_problem(str(fake), words)
    assert [r.status for r in results] == ["SUCCESS"] * 6
    calls = [line.split(" ", 2)[1:] for line in log.read_text().splitlines()]
    # Data type, layout, longest, batch, width, fill, then the lengths.
    assert [c for c in calls if c[0] == "cudnnSetRNNDataDescriptor"] == [
        ["cudnnSetRNNDataDescriptor", "2,0,7,3,48,0,5,3,0"],
        ["cudnnSetRNNDataDescriptor", "2,0,7,3,32,0,5,3,0"],  # 2 directions of 16
    ]
    assert [c[1] for c in calls if c[0] == "cudnnSetTensorNdDescriptor"] == [
        "2,3;4,3,16;48,16,1",  # h: layers x directions, the batch of three, proj_size
        "2,3;4,3,32;96,32,1",
    ]
    descriptors = [c[1] for c in calls if c[0] == "cudnnSetRNNDescriptor_v8"]
    assert descriptors[0] == "0,2,2,1,0,2,0,0,48,32,16,2,1,1"
    assert ["cudnnRNNSetClip_v9", "2,1,-1,-0x1p+1,0x1.8p+1"] in calls


def test_a_call_that_kills_the_worker_is_said_and_the_others_are_tried(fake: Path) -> None:
    results = by_role(try_problem(str(fake), ["hidden_size=666"]))
    assert list(results) == ROLES
    dead = results["descriptor"]
    assert (dead.status, dead.status_code, dead.outcome) == (None, None, "failed")
    # What lies beside the library is told too, and prose is not offered as a command.
    assert str(dead.reason).startswith("the worker ended: SIGSEGV; libcudnn_fake.so.9 needs ")
    assert "pip install" not in str(dead.reason)
    assert [results[r].outcome for r in ROLES[1:]] == ["passed"] * 4


def test_a_hang_ends_after_the_time_that_was_given(fake_release: Release) -> None:
    results = by_role(try_calls(fake_release, parse_problem(["hidden_size=667"]), timeout_s=0.3))
    assert str(results["descriptor"].reason).startswith("the worker ended: no answer for 0.3 s")
    assert results["x"].status == "SUCCESS"


def test_a_library_that_forgets_what_it_accepted_has_failed(fake: Path) -> None:
    said = by_role(try_problem(str(fake), ["hidden_size=672"]))["descriptor"]
    assert (said.status, said.outcome) == ("SUCCESS", "failed")
    assert str(said.reason).startswith("accepted, but ")


def test_a_missing_call_is_left_out(build: Callable[..., Path]) -> None:
    results = try_problem(str(build("WITHOUT_OPTIONAL")), ["lclip=0"])
    assert [r.call for r in results if r.role == "clip"] == ["cudnnRNNSetClip_v8"]


def test_what_cannot_be_opened_is_an_error(build: Callable[..., Path]) -> None:
    with pytest.raises(HarnessError, match="ended while it opened") as caught:
        try_problem(str(build("DIES_ON_LOAD")), [])
    assert caught.value.exit_code == 1


def test_a_problem_that_cannot_be_described(fake: Path) -> None:
    with pytest.raises(UsageError, match="unknown key 'hiden_size'") as caught:
        try_problem(str(fake), {"hiden_size": 3})
    assert caught.value.hint.startswith("did you mean hidden_size")
    with pytest.raises(UsageError, match="more than one value"):
        try_problem(str(fake), {"hidden_size": [1, 2]})


def test_lengths_may_be_a_list_and_set_the_batch() -> None:
    by_text = try_problem(
        "9.28.0.42", ["seq_lengths=[3,5]", "max_seq_length=5", "layout=seq_major_packed"]
    )
    by_list = try_problem(
        "9.28.0.42", {"seq_lengths": [3, 5], "max_seq_length": 5, "layout": "seq_major_packed"}
    )
    assert by_list == by_text
    assert by_role(by_list)["x"].reason == UNSORTED


def test_a_derived_width_that_fits_no_argument_skips_one_call(fake: Path) -> None:
    words = ["hidden_size=2147483647", "direction_mode=bidirectional"]
    results = by_role(try_problem(str(fake), words))
    assert list(results) == ROLES
    assert results.pop("y") == CallResult(
        "y",
        "cudnnSetRNNDataDescriptor",
        "data",
        None,
        None,
        "skipped",
        "y would be 4294967294 wide, which does not fit a 32-bit vector_size",
    )
    assert {r.outcome for r in results.values()} <= {"passed", "unsupported"}


def test_a_call_that_the_problem_cannot_make_is_skipped_not_dropped() -> None:
    results = by_role(try_problem("9.28.0.42", {"direction_mode": 2}))
    assert results["descriptor"].status == "BAD_PARAM"
    for role in ("h", "c"):
        assert (results[role].status, results[role].outcome) == (None, "skipped")
        assert results[role].reason == "direction_mode=2 has no meaning for this call"
    assert (
        by_role(try_problem("9.28.0.42", {"cell_mode": 9, "clip_mode": "minmax"}))["clip"].outcome
        == "skipped"
    )
