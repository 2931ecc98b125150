"""``pyharness try``: one problem in words and as data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
SIZES = "inputSize < 1 || hiddenSize < 1 || numLayers < 1"
CALLS = [
    ("descriptor", "cudnnSetRNNDescriptor_v8", "descriptor"),
    ("x", "cudnnSetRNNDataDescriptor", "data"),
    ("y", "cudnnSetRNNDataDescriptor", "data"),
    ("h", "cudnnSetTensorNdDescriptor", "state"),
    ("c", "cudnnSetTensorNdDescriptor", "state"),
]


def test_a_refusal_in_words(run: Run) -> None:
    said = run("try", "--cudnn", "9.28.0.42", "hidden_size=0", "num_layers=2")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == "cuDNN 9.28.0.42+cu12: hidden_size=0 num_layers=2"
    filled = " ".join(lines[1:]).partition("  cudnnSet")[0].split()
    assert filled[:3] == ["with", "the", "defaults"]
    assert {"math_prec=float", "input_size=64", "batch_size=8"} <= set(filled)
    assert not [word for word in filled if word.startswith(("hidden_size", "num_layers"))]
    first = next(i for i, line in enumerate(lines) if line.startswith("  cudnn"))
    words = ["cudnnSetRNNDescriptor_v8", "RNN", "descriptor", "BAD_PARAM"]
    assert lines[first].split() == words
    assert lines[first + 1] == f"      {SIZES}"
    assert lines[first + 2].endswith("SUCCESS")
    calls = [line.split()[0] for line in lines if line.startswith("  cudnn")]
    assert calls == [call for _, call, _ in CALLS]
    assert lines[-1] == "of 5 calls 4 refused it"
    assert max(map(len, lines)) <= 100


def test_what_is_accepted_is_said_with_what_was_not_tried(run: Run) -> None:
    said = run("try", "--cudnn", "9.28.0.42", "data_type=bfloat16")
    assert said.code == 0
    last = "all 5 host calls accept it; what needs a GPU was not tried"
    assert said.out.splitlines()[-1] == last


def test_the_same_as_data(run: Run) -> None:
    said = run("try", "--cudnn", "8.9.7.29", "--json", "proj_size=over", "hidden_size=32")
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert set(data) == {"release", "problem", "defaults", "calls"}
    assert data["defaults"]["math_prec"] == "float"
    assert not set(data["defaults"]) & set(data["problem"])
    assert data["release"] == "8.9.7.29+cu12"
    assert data["problem"] == {"proj_size": "over", "hidden_size": "32"}
    assert [(c["role"], c["call"], c["stage"]) for c in data["calls"]] == CALLS
    first, *rest = data["calls"]
    assert (first["status"], first["status_code"], first["outcome"]) == (
        "NOT_SUPPORTED",
        9,
        "unsupported",
    )
    assert first["provenance"] == "observed"
    assert first["reason"] == "projSize > hiddenSize"
    for call in rest:
        assert (call["status"], call["status_code"], call["reason"]) == ("SUCCESS", 0, None)


def test_a_list_of_lengths_sets_the_batch(run: Run, fake: Path) -> None:
    words = ["try", "--cudnn", fake, "--json", "layout=seq_major_packed"]
    good = json.loads(run(*words, "seq_lengths=[5,3,0]").out)
    assert {c["status"] for c in good["calls"]} == {"SUCCESS"}
    assert good["defaults"]["batch_size"] == "3"
    bad = json.loads(run(*words, "seq_lengths=[3,5,0]").out)
    assert [c["reason"] for c in bad["calls"] if c["stage"] == "data"] == [
        "isSortedSequences == false"
    ] * 2
    said = run(*words, "seq_lengths=[5,3,0]", "batch_size=2")
    assert (said.code, said.out) == (2, "")
    assert "seq_lengths has a list of 3 entries, batch_size is 2" in said.err


def test_a_crash_is_told(run: Run, fake: Path) -> None:
    said = run("try", "--cudnn", fake, "hidden_size=668")
    assert said.code == 0
    first = next(line for line in said.out.splitlines() if line.startswith("  cudnn"))
    assert first.endswith("FAILED")
    assert "the worker ended: SIGABRT" in said.out
    assert said.out.splitlines()[-1] == "of 5 calls 1 failed"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["hiden_size=3"], "unknown key 'hiden_size'", "did you mean hidden_size"),
        (["cell_mode=lstn"], "unknown cell_mode 'lstn'", "did you mean lstm"),
        (["hidden_size=1,2"], "hidden_size=1,2 is more than one value", "pyharness map"),
        (["hidden_size=1..9"], "is more than one value", "pyharness map"),
        (["hidden_size="], "hidden_size has no values", "at least one"),
        (["hidden_size"], "cannot read 'hidden_size'", "key=value"),
        (["algo=0", "algo=1"], "algo is given twice", "one value for each key"),
        (["lclip=x"], "'x' is no number", "-inf"),
    ],
)
def test_what_cannot_be_tried(
    run: Run,
    fake: Path,
    words: list[str],
    message: str,
    hint: str,
) -> None:
    said = run("try", "--cudnn", fake, *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert message in said.err
    assert hint in said.err
    assert "Traceback" not in said.err
