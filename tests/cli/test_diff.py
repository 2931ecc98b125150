"""``pyharness diff``: words, data, tables and the gate."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyharness.releases import Release
from tests.api.test_changes import AXES, CALL, build_planted, make_map
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.emulator.build import EmulatedRelease

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
    names = {"atlas.parquet", "atlas_axes.parquet", "changes.parquet", "diff.json", "diff.txt"}
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


ONE = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3", "cell_mode=gru"]


@pytest.fixture
def sides_on_device(
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Path, Path]:
    """Two emulated releases; the newer one flips a bit of dx and refuses inference."""
    faults = ["flip:dx@cudnnRNNBackwardData_v8:*", "status:NOT_SUPPORTED@cudnnRNNForward:1"]
    made = [
        emulator(cudnn("9.12.0.46").path),
        emulator(cudnn("9.28.0.42").path, fault=faults),
    ]
    for name, value in made[0].env.items():
        monkeypatch.setenv(name, value)
    return made[0].cudnn, made[1].cudnn


def test_a_drift_joins_the_changes(
    run: Run, sides_on_device: tuple[Path, Path], tmp_path: Path
) -> None:
    said = run("drift", *sides_on_device, *ONE, "--out", tmp_path / "drift")
    assert said.code == 0, said.err
    words = ["diff", *sides_on_device, "--axis", "data_type=bfloat16,float", "--maps",
             tmp_path / "maps", "--out", tmp_path / "out"]  # fmt: skip
    plain = run(*words, "--json", "--fail-on", "drifted")
    assert plain.code == 2
    assert "cannot tell whether there is any drifted" in plain.err
    assert json.loads(plain.out)["drift"] is None
    mapped = pq.read_table(tmp_path / "out/changes.parquet").to_pylist()
    assert [row["change"] for row in mapped] == ["newly_accepted"]  # since 9.13.0

    gates = "drifted,newly_refused,newly_out_of_memory"
    said = run(*words, "--drift", tmp_path / "drift", "--fail-on", gates)
    assert (said.code, said.err) == (3, "gate: drifted (1), newly_refused (1)\n")
    flat = " ".join(said.out.split())
    assert "On Emulated GPU: 1 problem, 5 tensors, 4 with the same bits, 1 drifted" in flat
    assert "EMULATED" in said.out
    refused = "newly refused: forward_inference, SUCCESS -> NOT_SUPPORTED (planted fault); "
    assert f"{refused}{' '.join(ONE)} drifted: dx of backward_data, 4.17% of it, at most" in flat
    assert max(len(line) for line in said.out.splitlines()[:-1]) <= 100
    rows = pq.read_table(tmp_path / "out/changes.parquet").to_pylist()
    own = pq.read_table(tmp_path / "drift/changes.parquet").to_pylist()
    assert rows == [*mapped, *own]
    assert [(r["change"], r["pass"], r["buffer"]) for r in own] == [
        ("newly_refused", "forward_inference", None),
        ("drifted", "backward_data", "dx"),
    ]
    data = json.loads((tmp_path / "out/diff.json").read_text())
    assert data["drift"]["changes"] == [{k: r[k] for k in d} for r, d in zip(
        own, data["drift"]["changes"], strict=True)]  # fmt: skip
    assert data["drift"]["verdicts"] == {"not_compared": 1, "same": 4, "drifted": 1}
    assert data["not_judged"] == []


def test_a_drift_that_does_not_fit_is_refused(
    run: Run, sides_on_device: tuple[Path, Path], sides: tuple[Path, Path], tmp_path: Path
) -> None:
    drift = tmp_path / "drift"
    assert run("drift", *sides_on_device, *ONE, "--out", drift).code == 0
    words = ["--axis", "algo=0", "--maps", tmp_path / "maps", "--out", tmp_path / "out"]
    turned = run("diff", *sides_on_device[::-1], *words, "--drift", drift)
    assert turned.code == 2
    assert turned.err == (
        f"error: {drift} holds the drift from 9.12.0 to 9.28.0, the diff is from 9.28.0 to 9.12.0\n"
        "  give the releases in the same order\n"
    )
    other = run("diff", *sides, "--out", tmp_path / "out", "--drift", drift)
    assert "the diff is from 9.13.0.50+cu12 to 9.13.0.50+cu12" in other.err
    assert "make one: pyharness drift 9.13.0.50+cu12 9.13.0.50+cu12" in other.err
    no_drift = run("diff", *sides, "--out", tmp_path / "out", "--drift", sides[0])
    assert (no_drift.code, "holds no drift: its run.json says map" in no_drift.err) == (2, True)
    nothing = run("diff", *sides, "--out", tmp_path / "out", "--drift", tmp_path)
    assert (nothing.code, "is no result folder" in nothing.err) == (2, True)
    manifest = json.loads((drift / "run.json").read_text())
    (drift / "run.json").write_text(json.dumps({**manifest, "state": "interrupted"}))
    unfinished = run("diff", *sides, "--out", tmp_path / "out", "--drift", drift)
    assert (unfinished.code, "is not finished (interrupted)" in unfinished.err) == (2, True)
    assert not (tmp_path / "out").exists()
