"""The Python API, and what real releases are known to say, asked through it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pyharness
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release

DESCRIPTOR, DATA = "cudnnSetRNNDescriptor_v8", "cudnnSetRNNDataDescriptor"
OLD, NEW = "8.9.7.29", "9.28.0.42"
ALGOS = ["standard", "persist_static", "persist_dynamic", "persist_static_small_h"]
CELLS = ["rnn_relu", "rnn_tanh", "lstm", "gru"]
TYPES = {"float": 0, "double": 1, "half": 2, "bfloat16": 9}
both = pytest.mark.parametrize("release", [OLD, NEW])


@lru_cache
def descriptors(release: str) -> pd.DataFrame:
    """Every algo and cell over the types, the projections and the flags."""
    axes = {"algo": "all", "cell_mode": "all", "data_type": list(TYPES), "math_prec": list(TYPES)}
    axes |= {"proj_size": "-1,0,1,same,over", "aux_flags": range(3)}
    return pyharness.map(release, call=DESCRIPTOR, axes=axes, reasons="all", walkers=1)


@lru_cache
def data(release: str) -> pd.DataFrame:
    """Every pattern of lengths in every layout, around the longest that is allowed."""
    axes = {"seq_lengths": "all", "max_seq_length": [16, 65535, 65536], "layout": "all"}
    return pyharness.map(release, call=DATA, axes=axes, reasons="all", walkers=1)


def said(frame: pd.DataFrame, **values: Any) -> set[str]:
    """The statuses of the rows with these values; there must be some."""
    for name, value in values.items():
        frame = frame[frame[name].isin(value if isinstance(value, list) else [value])]
    assert len(frame)
    return set(frame.status)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that nothing but types and algo can refuse."""
    return frame[(frame.proj_rule == "same") & (frame.aux_flags == "padded_io_enabled")]


@pytest.mark.parametrize(
    ("release", "status"),
    [(OLD, "NOT_SUPPORTED"), ("9.12.0.46", "NOT_SUPPORTED"), ("9.13.0.50", "SUCCESS")],
)
def test_bfloat16_with_float_math_is_accepted_from_9_13_on(release: str, status: str) -> None:
    frame = pyharness.map(
        release,
        call=DESCRIPTOR,
        axes={"algo": "all", "cell_mode": "all", "data_type": "bfloat16"},
        walkers=1,
    )
    assert len(frame) == 16
    assert said(frame) == {status}


@both
def test_double_with_the_persistent_algos(release: str) -> None:
    double = plain(descriptors(release)).query("data_type == 'double' and math_prec == 'double'")
    assert said(double, algo=["persist_static", "persist_static_small_h"]) == {"NOT_SUPPORTED"}
    assert said(double, algo=["standard", "persist_dynamic"]) == {"SUCCESS"}


@both
def test_proj_size_against_hidden_size(release: str) -> None:
    frame = descriptors(release)
    frame = frame[(frame.data_type == "float") & (frame.math_prec == "float")]
    frame = frame[frame.aux_flags == "padded_io_disabled"]
    assert said(frame, proj_rule="given", proj_size=[-1, 0]) == {"BAD_PARAM"}
    assert said(frame, proj_rule="same") == {"SUCCESS"}
    assert said(frame, proj_rule="over") == {"NOT_SUPPORTED"}
    smaller = frame[frame.proj_size == 1]
    assert said(smaller, cell_mode="lstm", algo="standard") == {"SUCCESS"}
    assert said(smaller, cell_mode="lstm", algo=ALGOS[1:]) == {"NOT_SUPPORTED"}
    assert said(smaller, cell_mode=["rnn_relu", "rnn_tanh", "gru"]) == {"NOT_SUPPORTED"}
    assert set(frame[frame.proj_rule == "over"].proj_size) == {65}


@both
def test_aux_flags_other_than_zero_and_one(release: str) -> None:
    frame = descriptors(release)
    assert said(frame, aux_flags="2") == {"BAD_PARAM"}
    standard = frame[(frame.data_type == "float") & (frame.math_prec == "float")]
    flags = ["padded_io_disabled", "padded_io_enabled"]
    assert said(standard, proj_rule="same", aux_flags=flags) == {"SUCCESS"}


