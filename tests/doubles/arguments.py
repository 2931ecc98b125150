"""What a row of a table is handed over as, told from its words by a second hand.

Nothing here uses the code under test. The words' numbers are copied from cuDNN's headers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import rules

Row = Mapping[str, Any]
INT_MIN, INT_MAX = -(2**31), 2**31 - 1

_DATA_TYPES = (
    "float double half int8 int32 int8x4 uint8 uint8x4 int8x32 bfloat16 int64 boolean fp8_e4m3 "
    "fp8_e5m2 fast_float_for_fp8 fp8_e8m0 fp4_e2m1 int4 uint4 uint32 complex_fp32 complex_fp64 "
    "byte_boolean fp8_e5m3"
)
WORDS = {
    "algo": "standard persist_static persist_dynamic persist_static_small_h",
    "cell_mode": "rnn_relu rnn_tanh lstm gru",
    "bias_mode": "no_bias single_inp_bias double_bias single_rec_bias",
    "direction_mode": "unidirectional bidirectional",
    "input_mode": "linear_input skip_input",
    "data_type": _DATA_TYPES,
    "math_prec": _DATA_TYPES,
    "math_type": "default_math tensor_op_math tensor_op_math_allow_conversion fma_math",
    "layout": "seq_major_unpacked seq_major_packed batch_major_unpacked",
    "clip_mode": "none minmax",
    "clip_nan_opt": "not_propagate_nan propagate_nan",
    "aux_flags": "padded_io_disabled padded_io_enabled",
    "dropout": "null present",
    "padding_fill": "null given",
}


def number(column: str, word: Any) -> int:
    """The integer of a word, or of an integer written out."""
    names = WORDS.get(column, "").split()
    return names.index(word) if word in names else int(word)


def proj_size(row: Row) -> int:
    """The size that is handed over, from the rule where there is one."""
    rule = row["proj_rule"]
    return int(row["proj_size"]) if rule == "given" else rules.proj_size(rule, row["hidden_size"])


def descriptor(row: Row) -> list[int]:
    """The arguments of cudnnSetRNNDescriptor_v8 after the descriptor; dropout as 0 or 1."""
    before = "algo cell_mode bias_mode direction_mode input_mode data_type math_prec math_type"
    after = ("input_size", "hidden_size")
    return [
        *(number(c, row[c]) for c in before.split()),
        *(int(row[c]) for c in after),
        proj_size(row),
        int(row["num_layers"]),
        number("dropout", row["dropout"]),
        number("aux_flags", row["aux_flags"]) % 2**32,
    ]


def clip(row: Row) -> tuple[int, int, int, float, float]:
    """Cell mode, mode, NaN option (-1: the call has none), bounds."""
    option = row.get("clip_nan_opt")
    return (
        number("cell_mode", row["cell_mode"]),
        number("clip_mode", row["clip_mode"]),
        -1 if option is None else number("clip_nan_opt", option),
        row["lclip"],
        row["rclip"],
    )


def lengths(pattern: str, top: int, batch: int) -> list[int]:
    """The sequence lengths of a pattern or a list written out."""
    if pattern.startswith("["):
        return [int(n) for n in pattern[1:-1].split(",")]
    n = max(batch, 1)
    equal, last = [top] * n, n - 1
    # From top down to 1 in equal steps, each rounded up for a positive top.
    slope = [top - _quotient((top - 1) * i, max(last, 1)) for i in range(n)]
    return {
        "equal": equal,
        "descending": slope,
        "unsorted": slope[::-1],
        "one_zero": [*equal[:last], 0],
        "all_zero": [0] * n,
        "trailing_zeros": [top] * (n // 2) + [0] * (n - n // 2),
        "over_max": [min(top + 1, INT_MAX), *equal[1:]],
        "negative": [*equal[:last], -1],
    }[pattern]


def _quotient(a: int, b: int) -> int:
    """Division as C does it: towards zero."""
    return a // b if a >= 0 else -(-a // b)


def data(row: Row) -> tuple[list[int], list[int]]:
    """The integers up to vector_size, whether a padding is given; and the lengths."""
    top, batch = row["max_seq_length"], row["batch_size"]
    numbers = [
        number("data_type", row["data_type"]),
        number("layout", row["layout"]),
        top,
        batch,
        row["vector_size"],
        number("padding_fill", row["padding_fill"]),
    ]
    return numbers, lengths(row["seq_lengths"], top, batch)[: max(batch, 0)]


def tensor(row: Row) -> tuple[int, int, list[int], list[int]]:
    """Data type, number of dimensions, dimensions and strides."""

    def fit(value: int) -> int:
        return max(INT_MIN, min(INT_MAX, value))

    count = row["nb_dims"]
    layers = row["num_layers"] * (2 if row["direction_mode"] == "bidirectional" else 1)
    width = proj_size(row) if row["tensor"] == "h" else row["hidden_size"]
    dims = ([fit(layers), row["batch_size"], width] + [1] * 13)[: max(count, 0)]
    strides: list[int] = []
    step = 1
    for dim in reversed(dims):
        strides.insert(0, step)
        step = fit(step * dim)
    every = [fit(layers), row["batch_size"], width]
    match row["strides"]:
        case "transposed":
            strides[:2] = [width, fit(every[0] * width)][: len(strides)]
        case "zero":
            strides[:1] = [0][: len(strides)]
        case "overlapping":
            strides = [1] * len(strides)
        case "negative":
            strides[:1] = [fit(-s) for s in strides[:1]]
    return number("data_type", row["data_type"]), count, dims, strides
