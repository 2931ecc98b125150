"""``pyharness diff``: words, data, tables and the gate."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.api.test_changes import AXES, CALL, build_planted, make_map
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
SMALL = {**AXES, "algo": "0,1", "hidden_size": "0,64", "aux_flags": "1,2"}
KEYS = {
    "folder",
    "release_a",
    "release_b",
    "space",
    "problems",
    "calls",
    "calls_removed",
    "calls_added",
    "enumerators_removed",
    "enumerators_added",
    "enumerators_renumbered",
    "costs_comparable",
    "costs",
    "reasons_by_row",
    "reason_texts",
    "notes",
}


@pytest.fixture(scope="module")
def sides(
    build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Maps of the plain library and of the one with planted changes."""
    base = tmp_path_factory.mktemp("sides")
    plain = build()
    planted = build_planted(plain.parent)
    return (
        make_map(plain, base / "a", **SMALL).folder,
        make_map(planted, base / "b", **SMALL).folder,
    )


def test_words_on_stdout_tables_in_the_folder(
    run: Run,
    sides: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    said = run("diff", *sides, "--out", tmp_path / "d")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("cuDNN 9.13.0.50+cu12 -> 9.13.0.50+cu12\n")
    assert "144 problems compared over 1 call (" in said.out
    for heading in ("Newly refused: 2 problems", "Newly accepted: 2 problems"):
        assert heading in said.out
    # double, persist_static, hidden 64, same, aux 1: one or two layers.
    accepted = (
        "algo=persist_static and data_type=double and hidden_size=64 and proj_size=same and\n"
        "        num_layers>=1 and aux_flags=padded_io_enabled"
    )
    assert accepted in said.out
    assert said.out.rstrip().endswith(f"Tables in {tmp_path / 'd'}")
    # The folder's path is one word, however long.
    assert max(len(line) for line in said.out.splitlines()[:-1]) <= 100
    names = {"changes.parquet", "diff.json", "diff.txt"}
    assert {p.name for p in (tmp_path / "d").iterdir()} == names
    assert said.out.startswith((tmp_path / "d" / "diff.txt").read_text())


def test_json_on_stdout_is_what_the_folder_keeps(
    run: Run,
    sides: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    said = run("diff", *sides, "--out", tmp_path / "d", "--json")
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert set(data) >= KEYS
    kept = json.loads((tmp_path / "d" / "diff.json").read_text())
    assert data == {"folder": str(tmp_path / "d"), **kept}
    (call,) = data["calls"]
    assert (call["call"], call["problems"], data["problems"]) == (CALL, 144, 144)
    changes = {c["change"]: c for c in call["changes"]}
    accepted = changes["newly_accepted"]
    assert (accepted["status_a"], accepted["status_b"]) == ("NOT_SUPPORTED", "SUCCESS")
    assert (accepted["problems"], accepted["proven"], accepted["fewest"]) == (2, True, True)
    assert accepted["conditions"][0][0] == {
        "axis": "algo",
        "op": "=",
        "values": ["persist_static"],
    }
    assert accepted["values"]["num_layers"] == ["1", "2"]
    table = pq.read_table(tmp_path / "d" / "changes.parquet")
    assert table.num_rows == sum(c["problems"] for c in call["changes"])


@pytest.mark.parametrize(
    ("gates", "code", "told"),
    [
        ("newly_failed", 0, ""),
        ("newly_failed,call_removed,enumerator_removed", 0, ""),
        ("", 0, ""),
        ("newly_refused", 3, "gate: newly_refused (2)\n"),
        (
            "newly_failed, newly_accepted ,newly_refused",
            3,
            "gate: newly_accepted (2), newly_refused (2)\n",
        ),
    ],
)
def test_the_gate(
    run: Run,
    sides: tuple[Path, Path],
    tmp_path: Path,
    gates: str,
    code: int,
    told: str,
) -> None:
    said = run("diff", *sides, "--out", tmp_path / "d", "--json", "--fail-on", gates)
    assert (said.code, said.err) == (code, told)
    assert json.loads(said.out)["problems"] == 144  # the report is whole either way
    assert (tmp_path / "d" / "changes.parquet").exists()


def test_an_unknown_gate_stops_before_anything_is_done(run: Run, tmp_path: Path) -> None:
    said = run("diff", "a", "b", "--fail-on", "newly_refuse", "--out", tmp_path / "d")
    assert (said.code, said.out) == (2, "")
    assert "unknown change 'newly_refuse'" in said.err
    assert "did you mean newly_refused" in said.err
    assert list(tmp_path.iterdir()) == []


def test_the_same_map_twice_changes_nothing(
    run: Run,
    sides: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    gates = "newly_refused,newly_accepted,other_status,other_reason,newly_failed,no_longer_failed"
    said = run("diff", sides[0], sides[0], "--out", tmp_path / "d", "--fail-on", gates)
    assert (said.code, said.err) == (0, "")
    assert "Newly" not in said.out
    assert "Calls and enumerators: none came, none went" in said.out
    assert pq.read_table(tmp_path / "d" / "changes.parquet").num_rows == 0


def test_libraries_are_mapped_on_the_way_and_found_again(
    run: Run,
    fake: Path,
    build: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["diff", fake, build("WITHOUT_OPTIONAL"), "--preset", "clip", "--json"]
    words += ["--axis", "rclip=0,nan", "--axis", "cell_mode=lstm", "--maps", "m"]
    first = run(*words, "--fail-on", "call_removed")
    assert (first.code, first.err) == (3, "gate: call_removed (1)\n")
    data = json.loads(first.out)
    assert data["calls_removed"] == ["cudnnRNNSetClip_v9"]
    assert [c["changes"] for c in data["calls"]] == [[]]
    assert data["folder"].startswith("results/diff/")
    made = {p: p.stat().st_mtime_ns for p in (tmp_path / "m").rglob("run.json")}
    assert len(made) == 2
    again = json.loads(run(*words).out)
    assert again["calls"] == data["calls"]
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "m").rglob("run.json")} == made


def test_sides_that_cannot_be_compared(
    run: Run,
    sides: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    broken = Path(shutil.copytree(sides[0], tmp_path / "broken"))
    data = json.loads((broken / "run.json").read_text())
    empty = tmp_path / "empty"
    empty.mkdir()

    def told(side: object) -> str:
        said = run("diff", sides[0], side, "--out", tmp_path / "d")
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith("error: ")
        return said.err

    for change, message in (
        ({"state": "running"}, "is not finished"),
        ({"schema_version": 99}, "was written by a newer pyharness"),
        ({"kind": "sweep"}, "holds a sweep, not a map"),
    ):
        (broken / "run.json").write_text(json.dumps({**data, **change}))
        assert message in told(broken)
    (broken / "run.json").write_text(json.dumps(data))
    (broken / "validity.parquet").write_bytes(b"PAR1 and no more")
    assert "the folder is damaged: map it again elsewhere" in told(broken)
    assert "holds no libcudnn.so" in told(empty)
    assert "unknown release 'latests'" in told("latests")
    assert not (tmp_path / "d").exists()
