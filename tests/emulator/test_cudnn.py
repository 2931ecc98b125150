"""The emulated libcudnn against the real one, and against the network's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from pyharness.api.trying import try_many
from pyharness.releases import Release, resolve
from pyharness.spec.problem import parse_problem
from tests.emulator.build import EmulatedRelease
from tests.emulator.direct import (
    BATCH_MAJOR,
    BFLOAT16,
    BYTES,
    DOUBLE,
    FLOAT,
    HALF,
    PACKED,
    STATIC,
    UNTOUCHED,
    Array,
    Case,
    loaded,
    stored,
)
from tests.emulator.networks import LSTM, RELU, Net, Probe, random_inputs
from tests.emulator.networks import UNTOUCHED as NETWORK_UNTOUCHED

Emulator = Callable[..., EmulatedRelease]
RELEASES = ("8.9.7.29", "9.28.0.42")
TORCH = {HALF: torch.float16, BFLOAT16: torch.bfloat16}


VALUES: dict[str, list[str]] = {
    "algo": ["standard", "persist_static", "persist_dynamic", "persist_static_small_h", "4"],
    "cell_mode": ["rnn_relu", "rnn_tanh", "lstm", "gru"],
    "bias_mode": ["no_bias", "single_inp_bias", "double_bias", "single_rec_bias", "4"],
    "direction_mode": ["unidirectional", "bidirectional"],
    "input_mode": ["linear_input", "skip_input", "-1"],
    "data_type": ["float", "double", "half", "bfloat16", "int8"],
    "math_prec": ["float", "double", "half"],
    "math_type": ["default_math", "tensor_op_math", "fma_math", "7"],
    "input_size": ["0", "1", "64", "2147483647"],
    "hidden_size": ["-1", "1", "64"],
    "proj_size": ["same", "half", "over", "0"],
    "num_layers": ["0", "1", "3"],
    "aux_flags": ["0", "1", "2"],
    "max_seq_length": ["0", "1", "16", "65536"],
    "batch_size": ["0", "1", "8"],
    "layout": ["seq_major_unpacked", "seq_major_packed", "batch_major_unpacked", "3"],
    "seq_lengths": ["equal", "descending", "unsorted", "one_zero", "over_max"],
    "padding_fill": ["null", "given"],
    "clip_mode": ["none", "minmax", "2"],
    "lclip": ["-1", "1", "nan"],
    "rclip": ["1", "-2"],
}


@pytest.mark.parametrize("release", RELEASES)
def test_the_host_answers_as_the_real_release_does(
    release: str, emulator: Emulator, cudnn: Callable[[str], Release]
) -> None:
    real = cudnn(release)
    random = np.random.default_rng(4)
    problems = []
    for _ in range(400):
        # Few values at a time off the default: most problems get past the first refusal.
        keys = random.choice(list(VALUES), random.integers(1, 6), replace=False)
        problems.append(parse_problem([f"{k}={random.choice(VALUES[k])}" for k in keys]))
    expected = try_many(real, problems)
    found = try_many(resolve(str(emulator(real.path).cudnn)), problems)
    assert {result.provenance for results in found for result in results} == {"emulated"}
    observed = [[replace(r, provenance="observed") for r in results] for results in found]
    assert observed == expected
    statuses = {result.status for results in expected for result in results}
    assert {"SUCCESS", "BAD_PARAM", "NOT_SUPPORTED"} <= statuses
    assert any(result.reason for results in expected for result in results)
    clip = {result.call for results in expected for result in results if result.role == "clip"}
    assert clip == {"cudnnRNNSetClip_v8" if release < "9" else "cudnnRNNSetClip_v9"}


# Numbers


@pytest.fixture(scope="session")
def probe(shared_tmp: Path) -> Probe:
    return Probe(shared_tmp / "network-for-cudnn")


def _random_case(random: np.random.Generator) -> Case:
    def one(*values: Any) -> Any:
        return values[random.integers(len(values))]

    cell, layout = one(0, 1, LSTM, 3), one(0, 1, 2)
    hidden, steps, batch = int(random.integers(2, 7)), int(random.integers(1, 5)), one(1, 2, 3)
    lengths = sorted(random.integers(1, steps + 1, batch).tolist(), reverse=True)
    lengths[0] = steps
    skip = bool(random.random() < 0.25)
    projects = cell == LSTM and random.random() < 0.4
    projected = int(random.integers(1, hidden)) if projects else None
    net = Net(
        cell,
        steps,
        tuple(lengths),
        bias=one(0, 1, 2, 3),
        directions=one(1, 2),
        skip_input=skip,
        input_size=hidden if skip else int(random.integers(1, 7)),
        hidden_size=hidden,
        proj_size=projected,
        num_layers=one(1, 2, 3),
        clip=(-0.2, 0.25) if cell == LSTM and random.random() < 0.4 else None,
    )
    return Case(net, one(FLOAT, DOUBLE, HALF, BFLOAT16), layout, fill=one(None, -3.5))


def _rounded(values: Array, data_type: int) -> Array:
    return loaded(stored(values, data_type), data_type).reshape(values.shape)


def test_the_passes_are_the_network_in_every_type_and_layout(
    child: Callable[..., Any], probe: Probe
) -> None:
    random = np.random.default_rng(11)
    cases, expected = [], []
    for _ in range(80):
        case = _random_case(random)
        net = case.net
        given, incoming = random_inputs(net, probe, random, nulls=0.2)
        if incoming["dy"] is None:
            incoming["dy"] = np.zeros(net.shapes()["y"])
        if net.cell != LSTM:
            given["cx"] = incoming["dcy"] = None
        before = random.uniform(-1, 1, probe.weight_count(net))
        inputs = {**given, **incoming, "dweights": before}
        inputs = {
            name: _rounded(values, case.data_type)
            for name, values in inputs.items()
            if values is not None
        }
        sides = [{n: inputs.get(n) for n in names} for names in (given, incoming)]
        found = probe.training(net, *sides)
        found["inference"] = probe.inference(net, sides[0])["y"]
        # The gradients of the weights are added to what was there, then rounded once.
        found["dweights"] += _rounded(before, case.data_type) - NETWORK_UNTOUCHED
        cases.append((case, inputs))
        expected.append(found)
    for (case, _), found, should in zip(
        cases, child("scenarios:numbers", cases), expected, strict=True
    ):
        names = ["inference", "y", "hy", "dx", "dhx", "dweights"]
        for name in names + ["cy", "dcx"] * (case.net.cell == LSTM):
            _compare(case, name, found[name], should[name])


HALF_A_PLACE = {FLOAT: 2**-24, DOUBLE: 0.0, HALF: 2**-11, BFLOAT16: 2**-8}


def _compare(case: Case, name: str, found: Array, should: Array) -> None:
    net = case.net
    if name in {"inference", "y", "dx"}:
        should = should[net.inside]
        padding, found = found[~net.inside], found[net.inside]
        if case.layout != PACKED:
            nothing = loaded(bytes([UNTOUCHED]) * BYTES[case.data_type], case.data_type)
            fill = case.fill if name != "dx" and case.fill is not None else nothing
            assert (padding == fill).all(), (case, name)
    found = found.ravel()[: should.size].reshape(should.shape)
    if name == "dweights":  # summed in another order: where rounding falls may differ
        half_a_place, least = HALF_A_PLACE[case.data_type], 2**-25
        bound = np.abs(should) * half_a_place + (least if case.data_type == HALF else 1e-12)
        assert (np.abs(found - should) <= bound * 1.0001).all(), (case, name)
    else:
        np.testing.assert_array_equal(found, _rounded(should, case.data_type), str((case, name)))


def _all_16_bits() -> NDArray[np.uint16]:
    return np.arange(1 << 16, dtype=np.uint16)


@pytest.mark.parametrize("data_type", [HALF, BFLOAT16])
def test_every_value_of_16_bits_goes_through_unchanged(
    child: Callable[..., Any], data_type: int
) -> None:
    bits = _all_16_bits()
    values = loaded(bits.tobytes(), data_type)
    by_torch = torch.from_numpy(bits.view(np.int16)).view(TORCH[data_type]).double().numpy()
    np.testing.assert_array_equal(values, by_torch)
    size = 256
    net = Net(RELU, 1, (1,) * size, bias=0, skip_input=True, input_size=size, hidden_size=size)
    ones = np.ones((1, size, size))
    # With relu cells that are all on, dx is dy.
    y, dx = child("scenarios:identity", Case(net, data_type), ones, values.reshape(ones.shape))
    assert (loaded(y, data_type) == 1).all()
    found = np.frombuffer(dx, np.uint16)
    # NaN stays NaN, whichever of its many; -0 is added to 0 on its way.
    np.testing.assert_array_equal(loaded(dx, data_type), values)
    same = ~np.isnan(values) & (values != 0)
    np.testing.assert_array_equal(found[same], bits[same])


@pytest.mark.parametrize("data_type", [HALF, BFLOAT16])
def test_products_are_rounded_as_torch_rounds(child: Callable[..., Any], data_type: int) -> None:
    random = np.random.default_rng(3)
    size, rows = 64, 512
    bits = [random.integers(0, 1 << 15, n).astype(np.uint16) for n in (rows * size, size)]
    x, weight = (loaded(b.tobytes(), data_type) for b in bits)
    x, weight = (np.nan_to_num(v, posinf=0.0) for v in (x, weight))
    net = Net(RELU, 1, (1,) * rows, bias=0, input_size=size, hidden_size=size)
    found = child("scenarios:products", Case(net, data_type), x.reshape(1, rows, size), weight)
    # The product of two such numbers has fewer digits than a double, and in most cases than a
    # float: torch, which rounds by way of float, is asked for those only.
    exact = x.reshape(rows, size) * weight
    with np.errstate(over="ignore", under="ignore"):
        single = exact.astype(np.float32)
    fits = single.astype(np.float64) == exact
    assert fits.mean() > 0.4
    wanted = torch.from_numpy(single).to(TORCH[data_type]).double().numpy()
    got = loaded(found, data_type).reshape(rows, size)
    np.testing.assert_array_equal(got[fits], wanted[fits])
    np.testing.assert_array_equal(
        got, loaded(stored(exact, data_type), data_type).reshape(got.shape)
    )
    assert (got[fits] != exact[fits]).mean() > 0.3  # there was something to round


def test_dropout_draws_from_its_seed(child: Callable[..., Any]) -> None:
    rate = 0.3
    first, again, other = child("scenarios:dropout", rate, [5, 5, 6])
    for masks in (first, other):
        one, two, back, inference = masks
        assert set(np.unique(one)) == {0.0, 1 / (1 - np.float64(np.float32(rate)))}
        # 3,200 values: the share of zeros within 5 standard deviations.
        assert abs((one == 0).mean() - rate) < 5 * np.sqrt(rate * (1 - rate) / one.size)
        assert 0.3 < (one != two).mean() < 0.55  # 2 x 0.3 x 0.7 where independent
        np.testing.assert_array_equal(back, two)
        assert (inference == 1).all()
    for left, right in zip(first, again, strict=True):
        np.testing.assert_array_equal(left, right)
    assert (first[0] != other[0]).any()


# Sizes and weights


def test_sizes_follow_the_rules(child: Callable[..., Any]) -> None:
    net = Net(LSTM, 5, (5,) * 8, num_layers=2)

    def batch(size: int, **changes: Any) -> Case:
        return Case(replace(net, lengths=(5,) * size), **{"data_type": FLOAT, **changes})

    cases = [batch(31), batch(32), batch(32, layout=BATCH_MAJOR), batch(32, data_type=HALF),
             batch(32, algo=STATIC)]  # fmt: skip
    odd, even, by_batch, half, static = child("scenarios:sizes", cases)
    assert odd[0] == even[0] == static[0]
    for weight_bytes, workspaces, reserve_bytes in (odd, even, by_batch, half, static):
        assert weight_bytes % 256 == 0
        assert 0 < workspaces[0] < workspaces[1]
        assert reserve_bytes > 0
    # (3 x 4 x 3 + 3 x 4 x 3 + 2 x 4 x 3) x 2 layers = 192 weights of 4 or 2 bytes
    assert (odd[0], half[0]) == (768, 512)
    assert odd[1][0] > even[1][0]  # not monotonic
    assert by_batch[1] != even[1]
    assert static[1] != even[1]


def test_weight_parts_are_where_the_network_has_them(
    child: Callable[..., Any], probe: Probe
) -> None:
    net = Net(LSTM, 2, (2,), bias=1, directions=2, num_layers=2, hidden_size=5, proj_size=2)
    wanted = {(p.pseudo_layer, p.lin_layer_id, p.matrix): p for p in probe.parts(net)}
    for null in (False, True):
        found = child("scenarios:weight_parts", Case(net, HALF), null)
        assert len(found) == 4 * 9
        for pseudo_layer, lin_layer_id, matrix, matrix_at, bias, bias_at in found:
            for is_matrix, shape, at in ((True, matrix, matrix_at), (False, bias, bias_at)):
                part = wanted.get((pseudo_layer, lin_layer_id, is_matrix))
                if part is None or part.rows == 0:
                    assert (shape, at) == (None, -1)
                else:
                    assert (shape, at) == ([1, part.rows, part.cols], 2 * part.offset)
        assert any(row[2] == [1, 2, 5] for row in found)  # the projection
        assert any(row[4] is None for row in found)
