"""``pyharness rules``: words, data, tables, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyharness.spec.tables import TABLES
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
CALL = "cudnnSetRNNDescriptor_v8"
AXES = ["--axis", "hidden_size=0,64", "--axis", "proj_size=same,over", "--axis", "aux_flags=0..2"]
# What tests/doubles/rules.py says of these 12 problems and of the 6 with a hidden_size of 1.
SAID = """\
The first rule that matches decides.

cudnnSetRNNDescriptor_v8: 4 rules for 18 problems
  proven on every problem; no list of refusals that tells these reasons apart is shorter
   1  BAD_PARAM when hidden_size<=0
      6 problems, 33.33%. cuDNN: hiddenSize < 1
   2  BAD_PARAM when aux_flags=2
      4 problems, 22.22%. cuDNN: auxFlags > 1
   3  NOT_SUPPORTED when proj_size=over
      4 problems, 22.22%. cuDNN: projSize > hiddenSize
   4  SUCCESS otherwise
      4 problems, 22.22%
  one value only: algo=standard,"""
WALKED = """
  sizes tried
      hidden_size: every value of 0..64; the answer changes at 1

Tables in """


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDNN_TAME", "1")
    monkeypatch.chdir(tmp_path)


def test_rules_on_stdout_tables_in_the_folder(run: Run, fake: Path, tmp_path: Path) -> None:
    said = run("rules", "--cudnn", fake, *AXES, "--out", tmp_path / "r")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("cuDNN 9.13.0: rules of 1 call over 18 problems (")
    assert SAID in said.out
    assert f"{WALKED}{tmp_path / 'r'}\n" in said.out
    assert max(len(line) for line in said.out.splitlines()[:-1]) <= 100
    names = {"rules.parquet", "rules.json", "rules.txt"}
    assert {p.name for p in (tmp_path / "r").iterdir()} == names
    assert said.out.startswith((tmp_path / "r" / "rules.txt").read_text())


def test_json_and_table_say_the_same(run: Run, fake: Path, tmp_path: Path) -> None:
    said = run("rules", "--cudnn", fake, *AXES, "--json")
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    folder = Path(data.pop("folder"))
    assert folder.parent == Path("results/rules/9.13.0")
    assert data == json.loads((folder / "rules.json").read_text())
    (call,) = data["calls"]
    assert (call["call"], call["problems"]) == (CALL, 18)
    assert (call["proven"], call["fewest"], call["by_reason"]) == (True, True, True)
    assert (call["rules_for_statuses"], len(call["rules"])) == (4, 4)
    assert (call["problems_of_map"], call["problems"]) == (12, 18)
    first = call["rules"][0]
    assert first["conditions"] == [{"axis": "hidden_size", "op": "<=", "values": ["0"]}]
    assert first["reasons"] == [{"reason": "hiddenSize < 1", "problems": 6}]
    assert call["walked"][0]["tried"] == [[0, 64]]
    rows = pq.read_table(folder / "rules.parquet").to_pylist()
    assert list(rows[0]) == [c.name for c in TABLES["rules"]]
    assert [(r["place"], r["status"], r["conditions"], r["rows"]) for r in rows] == [
        (i, rule["status"], rule["words"], rule["problems"])
        for i, rule in enumerate(call["rules"], 1)
    ]
    assert [r["reason"] for r in rows] == [
        "hiddenSize < 1",
        "auxFlags > 1",
        "projSize > hiddenSize",
        None,
    ]
    assert {(r["proven"], r["fewest"], r["fate"], r["provenance"]) for r in rows} == {
        ("yes", "yes", None, "observed")
    }
    assert sum(r["share"] for r in rows) == pytest.approx(1)


def test_rules_that_reasons_alone_make_are_counted(run: Run, fake: Path) -> None:
    # Two checks, projSize > hiddenSize and a projection without LSTM, give NOT_SUPPORTED.
    axes = ["proj_size=same,over,half", "cell_mode=gru", "hidden_size=0,64", "aux_flags=0..2"]
    words = [word for axis in axes for word in ("--axis", axis)]
    said = run("rules", "--cudnn", fake, *words)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert max(map(len, lines[:-1])) <= 100
    assert (
        "no list of refusals that tells these reasons apart is shorter; 4 rules would do for the "
        "statuses alone 1 BAD_PARAM when "
    ) in " ".join(said.out.split())
    assert "NOT_SUPPORTED when proj_size=over" in said.out
    assert "NOT_SUPPORTED when proj_size=half" in said.out
    (call,) = json.loads(run("rules", "--cudnn", fake, *words, "--json").out)["calls"]
    assert (call["fewest"], call["by_reason"], call["rules_for_statuses"]) == (True, True, 4)
    assert len(call["rules"]) == 5


def test_two_sides_and_maps_made_once(run: Run, fake: Path, build: Callable[..., Path]) -> None:
    axes = ["--preset", "clip", "--axis", "lclip=0,nan", "--axis", "rclip=0,nan"]
    words = ["rules", fake, build("WITHOUT_OPTIONAL"), *axes]
    said = run(*words)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("cuDNN 9.13.0 -> 9.13.0: rules (clip ")
    assert (
        "cudnnRNNSetClip_v8: 0 went, 0 came, 4 stayed\n  no problem changed its status\n"
    ) in said.out
    assert "  stayed  BAD_PARAM when lclip=nan: " in said.out
    assert "cudnnRNNSetClip_v9: only on 9.13.0\n" in said.out
    made = {p: p.stat().st_mtime_ns for p in Path("results/maps").rglob("run.json")}
    assert len(made) == 2
    data = json.loads(run(*words, "--json").out)
    assert {p: p.stat().st_mtime_ns for p in Path("results/maps").rglob("run.json")} == made
    assert {c["fate"] for c in data["changes"]} == {"stayed"}
    (statuses,) = data["statuses"]
    assert (statuses["call"], statuses["changed"]) == ("cudnnRNNSetClip_v8", 0)
    assert statuses["problems"] == data["sides"][0]["calls"][0]["problems"]
    assert [len(side["calls"]) for side in data["sides"]] == [2, 1]
    rows = pq.read_table(Path(data["folder"]) / "rules.parquet").to_pylist()
    assert {(r["call"], r["fate"]) for r in rows} == {
        ("cudnnRNNSetClip_v8", "stayed"),
        ("cudnnRNNSetClip_v9", None),
    }


@pytest.mark.parametrize(
    "words",
    [[], ["a"], ["a", "b", "c"], ["--cudnn", "x", "a", "b"]],
    ids=["none", "one", "three", "both ways"],
)
def test_one_release_or_two(run: Run, words: list[str]) -> None:
    said = run("rules", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: rules takes one release or two\n")


def test_folders_of_others_are_left_alone(run: Run, fake: Path, tmp_path: Path) -> None:
    for name, what in (("run.json", "another run"), ("diff.json", "a diff")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("{}")
        said = run("rules", "--cudnn", fake, *AXES, "--out", folder)
        assert (said.code, said.out) == (2, "")
        assert f"holds {what}" in said.err
        assert [p.name for p in folder.iterdir()] == [name]
    assert run("rules", "--cudnn", fake, *AXES[:4], "--out", tmp_path / "r").code == 0
    kept = (tmp_path / "r" / "rules.json").read_text()
    said = run("rules", "--cudnn", fake, *AXES, "--out", tmp_path / "r")
    assert (said.code, said.out) == (2, "")
    assert "holds other rules" in said.err
    assert (tmp_path / "r" / "rules.json").read_text() == kept
    assert run("rules", "--cudnn", fake, *AXES[:4], "--out", tmp_path / "r").code == 0


def test_a_folder_with_other_files_is_refused_before_anything_is_mapped(
    run: Run, fake: Path, tmp_path: Path
) -> None:
    for name in ("hello.txt", "audit.parquet", "rules.txt", "rules.json"):
        folder = tmp_path / f"with {name}"
        folder.mkdir()
        (folder / name).write_text("mine")
        said = run("rules", "--cudnn", fake, *AXES, "--out", folder)
        assert (said.code, said.out) == (2, "")
        assert str(folder) in said.err
        assert "give another --out" in said.err
        assert [(p.name, p.read_text()) for p in folder.iterdir()] == [(name, "mine")]
    said = run("rules", "--cudnn", fake, *AXES, "--out", "")  # the folder that it runs in
    assert (said.code, said.out) == (2, "")
    assert "is not empty and holds no rules" in said.err
    assert not (tmp_path / "results").exists()


def test_what_says_what_to_map_is_refused_beside_a_map(
    run: Run, fake: Path, tmp_path: Path
) -> None:
    assert run("rules", "--cudnn", fake, *AXES, "--walk", "0").code == 0
    (manifest,) = Path("results/maps").rglob("run.json")
    given = ["rules", "--cudnn", manifest.parent, "--out", tmp_path / "r", "--walk", "0"]
    for option in (["--preset", "state"], ["--call", CALL], ["--axis", "hidden_size=1"]):
        said = run(*given, *option)
        assert (said.code, said.out) == (2, "")
        assert "these folders are maps already" in said.err
        assert not (tmp_path / "r").exists()
    assert run(*given).code == 0
    assert run(*given, *AXES).code == 0  # it is of just these values
    # Beside a release, the options say what to map of that.
    said = run("rules", manifest.parent, fake, "--axis", "hidden_size=0,64", "--walk", "0")
    assert (said.code, said.err) == (0, "")


def test_nothing_is_left_of_a_release_that_is_not_there(run: Run, tmp_path: Path) -> None:
    said = run("rules", "--cudnn", "latests", "--out", tmp_path / "new")
    assert said.code == 2
    assert "unknown release 'latests'" in said.err
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "results").exists()


def test_a_rule_of_a_defect_says_failed(
    run: Run, fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAKE_CUDNN_TAME")
    said = run("rules", "--cudnn", fake, "--axis", "hidden_size=64,666", "--walk", "0")
    assert (said.code, said.err) == (0, "")
    assert "   1  failed when hidden_size=666\n" in said.out
    assert "SIGSEGV" in said.out
