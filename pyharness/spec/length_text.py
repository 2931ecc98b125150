"""Lengths as a person has them: a list in words, a .npy or .json file, one number a line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pyharness.errors import UsageError
from pyharness.spec.array_files import is_numpy_file, read_array, require_file
from pyharness.spec.axes import check_int

_LIST = re.compile(r"[\s\d,+-]*")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_MOST_BYTES = 64 * 2**20
_LENGTHS = "write integers: [5,3,2], or give a .npy, .json or text file with one integer a line"


def read_lengths(text_or_path: str) -> tuple[int, ...]:
    """The lengths that a text or a file lists: ``[5,3,2]``, ``5,3,2``, .npy, .json, or lines.

    Returns  one length a row; any 32-bit integer: whether it is allowed is the library's to say.
    Raises   UsageError naming the first item that is none, or what is wrong with the file.
    """
    text = text_or_path.strip()
    if text.startswith("["):
        if not text.endswith("]"):
            raise UsageError(f"the list of lengths {text!r} has no end", _LENGTHS)
        return _items(text[1:-1].split(","), "item")
    if _LIST.fullmatch(text) or ("," in text and not Path(text).exists()):
        return _items(text.split(",") if "," in text else text.split(), "item")
    path = Path(text)
    require_file(path)
    try:
        if is_numpy_file(path):
            return _array_items(read_array(path), path)
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path} is too large for a list of lengths", _LENGTHS)
        content = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", _LENGTHS) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text", _LENGTHS) from None
    if path.suffix == ".json" or content.lstrip().startswith("["):
        return _json_items(content, path)
    return _items([line for line in content.splitlines() if line.strip()], f"{path}: length")


def _items(items: Sequence[str], what: str) -> tuple[int, ...]:
    """Integers out of pieces of text, counted from 0."""
    lengths = []
    for place, item in enumerate(piece.strip() for piece in items):
        if not _INTEGER.fullmatch(item) or len(item) > 20:
            raise UsageError(f"{what} {place} is {item[:40]!r}, no integer", _LENGTHS)
        lengths.append(check_int(f"{what} {place}", int(item)))
    return _some(lengths)


def _json_items(content: str, path: Path) -> tuple[int, ...]:
    try:
        items = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}", _LENGTHS) from None
    if not isinstance(items, list):
        raise UsageError(f"{path} holds no list", _LENGTHS)
    for place, item in enumerate(items):
        if not isinstance(item, int) or isinstance(item, bool):
            said = json.dumps(item)[:40]
            raise UsageError(f"{path}: length {place} is {said}, no integer", _LENGTHS)
        check_int(f"{path}: length {place}", item)
    return _some(items)


def _array_items(array: NDArray[Any], path: Path) -> tuple[int, ...]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        shape = "x".join(map(str, array.shape)) or "one value"
        hint = "one axis of integers is allowed"
        if array.ndim > 1:
            hint += "; what has two axes is a mask (--mask)"
        raise UsageError(f"{path} is {shape} of {array.dtype}", hint)
    return _some([check_int(f"{path}: length {i}", n) for i, n in enumerate(array.tolist())])


def _some(lengths: Sequence[int]) -> tuple[int, ...]:
    if not lengths:
        raise UsageError("no lengths are given", _LENGTHS)
    return tuple(lengths)
