"""``pyharness atlas``: words, data, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
OLD, NEW = "9.12.0.46+cu12", "9.13.0.50+cu12"
SMALL = ("--call", "cudnnSetRNNDescriptor_v8", "--axis", "data_type=float,bfloat16")


def test_words_data_and_a_second_time(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    said = run("atlas", "--releases", f"{NEW},{OLD}", *SMALL, "--out", out)
    assert (said.code, said.err) == (0, "")
    first, *rest = said.out.splitlines()
    assert first == f"Atlas of 2 releases, 2 added now: {OLD} .. {NEW}"
    assert rest[-1] == f"Tables in {out}"
    assert any(line.startswith(f"  {OLD} -> {NEW}: newly_accepted 1") for line in rest)
    data = json.loads(run("atlas", "--releases", OLD, *SMALL, "--out", out, "--json").out)
    assert (data["folder"], data["added"], data["kept"]) == (str(out), [], [OLD])
    assert [r["name"] for r in data["releases"]] == [OLD, NEW]
    (step,) = [s for s in data["steps"] if s["change"] == "newly_accepted"]
    assert (step["status_a"], step["status_b"], step["rows"]) == ("NOT_SUPPORTED", "SUCCESS", 1)
    assert step["what"] == "data_type=bfloat16"
    page = (out / "README.md").read_text()
    assert f"| {OLD} | 1 of 2 |" in page
    assert f"| {NEW} | 2 of 2 |" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--releases", ","], "--releases names none"),
        (["--releases", "newest"], "'newest' is not a version"),
        (["--releases", OLD, "--preset", "descriptor-ful"], "unknown preset 'descriptor-ful'"),
    ],
)
def test_bad_input(run: Run, tmp_path: Path, words: list[str], message: str) -> None:
    said = run("atlas", *words, "--out", tmp_path / "atlas")
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert not (tmp_path / "atlas").exists()
