"""Without a network the proof runs from the cache, and with neither it says so."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pyharness.errors import HarnessError
from pyharness.releases import Offer

from . import headers
from .compiler import compile_errors
from .differences import complete


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and pip told to use no index."""
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def _offer(version: str, cuda_major: int) -> Offer:
    return Offer(f"nvidia-cudnn-cu{cuda_major}", version, cuda_major, "a.whl", "https://a.invalid")


@pytest.mark.usefixtures("offline")
def test_neither_network_nor_cache_is_an_error() -> None:
    with pytest.raises(HarnessError, match="needs the headers of every release"):
        headers.chosen_offers()


@pytest.mark.usefixtures("offline")
def test_headers_that_cannot_be_had_are_an_error() -> None:
    found = headers.fetch_all([_offer("9.9.9.9", 12)])
    assert list(found) == ["9.9.9.9+cu12"]
    with pytest.raises(HarnessError):
        complete(found)


@pytest.mark.usefixtures("offline")
def test_an_old_list_serves_when_the_index_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    offers = [_offer("9.9.0.1", 11), _offer("9.10.0.1", 11)]
    monkeypatch.setattr(headers, "list_offers", lambda: offers)
    assert headers.chosen_offers() == offers
    listing = headers.headers_dir() / "offers.json"
    os.utime(listing, (0, 0))

    def unreachable() -> list[Offer]:
        raise HarnessError("no answer")

    monkeypatch.setattr(headers, "list_offers", unreachable)
    assert headers.chosen_offers() == offers


@pytest.mark.usefixtures("offline")
def test_one_wheel_a_version_and_the_newest_of_each_cuda_major(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = [("8.5.0.1", 11), ("9.2.0.1", 11), ("9.2.0.1", 12), ("9.10.0.1", 13), ("9.10.0.1", 12)]
    monkeypatch.setattr(headers, "list_offers", lambda: [_offer(*one) for one in listed])
    assert [offer.name for offer in headers.chosen_offers()] == [
        "8.5.0.1+cu11",
        "9.2.0.1+cu11",
        "9.2.0.1+cu12",
        "9.10.0.1+cu12",
        "9.10.0.1+cu13",
    ]


def test_no_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(HarnessError, match=re.escape("no C++ compiler: no-such-compiler")):
        compile_errors("", [], [])
