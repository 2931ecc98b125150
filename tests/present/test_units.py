"""Numbers and paths as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness.present.units import (
    binary_text,
    bytes_text,
    count_text,
    path_text,
    seconds_text,
    share_text,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),  # never "1000 kB"
        (441_200_000, "441 MB"),
        (999_600_000, "1.00 GB"),
        (1_697_480_448, "1.70 GB"),
        (9_996_000_000, "10.0 GB"),
        (25_283_000_000, "25.3 GB"),
        (99_960_000_000, "100 GB"),
        (1_234_000_000_000, "1,234 GB"),
    ],
)
def test_bytes(size: int, text: str) -> None:
    assert bytes_text(size) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (10_235, "10.0 KiB"),
        (1023 * 1024, "1.00 MiB"),  # never "1023 KiB"
        (24 << 30, "24.0 GiB"),
        (212 << 30, "212 GiB"),
        (5 << 50, "5,120 TiB"),
    ],
)
def test_binary_bytes(size: int, text: str) -> None:
    assert binary_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (119.4, "119 s"),
        (119.6, "2 min 0 s"),
        (200, "3 min 20 s"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 calls"), (1, "1 call"), (60, "60 calls"), (12_345, "12,345 calls")]
)
def test_counts(count: int, text: str) -> None:
    assert count_text(count, "call") == text


def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert path_text("/home/ada/.cache/pyharness", 40) == "~/.cache/pyharness"
    assert path_text(Path("/home/adam/x"), 40) == "/home/adam/x"
    long = "/opt/env/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9"
    assert path_text(long, 80) == long
    assert path_text(long, 40) == "/…/nvidia/cudnn/lib/libcudnn.so.9"
    assert path_text(long, 5) == "/…/lib/libcudnn.so.9"  # the name is never cut


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0.00%"),
        (1, "100.00%"),
        (0.7764, "77.64%"),
        (0.0001, "0.01%"),
        (0.00003, "0.003%"),  # 100,000 clean runs: never "0.00%", which would be a proof
        (1 / 25_000_000, "4e-06%"),
    ],
)
def test_shares(share: float, text: str) -> None:
    assert share_text(share) == text
