"""changes.parquet against a join of the two validity tables, on libraries with planted changes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from pyharness.api.changes import write_changes
from pyharness.api.diffing import diff_maps
from pyharness.api.mapping import MapOptions, map_release
from pyharness.api.public import diff
from pyharness.releases import Release
from pyharness.space.presets import build_space
from pyharness.spec.columns import AXIS_COLUMNS, SCHEMA_VERSION
from pyharness.spec.tables import TABLES
from pyharness.store.reading import MapFolder, read_frame
from tests.doubles import rules
from tests.doubles.build import CSRC, SOURCE

# The fake library with one change of each kind; planted_answer below says the same in Python.
PLANTED = """
#define cudnnSetRNNDescriptor_v8 unplanted
#include "fake_cudnn.cpp"
#undef cudnnSetRNNDescriptor_v8
extern "C" Status cudnnSetRNNDescriptor_v8(
    Descriptor rnn, Enum algo, Enum cell_mode, Enum bias_mode, Enum direction_mode,
    Enum input_mode, Enum data_type, Enum math_prec, Enum math_type, std::int32_t input_size,
    std::int32_t hidden_size, std::int32_t proj_size, std::int32_t num_layers,
    Descriptor dropout, std::uint32_t aux_flags) {
    const char *const name = "cudnnSetRNNDescriptor_v8";
    if (hidden_size > 0 && aux_flags < 2 && num_layers < 1)
        return refuse(bad_param(), name, "another word for no layers");
    if (hidden_size == 7 && algo == 3 && num_layers == 1 && data_type == 2 && aux_flags == 1 &&
        proj_size == 7)
        std::abort();
    const Status said = ::unplanted(
        rnn, algo, cell_mode, bias_mode, direction_mode, input_mode, data_type, math_prec,
        math_type, input_size, hidden_size, proj_size, num_layers, dropout, aux_flags);
    if (said == kSuccess && data_type == 2 && num_layers == 2)
        return refuse(bad_param(), name, "half in two layers");
    if (said == not_supported() && data_type == 1 && algo == 1 && proj_size == hidden_size)
        return kSuccess;
    return said == bad_param() && aux_flags == 2 ? not_supported() : said;
}
"""
AXES = {
    "algo": "all",
    "data_type": "float,double,half",
    "hidden_size": "0,7,64",
    "proj_size": "over,same",
    "num_layers": "0..2",
    "aux_flags": "0..2",
}
CALL = "cudnnSetRNNDescriptor_v8"


def build_planted(folder: Path) -> Path:
    """The library with the planted changes, compiled once for all that share the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "libcudnn_planted.so.9"
    with FileLock(folder / ".planted.lock"):
        if not target.exists():
            source, scratch = folder / "planted.cpp", folder / "planted.part"
            source.write_text(PLANTED)
            command = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{CSRC}"]
            command += [f"-I{SOURCE.parent}", str(source), "-o", str(scratch)]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            scratch.rename(target)
    return target


def planted_answer(row: dict[str, Any]) -> tuple[int | None, str | None]:
    """What the planted library says, by the rules of the plain one and the planted changes."""
    hidden, layers, aux = int(row["hidden_size"]), int(row["num_layers"]), int(row["aux_flags"])
    kind, algo, same = int(row["data_type"]), int(row["algo"]), row["proj_size"] == "same"
    status, reason = rules.descriptor(row)
    if hidden > 0 and aux < 2 and layers < 1:
        return rules.BAD_PARAM, "another word for no layers"
    if (hidden, algo, layers, kind, aux, same) == (7, 3, 1, 2, 1, True):
        return None, "the worker ended: SIGABRT"
    if status == 0 and kind == 2 and layers == 2:
        return rules.BAD_PARAM, "half in two layers"
    if status == rules.NOT_SUPPORTED and kind == 1 and algo == 1 and same:
        return 0, None
    if status == rules.BAD_PARAM and aux == 2:
        return rules.NOT_SUPPORTED, reason  # type: ignore[return-value]
    return status, reason  # type: ignore[return-value]


def problems() -> Iterator[dict[str, Any]]:
    """Every problem of AXES as numbers."""
    axes = [range(4), (0, 1, 2), (0, 7, 64), ("over", "same"), range(3), range(3)]
    for values in product(*axes):
        yield {"cell_mode": 2, **dict(zip(AXES, values, strict=True))}


def make_map(library: Path, folder: Path, reasons: Any = "all", **axes: str) -> MapFolder:
    """A map of the descriptor call over AXES, or these."""
    space = build_space(None, CALL, [f"{n}={v}" for n, v in (axes or AXES).items()])
    release = Release("9.13.0.50", 12, library, "path")
    map_release(release, space, folder, MapOptions(walkers=1, reasons=reasons))
    return MapFolder(folder)


