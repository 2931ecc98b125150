"""The emulator's network against PyTorch, in float64 on the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.emulator.networks import (
    DOUBLE_BIAS,
    GATES,
    GRU,
    LSTM,
    NO_BIAS,
    RELU,
    SINGLE_INPUT_BIAS,
    SINGLE_RECURRENT_BIAS,
    TANH,
    UNTOUCHED,
    Array,
    Arrays,
    Net,
    Part,
    Probe,
    random_inputs,
)

CASES = 800


@pytest.fixture(scope="module")
def probe(shared_tmp: Path) -> Probe:
    return Probe(shared_tmp / "emulator")


def random_net(random: np.random.Generator) -> Net:
    def chance(of: float) -> bool:
        return bool(random.random() < of)

    cell, steps = int(random.integers(4)), int(random.integers(1, 8))
    hidden = int(random.choice([1, 2, 3, 4, 5, 7, 8, 13]))
    skip = chance(0.25)
    lengths = random.integers(0 if chance(0.3) else 1, steps + 1, int(random.integers(1, 6)))
    if chance(0.3):
        lengths[:] = steps
    return Net(
        cell,
        steps,
        tuple(map(int, lengths)),
        bias=int(random.integers(4)),
        directions=int(random.integers(1, 3)),
        skip_input=skip,
        input_size=hidden if skip else int(random.integers(1, 10)),
        hidden_size=hidden,
        proj_size=int(random.integers(1, hidden)) if cell == LSTM and hidden > 1 and chance(0.5)
        else None,
        num_layers=int(random.integers(1, 4)),
    )  # fmt: skip


def place(net: Net, part: Part) -> tuple[str, slice]:
    """The parameter of torch that holds this part, and its rows."""
    layer, direction = divmod(part.pseudo_layer, net.directions)
    suffix = f"l{layer}" + ("_reverse" if direction else "")
    if part.lin_layer_id == 2 * GATES[net.cell]:
        return f"weight_hr_{suffix}", slice(None)
    source, gate = divmod(part.lin_layer_id, GATES[net.cell])
    kind = "weight" if part.matrix else "bias"
    return (
        f"{kind}_{'ih' if source == 0 else 'hh'}_{suffix}",
        slice(gate * net.hidden_size, (gate + 1) * net.hidden_size),
    )


def module_of(net: Net, parts: list[Part], weights: Array) -> torch.nn.RNNBase:
    """A bias that the mode lacks is zero; skipped input is a product with identity matrices."""
    kind = {LSTM: torch.nn.LSTM, GRU: torch.nn.GRU}.get(net.cell, torch.nn.RNN)
    more: dict[int, dict[str, object]] = {
        RELU: {"nonlinearity": "relu"},
        LSTM: {"proj_size": net.proj_size or 0},
    }
    module = kind(
        net.input_size, net.hidden_size, net.num_layers, bias=net.bias != NO_BIAS,
        bidirectional=net.directions == 2, dtype=torch.float64, **more.get(net.cell, {}),
    )  # fmt: skip
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for parameter in parameters.values():
            parameter.zero_()
        if net.skip_input:
            for name in ("weight_ih_l0", "weight_ih_l0_reverse")[: net.directions]:
                identity = torch.eye(net.hidden_size, dtype=torch.float64)
                parameters[name].copy_(identity.repeat(GATES[net.cell], 1))
        for part in parts:
            if part.rows:
                name, rows = place(net, part)
                values = weights[part.offset :][: part.rows * part.cols]
                there = parameters[name][rows]
                there.copy_(torch.from_numpy(values).reshape(there.shape))
    return module


def by_torch(net: Net, probe: Probe, given: Arrays, incoming: Arrays) -> dict[str, Array]:
    """What Probe.training must return. Torch packs no empty sequence, and gets the others."""
    shapes, parts = net.shapes(), probe.parts(net)
    weights = given["weights"]
    assert weights is not None
    module = module_of(net, parts, weights)
    some = [i for i, length in enumerate(net.lengths) if length]

    def tensor(array: Array | None, kind: str) -> torch.Tensor:
        array = np.zeros(shapes[kind]) if array is None else array.copy()
        if kind in {"x", "y"}:
            array[~net.inside] = 0
        return torch.from_numpy(array).requires_grad_()

    leaves = {
        "x": tensor(given["x"], "x"),
        "hx": tensor(given["hx"], "h"),
        "cx": tensor(given["cx"], "c"),
    }
    y, hy, cy = (torch.zeros(shapes["y"], dtype=torch.float64), leaves["hx"], leaves["cx"])
    if some:
        lengths = torch.tensor([net.lengths[i] for i in some])
        packed = pack_padded_sequence(leaves["x"][:, some], lengths, enforce_sorted=False)
        states = leaves["hx"][:, some], leaves["cx"][:, some]
        out, last = module(packed, states if net.cell == LSTM else states[0])
        h_last, c_last = last if net.cell == LSTM else (last, states[1])
        padded = pad_packed_sequence(out, total_length=net.steps)[0]
        y = y.index_copy(1, torch.tensor(some), padded)
        hy = hy.index_copy(1, torch.tensor(some), h_last)
        cy = cy.index_copy(1, torch.tensor(some), c_last)
    loss = sum(
        (output * tensor(incoming[f"d{name}"], kind)).sum()
        for name, output, kind in (("y", y, "y"), ("hy", hy, "h"), ("cy", cy, "c"))
    )
    assert isinstance(loss, torch.Tensor)
    loss.backward()
    found = {"y": y.detach().numpy(), "hy": hy.detach().numpy(), "cy": cy.detach().numpy()}
    for name, leaf in leaves.items():
        found[f"d{name}"] = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
    found["y"][~net.inside] = UNTOUCHED
    found["dx"][~net.inside] = UNTOUCHED
    found["dweights"] = np.full(weights.shape, UNTOUCHED)
    parameters = dict(module.named_parameters())
    for part in parts:
        if part.rows and some:
            name, rows = place(net, part)
            gradient = parameters[name].grad
            assert gradient is not None
            found["dweights"][part.offset :][: part.rows * part.cols] += (
                gradient[rows].flatten().numpy()
            )
    return found


def assert_same(found: dict[str, Array], expected: dict[str, Array]) -> None:
    """Both are sums of some hundred products in another order: errors of 1e-14 of the largest."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        scale = np.abs(array).max(initial=1)
        np.testing.assert_allclose(found[name], array, rtol=1e-11, atol=1e-13 * scale, err_msg=name)


