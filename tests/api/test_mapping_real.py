"""Real releases: the map holds what a direct call of the library says."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.api.mapping import MapOptions, map_release
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.space.grid import Space
from pyharness.space.presets import build_space
from pyharness.store.manifest import read_manifest
from tests.doubles import arguments
from tests.doubles.maps import Table, counted, space_of, table

Cudnn = Callable[[str], Release]
PROBE = Path(arguments.__file__).with_name("probe.py")
PICKED = 300
SPACES = {
    "cudnnSetRNNDescriptor_v8": [
        "algo=-1..4",
        "cell_mode=2..4",
        "bias_mode=-1,2",
        "data_type=float,double,half,bfloat16,int8,24",
        "math_prec=float,half",
        "input_size=0,64",
        "hidden_size=64,2147483647",
        "proj_size=same,half,over,0",
        "dropout=all",
        "aux_flags=0..2",
    ],
    "cudnnSetRNNDataDescriptor": [
        "seq_lengths=all",
        "max_seq_length=0,1,5,65535,65536",
        "batch_size=0,1,4",
        "layout=-1..3",
        "data_type=float,half,bfloat16,int8,double,24",
        "vector_size=0,1,64",
        "padding_fill=all",
    ],
    "cudnnSetTensorNdDescriptor": [
        "strides=all",
        "nb_dims=-1..9",
        "data_type=float,bfloat16,-1,24",
        "tensor=all",
        "num_layers=0,1,3",
        "direction_mode=all",
        "batch_size=0,1,8,2147483647",
        "hidden_size=64",
        "proj_size=same,half",
    ],
}


def handed_over(row: dict[str, Any]) -> list[Any]:
    """The arguments of a row's call, by a second hand."""
    match row["call"]:
        case "cudnnSetRNNDescriptor_v8":
            return arguments.descriptor(row)
        case "cudnnSetRNNDataDescriptor":
            numbers, lengths = arguments.data(row)
            return [*numbers, lengths]
        case "cudnnSetTensorNdDescriptor":
            return list(arguments.tensor(row))
        case _:
            return list(arguments.clip(row))


def directly(library: Path, rows: Table) -> list[int]:
    """The statuses of direct calls, in another process."""
    calls = json.dumps([[r["call"], handed_over(r)] for r in rows])
    command = [sys.executable, "-I", str(PROBE), str(library)]
    done = subprocess.run(command, input=calls, capture_output=True, text=True, check=True)
    statuses: list[int] = json.loads(done.stdout)
    return statuses


@pytest.mark.parametrize("version", ["8.9.7.29", "9.28.0.42"])
@pytest.mark.parametrize("call", [*SPACES, "clip"])
def test_rows_equal_direct_calls(cudnn: Cudnn, tmp_path: Path, version: str, call: str) -> None:
    release = cudnn(version)
    if call == "clip":
        space = build_space("clip", None, ["cell_mode=rnn_relu,lstm"])
    else:
        space = space_of(*SPACES[call], call=call)
    map_release(release, space, tmp_path, MapOptions(2, reasons="none"))
    rows = table(tmp_path)
    absent = {"cudnnRNNSetClip_v9"} if version.startswith("8") else set()
    manifest = read_manifest(tmp_path)
    assert manifest.absent_calls == sorted(absent & {g.call.name for g in space.grids})
    assert {r["call"] for r in rows} == {g.call.name for g in space.grids} - absent
    picked = random.Random(call).sample(rows, PICKED)
    found = [r["status_code"] for r in picked]
    assert found == directly(release.path, picked)
    assert len(set(found)) > 1, "accepted and refused rows are among them"
    names = {0: "SUCCESS", 3: "BAD_PARAM", 9: "NOT_SUPPORTED"}
    names |= {2000: "BAD_PARAM", 3000: "NOT_SUPPORTED"}
    assert [r["status"] for r in picked] == [names[n] for n in found]
    assert manifest.notes == []
    assert manifest.release["loaded"] == {"8.9.7.29": 8907, "9.28.0.42": 92800}[version]


