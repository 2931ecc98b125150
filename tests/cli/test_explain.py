"""``pyharness explain``: what it prints, as text and as data."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pyharness.releases import Release
from pyharness.store.known_answers import read_known
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
RELEASES = len(read_known()[0].releases)
PACKED = ("seq_lengths=[5,7,0,3]", "max_seq_length=7", "layout=seq_major_packed")


def sections(text: str) -> list[list[str]]:
    """The parts between empty lines."""
    return [part.splitlines() for part in text.strip().split("\n\n")]


def test_a_refusal_in_words(run: Run) -> None:
    said = run("explain", "--cudnn", "9.28.0.42", *PACKED)
    assert (said.code, said.err) == (0, "")
    head, refusal, accepted, nearest, lengths, since, gpu, problem = sections(said.out)
    assert head == [f"cuDNN 9.28.0.42+cu12 refuses {' '.join(PACKED)}"]
    assert refusal == [
        "cudnnSetRNNDataDescriptor (data descriptor of x and data descriptor of y): BAD_PARAM",
        "  cuDNN's condition: isSortedSequences == false",
        "  to blame, each enough to change alone:",
        "    seqLengthArray (seq_lengths) = [5,7,0,3]",
        "        row 2: length 0, 3 of 4 sequences have steps",
        *refusal[5:7],
        "        allowed: 1 to max_seq_length=7, the longest 7, none longer than the one before",
        "    layout = seq_major_packed",
        "        allowed: seq_major_unpacked, batch_major_unpacked",
    ]
    assert "(row 1: 7 after 5)" in " ".join(refusal[5:7])
    assert accepted == ["accepted: RNN descriptor, tensor descriptor of h, tensor descriptor of c"]
    assert nearest[0].startswith("nearest accepted, of ")
    assert nearest[1] == "  1. seq_lengths=[7,5,3] batch_size=3"
    assert lengths[0] == "the lengths, with the same numbers in the end:"
    assert '      order = np.argsort(-lengths, kind="stable")' in lengths
    assert since[0].startswith("since when (the ")
    assert any("refused" in line and "9.28" in line for line in since)
    assert gpu[0] == "on a GPU (predicted from documents, not run here):"
    assert any(line.startswith("  - predicted: ") for line in gpu)
    assert gpu[-1].startswith("  grades: B ")
    assert problem[0] == "the problem:"
    assert problem[1].startswith("  with the defaults algo=standard ")
    assert any("so x 7x4x64, y 7x4x64, h 1x4x64, c 1x4x64" in line for line in problem)
    assert max(map(len, said.out.splitlines())) <= 100


def test_what_is_suggested_can_be_run_as_it_stands(run: Run) -> None:
    said = run("explain", "--cudnn", "9.28.0.42", "--no-since", *PACKED)
    lines = said.out.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("     pyharness try "))
    words = shlex.split(f"{lines[begin]} {lines[begin + 1]}")
    tried = run(*words[1:])
    assert tried.code == 0
    assert "all 5 host calls accept it" in tried.out


def test_long_lists_leave_no_line_too_wide(run: Run, tmp_path: Path) -> None:
    lengths = [12345 + i for i in range(300)]
    (tmp_path / "n.json").write_text(json.dumps(lengths))
    words = ("--lengths", tmp_path / "n.json", "layout=seq_major_packed", "--no-since")
    said = run("explain", "--cudnn", "9.28.0.42", *words)
    assert said.code == 0
    wide = [line for line in said.out.splitlines() if len(line) > 100]
    assert all("pyharness try" in line or "seq_lengths=[" in line for line in wide)
    assert "[12345,12346,12347,12348,12349,12350,12351,12352,…,12643,12644]" in said.out


def test_what_is_accepted(run: Run, cudnn: Callable[[str], Release]) -> None:
    for version in ("9.12.0.46", "9.13.0.50", "9.28.0.42"):
        cudnn(version)
    said = run("explain", "--cudnn", "9.28.0.42", "data_type=bfloat16")
    assert said.code == 0
    verdict, since, *_ = sections(said.out)
    assert verdict == ["cuDNN 9.28.0.42+cu12: all 5 host calls accept data_type=bfloat16"]
    assert since[-1].startswith("  accepted from 9.13.0 on (the newest is 9.2")


def test_since_when_says_what_it_rests_on(
    run: Run, tmp_path: Path, cudnn: Callable[[str], Release]
) -> None:
    cached = cudnn("9.28.0.42")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYHARNESS_CACHE", str(tmp_path))  # nothing to ask but the one in question
        words = ("explain", "--no-device", "--cudnn", cached.path)
        exact = sections(run(*words, "max_seq_length=65536").out)
        between = sections(run(*words, "hidden_size=100").out)
        beyond = sections(run(*words, "batch_size=20000").out)
        data = json.loads(run(*words, "--json", "hidden_size=100").out)
    (since,) = [s for s in exact if s[0].startswith("since when")]
    assert since[0].startswith(f"since when (the {RELEASES} releases of the atlas; ")
    assert since[1] == "  accepted by 8.5.0 to 8.9.0"
    assert since[2].startswith("  refused from 8.9.1 on (the newest is 9.28.1): ")
    assert len(since) == 3
    (since,) = [s for s in between if s[0].startswith("since when")]
    assert since[1] == "  accepted from 8.5.0 on (the newest is 9.28.1), derived"
    assert "hidden_size=100 lies between 64 and 1024" in " ".join(s.strip() for s in since)
    (since,) = [s for s in beyond if s[0].startswith("since when")]
    assert any(line.startswith("  not covered: 8.5.0 to ") for line in since)
    assert "batch_size=20000 is more than any that was tried" in " ".join(map(str.strip, since))
    assert data["since"][0]["basis"] == "derived"
    assert data["since_from"]["atlas"] == RELEASES
    assert data["since_from"]["wrong"] == []


def test_without_the_others(run: Run) -> None:
    said = run("explain", "--cudnn", "9.28.0.42", "--no-since", "hidden_size=0")
    assert said.code == 0
    assert "since when" not in said.out
    words = ("explain", "--cudnn", "9.28.0.42", "--no-since", "--json", "hidden_size=0")
    assert json.loads(run(*words).out)["since"] == []


def test_the_same_as_data(run: Run) -> None:
    said = run("explain", "--cudnn", "9.28.0.42", "--json", *PACKED)
    data = json.loads(said.out)
    assert (said.code, data["accepted"]) == (0, False)
    assert [r["role"] for r in data["refusals"]] == ["x", "y"]
    (lengths, layout) = data["refusals"][0]["blames"]
    assert (lengths["argument"], layout["argument"]) == ("seqLengthArray", "layout")
    assert [row["rows"] for row in lengths["rows"]] == [[2], [1, 3]]
    assert data["suggestions"][0]["problem"]["seq_lengths"] == "[7,5,3]"
    assert data["suggestions"][0]["levels"] == [0]
    assert data["since"][-1]["outcome"] == "refused"
    assert {p["provenance"] for p in data["predicted"]} == {"predicted"}
    assert "BD-LEN-ZERO" in {p["rule"] for p in data["predicted"]}
    assert [a["kind"] for a in data["advice"]] == ["empty", "unsorted"]
    again = shlex.split(data["suggestions"][0]["command"])
    assert again[:4] == ["pyharness", "try", "--cudnn", "9.28.0.42+cu12"]
    words = ("explain", "--cudnn", "9.28.0.42", "--json", *again[4:])
    assert json.loads(run(*words).out)["accepted"]


def test_a_mask_that_is_no_lengths(run: Run, tmp_path: Path) -> None:
    mask = np.ones((3, 4), bool)
    mask[1, :2] = False
    np.save(tmp_path / "m.npy", mask)
    said = run("explain", "--cudnn", "9.28.0.42", "--mask", tmp_path / "m.npy")
    assert said.code == 0
    first, verdict = sections(said.out)[:2]
    assert first[0] == (
        "no release takes this mask: row 1: masked steps before the first step that counts"
    )
    assert "shift it left by 2" in " ".join(first)
    assert '      order = np.argsort(~mask, axis=0, kind="stable")[..., None]' in first
    assert verdict[0].startswith(
        "as if every row were full, cuDNN 9.28.0.42+cu12: all 5 host calls"
    )
    data = json.loads(
        run("explain", "--cudnn", "9.28.0.42", "--mask", tmp_path / "m.npy", "--json").out
    )
    assert data["accepted"] is False
    assert data["reading"]["mask"]["lengths"] is None
    assert data["reading"]["mask"]["faults"][0]["kind"] == "left_padding"


def test_a_layer_of_a_framework(run: Run) -> None:
    layer = "LSTM(256, 512, num_layers=2, proj_size=64)"
    said = run("explain", "--cudnn", "9.28.0.42", "--torch", layer, "--input", "120x64x256")
    assert said.code == 0
    assert "input_size=256" in said.out
    assert "proj_size=64" in said.out
    assert said.out.startswith("cuDNN 9.28.0.42+cu12: all 5 host calls accept ")
    assert "as PyTorch does" in sections(said.out)[-1][1]
    wrong = run("explain", "--cudnn", "9.28.0.42", "--torch", "LSTM(n, 512)")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith("error: ")


def test_what_to_check_where_a_later_call_failed(run: Run) -> None:
    words = ("explain", "--cudnn", "9.28.0.42", "cell_mode=gru", "--failed-in")
    said = run(*words, "cudnnRNNBackwardData_v8")
    assert said.code == 0
    check = sections(said.out)[3]
    assert check[0] == "what to check where cudnnRNNBackwardData_v8 failed (from documents):"
    assert any("must follow a forward in training mode" in line for line in check)
    assert not any("BW-" in line for line in check)  # that is another call
    typo = run(*words, "cudnnRNNBackward")
    assert (typo.code, typo.out) == (2, "")
    assert "did you mean cudnnRNNBackwardData_v8" in typo.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hiden_size=3"], "unknown key 'hiden_size'"),
        (["hidden_size=1,2"], "more than one value"),
        (["seq_lengths=[3,2]", "batch_size=3"], "a list of 2 entries, batch_size is 3"),
        ([], "no problem is given"),
        (["--from", "nowhere.json"], "nowhere.json cannot be read"),
        (["--mask", "nowhere.npy"], "nowhere.npy"),
        (["--lengths", "3,x"], "x"),
    ],
)
def test_bad_input(run: Run, words: list[str], message: str) -> None:
    said = run("explain", "--cudnn", "9.28.0.42", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert "Traceback" not in said.err