@pytest.fixture(scope="session")
def planted_maps(
    build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[MapFolder, MapFolder]:
    """The map of the plain library and that of the planted one, with every reason."""
    plain = build()
    base = tmp_path_factory.mktemp("planted")
    planted = build_planted(plain.parent)
    return make_map(plain, base / "plain"), make_map(planted, base / "planted")


def joined(a: MapFolder, b: MapFolder) -> pd.DataFrame:
    """Both validity tables side by side, one row a problem."""
    axes = [c.name for c in AXIS_COLUMNS]
    sides = [read_frame(m.folder).astype(object) for m in (a, b)]
    axes = [n for n in axes if n in sides[0].columns]
    both = sides[0].merge(sides[1], on=["call", "stage", *axes], suffixes=("_a", "_b"))
    assert len(both) == len(sides[0]) == len(sides[1])
    return both


def expected_changes(a: MapFolder, b: MapFolder) -> pd.DataFrame:
    """The rows of the join that differ, with the name of the change."""
    both = joined(a, b)
    failed_a, failed_b = both.outcome_a == "failed", both.outcome_b == "failed"
    ok_a, ok_b = both.outcome_a == "passed", both.outcome_b == "passed"
    refused = (both.outcome_a == "unsupported") & (both.outcome_b == "unsupported")
    other_status = refused & (both.status_a != both.status_b)
    other_words = both.reason_a.fillna("") != both.reason_b.fillna("")
    both["change"] = None
    both.loc[~failed_a & failed_b, "change"] = "newly_failed"
    both.loc[failed_a & ~failed_b, "change"] = "no_longer_failed"
    both.loc[ok_a & (both.outcome_b == "unsupported"), "change"] = "newly_refused"
    both.loc[ok_b & (both.outcome_a == "unsupported"), "change"] = "newly_accepted"
    both.loc[other_status, "change"] = "other_status"
    both.loc[refused & ~other_status & other_words, "change"] = "other_reason"
    return both[both.change.notna()]


@pytest.mark.parametrize("turned", [False, True])
def test_rows_are_those_of_a_join(
    planted_maps: tuple[MapFolder, MapFolder], tmp_path: Path, turned: bool
) -> None:
    a, b = planted_maps[::-1] if turned else planted_maps
    path = write_changes(diff_maps(a, b), tmp_path)
    assert path == tmp_path / "changes.parquet"
    assert [p.name for p in tmp_path.iterdir()] == ["changes.parquet"]
    changes, expected = pq.read_table(path).to_pandas().astype(object), expected_changes(a, b)
    assert len(changes) == len(expected) > 50
    keys = ["call", "stage", *AXES, "proj_rule", "cell_mode", "math_prec", "dropout", "change"]
    matched = changes.merge(expected, on=[*keys, "status_a", "status_b"], suffixes=("", "_x"))
    assert len(matched) == len(expected)
    reasons = matched[matched.change == "other_reason"]
    assert len(reasons) > 0
    assert (reasons.reason_a == reasons.reason_a_x).all()
    assert (reasons.reason_b == reasons.reason_b_x).all()
    assert (
        matched[matched.change != "other_reason"][["reason_a", "reason_b"]].isna().to_numpy().all()
    )
    assert set(changes.release_a) == {a.manifest.release["name"]}
    assert set(changes.provenance) == {"observed"}


def test_every_declared_column_is_there_in_its_type(
    planted_maps: tuple[MapFolder, MapFolder], tmp_path: Path
) -> None:
    table = pq.read_table(write_changes(diff_maps(*planted_maps), tmp_path))
    kinds = {
        "string": pa.string(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
    }
    for column, field in zip(TABLES["changes"], table.schema, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        assert (field.name, kind) == (column.name, kinds[column.type])
    assert table.schema.metadata[b"pyharness.schema"] == str(SCHEMA_VERSION).encode()
    # Axes of other calls are null, and those of this one never are.
    own = {n.name for n in MapFolder(planted_maps[0].folder).grids[0].call.axes} | {"proj_rule"}
    for column in AXIS_COLUMNS:
        empty = table.column(column.name).null_count
        assert empty == (0 if column.name in own else table.num_rows), column.name


def test_proj_size_is_the_size_and_the_rule_stands_beside_it(
    planted_maps: tuple[MapFolder, MapFolder], tmp_path: Path
) -> None:
    frame = pq.read_table(write_changes(diff_maps(*planted_maps), tmp_path)).to_pandas()
    assert set(frame.proj_rule) == {"same", "over"}
    over = frame.proj_rule == "over"
    assert (frame.proj_size[over] == frame.hidden_size[over] + 1).all()
    assert (frame.proj_size[~over] == frame.hidden_size[~over]).all()


def test_the_conditions_of_a_row_are_those_of_its_group(
    planted_maps: tuple[MapFolder, MapFolder], tmp_path: Path
) -> None:
    result = diff_maps(*planted_maps)
    frame = pq.read_table(write_changes(result, tmp_path)).to_pandas()
    groups = {" or ".join(g.words): g.rows for g in result.calls[0].comparison.groups}
    assert frame.conditions.value_counts().to_dict() == groups


def test_nothing_changed_leaves_a_table_without_rows(
    planted_maps: tuple[MapFolder, MapFolder], tmp_path: Path
) -> None:
    plain = planted_maps[0].folder
    result = diff(plain, plain, out=tmp_path)
    assert sum(len(c.comparison.groups) for c in result.calls) == 0
    table = pq.read_table(tmp_path / "changes.parquet")
    assert (table.num_rows, table.column_names) == (0, [c.name for c in TABLES["changes"]])
