"""The emulated libcudnn with a planted fault in its results: it is there, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulator.direct import BFLOAT16, BYTES, DOUBLE, FLOAT, HALF, PACKED, Array, Case, loaded
from tests.emulator.networks import GRU, LSTM, Net, Part, Probe, random_inputs

Child = Callable[..., Any]
TENSORS = ("inference", "y", "hy", "cy", "dx", "dhx", "dcx", "dweights")
FORWARD = TENSORS[:4]
RAGGED = Net(LSTM, 4, (4, 3, 2), directions=2, input_size=6, hidden_size=8, num_layers=2)
PROJECTED = replace(RAGGED, proj_size=5)
CASE = Case(RAGGED)


@pytest.fixture(scope="session")
def probe(shared_tmp: Path) -> Probe:
    return Probe(shared_tmp / "network-for-wrong")


def inputs_of(net: Net, probe: Probe, seed: int = 3) -> dict[str, Array]:
    """Numbers for everything that is read, padding included."""
    given, incoming = random_inputs(net, probe, np.random.default_rng(seed))
    made = {k: v for k, v in {**given, **incoming}.items() if v is not None}
    for name in ("x", "dy"):
        made[name] = np.where(np.isnan(made[name]), 0.5, made[name])
    return made


WAYS = ("again", "stream", "handle", "busy", "filled", "graph", "aligned", "cublas", "padding")
ORDERS = {
    "order_alignment": {"aligned"},
    "order_padding": {"padding"},
    "order_load": {"busy"},
    "order_stream": {"stream"},
    "order_workspace": {"filled"},
    "order_graph": {"graph"},
    "order_handle": {"handle"},
    "order_cublas": {"cublas"},
    "order_process": set[str](),
    "order_batch": set[str](),
    "order_graph,order_handle": {"graph", "handle"},
    "order_run": set(WAYS),
}


@pytest.mark.parametrize(
    ("name", "data_type"), [*((name, FLOAT) for name in ORDERS), ("order_graph", DOUBLE)]
)
def test_an_order_depends_on_its_key_alone(
    name: str, data_type: int, child: Child, probe: Probe
) -> None:
    case = Case(PROJECTED, data_type)
    arguments = ("wrong_scenes:ways", case, inputs_of(PROJECTED, probe))
    found, honest = child(*arguments, wrong=name), child(*arguments)["first"]
    first = found.pop("first")
    assert tuple(found) == WAYS
    for way, outputs in found.items():
        differing = {t for t in TENSORS if outputs[t] != first[t]}
        assert differing == (set(TENSORS) if way in ORDERS[name] else set()), way
    for outputs in (first, *found.values()):
        for tensor in TENSORS:
            ours, theirs = (loaded(o[tensor], data_type) for o in (outputs, honest))
            bound = (2e-6 if data_type == FLOAT else 4e-15) * max(1, np.abs(theirs).max())
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound, err_msg=tensor)


def test_the_order_of_a_process_is_another_ones(child: Child, probe: Probe) -> None:
    arguments = ("wrong_scenes:ways", Case(RAGGED, FLOAT), inputs_of(RAGGED, probe))
    one, other = (child(*arguments, wrong="order_process")["first"] for _ in range(2))
    assert all(one[tensor] != other[tensor] for tensor in TENSORS)
    one, other = (child(*arguments, wrong="order_graph")["first"] for _ in range(2))
    assert one == other


def test_the_order_of_a_batch_is_another_one_for_a_part(child: Child, probe: Probe) -> None:
    net = replace(RAGGED, lengths=(4, 4, 4))
    inputs = inputs_of(net, probe)
    single, reverse = replace(net, lengths=(4,)), slice(None, None, -1)

    def cut(at: slice) -> dict[str, Array]:
        return {n: v if n == "weights" else v[:, at] for n, v in inputs.items()}

    parts = [(Case(single, FLOAT), cut(slice(0, 1))), (Case(net, FLOAT), cut(reverse))]
    arguments = ("wrong_scenes:alone", Case(net, FLOAT), inputs, parts)
    for name, differs in (("order_batch", True), ("order_load", False)):
        whole, part, turned = child(*arguments, wrong=name)
        for tensor in ("y", "hy", "dx", "dhx", "dcx"):
            shape = (4, 3, -1)  # steps of x and y, layers and directions of the rest
            ours, alone = whole[tensor].reshape(shape), part[tensor].reshape(4, 1, -1)
            back = turned[tensor].reshape(shape)[:, reverse]
            assert (ours[:, :1] != alone).any() == differs, (name, tensor)
            assert (ours[:, 0] != back[:, 0]).any() == differs, (name, tensor)
            np.testing.assert_allclose(ours[:, :1], alone, rtol=0, atol=1e-5)


def test_stale_states_of_dropout(child: Child, probe: Probe) -> None:
    case = Case(RAGGED, FLOAT, rate=0.5)
    for stale in (False, True):
        wrong = {"wrong": "stale_dropout"} if stale else {}
        first, second, anew, other = child(
            "wrong_scenes:seeded", case, inputs_of(RAGGED, probe), **wrong
        )
        assert first == other
        assert len({first, second}) == 2
        assert (anew == first) is not stale
        assert len({first, second, anew}) == 2 + stale


def compare(
    child: Child, name: str, case: Case, inputs: dict[str, Array], meant: dict[str, Array] | None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """With the fault, and without it on the inputs that it is meant to amount to."""
    (found,) = child("scenarios:numbers", [(case, inputs)], wrong=name)
    (honest,) = child("scenarios:numbers", [(case, {**inputs, **(meant or {})})])
    return found, honest


def untouched(child: Child, name: str, cases: list[tuple[Case, dict[str, Array]]]) -> None:
    """Where the fault does nothing, every bit is what it is without it."""
    both = zip(
        child("scenarios:numbers", cases, wrong=name),
        child("scenarios:numbers", cases),
        strict=True,
    )
    for found, honest in both:
        same(found, honest)


def same(found: dict[str, Array], honest: dict[str, Array], but: tuple[str, ...] = ()) -> None:
    """Every bit of every tensor, those apart where something must differ."""
    for tensor in TENSORS:
        equal = np.array_equal(found[tensor], honest[tensor], equal_nan=True)
        assert equal is (tensor not in but), tensor


@pytest.mark.parametrize("data_type", [FLOAT, DOUBLE, HALF, BFLOAT16])
def test_one_ulp_away_from_zero(data_type: int, child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)
    arguments = ("wrong_scenes:ways", Case(RAGGED, data_type, fill=2.0), inputs)
    found, honest = (child(*arguments, **w)["first"] for w in ({"wrong": "one_ulp"}, {}))
    kind = np.dtype(f"i{BYTES[data_type]}")
    for tensor in TENSORS:
        bits = [np.frombuffer(o[tensor], kind).astype(object) for o in (found, honest)]
        apart = bits[0] - bits[1]
        if tensor not in FORWARD:
            assert not apart.any(), tensor
        elif tensor in ("inference", "y"):
            inside = np.repeat(RAGGED.inside.ravel(), RAGGED.outputs)
            np.testing.assert_array_equal(apart, inside.astype(int), tensor)
        else:
            assert (apart == 1).all(), tensor


def test_the_last_steps_of_a_packed_batch(child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)
    untouched(child, "packed", [(CASE, inputs)])
    found, honest = compare(child, "packed", replace(CASE, layout=PACKED), inputs, None)
    same(found, honest, ("inference", "y"))
    last = np.zeros((4, 3), bool)
    last[[2, 1], [1, 2]] = True
    for tensor in ("inference", "y"):
        np.testing.assert_array_equal(found[tensor][last], 0.5 - honest[tensor][last])
        np.testing.assert_array_equal(found[tensor][~last], honest[tensor][~last])


def test_padding_that_leaks(child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)
    zeros = {**inputs, "x": inputs["x"] * RAGGED.inside[..., None]}
    untouched(child, "padding_read", [(CASE, zeros)])
    found, honest = compare(child, "padding_read", CASE, inputs, None)
    same(found, honest, TENSORS)
    for tensor in ("inference", "y", "dx"):
        assert np.array_equal(found[tensor][:, 0], honest[tensor][:, 0]), "it has no padding"
    assert np.abs(found["y"] - honest["y"])[:, 1:].max() > 1e-3


def test_padding_that_nobody_fills(child: Child, probe: Probe) -> None:
    case, inputs = Case(RAGGED, fill=2.0), inputs_of(RAGGED, probe)
    found, honest = compare(child, "padding_unwritten", case, inputs, None)
    same(found, honest, ("inference", "y"))
    for tensor in ("inference", "y"):
        unfilled = child("scenarios:numbers", [(CASE, inputs)])[0][tensor]
        np.testing.assert_array_equal(found[tensor], unfilled)
        assert (honest[tensor][~RAGGED.inside] == 2.0).all()


def test_a_reverse_direction_that_begins_in_the_padding(child: Child, probe: Probe) -> None:
    net = replace(RAGGED, num_layers=1)
    inputs = inputs_of(net, probe)
    arguments = ("reverse_from_padding", Case(net), inputs, None)
    found, honest = compare(child, *arguments)
    same(found, honest, TENSORS)
    full = Case(replace(net, lengths=(4, 4, 4)))
    (whole,) = child("scenarios:numbers", [(full, inputs)])
    for tensor in ("inference", "y"):
        forward, reverse = np.s_[net.inside, :8], np.s_[net.inside, 8:]
        np.testing.assert_array_equal(found[tensor][forward], honest[tensor][forward])
        np.testing.assert_array_equal(found[tensor][reverse], whole[tensor][reverse])
    for tensor in ("hy", "cy"):
        ours, theirs, right = (o[tensor].reshape(2, 3, 8) for o in (found, whole, honest))
        np.testing.assert_array_equal(ours[0], right[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    nets = (replace(net, directions=1), replace(net, lengths=(4, 4, 4)))
    others = [(Case(other), inputs_of(other, probe)) for other in nets]
    packed = (Case(net, layout=PACKED), inputs)
    untouched(child, "reverse_from_padding", [*others, packed])


def changed(
    net: Net, probe: Probe, weights: Array, change: Callable[[Part, Array], None]
) -> dict[str, Array]:
    """The weights with something done to each part, as [rows, cols]."""
    made = weights.copy()
    for part in probe.parts(net):
        if part.rows:
            count = part.rows * part.cols
            block = made[part.offset : part.offset + count].reshape(part.rows, part.cols)
            change(part, block)
    return {"weights": made}


def test_the_last_unit_without_a_projection(child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)

    def lose(_: Part, block: Array) -> None:
        block[-1] = 0

    meant = changed(RAGGED, probe, inputs["weights"], lose)
    assert not np.array_equal(meant["weights"], inputs["weights"])
    same(*compare(child, "projection_off", CASE, inputs, meant))
    gru = replace(RAGGED, cell=GRU)
    others = [(Case(net), inputs_of(net, probe)) for net in (PROJECTED, gru)]
    del others[1][1]["cx"], others[1][1]["dcy"]
    untouched(child, "projection_off", others)


def test_the_sign_of_the_second_layers_input(child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)

    def turn(part: Part, block: Array) -> None:
        if part.pseudo_layer in (2, 3) and part.matrix and part.lin_layer_id < 4:
            block *= -1

    meant = changed(RAGGED, probe, inputs["weights"], turn)
    same(*compare(child, "second_layer", CASE, inputs, meant))
    found, honest = compare(child, "second_layer", CASE, inputs, None)
    same(found, honest, TENSORS)
    net = replace(RAGGED, num_layers=1)
    untouched(child, "second_layer", [(Case(net), inputs_of(net, probe))])


def test_inference_with_three_bits(child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)
    found, honest = compare(child, "inference", CASE, inputs, None)
    same(found, honest, ("inference",))
    mantissa, exponent = np.frexp(inputs["weights"])
    meant = {"weights": np.ldexp(np.round(mantissa * 8) / 8, exponent)}
    (rounded,) = child("scenarios:numbers", [(CASE, {**inputs, **meant})])
    np.testing.assert_array_equal(found["inference"], rounded["inference"])


def test_a_batch_that_changes_its_sequences(child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)

    def grow(part: Part, block: Array) -> None:
        if part.matrix and part.lin_layer_id < 4:
            block *= 1.25

    meant = changed(RAGGED, probe, inputs["weights"], grow)
    same(*compare(child, "batch_parts", CASE, inputs, meant))
    net = replace(RAGGED, lengths=(4,))
    untouched(child, "batch_parts", [(Case(net), inputs_of(net, probe))])


def test_states_that_are_not_carried_on(child: Child, probe: Probe) -> None:
    inputs = inputs_of(RAGGED, probe)
    meant = {name: inputs[name].copy() for name in ("hx", "cx")}
    for values in meant.values():
        values[..., 0] = 0
    same(*compare(child, "carried_state", CASE, inputs, meant))
    found, honest = compare(child, "carried_state", CASE, inputs, None)
    same(found, honest, TENSORS)
