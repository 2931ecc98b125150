"""validity.parquet holds, row by row, what the library must have said."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from pyharness.api.mapping import MapOptions, map_release
from pyharness.releases import Release
from pyharness.space.grid import Grid, Space
from pyharness.space.presets import build_space
from pyharness.spec.seq_lengths import LENGTH_PATTERNS
from tests.doubles import arguments, rules
from tests.doubles.maps import RULES, Table, counted, space_of, table

CLIP = [
    "cell_mode=all",
    "clip_mode=-1..2",
    "lclip=-inf,-1.5,0.0,1.0,inf,nan",
    "rclip=-inf,-1.5,0.0,1.0,inf,nan",
]
DATA = [
    "seq_lengths=all",
    "max_seq_length=-1,0,1,2,7,2147483647",
    "batch_size=-1,0,1,2,3,9",
    "layout=-1..3",
    "vector_size=1",
    "padding_fill=all",
]
STATE = [
    "strides=all",
    "nb_dims=-1..9",
    "tensor=all",
    "num_layers=0,1,2147483647",
    "direction_mode=all",
    "batch_size=-1,1,8,2147483647",
    "hidden_size=0,64",
    "proj_size=same,half,over,5",
]


def expected(row: dict[str, object]) -> rules.Answer | str:
    """What the fake library says of a row of the table."""
    call = row["call"]
    if call == "cudnnSetRNNDescriptor_v8":
        given = arguments.descriptor(row)
        by_name = {
            "algo": given[0],
            "cell_mode": given[1],
            "data_type": given[5],
            "hidden_size": given[9],
            "proj_size": given[10],
            "num_layers": given[11],
            "aux_flags": given[13],
        }
        return rules.descriptor(by_name)
    if call == "cudnnSetRNNDataDescriptor":
        numbers, lengths = arguments.data(row)
        return rules.data(numbers[1], numbers[2], numbers[3], lengths)
    if call == "cudnnSetTensorNdDescriptor":
        return rules.tensor(*arguments.tensor(row)[2:])
    _, mode, _, lclip, rclip = arguments.clip(row)
    return rules.clip(mode, lclip, rclip)


def wrong_rows(rows: Table, *, reasons: bool) -> Table:
    """Rows whose answer is not what it must be."""
    wrong = []
    for row in rows:
        answer = expected(row)
        if isinstance(answer, str):
            good = (
                row["status"] is None
                and row["status_code"] is None
                and row["outcome"] == "failed"
                and row["reason"].startswith(f"the worker ended: {answer}")
            )
        else:
            code, reason = answer
            named = code in rules.NAMES
            good = (
                row["status"] == (rules.NAMES[code] if named else str(code))
                and row["status_code"] == code
                and row["outcome"]
                == ("failed" if not named else "unsupported" if code else "passed")
                and row["reason"] == (reason if reasons else None)
            )
        if not good:
            wrong.append(row)
    return wrong


def words_of(grid: Grid) -> list[tuple[str, ...]]:
    """The words of every row, by nested loops over the labels of the axes."""
    return list(product(*grid.labels().values()))


def map_of(release: Release, space: Space, out: Path, reasons: str = "all") -> Table:
    """The rows of a finished map."""
    options = MapOptions(walkers=2, reasons=reasons, timeout_s=30)  # type: ignore[arg-type]
    manifest = map_release(release, space, out, options)
    assert manifest.state == "complete"
    assert manifest.notes == []
    return table(out)


@pytest.mark.parametrize("reasons", ["all", "none", "distinct"])
@pytest.mark.parametrize(
    ("call", "axes"),
    [
        ("cudnnSetRNNDescriptor_v8", RULES),
        ("cudnnRNNSetClip_v8", [*CLIP, "clip_nan_opt=-1..2"]),
        ("cudnnRNNSetClip_v9", CLIP),
        ("cudnnSetRNNDataDescriptor", DATA),
        ("cudnnSetRNNDataDescriptor", ["seq_lengths=[4,3],[3,4],[9,1],[-1,2]", "batch_size=2"]),
        ("cudnnSetTensorNdDescriptor", STATE),
    ],
    ids=["descriptor", "clip_v8", "clip_v9", "data", "literal lengths", "state"],
)
def test_every_row_of_every_call(
    fake_release: Release, tmp_path: Path, call: str, axes: list[str], reasons: str
) -> None:
    space = space_of(*axes, call=call)
    rows = map_of(fake_release, space, tmp_path / "out", reasons)
    assert wrong_rows(rows, reasons=reasons == "all") == []
    (grid,) = space.grids
    # The words of each row, in the order of nested loops; proj_size is told by its rule.
    names = list(grid.labels())
    for row, words in zip(rows, words_of(grid), strict=True):
        for name, word in zip(names, words, strict=True):
            if name == "proj_size":
                assert row["proj_size"] == arguments.proj_size(row)
                assert word in (row["proj_rule"], str(row["proj_size"]))
            elif name in ("lclip", "rclip"):
                assert repr(row[name]) == word
            else:
                assert str(row[name]) == word
    assert {r["release"] for r in rows} == {"9.13.0.50+cu12"}
    assert {r["call"] for r in rows} == {call}
    assert {r["provenance"] for r in rows} == {"observed"}


def test_several_calls_stand_one_after_the_other(fake_release: Release, tmp_path: Path) -> None:
    few = ["data_type=float", "math_prec=float", "math_type=default_math", "nb_dims=3"]
    few += ["algo=standard,persist_static", "bias_mode=double_bias", "num_layers=0,1"]
    space = build_space("host", None, few)
    rows = map_of(fake_release, space, tmp_path / "out")
    assert wrong_rows(rows, reasons=True) == []
    sizes = [(g.call.name, g.call.stage, g.size) for g in space.grids]
    assert len(sizes) == 5
    at = 0
    for call, stage, size in sizes:
        part = rows[at : at + size]
        assert {(r["call"], r["stage"]) for r in part} == {(call, stage)}
        own = {a.name for g in space.grids if g.call.name == call for a in g.call.axes}
        for column in set(arguments.WORDS) - own:
            assert {r[column] for r in part} == {None}, f"{call} has no {column}"
        at += size
    assert at == len(rows)


def test_dead_rows_say_how_and_the_others_are_right(fake_release: Release, tmp_path: Path) -> None:
    space = space_of("hidden_size=0,666,3,668,2,669", "num_layers=0,1", "proj_size=same,over")
    options = MapOptions(walkers=1, reasons="all", timeout_s=30)
    manifest = map_release(fake_release, space, tmp_path, options)
    rows = table(tmp_path)
    assert wrong_rows(rows, reasons=True) == []
    assert counted(rows, "outcome", "reason")["failed", "the worker ended: SIGABRT"] == 4
    assert manifest.results["rows"] == 24
    assert manifest.results["statuses"] == {
        "SUCCESS": 2,
        "BAD_PARAM": 8,
        "NOT_SUPPORTED": 2,
        "failed": 12,
    }
    failures = manifest.results["failures"]
    causes = ["SIGSEGV"] * 4 + ["SIGABRT"] * 4 + ["exit status 7"] * 4
    assert [f["cause"] for f in failures] == causes
    assert [f["problem"] for f in failures[4:6]] == [
        "hidden_size=668 num_layers=0",
        "hidden_size=668",
    ]
    assert failures[5]["output"] == "Could not load library libfake_part.so.8"


def test_numbers_without_a_name_are_defects(fake_release: Release, tmp_path: Path) -> None:
    rows = map_of(fake_release, space_of("hidden_size=670,1", "num_layers=1..3"), tmp_path / "o")
    assert [(r["status"], r["status_code"], r["outcome"]) for r in rows] == [
        ("12345", 12345, "failed"),
        ("7777", 7777, "failed"),
        ("-5", -5, "failed"),
        *[("SUCCESS", 0, "passed")] * 3,
    ]


def test_more_statuses_than_there_are_codes_for(fake_release: Release, tmp_path: Path) -> None:
    space = space_of("hidden_size=670", "num_layers=4..303")
    rows = map_of(fake_release, space, tmp_path / "o", "none")
    assert [r["status_code"] for r in rows[:254]] == [20000 + n for n in range(4, 258)]
    assert {(r["status"], r["status_code"], r["outcome"], r["reason"]) for r in rows[254:]} == {
        (None, None, "failed", "(a status beyond the most that are kept)")
    }


def test_an_accepted_row_that_is_not_kept_is_a_defect(
    fake_release: Release, tmp_path: Path
) -> None:
    space = space_of("hidden_size=5,672", "num_layers=0,1,2")
    manifest = map_release(fake_release, space, tmp_path, MapOptions(reasons="all"))
    rows = table(tmp_path)
    assert [(r["status"], r["outcome"], r["reason"]) for r in rows[3:]] == [
        ("BAD_PARAM", "unsupported", "numLayers < 1 with algo 0"),
        *[("SUCCESS", "failed", "hidden_size 672 reads back as 673")] * 2,
    ]
    (note,) = manifest.notes
    assert "0 got another answer and 2 were accepted but read back otherwise" in note
    assert "cannot be relied on" in note


def test_the_patterns_are_those_of_the_library_side() -> None:
    assert [arguments.lengths(p, 5, 3) for p in LENGTH_PATTERNS] == [
        [5, 5, 5],
        [5, 3, 1],
        [1, 3, 5],
        [5, 5, 0],
        [0, 0, 0],
        [5, 0, 0],
        [6, 5, 5],
        [5, 5, -1],
    ]
