"""Rules of libraries: what was planted is found between tested values; what real releases check."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from pyharness.analyze import rules_walk
from pyharness.analyze.conditions import AxisValues
from pyharness.analyze.rules import find_rules
from pyharness.analyze.rules_diff import compare_rules
from pyharness.analyze.rules_fold import Folded, fold_rows
from pyharness.analyze.rules_release import CallRules, Changed, ReleaseRules
from pyharness.api import ruling, thresholds
from pyharness.api.diffing import open_side
from pyharness.api.mapped import Library, Mapped, mapped
from pyharness.api.mapping import MapOptions, map_release
from pyharness.api.ruling import find_all, rules_folder
from pyharness.api.thresholds import limits_to_add, walk_axes
from pyharness.releases import Release
from pyharness.space.presets import build_space
from pyharness.store.reading import MapFolder
from tests.analyze.test_rules import as_sets
from tests.doubles.build import CSRC, SOURCE

CALL = "cudnnSetRNNDescriptor_v8"
DATA = "cudnnSetRNNDataDescriptor"
# The fake library, tame, with refusals that lie between any two values that somebody would try.
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
    if (algo == 1 && hidden_size >= 100 && hidden_size <= 199)
        return refuse(not_supported(), name, "a pocket");
    if (algo != 1 && hidden_size > 700) return refuse(not_supported(), name, "too wide");
    if (input_size == 7) return refuse(bad_param(), name, "seven");
    if (input_size > 1000000) return refuse(bad_param(), name, "far away");
    return ::unplanted(rnn, algo, cell_mode, bias_mode, direction_mode, input_mode, data_type,
                       math_prec, math_type, input_size, hidden_size, proj_size, num_layers,
                       dropout, aux_flags);
}
"""


@pytest.fixture(scope="session")
def pockets(build: Callable[..., Path]) -> Path:
    """The library with the planted refusals, compiled once for all processes of a test run."""
    folder = build().parent
    target = folder / "libcudnn_pockets.so.9"
    with FileLock(folder / ".pockets.lock"):
        if not target.exists():
            source, scratch = folder / "pockets.cpp", folder / "pockets.part"
            source.write_text(PLANTED)
            command = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{CSRC}"]
            command += [f"-I{SOURCE.parent}", str(source), "-o", str(scratch)]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            scratch.rename(target)
    return target


@pytest.fixture(autouse=True)
def tame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDNN_TAME", "1")


def made(library: Path, folder: Path, *axes: str, reasons: str = "all") -> MapFolder:
    """A map of the descriptor call."""
    release = Release("9.13.0.50", 12, library, "path")
    options = MapOptions(walkers=1, reasons=reasons)  # type: ignore[arg-type]
    map_release(release, build_space(None, CALL, axes), folder, options)
    return MapFolder(folder)


def only(found: list[ReleaseRules]) -> CallRules:
    ((side,), (call,)) = found, found[0].calls
    assert side.release == "9.13.0.50+cu12"
    return call


def said(call: CallRules) -> list[tuple[str | None, str]]:
    return [(rule.status, rule.words) for rule in call.found.rules]


PLANTED_RULES = [
    ("BAD_PARAM", "hidden_size<=0"),
    ("BAD_PARAM", "input_size=7"),
    ("NOT_SUPPORTED", "algo=standard and hidden_size>700"),
    ("NOT_SUPPORTED", "algo=persist_static and 100<=hidden_size<=199"),
    ("SUCCESS", "otherwise"),
]


@pytest.mark.parametrize("reasons", ["all", "none"])
def test_what_lies_between_tested_values_is_found(
    pockets: Path, tmp_path: Path, reasons: str
) -> None:
    axes = ["algo=standard,persist_static", "hidden_size=0,64,1024", "input_size=1,512"]
    folder = made(pockets, tmp_path / "m", *axes, reasons=reasons)
    call = only(find_all([folder], MapOptions(walkers=1)))
    assert (call.found.proven, call.found.fewest) == (True, True)
    assert sorted(said(call)) == sorted(PLANTED_RULES)
    walked = {w.axis: w for w in call.walked}
    assert walked["hidden_size"].limits == [1, 100, 200, 701]
    assert walked["input_size"].limits == [7, 8]
    assert walked["hidden_size"].tried == [(0, 1024)]
    assert walked["hidden_size"].skipped == []
    # Both sides of each limit belong to the map now.
    assert ",".join(call.axes["hidden_size"]) == "0,1,64,99,100,199,200,700,701,1024"
    assert call.axes["input_size"] == ["1", "6", "7", "8", "512"]
    assert call.rows == 2 * 10 * 5
    told = {r.words: [w.text for w in r.reasons] for r in call.found.rules}
    assert told["algo=persist_static and 100<=hidden_size<=199"] == ["a pocket"]
    assert told["hidden_size<=0"] == ["hiddenSize < 1"]
    assert told["otherwise"] == []


