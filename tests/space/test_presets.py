"""The spaces that ship with the package, and what is made of them on the command line."""

from __future__ import annotations

import pytest

from pyharness.errors import UsageError
from pyharness.space.presets import build_space, load_preset, preset_names
from pyharness.spec.axes import EnumAxis
from pyharness.spec.calls import CALLS, call_named

NAMES = ["clip", "data-core", "data-full", "descriptor-core", "descriptor-full", "host", "state"]

OWNS = "algo belongs to cudnnSetRNNDescriptor_v8; layout belongs to cudnnSetRNNDataDescriptor"


def test_the_promised_presets_are_there() -> None:
    assert set(NAMES) <= set(preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_makes_a_space(name: str) -> None:
    preset = load_preset(name)
    space = build_space(name, None, [])
    assert preset.about
    assert space.name == name
    assert [g.call.name for g in space.grids] == [call for call, _ in preset.grids]
    assert len({g.call.name for g in space.grids}) == len(space.grids)
    assert space.size == sum(g.size for g in space.grids) > 0
    for grid, (_, texts) in zip(space.grids, preset.grids, strict=True):
        assert set(texts) <= {a.name for a in grid.call.axes}, "an axis with a typing error"


def test_the_full_descriptor_preset_steps_over_every_edge() -> None:
    (grid,) = build_space("descriptor-full", None, []).grids
    assert grid.size >= 50_000_000
    enums = [a for a in grid.call.axes if isinstance(a, EnumAxis)]
    assert len(enums) == 9
    for axis, values in zip(grid.call.axes, grid.values, strict=True):
        if isinstance(axis, EnumAxis):
            first, last = axis.enum.values[0], axis.enum.values[-1]
            assert set(axis.enum.values) <= set(values)
            assert last + 1 in values, f"one step over {axis.name}"
            # The flags are unsigned: there is no step below none of them.
            assert first - 1 in values or axis.name == "aux_flags"


def test_the_full_data_preset_steps_over_every_edge() -> None:
    (grid,) = build_space("data-full", None, []).grids
    by_name = dict(zip((a.name for a in grid.call.axes), grid.values, strict=True))
    for name in ("layout", "data_type"):
        axis = grid.call.axis(name)
        assert isinstance(axis, EnumAxis)
        assert {-1, *axis.enum.values, axis.enum.values[-1] + 1} <= set(by_name[name])
    assert {-1, 0, 65535, 65536} <= set(by_name["max_seq_length"])
    assert set(by_name["seq_lengths"]) == set(range(8))


def test_host_is_every_call_at_core_size() -> None:
    space = build_space("host", None, [])
    assert {g.call.name for g in space.grids} == {c.name for c in CALLS}
    parts = ("descriptor-core", "data-core", "clip", "state")
    assert space.size == sum(build_space(p, None, []).size for p in parts)
    assert build_space(None, None, []).describe() == space.describe()


def test_an_axis_replaces_its_values_wherever_it_is() -> None:
    space = build_space("host", None, ["data_type=float", "layout=-1,7"])
    assert space.name == "host data_type=float layout=-1,7"
    for grid in space.grids:
        labels = grid.labels()
        assert labels.get("data_type", ["float"]) == ["float"]
        assert labels.get("layout", ["-1", "7"]) == ["-1", "7"]
    assert space.fingerprint != build_space("host", None, []).fingerprint


def test_a_call_picks_its_grids() -> None:
    space = build_space("host", "cudnnSetTensorNdDescriptor", [])
    assert [g.call.name for g in space.grids] == ["cudnnSetTensorNdDescriptor"]
    assert space.grids == build_space("state", None, []).grids


def test_a_call_alone_is_its_part_of_the_host() -> None:
    """One problem would say nothing of a call, and a gate on it would pass."""
    for call in CALLS:
        space = build_space(None, call.name, [])
        assert space.grids == build_space("host", call.name, []).grids
        assert space.size > 500


def test_a_call_with_axes_has_its_defaults_for_the_rest() -> None:
    for call in CALLS:
        name = "data_type" if "data_type" in call.defaults else "cell_mode"
        (grid,) = build_space(None, call.name, [f"{name}={call.defaults[name]}"]).grids
        assert grid.words(0) == call.defaults
        assert grid.size == 1
        assert grid.command(0) == ""


def test_axes_alone_find_their_call() -> None:
    (grid,) = build_space(None, None, ["layout=all", "vector_size=1"]).grids
    assert grid.call.name == "cudnnSetRNNDataDescriptor"
    (grid,) = build_space(None, None, ["hidden_size=1..3"]).grids
    assert grid.call.name == "cudnnSetRNNDescriptor_v8"


@pytest.mark.parametrize(
    ("preset", "call", "axes", "words", "hint"),
    [
        ("descriptor-ful", None, [], "unknown preset 'descriptor-ful'", "descriptor-full"),
        (None, "cudnnSetRNNDescriptor", [], "unknown call", "cudnnSetRNNDescriptor_v8"),
        (None, None, ["hiden_size=1"], "unknown axis 'hiden_size'", "hidden_size"),
        (None, None, ["hidden_size"], "cannot read the axis 'hidden_size'", "name=value"),
        (None, None, ["=1"], "cannot read the axis '=1'", "name=value"),
        (None, None, ["algo=0", "algo=1"], "the axis algo is given twice", "algo=v1,v2"),
        (None, None, ["algo="], "algo has no values", "algo="),
        (None, None, ["algo=fast"], "unknown algo 'fast'", "standard"),
        (None, None, ["algo=0", "layout=0"], "no call has all of the axes algo, layout", OWNS),
        ("clip", None, ["layout=all"], "has no axis 'layout'", "cudnnSetRNNDataDescriptor"),
        ("clip", "cudnnSetTensorNdDescriptor", [], "the preset clip has no grid of", "SetClip_v9"),
        ("clip", None, ["cell_mode=-1"], "is no enumerator", "rnn_relu"),
    ],
)
def test_what_cannot_be_meant_is_told(
    preset: str | None, call: str | None, axes: list[str], words: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        build_space(preset, call, axes)
    assert words in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_what_is_not_named_in_a_preset_has_its_default() -> None:
    (grid,) = build_space("descriptor-full", None, []).grids
    defaults = call_named("cudnnSetRNNDescriptor_v8").defaults
    named = dict(load_preset("descriptor-full").grids[0][1])
    assert "num_layers" not in named
    assert grid.labels()["num_layers"] == [defaults["num_layers"]]