@both
def test_the_longest_sequence(release: str) -> None:
    frame = data(release)
    assert said(frame, max_seq_length=65536) == {"NOT_SUPPORTED"}
    assert said(frame, max_seq_length=65535, seq_lengths=["equal", "descending"]) == {"SUCCESS"}
    short = [16, 65535]
    assert said(frame, max_seq_length=short, seq_lengths=["over_max", "negative"]) == {"BAD_PARAM"}


@pytest.mark.parametrize(("release", "packed"), [(OLD, "SUCCESS"), (NEW, "BAD_PARAM")])
def test_unsorted_and_zero_lengths(release: str, packed: str) -> None:
    frame = data(release)
    frame = frame[frame.max_seq_length == 16]
    odd = ["unsorted", "one_zero", "trailing_zeros"]
    assert said(frame, layout="seq_major_packed", seq_lengths=odd) == {packed}
    unpacked = ["seq_major_unpacked", "batch_major_unpacked"]
    assert said(frame, layout=unpacked, seq_lengths=[*odd, "all_zero"]) == {"SUCCESS"}
    reasons = frame[(frame.layout == "seq_major_packed") & (frame.seq_lengths == "unsorted")].reason
    assert reasons.dropna().tolist() == (["isSortedSequences == false"] if release == NEW else [])


def test_the_numbers_of_a_status_are_those_of_the_release() -> None:
    for release, numbers in ((OLD, {0, 3, 9}), (NEW, {0, 2000, 3000})):
        assert set(descriptors(release).status_code) == numbers
        assert set(descriptors(release).release) == {f"{release}+cu12"}


DIRECT = """
import ctypes, json, sys
library, rows = ctypes.CDLL(sys.argv[1]), json.load(sys.stdin)
rnn, dropout = ctypes.c_void_p(), ctypes.c_void_p()
library.cudnnCreateRNNDescriptor(ctypes.byref(rnn))
library.cudnnCreateDropoutDescriptor(ctypes.byref(dropout))
print(json.dumps([
    library.cudnnSetRNNDescriptor_v8(
        rnn, algo, cell, 2, 0, 0, data, math, 0, 64, 64, 64, 1, dropout, 1)
    for algo, cell, data, math in rows
]))
"""


def directly(release: Release, rows: list[tuple[int, ...]]) -> list[int]:
    """What the library answers to a program that does nothing but call it."""
    command = [sys.executable, "-c", DIRECT, str(release.path)]
    done = subprocess.run(
        command, input=json.dumps(rows), check=True, capture_output=True, text=True
    )
    answers: list[int] = json.loads(done.stdout)
    return answers


def test_the_diff_of_9_12_and_9_13_says_what_the_libraries_say(
    cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    rows = list(product(range(4), range(4), TYPES.values(), TYPES.values()))
    old, new = (directly(cudnn(r), rows) for r in ("9.12.0.46", "9.13.0.50"))
    changed = {row for row, a, b in zip(rows, old, new, strict=True) if a and not b}
    assert changed == {row for row in rows if row[2:] == (9, 0)}
    assert all(
        bool(a) == bool(b) for row, a, b in zip(rows, old, new, strict=True) if row not in changed
    )
    axes = {"algo": ALGOS, "cell_mode": CELLS, "data_type": list(TYPES), "math_prec": list(TYPES)}
    result = pyharness.diff(
        "9.12.0.46", "9.13.0.50", call=DESCRIPTOR, axes=axes, maps=tmp_path / "m", out=tmp_path
    )
    (group,) = [g for g in result.calls[0].comparison.groups if g.change != "other_reason"]
    assert (group.change, group.status_a, group.status_b) == (
        "newly_accepted",
        "NOT_SUPPORTED",
        "SUCCESS",
    )
    assert group.words == ["data_type=bfloat16 and math_prec=float"]
    assert (group.rows, group.proven, group.fewest) == (len(changed), True, True)
    assert (group.values["algo"], group.values["cell_mode"]) == (ALGOS, CELLS)
    frame = pd.read_parquet(tmp_path / "changes.parquet")
    frame = frame[frame.change == "newly_accepted"]
    assert {
        (ALGOS.index(r.algo), CELLS.index(r.cell_mode), TYPES[r.data_type], TYPES[r.math_prec])
        for r in frame.itertuples()
    } == changed
    assert (result.enumerators_added, result.enumerators_removed) == ([], [])


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ([1, 2, 5], [1, 2, 5]),
        ((5, 1), [5, 1]),
        (range(1, 4), [1, 2, 3]),
        ("1..9:4", [1, 5, 9]),
        (["1..3", 64, "2..8*2"], [1, 2, 3, 64, 4, 8]),
        (7, [7]),
        ("7", [7]),
    ],
)
def test_ways_to_give_an_axis(fake: Path, axis: Any, expected: list[int]) -> None:
    frame = pyharness.map(str(fake), axes={"input_size": axis}, reasons="none", walkers=1)
    assert frame.input_size.tolist() == expected