def test_nothing_is_walked_where_nobody_asks_for_it(pockets: Path, tmp_path: Path) -> None:
    folder = made(pockets, tmp_path / "m", "hidden_size=64,1024", "input_size=1,512")
    call = only(find_all([folder], MapOptions(walkers=1), most=0))
    assert call.walked == []
    assert said(call) == [("NOT_SUPPORTED", "hidden_size=1024"), ("SUCCESS", "otherwise")]


def test_beyond_what_is_walked_a_known_change_is_found_by_halving(
    pockets: Path, tmp_path: Path
) -> None:
    folder = made(pockets, tmp_path / "m", "hidden_size=64", "input_size=64,2000000")
    call = only(find_all([folder], MapOptions(walkers=1), most=1000))
    (walked,) = call.walked
    assert (walked.limits, walked.skipped) == ([1_000_001], [(1065, 1_999_999)])
    assert said(call) == [("BAD_PARAM", "input_size>1000000"), ("SUCCESS", "otherwise")]


def test_every_change_in_a_gap_is_found_by_halving_not_the_first_alone(
    fake: Path, tmp_path: Path
) -> None:
    axes = ["hidden_size=-2147483648,2147483647", "proj_size=same,over,half,500000"]
    folder = made(fake, tmp_path / "m", *axes)
    call = only(find_all([folder], MapOptions(walkers=1), most=1000))
    (walked,) = call.walked
    # 1: no size below. 500,000: a projection as wide fits. The last: over is clamped to it.
    assert (walked.limits, walked.cut) == ([1, 500_000, 2**31 - 1], False)
    assert walked.tried == [(-(2**31), -(2**31)), (-1, 998), (2**31 - 1, 2**31 - 1)]
    assert set(said(call)) == {
        ("BAD_PARAM", "hidden_size<=0"),
        ("NOT_SUPPORTED", "hidden_size<=499999 and proj_size=500000"),
        ("NOT_SUPPORTED", "hidden_size<=2147483646 and proj_size=over"),
        ("SUCCESS", "otherwise"),
    }
    assert (call.rows, call.of_map) == (4 * 7, 4 * 2)


