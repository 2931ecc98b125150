"""What is read of shared libraries, against another reader of ELF; damaged files."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from pyharness.releases import Release
from pyharness.releases.elf import NotElfError, missing_symbols, read_elf
from pyharness.releases.elf_image import ElfImage


def _libraries(release: Release) -> Iterator[Path]:
    yield from sorted(release.path.parent.glob("libcudnn*.so.*"))
    yield Path(sys.executable).resolve()  # an executable is read the same way


def test_it_says_what_another_reader_says(cudnn: Callable[[str], Release]) -> None:
    for path in _libraries(cudnn("8.9.7.29")):
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            dynamic = next(elf.iter_segments("PT_DYNAMIC"))
            said: dict[str, list[str]] = {}
            for tag in dynamic.iter_tags():
                for kind in ("needed", "soname", "runpath", "rpath"):
                    if tag.entry.d_tag == f"DT_{kind.upper()}":
                        said.setdefault(kind, []).append(getattr(tag, kind))
            defined = {
                symbol.name
                for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
                if symbol.entry.st_shndx != "SHN_UNDEF"
            }
        facts = read_elf(path)
        assert list(facts.needed) == said.get("needed", [])
        assert ([facts.soname] if facts.soname else []) == said.get("soname", [])
        folders = ":".join(said.get("runpath", said.get("rpath", [""]))).split(":")
        wanted = [f.replace("$ORIGIN", str(path.parent)) for f in folders if f]
        assert [str(f) for f in facts.search] == [str(Path(f)) for f in wanted]
        assert facts.machine == "x86_64"
        assert set(ElfImage(path).defined()) == defined
        assert len(defined) > 5


def test_symbols_that_are_wanted_from_elsewhere_are_missing(
    cudnn: Callable[[str], Release],
) -> None:
    library = cudnn("9.28.0.42").path
    # dlopen is in its table too, but the C library brings it.
    asked = ["cudnnGetVersion", "dlopen", "cudnnNothing", "cudnnRNNForward"]
    assert missing_symbols(library, asked) == ["dlopen", "cudnnNothing"]


def test_a_library_of_32_bits_and_the_other_byte_order(tmp_path: Path) -> None:
    """Built by hand after the ELF specification: one segment, its dynamic section, its names."""

    def words(*values: int) -> bytes:
        return b"".join(v.to_bytes(4, "big") for v in values)

    names = b"\0libwanted.so\0/one:$ORIGIN/two\0"
    base, header, segments, entries = 0x1000, 52, 2, 4
    at_dynamic = header + segments * 32
    at_names = at_dynamic + entries * 8
    size = at_names + len(names)
    image = b"\x7fELF\1\2\1" + bytes(9)
    image += (3).to_bytes(2, "big") + (20).to_bytes(2, "big")  # ET_DYN for a PowerPC
    image += words(1, 0, header, 0, 0)
    image += b"".join(v.to_bytes(2, "big") for v in (header, 32, segments, 40, 0, 0))
    image += words(1, 0, base, 0, size, size, 5, 4)  # PT_LOAD
    image += words(2, at_dynamic, base + at_dynamic, 0, entries * 8, entries * 8, 6, 4)
    image += words(1, 1, 15, 14, 5, base + at_names, 0, 0)  # NEEDED, RPATH, STRTAB, NULL
    path = tmp_path / "lib.so"
    path.write_bytes(image + names)
    facts = read_elf(path)
    assert (facts.machine, facts.soname, facts.needed) == ("ppc", None, ("libwanted.so",))
    assert facts.search == (Path("/one"), tmp_path / "two")
    assert list(ElfImage(path).defined()) == []


def test_a_damaged_file_is_said_to_be_one(fake: Path, tmp_path: Path) -> None:
    whole = fake.read_bytes()
    draw, path, refused = random.Random(0), tmp_path / "damaged.so", 0
    for turn in range(400):
        data = bytearray(whole)
        if turn % 2:
            del data[draw.randrange(len(data)) :]
        else:  # where header, segments and sections are told
            for _ in range(draw.randint(1, 8)):
                start = draw.choice([0, len(data) - 64 * 40])
                data[start + draw.randrange(64 * 12)] = draw.choice([0, 0x7F, 0xFF])
        path.write_bytes(data)
        try:
            read_elf(path)
            missing_symbols(path, ["cudnnNothing"])
        except NotElfError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("start", [b"\x7fELF", b"\x7fELF\2", b"\x7fELF\2\1", b"\x7fELF\x07\x01"])
def test_the_beginning_of_a_file_is_damaged(start: bytes, tmp_path: Path) -> None:
    path = tmp_path / "start.so"
    path.write_bytes(start)
    with pytest.raises(NotElfError, match="a damaged ELF file"):
        read_elf(path)