def test_every_pass_gives_what_torch_gives(probe: Probe) -> None:
    random = np.random.default_rng(20)
    seen = set()
    for case in range(CASES):
        net = random_net(random)
        given, incoming = random_inputs(net, probe, random, nulls=0.2)
        found = probe.training(net, given, incoming)
        try:
            assert_same(found, by_torch(net, probe, given, incoming))
        except AssertionError as error:
            raise AssertionError(f"case {case}: {net}") from error
        seen.add((net.cell, net.bias, net.directions, net.skip_input))
    assert len(seen) == 4 * 4 * 2 * 2


def test_sizes_beyond_one_block_of_the_product_give_what_torch_gives(probe: Probe) -> None:
    random = np.random.default_rng(21)
    for cell, proj_size in ((LSTM, None), (LSTM, 70), (GRU, None), (TANH, None)):
        net = Net(
            cell, 5, (5, 3) * 20, hidden_size=90, input_size=300, proj_size=proj_size, directions=2
        )
        given, incoming = random_inputs(net, probe, random)
        found = probe.training(net, given, incoming)
        assert_same(found, by_torch(net, probe, given, incoming))


@pytest.mark.parametrize("cell", [RELU, TANH, LSTM, GRU])
def test_the_comparison_notices_a_weight_in_the_wrong_place(probe: Probe, cell: int) -> None:
    random = np.random.default_rng(22)
    net = Net(cell, 3, (3, 2), num_layers=2, directions=2)
    given, incoming = random_inputs(net, probe, random)
    expected = by_torch(net, probe, given, incoming)
    weights = given["weights"]
    assert weights is not None
    for part in probe.parts(net):
        if part.rows:
            values = slice(part.offset, part.offset + part.rows * part.cols)
            moved = weights.copy()
            moved[values] = np.roll(moved[values], 1)
            with pytest.raises(AssertionError):
                assert_same(probe.training(net, given | {"weights": moved}, incoming), expected)


