"""Sizes that people write."""

from __future__ import annotations

import pytest

from pyharness.errors import UsageError
from pyharness.spec.byte_text import parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24GiB", 24 * 1024**3),
        ("80GB", 80 * 1000**3),
        ("500MB", 500_000_000),
        ("1.5 GiB", 1_610_612_736),
        ("512kib", 524_288),
        ("1kB", 1000),
        ("2TiB", 2 * 1024**4),
        ("7B", 7),
        ("1.001GB", 1_001_000_000),  # as a float it would be one less
    ],
)
def test_a_size(text: str, size: int) -> None:
    assert parse_bytes(text, "--fit") == size


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("24", "--fit: '24' is no size: it has no unit"),
        ("24G", "--fit: '24G' is no size: 'G' is no unit"),
        ("much", "--fit: 'much' is no size"),
        ("-3GB", "--fit: '-3GB' is no size"),
        ("", "--fit: '' is no size"),
        ("nanGB", "--fit: 'nanGB' is no size"),
        ("٣GB", "--fit: '٣GB' is no size"),
        ("0GB", "--fit: 0GB is the size of no device"),
        ("0.4B", "--fit: 0.4B is the size of no device"),
        ("9999999999TiB", "--fit: 9999999999TiB is the size of no device"),
    ],
)
def test_what_is_none(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_bytes(text, "--fit")
    assert error.value.message == said
    assert "24GiB" in error.value.hint
