"""NumPy's files, read without running anything in them and without believing their headers."""

from __future__ import annotations

import math
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from pyharness.errors import UsageError

_NPY, _ZIP, _PICKLE = b"\x93NUMPY", b"PK\x03\x04", b"\x80"
# What NumPy raises for a header that it cannot make sense of.
_UNREADABLE = (
    ValueError,
    EOFError,
    SyntaxError,
    TypeError,
    KeyError,
    RecursionError,
    tokenize.TokenError,
)
_SAVE = "save it with numpy.save(PATH, array); of a tensor: numpy.save(PATH, tensor.cpu().numpy())"


def is_numpy_file(path: Path) -> bool:
    """Whether a file begins as .npy and .npz files do."""
    with path.open("rb") as file:
        return file.read(len(_NPY)).startswith((_NPY, _ZIP))


def require_file(path: Path) -> None:
    """Nothing, if the path is a plain file.

    Raises  UsageError if it is missing or something else.
    """
    if not path.exists():
        raise UsageError(f"there is no file {path}", "give the path of a file that exists")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no plain file"
        raise UsageError(f"{path} is {what}", "give the path of a file")


def read_array(path: Path) -> NDArray[Any]:
    """The one array of a .npy or .npz file, whatever its name.

    Raises  UsageError saying what is wrong: missing, no such file, pickled, cut short, several
            arrays, not readable.
    """
    require_file(path)
    try:
        with path.open("rb") as file:
            start = file.read(len(_NPY))
            file.seek(0)
            if start == _NPY:
                return _array(file, path, path.stat().st_size)
            if start.startswith(_ZIP):
                return _archived(file, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise UsageError(f"the array in {path} does not fit in memory") from None
    if start.startswith(_PICKLE):
        raise UsageError(f"{path} is a pickle, which is not opened: it may run code", _SAVE)
    what = "is empty" if not start else "is no .npy or .npz file"
    raise UsageError(f"{path} {what}", _SAVE)


def _archived(file: IO[bytes], path: Path) -> NDArray[Any]:
    """The array of a .npz file."""
    try:
        with zipfile.ZipFile(file) as archive:
            arrays = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            if len(arrays) == 1:
                with archive.open(arrays[0]) as member:
                    return _array(member, path, arrays[0].file_size)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UsageError(f"{path} is damaged, or cut short: {error!r}", _SAVE) from None
    except RuntimeError as error:  # what zipfile says of a password or a packing it does not know
        raise UsageError(f"{path} cannot be unpacked: {error}", _SAVE) from None
    if not arrays:
        raise UsageError(f"{path} is an archive without a NumPy array", _SAVE)
    names = ", ".join(m.filename.removesuffix(".npy") for m in arrays[:8])
    raise UsageError(
        f"{path} has {len(arrays)} arrays ({names}{', …' if len(arrays) > 8 else ''})",
        "one is allowed: numpy.save(PATH, archive[NAME])",
    )


def _array(file: IO[bytes], path: Path, size: int) -> NDArray[Any]:
    """The array of a .npy stream of this many bytes; the header is checked against them."""
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise UsageError(f"{path} is of format {version[0]}.{version[1]}", _SAVE)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how NumPy got through an odd header
            shape, fortran, dtype = read(file)
    except _UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"the header of {path} cannot be read: {reason}", _SAVE) from None
    if dtype.hasobject:
        raise UsageError(
            f"{path} holds pickled Python objects, which are not opened: they may run code",
            "an array of bool or integers is allowed; " + _SAVE,
        )
    wanted, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if not 0 <= wanted <= there:
        raise UsageError(
            f"{path} is cut short: {_shape_text(shape)} of {dtype} are {wanted:,} bytes, "
            f"{there:,} are there",
            "copy or save it again",
        )
    try:
        array: NDArray[Any] = np.ndarray(
            shape, dtype, file.read(wanted), order="F" if fortran else "C"
        )
    except ValueError as error:
        raise UsageError(f"{path} holds no array: {error}", _SAVE) from None
    return array


def _shape_text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "one value"