@pytest.mark.parametrize("version", ["8.9.7.29", "9.28.0.42"])
def test_distinct_reasons_are_those_of_every_row(
    cudnn: Cudnn, tmp_path: Path, version: str
) -> None:
    few = ["algo=all", "cell_mode=lstm,gru", "bias_mode=no_bias", "direction_mode=unidirectional"]
    few += ["input_mode=linear_input", "math_type=default_math", "num_layers=0,1", "nb_dims=2..9"]
    few += ["batch_size=-1,1,8"]
    space = build_space("host", None, few)
    tables = {}
    for reasons in ("all", "distinct"):
        out = tmp_path / reasons
        map_release(cudnn(version), space, out, MapOptions(2, reasons=reasons))
        tables[reasons] = table(out, "reasons")
    columns = "call", "status", "status_code", "reason", "rows"
    assert counted(tables["distinct"], *columns) == counted(tables["all"], *columns)
    every = [r for r in table(tmp_path / "all") if r["status"] != "SUCCESS"]
    of_rows = counted(every, "call", "status", "status_code", "reason")
    assert {(*key, n) for key, n in of_rows.items()} == set(counted(tables["all"], *columns))
    assert len({r["reason"] for r in every}) > 5
    found = read_manifest(tmp_path / "distinct").results["reasons"]
    assert all(r["agreed"] for r in found)
    assert sum(r["asked"] for r in found) < len(every), "asking every row would be no gain"


@pytest.fixture
def bare_850(cudnn: Cudnn, tmp_path: Path) -> Release:
    """8.5.0.96 as it comes from its own package: without the cuBLAS that it needs."""
    release = cudnn("8.5.0.96")
    folder = tmp_path / "nvidia" / "cudnn" / "lib"
    folder.mkdir(parents=True)
    for file in release.path.parent.glob("libcudnn*"):
        try:
            os.link(file, folder / file.name)
        except OSError:  # the cache lies on another file system
            shutil.copy2(file, folder / file.name)
    return Release("8.5.0.96", 11, folder / release.path.name, "path")


def test_a_library_without_what_it_needs_fails_row_by_row(
    bare_850: Release, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    space = space_of("algo=0..2")
    with pytest.raises(HarnessError, match=r"3 workers ended before they answered") as caught:
        map_release(bare_850, space, out, MapOptions(1, reasons="all"))
    assert "libcublas.so.11" in caught.value.hint
    manifest = read_manifest(out)
    assert manifest.state == "stopped"
    rows = table(out)
    assert [(r["status"], r["outcome"], r["reason"]) for r in rows] == [
        (None, "failed", "the worker ended: SIGABRT")
    ] * 3
    assert manifest.results["statuses"] == {"failed": 3}
    assert "libcudnn_adv_infer.so.8" in manifest.results["failures"][0]["output"]


def test_a_library_without_what_it_needs_says_what_and_how(
    bare_850: Release, tmp_path: Path
) -> None:
    out, space = tmp_path / "out", space_of("algo=all", "cell_mode=all", "aux_flags=all")
    with pytest.raises(
        HarnessError, match=r"8 workers ended before they answered .*SIGABRT"
    ) as caught:
        map_release(bare_850, space, out, MapOptions(2))
    assert "libcublas.so.11" in caught.value.hint
    assert "pyharness fetch 8.5.0.96" in caught.value.hint
    assert caught.value.exit_code == 1
    assert read_manifest(out).state == "stopped"


def test_the_fetched_library_has_what_it_needs(cudnn: Cudnn, tmp_path: Path) -> None:
    manifest = map_release(cudnn("8.5.0.96"), Space("three", space_of("algo=0..2").grids), tmp_path)
    assert manifest.results["statuses"] == {"SUCCESS": 3}
    assert manifest.notes == []