def test_the_frame_has_whole_numbers_and_categories(fake: Path, tmp_path: Path) -> None:
    frame = pyharness.map(
        str(fake), "clip", axes={"lclip": "0,inf"}, out=tmp_path / "map", reasons="all", walkers=1
    )
    assert isinstance(frame, pd.DataFrame)
    whole = {"status_code": "Int32"}
    kinds = {n: str(t) for n, t in frame.dtypes.items()}
    words = ("release", "call", "cell_mode", "clip_mode", "status", "outcome", "reason")
    assert {kinds[n] for n in words} == {"category"}
    assert {n: kinds[n] for n in whole} == whole
    assert (kinds["lclip"], kinds["rclip"]) == ("float64", "float64")
    assert set(frame.lclip) == {0.0, float("inf")}
    # The older call has an axis that the newer one lacks: null there, and not a word.
    assert frame[frame.call == "cudnnRNNSetClip_v9"].clip_nan_opt.isna().all()
    assert frame[frame.call == "cudnnRNNSetClip_v8"].clip_nan_opt.notna().all()
    kept = {".lock", "run.json", "validity.parquet", "costs.parquet", "reasons.parquet"}
    assert {p.name for p in (tmp_path / "map").iterdir()} == kept


def test_numbers_stay_whole_where_some_rows_have_none(fake: Path) -> None:
    frame = pyharness.map(
        str(fake), call=DESCRIPTOR, axes={"hidden_size": [64, 666]}, reasons="none", walkers=1
    )
    assert (str(frame.status_code.dtype), str(frame.hidden_size.dtype)) == ("Int32", "Int32")
    assert frame.status_code.tolist() == [0, pd.NA]
    assert frame.outcome.tolist() == ["passed", "failed"]


def test_without_a_folder_nothing_is_left(
    fake: Path, build: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.chdir(tmp_path)
    assert len(pyharness.map(str(fake), axes={"algo": "all"}, walkers=1)) == 4
    with pytest.raises(HarnessError):
        pyharness.map(str(build("DIES_ON_LOAD")), walkers=1)
    with pytest.raises(UsageError, match="has no axis 'layout'"):
        pyharness.map(str(fake), call=DESCRIPTOR, axes={"layout": "all"})
    assert pyharness.try_problem(str(fake), {"hidden_size": 0})[0].status == "BAD_PARAM"
    assert list(scratch.iterdir()) == []
    assert [p.name for p in tmp_path.iterdir()] == ["scratch"]


def test_explaining_a_mask_from_python() -> None:
    mask = np.ones((3, 4), bool)
    mask[1, 2:] = False
    found = pyharness.explain(NEW, {"layout": "seq_major_packed"}, mask=mask)
    assert found.refusals[0].blames[0].rows[0].rows == (2,)  # 4 after 2
    assert found.suggestions[0].problem.given["seq_lengths"] == "[4,4,2]"
    mask[1, 0] = False
    with pytest.raises(UsageError, match="row 1: masked steps before the first step that counts"):
        pyharness.explain(NEW, mask=mask)
    as_lists = pyharness.explain(NEW, mask=[[1, 1, 1], [1, 0, 0]])
    assert as_lists.problem.given["seq_lengths"] == "[3,1]"
    by_length = pyharness.explain(NEW, {"layout": "seq_major_packed"}, lengths=np.array([3, 5]))
    assert by_length.refusals[0].blames[0].rows[0].rows == (1,)
    layer = pyharness.explain(NEW, torch="LSTM(8, 16, proj_size=4)", input_shape=(7, 3, 8))
    assert layer.accepted
    assert layer.problem.given["proj_size"] == "4"


def test_since_when_from_python(cudnn: Callable[[str], Release]) -> None:
    for version in ("9.12.0.46", "9.13.0.50"):
        cudnn(version)
    spans = pyharness.since({"data_type": "bfloat16"})
    assert [s.outcome for s in spans] == ["refused", "accepted"]
    assert spans[-1].first == "9.13.0"
