"""From what a person has to a problem."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from pyharness.api.reading import Sources, read_problem
from pyharness.errors import UsageError
from pyharness.spec.tables import TABLES
from pyharness.store.schema import write_rows


def given(words: str = "", **sources: object) -> Mapping[str, str]:
    return read_problem(words.split(), Sources(**sources)).problem.given  # type: ignore[arg-type]


def refused(words: str = "", **sources: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        given(words, **sources)
    return caught.value


def write(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


def test_words_alone() -> None:
    assert given("hidden_size=7 algo=standard") == {"hidden_size": "7", "algo": "standard"}
    assert "no problem is given" in refused().message


def test_json_as_we_print_it_and_as_one_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"hidden_size": 7, "seq_lengths": [5, 3], "lclip": -1.5, "algo": "persist_static"}
    expected = {
        "hidden_size": "7",
        "seq_lengths": "[5,3]",
        "lclip": "-1.5",
        "algo": "persist_static",
    }
    assert given(source=write(tmp_path / "p.json", json.dumps(plain))) == expected
    printed = {"release": "9.28.0.42+cu12", "problem": expected, "defaults": {}, "calls": []}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(printed)))
    assert given("hidden_size=9", source="-") == {**expected, "hidden_size": "9"}  # words win


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[1]", "holds no problem"),
        ("[" * 100_000, "is no JSON"),
        ('{"hidden_size": null}', "hidden_size is null"),
        ('{"hidden_size": {"a": 1}}', 'hidden_size is {"a": 1}'),
        ('{"hiden_size": 1}', "unknown key 'hiden_size'"),
        ('{"hidden_size": "x"}', "'x' is no integer"),
    ],
)
def test_json_that_is_no_problem(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(source=write(tmp_path / "p.json", text)).message


def test_files_that_are_none(tmp_path: Path) -> None:
    assert "No such file" in refused(source=str(tmp_path / "none.json")).message
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    assert "is no text" in refused(source=str(tmp_path / "binary.json")).message
    assert "cannot be read" in refused(source=str(tmp_path)).message


def test_a_row_of_a_table(tmp_path: Path) -> None:
    rows = [
        {"call": "cudnnSetRNNDescriptor_v8", "algo": "standard", "hidden_size": 64},
        {
            "call": "cudnnSetRNNDescriptor_v8",
            "algo": "persist_static",
            "hidden_size": 64,
            "proj_size": 64,
            "proj_rule": "same",
            "math_type": "7",
        },
        {"call": "cudnnRNNSetClip_v9", "lclip": -1.5, "rclip": float("inf")},
        {"call": "cudnnRNNSetClip_v9", "lclip": float("nan"), "rclip": 1.0, "dropout": "null"},
    ]
    path = tmp_path / "validity.parquet"
    write_rows(path, "validity", rows)
    assert {c.name for c in TABLES["validity"]} >= {"algo", "proj_rule", "lclip"}
    assert given(source=f"{path}:1") == {
        "algo": "persist_static",
        "hidden_size": "64",
        "proj_size": "same",
        "math_type": "7",
    }
    assert given(source=f"{path}:2") == {"lclip": "-1.5", "rclip": "inf"}
    assert given(source=f"{path}:3") == {"lclip": "nan", "rclip": "1.0", "dropout": "null"}
    assert "has many rows" in refused(source=str(path)).message
    assert "has no row 4" in refused(source=f"{path}:4").message
    assert "'²' is no row" in refused(source=f"{path}:²").message
    assert "'x' is no row" in refused(source=f"{path}:x").message
    assert "cannot be read" in refused(source=f"{tmp_path}/none.parquet:0").message
    (tmp_path / "bad.parquet").write_text("no table", "utf-8")
    assert "cannot be read" in refused(source=f"{tmp_path}/bad.parquet:0").message


def test_a_row_of_a_csv_file(tmp_path: Path) -> None:
    """Integers with gaps come back as floats; they are integers again."""
    text = 'algo,hidden_size,seq_lengths\nstandard,,\n,64,"[5,3]"\n'
    path = write(tmp_path / "rows.csv", text)
    assert given(source=f"{path}:1") == {"hidden_size": "64", "seq_lengths": "[5,3]"}
    odd = write(
        tmp_path / "odd.csv", "lclip,dropout,padding_fill,hidden_size\nnan,null,null,64.0\n"
    )
    assert given(source=f"{odd}:0") == {
        "hidden_size": "64",
        "dropout": "null",
        "lclip": "nan",
        "padding_fill": "null",
    }


def test_lengths_pad_to_the_longest(tmp_path: Path) -> None:
    assert given(lengths="5,3,9") == {"seq_lengths": "[5,3,9]", "batch_size": "3"}
    assert read_problem([], Sources(lengths="5,3,9")).problem.value("max_seq_length") == 9
    assert read_problem([], Sources(lengths="[-3,-2]")).problem.value("max_seq_length") == 16
    assert given("max_seq_length=20", lengths="[5,3]")["max_seq_length"] == "20"
    np.save(tmp_path / "n.npy", np.array([4, 2]))
    assert given(lengths=str(tmp_path / "n.npy"))["seq_lengths"] == "[4,2]"


def test_lengths_are_what_the_framework_makes_of_them(tmp_path: Path) -> None:
    """PyTorch packs them, sorted; Keras hands them over as they are."""
    packed = given(torch="GRU(8, 16)", shape="7x3x8", lengths="[2,7,5]")
    assert (packed["layout"], packed["seq_lengths"]) == ("seq_major_packed", "[7,5,2]")
    mask = np.arange(7) < np.array([[2], [7], [5]])
    np.save(tmp_path / "m.npy", mask)
    same = given(torch="GRU(8, 16)", shape="7x3x8", mask=str(tmp_path / "m.npy"))
    assert same == packed
    keras = given(keras="GRU(16)", shape="3x7x8", mask=str(tmp_path / "m.npy"))
    assert (keras["layout"], keras["seq_lengths"]) == ("batch_major_unpacked", "[2,7,5]")


def test_a_mask_gives_the_batch(tmp_path: Path) -> None:
    mask = np.zeros((3, 5), bool)
    mask[0, :2] = mask[1, :5] = True
    np.save(tmp_path / "m.npy", mask)
    reading = read_problem([], Sources(mask=str(tmp_path / "m.npy")))
    assert reading.problem.given == {
        "batch_size": "3",
        "max_seq_length": "5",
        "seq_lengths": "[2,5,0]",
    }
    assert reading.mask is not None
    assert [(f.kind, f.row) for f in reading.mask.faults] == [("empty_row", 2)]
    turned = read_problem([], Sources(mask=str(tmp_path / "m.npy"), time_major=True))
    assert turned.mask is not None
    assert turned.mask.lengths is None  # batch 5: columns with gaps
    assert turned.problem.given == {"batch_size": "5", "max_seq_length": "3"}
    data = reading.data()["mask"]
    assert (data["lengths"], data["faults"][0]["kind"]) == ([2, 5, 0], "empty_row")
    error = refused("batch_size=4", mask=str(tmp_path / "m.npy"))
    assert "4" in error.message
    assert "3" in error.message


def test_layers_as_they_are_written() -> None:
    torch = given(torch="nn.GRU(8, 16, bidirectional=True)", shape="7x3x8")
    assert torch["cell_mode"] == "gru"
    assert torch["direction_mode"] == "bidirectional"
    assert (torch["max_seq_length"], torch["batch_size"]) == ("7", "3")
    keras = given("batch_size=2", keras="LSTM(32)", shape="3x7x8")
    assert (keras["hidden_size"], keras["max_seq_length"], keras["batch_size"]) == ("32", "7", "2")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"torch": "LSTM(1, 2)", "keras": "LSTM(2)"}, "both --torch and --keras"),
        ({"lengths": "[1]", "mask": "m.npy"}, "both --lengths and --mask"),
        ({"shape": "1x2x3"}, "--input is the shape"),
        ({"time_major": True}, "are about a mask"),
    ],
)
def test_sources_that_do_not_go_together(sources: dict[str, object], message: str) -> None:
    assert message in refused("hidden_size=1", **sources).message
