"""Names and order of releases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import releases
from pyharness.releases.model import (
    Release,
    is_plain,
    parse_request,
    release_key,
    release_name,
    version_key,
)

NUMBERS = st.lists(st.integers(0, 99), min_size=4, max_size=4)


def test_a_release_is_called_by_version_and_cuda_or_by_its_path() -> None:
    path = Path("/lib/libcudnn.so.9")
    assert Release("9.28.0.42", 12, path, "cache").name == "9.28.0.42+cu12"
    assert Release("9.28.0", None, path, "path").name == "9.28.0"
    assert Release(None, None, path, "path").name == "/lib/libcudnn.so.9"


@given(NUMBERS, NUMBERS)
def test_versions_are_ordered_by_their_numbers(left: list[int], right: list[int]) -> None:
    keys = [version_key(".".join(map(str, numbers))) for numbers in (left, right)]
    assert (keys[0] < keys[1]) == (left < right)


@given(NUMBERS, st.sampled_from([None, 11, 12, 13]))
def test_a_name_is_read_back(numbers: list[int], cuda: int | None) -> None:
    version = ".".join(map(str, numbers))
    assert parse_request(release_name(version, cuda)) == (version, cuda)


@pytest.mark.parametrize("text", ["", "latest", "9.x", "9.1+12", "9.1+cu", "/9.1", "9..1", "9.1 "])
def test_what_is_no_version(text: str) -> None:
    assert parse_request(text) is None


@pytest.mark.parametrize(
    ("version", "plain"),
    [("9.28.0.42", True), ("9.26.0.33.dev6", False), ("9.1.0.70.post1", False), ("9rc1", False)],
)
def test_development_versions_are_not_plain(version: str, plain: bool) -> None:
    assert is_plain(version) is plain


def test_an_unknown_version_sorts_first_and_cuda_12_last_within_one() -> None:
    keys = [release_key(v, c) for v, c in [(None, 12), ("9.1", 11), ("9.1", 13), ("9.1", 12)]]
    assert keys == sorted(keys)


@pytest.mark.parametrize("name", releases.__all__)
def test_every_public_name_is_there_and_none_but_these(name: str) -> None:
    assert getattr(releases, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        releases.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, pyharness.releases\n"
        "heavy = {'requests', 'pypi_simple', 'remotezip', 'elftools', 'zipfile', 'packaging'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