def test_limits_of_kinds_that_no_walk_tried_are_exact_too(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All these widths look alike at the two sizes of the map, and one setting is walked.
    monkeypatch.setattr(rules_walk, "MOST_SETTINGS", 1)
    widths = [1, 40, 3000, 500_000, 900_000_000]
    proj = f"proj_size={','.join(map(str, widths))}"
    folder = made(fake, tmp_path / "m", "hidden_size=-5,2147483647", proj, "cell_mode=lstm,gru")
    call = only(find_all([folder], MapOptions(walkers=1), most=100))
    (walked,) = call.walked
    assert (walked.settings, walked.of_settings) == (1, 10)
    # Of a gru any projection that is not as wide is refused, so the next size is a limit, too.
    assert walked.limits == sorted({*widths, *(width + 1 for width in widths)})
    assert ("NOT_SUPPORTED", "hidden_size<=39 and proj_size=40") in said(call)
    assert call.found.proven


def test_a_map_whose_library_is_gone_has_rules_and_says_what_it_lacks(
    pockets: Path, tmp_path: Path
) -> None:
    library = tmp_path / "lib" / "libcudnn.so.9"
    library.parent.mkdir()
    library.write_bytes(pockets.read_bytes())
    folder = made(library, tmp_path / "m", "hidden_size=0,64,1024")
    library.unlink()
    (side,) = find_all([folder], MapOptions(walkers=1))
    assert side.notes == [
        "the library of this map is not here: sizes between those tried are unknown"
    ]
    (call,) = side.calls
    assert said(call) == [
        ("BAD_PARAM", "hidden_size=0"),
        ("NOT_SUPPORTED", "hidden_size=1024"),
        ("SUCCESS", "otherwise"),
    ]
    assert [r.text for r in call.found.rules[0].reasons] == ["hiddenSize < 1"]


def test_two_sides_tell_reasons_apart_only_if_both_can(pockets: Path, tmp_path: Path) -> None:
    axes = ["hidden_size=0,64,1024", "input_size=1,7"]
    told = made(pockets, tmp_path / "a", *axes)
    library = tmp_path / "lib" / "libcudnn.so.9"
    library.parent.mkdir()
    library.write_bytes(pockets.read_bytes())
    silent = made(library, tmp_path / "b", *axes, reasons="none")
    library.unlink()
    alone, both = find_all([told], MapOptions(1)), find_all([told, silent], MapOptions(1))
    assert only(alone).found.by_reason
    assert [side.calls[0].found.by_reason for side in both] == [False, False]


def test_limits_at_the_seams_of_a_long_walk_are_found(
    pockets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(pockets, tmp_path / "m", "hidden_size=90,210", "algo=standard,persist_static")
    for length in (1, 9, 10, 11, 109, 110):
        monkeypatch.setattr(thresholds, "_TOGETHER", length)
        (walked,) = only(find_all([folder], MapOptions(walkers=1))).walked
        assert (walked.tried, walked.limits) == ([(90, 210)], [100, 200])


def test_what_shows_in_some_settings_only_is_found_where_the_map_tells_none_apart(
    pockets: Path, tmp_path: Path
) -> None:
    every = ["algo=all", "cell_mode=all", "bias_mode=all", "direction_mode=all", "math_type=all"]
    folder = made(pockets, tmp_path / "m", "hidden_size=90,210", *every, reasons="none")
    call = only(find_all([folder], MapOptions(walkers=1)))
    (walked,) = call.walked
    assert (walked.of_settings, walked.kinds, walked.of_kinds) == (4 * 4 * 4 * 2 * 4, 1, 1)
    assert walked.limits == [100, 200]
    assert said(call)[0] == ("NOT_SUPPORTED", "algo=persist_static and 100<=hidden_size<=199")


def test_what_the_map_has_in_full_is_not_walked(pockets: Path, tmp_path: Path) -> None:
    folder = made(pockets, tmp_path / "m", "hidden_size=698..703", "algo=standard,persist_static")
    (walked,) = only(find_all([folder], MapOptions(walkers=1))).walked
    assert (walked.settings, walked.limits) == (0, [701])


def test_where_all_settings_are_few_all_are_tried(pockets: Path, tmp_path: Path) -> None:
    every = ["algo=all", "cell_mode=all", "bias_mode=all", "direction_mode=all"]
    folder = made(pockets, tmp_path / "m", "hidden_size=98,101", *every, reasons="none")
    (walked,) = only(find_all([folder], MapOptions(walkers=1))).walked
    assert (walked.settings, walked.of_settings, walked.limits) == (128, 128, [100])


def test_a_hang_between_tested_values_is_a_rule(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAKE_CUDNN_TAME")
    monkeypatch.setenv("FAKE_CUDNN_HANG_ALGO", "0")  # 667 hangs, nothing else does harm
    folder = made(fake, tmp_path / "m", "hidden_size=600,700")
    call = only(find_all([folder], MapOptions(walkers=1, timeout_s=0.4)))
    assert said(call) == [(None, "hidden_size=667"), ("SUCCESS", "otherwise")]
    assert call.axes["hidden_size"] == ["600", "666", "667", "668", "700"]
    assert call.found.proven


def test_a_map_that_would_grow_too_large_stays_as_it_is(
    pockets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruling, "_MOST", 3)
    folder = made(pockets, tmp_path / "m", "hidden_size=64,1024")
    (side,) = find_all([folder], MapOptions(walkers=1))
    assert "with the limits of hidden_size the map would be too large" in side.notes[0]
    assert side.calls[0].walked[0].limits == [701]
    assert said(side.calls[0])[0] == ("NOT_SUPPORTED", "hidden_size=1024")


def test_lists_of_lengths_are_walked_as_they_are(fake: Path, tmp_path: Path) -> None:
    space = build_space(
        None, DATA, ["seq_lengths=[5,3,2],equal", "batch_size=3", "max_seq_length=1,40"]
    )
    map_release(
        Release("9.13.0.50", 12, fake, "path"), space, tmp_path / "m", MapOptions(walkers=1)
    )
    call = only(find_all([MapFolder(tmp_path / "m")], MapOptions(walkers=1)))
    assert said(call) == [
        ("BAD_PARAM", "seq_lengths=[5,3,2] and max_seq_length<=4"),
        ("SUCCESS", "otherwise"),
    ]


def test_a_worker_that_dies_everywhere_costs_the_limits_and_not_the_rules(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(fake, tmp_path / "m", "hidden_size=0,64")
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", CALL)
    (side,) = find_all([folder], MapOptions(walkers=1))
    assert side.notes[0].startswith(f"{CALL}: limits not found: 8 workers ended")
    assert said(side.calls[0]) == [("BAD_PARAM", "hidden_size=0"), ("SUCCESS", "otherwise")]


def test_too_many_limits_stay_out_of_the_map(pockets: Path, tmp_path: Path) -> None:
    folder = made(pockets, tmp_path / "m", "hidden_size=64,1024")
    one = mapped(folder.statuses(folder.grids[0]))
    with Library(Release("9.13.0.50", 12, pockets, "path"), MapOptions(walkers=1)) as library:
        walked = walk_axes(one, library, 10_000, lambda *_: None)
    assert limits_to_add(walked, one.grid) == {9: [700, 701]}
    (walked_axis,) = walked
    many = type(walked_axis)("hidden_size", [], [], 1, 1, 1, 1, list(range(66, 300, 3)))
    assert limits_to_add([many], one.grid) == {}


def test_the_order_of_values_makes_no_difference(pockets: Path, tmp_path: Path) -> None:
    orders = [
        ["algo=standard,persist_static,persist_dynamic", "hidden_size=0,64,1024", "aux_flags=0..2"],
        [
            "algo=persist_static,persist_dynamic,standard",
            "hidden_size=1024,0,64",
            "aux_flags=2,0,1",
        ],
    ]
    found = [
        only(find_all([made(pockets, tmp_path / str(i), *axes)], MapOptions(walkers=1)))
        for i, axes in enumerate(orders)
    ]
    assert said(found[0]) == said(found[1])
    assert [r.rows for r in found[0].found.rules] == [r.rows for r in found[1].found.rules]


def test_two_sides_get_the_limits_of_both(pockets: Path, fake: Path, tmp_path: Path) -> None:
    axes = ["hidden_size=64,1024", "algo=standard,persist_static"]
    folders = [made(fake, tmp_path / "a", *axes), made(pockets, tmp_path / "b", *axes)]
    before, after = find_all(folders, MapOptions(walkers=1))
    assert before.calls[0].axes == after.calls[0].axes
    assert before.calls[0].rows == after.calls[0].rows == 2 * 8
    steps = compare_rules(before.calls[0].found.rules, after.calls[0].found.rules)
    assert [(s.fate, s.rule.words) for s in steps] == [
        ("came", "algo=standard and hidden_size>700"),
        ("came", "algo=persist_static and 100<=hidden_size<=199"),
        ("stayed", "otherwise"),
    ]
    # persist_static: 100 and 199. standard: 701 and 1024. Every other value of the eight agrees.
    assert after.calls[0].changed == before.calls[0].changed == Changed(4, 16)
    turned = find_all(folders[::-1], MapOptions(walkers=1))
    assert [side.calls[0].axes for side in turned] == [after.calls[0].axes] * 2
    assert rules_folder(folders).parts[:3] == (
        "results",
        "rules",
        "9.13.0.50-cu12..9.13.0.50-cu12",
    )
    assert rules_folder(folders[:1]).parts[2] == "9.13.0.50-cu12"


@pytest.fixture(scope="module")
def real(
    cudnn: Callable[[str], Release], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., ReleaseRules]:
    """The rules of a real release over some axes of a call."""
    maps = tmp_path_factory.mktemp("maps")

    def rules(version: str, call: str, *axes: str) -> ReleaseRules:
        space = build_space(None, call, axes)
        options = MapOptions(walkers=2, reasons="all")
        side = open_side(str(cudnn(version).path), space, maps, options)
        return find_all([side], options)[0]

    return rules


LENGTHS = ["seq_lengths=all", "layout=all", "max_seq_length=1,16,131072", "batch_size=1,4"]


@pytest.mark.parametrize("version", ["8.9.7.29+cu12", "9.28.0.42+cu12"])
def test_longer_than_65535_steps(real: Callable[..., ReleaseRules], version: str) -> None:
    (call,) = real(version, DATA, *LENGTHS).calls
    assert ("NOT_SUPPORTED", "max_seq_length>65535") in said(call)
    walked = next(w for w in call.walked if w.axis == "max_seq_length")
    assert (walked.tried, walked.skipped) == ([(1, 131_072)], [])
    assert 65_536 in walked.limits
    assert ("BAD_PARAM", "seq_lengths in {over_max, negative}") in said(call)
    assert call.found.proven


DESCRIPTOR = [
    "algo=all",
    "cell_mode=all",
    "data_type=float,double,half,bfloat16",
    "math_prec=float,double,half,bfloat16",
    "input_size=-1,0,1,64",
    "hidden_size=-1,0,64",
    "proj_size=same,over",
    "aux_flags=-1..2",
]


def test_permuted_axes_of_a_real_map_give_the_same_rules(
    cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    options = MapOptions(walkers=2, reasons="all")
    for call in (CALL, DATA, "cudnnSetTensorNdDescriptor"):
        space = build_space("host", call, [])
        side = open_side(str(cudnn("9.28.0.42+cu12").path), space, tmp_path, options)
        one = mapped(side.statuses(side.grids[0]))
        axes = [
            AxisValues(
                axis.name,
                tuple(axis.label(v) for v in values),
                tuple(map(float, values)) if axis.numeric else None,
                limits=axis.numeric,
            )
            for axis, values in zip(one.grid.call.axes, one.grid.values, strict=True)
        ]
        first = as_sets(find_rules(axes, one.codes, one.names, fold(one.codes, one.text_ids, one)))
        rng = np.random.default_rng(3)
        order = rng.permutation(len(axes)).tolist()
        orders = [rng.permutation(len(axes[at].labels)) for at in order]
        codes, ids = (array.transpose(order) for array in (one.codes, one.text_ids))
        moved = []
        for at, (axis, values) in enumerate(zip((axes[a] for a in order), orders, strict=True)):
            codes, ids = codes.take(values, at), ids.take(values, at)
            numbers = axis.numbers and tuple(axis.numbers[v] for v in values)
            labels = tuple(axis.labels[v] for v in values)
            moved.append(AxisValues(axis.name, labels, numbers, axis.limits))
        codes = np.ascontiguousarray(codes)
        assert as_sets(find_rules(moved, codes, one.names, fold(codes, ids, one))) == first


def fold(codes: Any, ids: Any, one: Mapped) -> Folded:
    return fold_rows(codes, one.names, np.ascontiguousarray(ids), one.texts)


def test_what_the_descriptor_is_known_to_refuse(real: Callable[..., ReleaseRules]) -> None:
    (call,) = real("9.28.0.42+cu12", CALL, *DESCRIPTOR).calls
    rules = said(call)
    for rule in (
        ("BAD_PARAM", "input_size<=0"),
        ("BAD_PARAM", "hidden_size<=0"),
        ("BAD_PARAM", "aux_flags in {-1, 2}"),
        (
            "NOT_SUPPORTED",
            "algo in {persist_static, persist_static_small_h} and data_type=double",
        ),
        ("NOT_SUPPORTED", "data_type in {float, bfloat16} and math_prec!=float"),
    ):
        assert rule in rules
    assert (call.found.proven, call.found.fewest, call.found.by_reason) == (True, True, True)
    assert sum(rule.rows for rule in call.found.rules) == call.rows
    (over,) = [r for r in call.found.rules if r.words == "proj_size=over"]
    assert over.status == "NOT_SUPPORTED"


def test_the_bfloat16_rule_goes_with_9_13(real: Callable[..., ReleaseRules]) -> None:
    axes = ["algo=all", "data_type=float,double,half,bfloat16", "math_prec=float,double,half"]
    (old,), (new,) = (real(v, CALL, *axes).calls for v in ("9.12.0.46", "9.13.0.50"))
    steps = compare_rules(old.found.rules, new.found.rules)
    fate = {(s.rule.status, s.rule.words): s.fate for s in steps}
    assert fate["NOT_SUPPORTED", "data_type=bfloat16"] == "went"
    assert fate["NOT_SUPPORTED", "data_type in {float, bfloat16} and math_prec!=float"] == "came"
    double = "algo in {persist_static, persist_static_small_h} and data_type=double"
    assert fate["NOT_SUPPORTED", double] == "stayed"
