"""Two maps compared: what was planted is found exactly, and nothing where nothing was planted."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.analyze.map_diff import MapDiff
from pyharness.api.diffing import diff_maps, map_folder, open_side, row_reasons
from pyharness.api.mapping import MapOptions, map_release
from pyharness.api.public import diff
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.space.grid import Space
from pyharness.space.presets import build_space
from pyharness.store.reading import MapFolder
from tests.analyze.test_comparison import NAMED, holds
from tests.api import test_changes
from tests.api.test_changes import AXES, CALL, make_map, planted_answer, problems
from tests.doubles import rules

planted_maps = test_changes.planted_maps  # the fixture
Maps = tuple[MapFolder, MapFolder]
Step = tuple[str | None, ...]
LABELS = {
    "algo": ["standard", "persist_static", "persist_dynamic", "persist_static_small_h"],
    "data_type": ["float", "double", "half"],
    "aux_flags": ["padded_io_disabled", "padded_io_enabled", "2"],
}


def words_of(row: dict[str, Any]) -> dict[str, str]:
    """A problem of AXES as it is printed."""
    return {n: LABELS[n][row[n]] if n in LABELS else str(row[n]) for n in AXES}


def planted_steps() -> dict[Step, set[str]]:
    """What changes between the two libraries: (change, status, reason before, after) to rows."""
    steps: dict[Step, set[str]] = defaultdict(set)
    for row in problems():
        (code_a, reason_a), (code_b, reason_b) = rules.descriptor(row), planted_answer(row)
        old = rules.NAMES[code_a]  # type: ignore[index]
        new = None if code_b is None else rules.NAMES[code_b]
        if change := NAMED[old, new]:
            steps[change, old, new, None, None].add(str(words_of(row)))
        elif old != "SUCCESS" and reason_a != reason_b:
            steps["other_reason", old, new, reason_a, reason_b].add(str(words_of(row)))  # type: ignore[index]
    return dict(steps)


def found_steps(result: MapDiff) -> dict[Step, set[str]]:
    """The same, by the printed conditions of each group."""
    (call,) = result.calls
    found: dict[Step, set[str]] = {}
    for g in call.comparison.groups:
        points = [words_of(row) for row in problems()]
        here = {str(p) for p in points if any(holds(w, p) for w in g.words)}
        assert (g.rows, g.proven) == (len(here), True)
        found[g.change, g.status_a, g.status_b, g.reason_a, g.reason_b] = here
    return found


def test_planted_changes_are_found_and_no_others(planted_maps: Maps) -> None:
    result = diff_maps(*planted_maps)
    expected = planted_steps()
    assert {step[0] for step in expected} == {
        "newly_refused",
        "newly_failed",
        "newly_accepted",
        "other_status",
        "other_reason",
    }
    assert found_steps(result) == expected
    assert result.rows == 4 * 3 * 3 * 2 * 3 * 3
    assert result.count("newly_failed") == 1
    said = {g.change: g.words for g in result.calls[0].comparison.groups}
    assert said["newly_accepted"] == [
        "algo=persist_static and data_type=double and hidden_size>=7 and proj_size=same and "
        "num_layers>=1 and aux_flags!=2"
    ]


def test_turned_around_every_step_is_the_opposite_one(planted_maps: Maps) -> None:
    there, back = planted_steps(), found_steps(diff_maps(*planted_maps[::-1]))
    opposite = {
        "newly_refused": "newly_accepted",
        "newly_accepted": "newly_refused",
        "newly_failed": "no_longer_failed",
        "other_status": "other_status",
        "other_reason": "other_reason",
    }
    assert back == {
        (opposite[str(change)], b, a, reason_b, reason_a): rows
        for (change, a, b, reason_a, reason_b), rows in there.items()
    }


def test_two_maps_of_one_library_differ_in_nothing(
    planted_maps: Maps,
    fake: Path,
    tmp_path: Path,
) -> None:
    result = diff_maps(planted_maps[0], make_map(fake, tmp_path / "again"))
    assert result.calls[0].comparison.groups == []
    gates = ("newly_failed", "other_reason", "call_removed", "enumerator_added")
    assert [result.count(g) for g in gates] == [0, 0, 0, 0]
    assert (result.calls[0].only_a, result.calls[0].only_b, result.notes) == ({}, {}, [])
    assert result.reasons_by_row
    assert [s["release"]["name"] for s in result.sides] == ["9.13.0.50+cu12"] * 2


def test_environment_variables_that_change_the_library_are_seen(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"hidden_size": "64,666", "proj_size": "same,over", "num_layers": "1"}
    wild = make_map(fake, tmp_path / "wild", **axes)
    monkeypatch.setenv("FAKE_CUDNN_TAME", "1")
    monkeypatch.setenv("FAKE_CUDNN_SILENT", "1")  # only BAD_PARAM has a reason then
    tame = make_map(fake, tmp_path / "tame", **axes)
    groups = diff_maps(wild, tame).calls[0].comparison.groups
    assert [(g.change, g.status_b, g.reason_a, g.reason_b, g.words) for g in groups] == [
        ("no_longer_failed", "NOT_SUPPORTED", None, None, ["hidden_size=666 and proj_size=over"]),
        ("no_longer_failed", "SUCCESS", None, None, ["hidden_size=666 and proj_size=same"]),
        (
            "other_reason",
            "NOT_SUPPORTED",
            "projSize > hiddenSize",
            "",
            ["hidden_size=64 and proj_size=over"],
        ),
    ]


def test_only_common_problems_are_compared_and_the_rest_is_named(
    planted_maps: Maps,
    fake: Path,
    tmp_path: Path,
) -> None:
    other = {**AXES, "hidden_size": "-1,64,7", "data_type": "half,float", "aux_flags": "1"}
    (call,) = diff_maps(make_map(fake, tmp_path / "other", **other), planted_maps[1]).calls
    assert call.only_a == {"hidden_size": ["-1"]}
    assert call.only_b == {
        "data_type": ["double"],
        "hidden_size": ["0"],
        "aux_flags": ["padded_io_disabled", "2"],
    }
    assert call.axes["hidden_size"] == ["64", "7"]
    assert call.rows == 4 * 2 * 2 * 2 * 3
    kept = {
        step: {str(w) for w in map(words_of, problems()) if str(w) in rows and _common(w)}
        for step, rows in planted_steps().items()
    }
    found = {
        (g.change, g.status_a, g.status_b, g.reason_a, g.reason_b): g.rows
        for g in call.comparison.groups
    }
    assert found == {step: len(rows) for step, rows in kept.items() if rows}
    assert all(g.proven for g in call.comparison.groups)


def _common(words: dict[str, str]) -> bool:
    return (
        words["hidden_size"] != "0"
        and words["data_type"] != "double"
        and words["aux_flags"] == "padded_io_enabled"
    )


def test_no_call_and_no_value_in_common(
    planted_maps: Maps,
    fake_release: Release,
    tmp_path: Path,
) -> None:
    clip = tmp_path / "clip"
    map_release(fake_release, build_space("clip", "cudnnRNNSetClip_v8", []), clip)
    with pytest.raises(UsageError, match="no call in common") as caught:
        diff_maps(planted_maps[0], MapFolder(clip))
    assert caught.value.hint == f"one has {CALL}, the other cudnnRNNSetClip_v8"
    far = make_map(fake_release.path, tmp_path / "far", **{**AXES, "hidden_size": "8,9"})
    with pytest.raises(UsageError, match="share no value of hidden_size"):
        diff_maps(planted_maps[0], far)


def test_a_call_that_a_release_lost_is_named(
    fake: Path, build: Callable[..., Path], tmp_path: Path
) -> None:
    space = build_space("clip", None, ["lclip=0.0", "rclip=0.0,nan"])
    sides = []
    for library in (fake, build("WITHOUT_OPTIONAL")):
        folder = tmp_path / library.name
        map_release(Release("9.13.0.50", 12, library, "path"), space, folder)
        sides.append(MapFolder(folder))
    there, back = diff_maps(*sides), diff_maps(*sides[::-1])
    assert (there.calls_removed, there.calls_added) == (["cudnnRNNSetClip_v9"], [])
    assert (back.calls_removed, back.calls_added) == ([], ["cudnnRNNSetClip_v9"])
    assert [c.call for c in there.calls] == ["cudnnRNNSetClip_v8"]
    assert (there.reasons_by_row, there.reason_texts) == (False, [])


def copy_of(side: MapFolder, folder: Path, **changes: Any) -> MapFolder:
    """A map whose run.json was changed."""
    folder.mkdir()
    for file in side.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    data = json.loads((folder / "run.json").read_text())
    for name, value in changes.items():
        data[name].update(value)
    (folder / "run.json").write_text(json.dumps(data))
    return MapFolder(folder)


def test_costs_of_two_machines_are_not_compared(planted_maps: Maps, tmp_path: Path) -> None:
    a, b = planted_maps
    gone = {"path": str(tmp_path / "no such library")}
    here = copy_of(b, tmp_path / "here", release=gone)
    elsewhere = copy_of(b, tmp_path / "elsewhere", release=gone, host={"name": "another"})
    other_cpu = copy_of(b, tmp_path / "cpu", release=gone, host={"cpu": "another"})
    assert diff_maps(a, here).comparable_costs
    assert not diff_maps(a, elsewhere).comparable_costs
    assert not diff_maps(a, other_cpu).comparable_costs
    # The library is not there to be timed in turn, so the maps' own figures stand, unjudged.
    costs = diff_maps(a, here).costs
    assert {c.verdict for c in costs} == {"not judged"}
    own = {r["answer"]: r["median_s"] for r in a.rows_of("costs")}
    assert {c.answer: c.a_s for c in costs} == own
    assert {c.verdict for c in diff_maps(a, a).costs} <= {"slower", "faster", "same"}


def test_a_side_is_a_folder_or_a_release_that_is_mapped_once(fake: Path, tmp_path: Path) -> None:
    space = build_space(None, CALL, ["hidden_size=0,1"])
    maps, options = tmp_path / "maps", MapOptions(1, reasons="all")
    steps: list[str] = []
    side = open_side(str(fake), space, maps, options, lambda step, *_: steps.append(step))
    assert side.folder.parent.parent == maps
    assert any(CALL in step for step in steps)
    written = (side.folder / "run.json").stat().st_mtime_ns
    again = open_side(str(fake), space, maps, options)
    assert again.folder == side.folder
    assert (again.folder / "run.json").stat().st_mtime_ns == written
    assert open_side(str(side.folder), space, maps, options).folder == side.folder
    with pytest.raises(UsageError, match="unknown release 'no-such'"):
        open_side("no-such", space, maps, options)


def test_no_two_maps_share_a_folder(fake_release: Release, fake: Path, tmp_path: Path) -> None:
    def space(*axes: str) -> Space:
        return build_space(None, CALL, axes)

    other, unknown = Release("9.12.0.46", 12, fake, "path"), Release(None, None, fake, "path")
    makers = [
        (fake_release, space(), "all"),
        (fake_release, space("hidden_size=1"), "all"),
        (fake_release, space("hidden_size=2"), "all"),
        (fake_release, space(), "distinct"),
        (other, space(), "all"),
        (unknown, space(), "all"),
    ]
    folders = {map_folder(*maker, tmp_path) for maker in makers}
    assert len(folders) == len(makers)


def test_reasons_of_every_row_up_to_five_million() -> None:
    assert row_reasons(build_space("host", None, [])) == "all"
    for last, how in ((2500, "all"), (2501, "distinct")):
        space = build_space(None, CALL, ["input_size=1..2000", f"hidden_size=1..{last}"])
        assert row_reasons(space) == how


def test_the_python_diff_keeps_maps_where_it_is_told(fake: Path, tmp_path: Path) -> None:
    result = diff(
        fake, fake, call=CALL, axes={"hidden_size": [0, 1]}, maps=tmp_path / "m", out=tmp_path / "o"
    )
    assert (result.rows, result.calls[0].comparison.groups) == (2, [])
    assert [p.name for p in (tmp_path / "o").iterdir()] == ["changes.parquet"]
    assert len(list((tmp_path / "m").rglob("run.json"))) == 1
