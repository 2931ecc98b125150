"""Lengths as a person has them, in words and in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec.length_text import read_lengths
from tests.spec.test_masks import NPY, saved


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("[5,3,2]", (5, 3, 2)),
        ("5,3,2", (5, 3, 2)),
        (" [ 5, -3 , +2 ] ", (5, -3, 2)),
        ("5 3 2", (5, 3, 2)),
        ("7", (7,)),
        ("[7]", (7,)),
    ],
)
def test_lengths_out_of_a_text(text: str, lengths: tuple[int, ...]) -> None:
    assert read_lengths(text) == lengths


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npy", saved(lambda f: np.save(f, np.array([5, 3, 2], np.int32)))),
        ("a.npz", saved(lambda f: np.savez(f, np.array([5, 3, 2], np.uint8)))),
        ("a.json", b"[5, 3, 2]"),
        ("a", b" [5,\n3, 2]"),
        ("a.txt", b"5\n3\n\n2\n"),
        ("a,b.txt", b" 5\r\n3 \r\n2"),
    ],
)
def test_lengths_out_of_a_file(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    lengths = read_lengths(str(tmp_path / name))
    assert lengths == (5, 3, 2)
    assert {type(n) for n in lengths} == {int}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[5,x,2]", "item 1 is 'x', no integer"),
        ("5,,2", "item 1 is '', no integer"),
        ("5,2.0", "item 1 is '2.0', no integer"),
        ("[5,1_0]", "item 1 is '1_0', no integer"),
        ("[5,٣]", "item 1 is '٣', no integer"),
        ("[]", "item 0 is '', no integer"),
        ("[5,3", "has no end"),
        ("", "no lengths are given"),
        ("[2147483648]", "item 0: 2147483648 does not fit"),
        ("[" + "9" * 5000 + "]", "no integer"),
        ("no/such.npy", "there is no file no/such.npy"),
        ("/dev/null", "is no plain file"),
        ("/", "is a folder"),
    ],
)
def test_a_text_that_is_no_lengths(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_lengths(text)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.npy", NPY, "is 2x4 of bool"),
        ("a.npy", saved(lambda f: np.save(f, np.array([1.5]))), "is 1 of float64"),
        ("a.npy", saved(lambda f: np.save(f, np.array(3))), "is one value of int64"),
        ("a.npy", saved(lambda f: np.save(f, np.array([1, 2**40]))), "length 1: 1099511627776"),
        ("a.json", b"[5, 3.0]", "length 1 is 3.0, no integer"),
        ("a.json", b"[true]", "length 0 is true, no integer"),
        ("a.json", b"[1, [2]]", "length 1 is [2], no integer"),
        ("a.json", b"[1, 99999999999]", "length 1: 99999999999 does not fit"),
        ("a.json", b'{"a": 1}', "holds no list"),
        ("a.json", b"[1,", "is no JSON"),
        ("a.json", b"[" * 100_000, "is no JSON"),
        ("a.json", b"[]", "no lengths are given"),
        ("a.txt", b"5\n3 2\n", "length 1 is '3 2', no integer"),
        ("a.txt", b"5\nthree\n", "length 1 is 'three', no integer"),
        ("a.txt", b"\xff\xfe\x00", "is no text"),
        ("a.txt", b"", "no lengths are given"),
    ],
)
def test_a_file_that_is_no_lengths(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_lengths(str(tmp_path / name))
    assert said in caught.value.message


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_lengths_that_are_written_are_read(lengths: list[int]) -> None:
    assert read_lengths(json.dumps(lengths)) == tuple(lengths)
    assert read_lengths(",".join(map(str, lengths))) == tuple(lengths)
