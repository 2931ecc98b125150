"""``--log`` on the commands that try problems: what production recorded, on another release."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyharness.api import explaining_logs
from pyharness.spec.tables import TABLES
from tests.cli import test_main, test_replay
from tests.cli.test_main import Run

run, log = test_main.run, test_replay.log  # the fixtures
NEW = test_replay.NEW


def test_what_a_release_refuses_of_a_log_is_explained(run: Run, log: Path, tmp_path: Path) -> None:
    said = run("explain", "--cudnn", NEW, "--log", log, "--out", tmp_path / "out")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == ("cuDNN 9.28.0.42+cu12: 2 of 3 recorded problems are refused, 3 of 8 calls")
    # Most calls first: two of the packed batch that is not sorted.
    heads = [line for line in lines if line[:3] in ("1. ", "2. ")]
    assert [h.split(";")[0] for h in heads] == ["1. 1 problem, 2 calls", "2. 1 problem, 1 call"]
    text = said.out
    assert text.index("isSortedSequences == false") < text.index("max_seq_length=5, in any order")
    assert "       seqLengthArray (seq_lengths) = [3,5]" in lines
    table = pq.read_table(tmp_path / "out" / "explanations.parquet")
    assert table.column_names == [c.name for c in TABLES["explanations"]]
    rows = table.to_pylist()
    first = rows[0]
    assert (first["count"], first["status"], first["argument"]) == (
        2,
        "BAD_PARAM",
        "seqLengthArray",
    )
    assert (first["batch_rows"], first["alone"]) == ("1", "yes")
    assert "seq_lengths=[5,3]" in str(first["suggestion"])
    assert {r["role"] for r in rows} == {"x"}  # y was not recorded
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "explanations.parquet",
        "recorded.parquet",
        "run.json",
        "validity.parquet",
    }


def test_the_same_as_data(run: Run, log: Path) -> None:
    data = json.loads(run("explain", "--cudnn", NEW, "--log", log, "--json").out)
    assert data["problems"] == 3
    assert [r["count"] for r in data["refused"]] == [2, 1]
    blame = data["refused"][1]["refusals"][0]["blames"][0]
    assert (blame["argument"], blame["rows"][0]["rows"]) == ("seqLengthArray", [1])
    assert data["unexplained"] == []


def test_more_refusals_than_are_looked_into(
    run: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining_logs, "MOST_EXPLAINED", 1)
    said = run("explain", "--cudnn", NEW, "--log", log)
    assert said.out.splitlines()[-1] == "1 less frequent ones were not looked into"
    assert "2 of 3 recorded problems are refused" in said.out


def test_a_map_of_a_log_is_a_replay(run: Run, log: Path, tmp_path: Path) -> None:
    mapped = run("map", "--cudnn", NEW, "--log", log, "--out", tmp_path / "a")
    replayed = run("replay", log, "--cudnn", NEW, "--out", tmp_path / "b")
    assert mapped.out.replace(str(tmp_path / "a"), "OUT") == replayed.out.replace(
        str(tmp_path / "b"), "OUT"
    )
    a, b = (pq.read_table(tmp_path / d / "validity.parquet").to_pylist() for d in "ab")
    assert a == b
    assert {r["status"] for r in a} == {"SUCCESS", "BAD_PARAM"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["map", "--preset", "host"], "--log brings its own problems"),
        (["explain", "hidden_size=3"], "--log brings its own problems"),
        (["explain", "--torch", "LSTM(1, 2)"], "--log brings its own problems"),
        (["explain", "--failed-in", "cudnnRNNForward"], "--log brings its own problems"),
    ],
)
def test_problems_from_two_places(run: Run, log: Path, words: list[str], message: str) -> None:
    said = run(*words, "--cudnn", NEW, "--log", log)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_tables_of_one_problem(run: Run, tmp_path: Path) -> None:
    said = run("explain", "--cudnn", NEW, "hidden_size=0", "--out", tmp_path)
    assert said.code == 2
    assert "--out is for the tables of --log" in said.err


def test_a_log_that_is_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("nothing of cuDNN\n")
    said = run("explain", "--cudnn", NEW, "--log", tmp_path / "a.log")
    assert said.code == 2
    assert "no entry of a cuDNN API log" in said.err
    gone = run("map", "--cudnn", NEW, "--log", tmp_path / "gone.log")
    assert gone.code == 2