@pytest.mark.parametrize("cell", [RELU, TANH, LSTM, GRU])
def test_a_slightly_wrong_weight_is_noticed(probe: Probe, cell: int) -> None:
    random = np.random.default_rng(23)
    net = Net(cell, 4, (4, 2))
    given, incoming = random_inputs(net, probe, random)
    expected = by_torch(net, probe, given, incoming)
    weights = given["weights"]
    assert weights is not None
    weights[0] += 1e-9
    with pytest.raises(AssertionError):
        assert_same(probe.training(net, given, incoming), expected)


@pytest.mark.parametrize("cell", [RELU, TANH, LSTM, GRU])
def test_nan_reaches_what_it_reaches_in_torch(probe: Probe, cell: int) -> None:
    net = Net(cell, 3, (3, 2))
    given, incoming = random_inputs(net, probe, np.random.default_rng(26))
    hx = given["hx"]
    assert hx is not None
    hx[0, 1, 0] = np.nan
    found, expected = probe.inference(net, given), by_torch(net, probe, given, incoming)
    assert np.isnan(found["y"]).any()
    for name, array in found.items():
        np.testing.assert_array_equal(np.isnan(array), np.isnan(expected[name]))


def test_inference_gives_the_same_bits_as_training(probe: Probe) -> None:
    random = np.random.default_rng(24)
    for _ in range(50):
        net = random_net(random)
        given, incoming = random_inputs(net, probe, random, nulls=0.2, dropout=0.3)
        trained = probe.training(net, given, incoming)
        for name, array in probe.inference(net, given).items():
            np.testing.assert_array_equal(array, trained[name])


def test_the_parts_cover_the_weights_and_each_other_nowhere(probe: Probe) -> None:
    random = np.random.default_rng(25)
    for _ in range(100):
        net = random_net(random)
        used = np.zeros(probe.weight_count(net), int)
        found = probe.parts(net)
        for part in found:
            used[part.offset :][: part.rows * part.cols] += 1
        assert (used == 1).all()
        ids = 2 * GATES[net.cell] + (net.cell == LSTM)
        assert [(p.pseudo_layer, p.lin_layer_id, p.matrix) for p in found] == [
            (pseudo_layer, lin_layer_id, matrix)
            for pseudo_layer in range(net.num_layers * net.directions)
            for lin_layer_id in range(ids)
            for matrix in (True, False)
        ]


def test_each_part_has_the_shape_that_its_place_asks_for(probe: Probe) -> None:
    net = Net(
        LSTM, 1, (1,), input_size=5, hidden_size=7, proj_size=2, num_layers=2, directions=2,
        bias=SINGLE_INPUT_BIAS,
    )  # fmt: skip
    shapes = {(p.pseudo_layer, p.lin_layer_id, p.matrix): p[3:5] for p in probe.parts(net)}
    for pseudo_layer, inputs in ((0, 5), (1, 5), (2, 4), (3, 4)):
        for gate in range(4):
            assert shapes[pseudo_layer, gate, True] == (7, inputs)
            assert shapes[pseudo_layer, gate + 4, True] == (7, 2)
            assert shapes[pseudo_layer, gate, False] == (7, 1)
            assert shapes[pseudo_layer, gate + 4, False] == (0, 1)
        assert shapes[pseudo_layer, 8, True] == (2, 7)
        assert shapes[pseudo_layer, 8, False] == (0, 1)


@pytest.mark.parametrize(
    ("bias", "vectors"),
    [(NO_BIAS, 0), (SINGLE_INPUT_BIAS, 1), (SINGLE_RECURRENT_BIAS, 1), (DOUBLE_BIAS, 2)],
)
def test_weights_are_counted_as_the_equations_have_them(
    probe: Probe, bias: int, vectors: int
) -> None:
    # GRU, hidden 4, input 4: three gates of 4 by 4 on x (not with skipped input), 4 by 4 on h.
    linear = Net(GRU, 1, (1,), bias=bias, input_size=4, hidden_size=4)
    skipped = Net(GRU, 1, (1,), bias=bias, input_size=4, hidden_size=4, skip_input=True)
    assert probe.weight_count(linear) == 3 * (16 + 16 + 4 * vectors)
    assert probe.weight_count(skipped) == 3 * (16 + 4 * vectors)
