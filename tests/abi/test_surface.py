"""Reading names and values out of preprocessed text."""

from __future__ import annotations

import pytest

from .surface import read_surface

TEXT = """
#define CUDNN_RNN_FLAG (1U << 0)
#define CUDNN_CALL(x) (x)
typedef enum { A = 0, B, C __attribute__((deprecated("say, D"))) = 0x10u,
    D [[deprecated]] = C, } cudnnFirst_t;
typedef enum tag { E = -1 } cudnnSecond_t;
typedef enum { X = 1 << 3 } foreign_t;
int cudnnCall(cudnnFirst_t first);
"""


def test_names_values_and_macros() -> None:
    surface = read_surface(TEXT)
    assert surface.enumerators == {
        "cudnnFirst_t": {"A": 0, "B": 1, "C": 16, "D": 16},
        "cudnnSecond_t": {"E": -1},
    }
    assert surface.macros == {"CUDNN_RNN_FLAG": "(1U << 0)"}
    assert "cudnnCall" in surface.identifiers
    assert "CUDNN_CALL" not in surface.identifiers


def test_value_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match="X = 1 << 3"):
        read_surface("typedef enum { X = 1 << 3 } cudnnThird_t;")
