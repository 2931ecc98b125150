"""The dynamic section of an ELF file: its entries and its symbols, from the bytes alone."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PT_LOAD, _PT_DYNAMIC = 1, 2
_SHT_DYNSYM = 11
_UNDEFINED = 0  # the section of a symbol that another library is to bring
_MACHINES = {
    3: "i386",
    20: "ppc",
    21: "ppc64",
    22: "s390x",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv",
}
_DAMAGE = (struct.error, IndexError, OverflowError)  # what reading past the end comes to
# d_tag of the entries that say something here
NEEDED, _STRTAB, SONAME, RPATH, RUNPATH = 1, 5, 14, 15, 29


class NotElfError(ValueError):
    """The file is no ELF shared library; the message says what it is."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a class of ELF, 32 or 64 bits, lays its records out; without the byte order.

    ``header``   type, machine, version, entry, phoff, shoff, flags, ehsize, phentsize, phnum,
                 shentsize, shnum, shstrndx; behind the 16 bytes of the identification.
    ``program``  in the order of the class, see ``_segments``.
    ``section``  name, type, flags, addr, offset, size, link, info, align, entsize.
    ``symbol``   in the order of the class, see ``defined``.
    """

    header: str
    program: str
    section: str
    dynamic: str
    symbol: str


_SHAPES = {
    1: _Shape("HHIIIIIHHHHHH", "IIIIIIII", "IIIIIIIIII", "iI", "IIIBBH"),
    2: _Shape("HHIQQQIHHHHHH", "IIQQQQQQ", "IIQQQQIIQQ", "qQ", "IBBHQQ"),
}


class ElfImage:
    """An ELF file with a dynamic section.

    ``machine``  as platform.machine() calls it where known, else its number.

    Raises  NotElfError if the file is none, OSError if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            start = stream.read(4096)
            if not start.startswith(b"\x7fELF"):
                kind = "a text file" if _is_text(start) else "a data file"
                raise NotElfError(f"{kind if start else 'an empty file'}, not a shared library")
            self._data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._read_header()
        except (*_DAMAGE, KeyError) as error:
            raise NotElfError("a damaged ELF file") from error

    def _read_header(self) -> None:
        self._wide = self._data[4] == 2
        self._order = {1: "<", 2: ">"}[self._data[5]]
        self._shape = _SHAPES[self._data[4]]
        (_, machine, _, _, phoff, self._shoff, _, _, phentsize, phnum, self._shentsize,
         self._shnum, _) = self._unpack(self._shape.header, 16)  # fmt: skip
        self.machine = _MACHINES.get(machine, f"machine {machine}")
        self._loads: list[tuple[int, int, int]] = []  # address, bytes, place in the file
        dynamic: tuple[int, int] | None = None
        for index in range(phnum):
            kind, place, address, size = self._segment(phoff + index * phentsize)
            if kind == _PT_LOAD:
                self._loads.append((address, size, place))
            elif kind == _PT_DYNAMIC:
                dynamic = place, size
        if dynamic is None:
            raise NotElfError("an ELF file of another kind, not a shared library")
        self.entries = list(self._entries(*dynamic))
        """Tag and value of each entry of the dynamic section."""
        strings = [value for tag, value in self.entries if tag == _STRTAB]
        self._strings = self._place_of(strings[0]) if strings else None

    def text(self, offset: int) -> str:
        """A name by its offset in the table of names.

        Raises  NotElfError if it is not there.
        """
        if self._strings is None:
            raise NotElfError("a damaged ELF file")
        return self._text(self._strings + offset)

    def defined(self) -> Iterator[str]:
        """The names of the symbols that the library brings.

        Raises  NotElfError if the file is damaged.
        """
        try:
            for index in range(self._shnum):
                _, kind, _, _, place, size, link, *_ = self._section(index)
                if kind == _SHT_DYNSYM:
                    yield from self._symbols(place, size, self._section(link)[4])
        except _DAMAGE as error:
            raise NotElfError("a damaged ELF file") from error

    def _symbols(self, place: int, size: int, names: int) -> Iterator[str]:
        record = struct.Struct(self._order + self._shape.symbol)
        if place + size > len(self._data):
            raise NotElfError("a damaged ELF file")
        whole = size - size % record.size
        with memoryview(self._data) as view:
            for fields in record.iter_unpack(view[place : place + whole]):
                name, section = fields[0], fields[3] if self._wide else fields[5]
                if section != _UNDEFINED:
                    yield self._text(names + name)

    def _text(self, start: int) -> str:
        end = -1 if start >= len(self._data) else self._data.find(b"\0", start)
        if end < 0:
            raise NotElfError("a damaged ELF file")
        return self._data[start:end].decode("utf-8", "replace")

    def _section(self, index: int) -> tuple[int, ...]:
        return self._unpack(self._shape.section, self._shoff + index * self._shentsize)

    def _segment(self, at: int) -> tuple[int, int, int, int]:
        """Kind, place in the file, address and bytes of a segment."""
        fields = self._unpack(self._shape.program, at)
        if self._wide:
            kind, _, place, address, _, size, _, _ = fields
        else:
            kind, place, address, _, size, _, _, _ = fields
        return kind, place, address, size

    def _entries(self, place: int, size: int) -> Iterator[tuple[int, int]]:
        record = struct.calcsize(self._order + self._shape.dynamic)
        for at in range(place, place + size - size % record, record):
            tag, value = self._unpack(self._shape.dynamic, at)
            if tag == 0:
                return
            yield tag, value

    def _place_of(self, address: int) -> int:
        """Where in the file lies what is loaded at an address."""
        for start, size, place in self._loads:
            if start <= address < start + size:
                return address - start + place
        raise NotElfError("a damaged ELF file")

    def _unpack(self, shape: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + shape, self._data, at)


def _is_text(start: bytes) -> bool:
    return b"\0" not in start and all(b >= 32 or b in b"\t\r\n" for b in start)
