"""From a text to a release: versions, prefixes, keywords, paths, and what wrong ones are told."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.errors import EXIT_ENVIRONMENT, EXIT_USAGE, HarnessError, UsageError
from pyharness.releases import REQUIRED_SYMBOLS, fetch, installed, list_offers, resolve

FOREIGN = {62: 183, 183: 62}  # EM_X86_64 and EM_AARCH64


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Path]]:
    """An otherwise empty machine: the places that are looked at."""
    places: list[tuple[str, Path]] = []
    monkeypatch.setattr(installed, "_places", lambda: iter(places))
    return places


def test_a_version_is_fetched_once_and_then_found_without_network(index, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    release = resolve("9.26.0.51")
    assert release.name == "9.26.0.51+cu12"
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    pages = len(index.pages)
    assert resolve("9.26.0.51") == resolve("9.26.0.51+cu12") == release
    assert len(index.pages) == pages


def test_cuda_12_is_preferred_then_13_then_11(index) -> None:
    index.add_cudnn("9.26.0.51", cuda=11)
    index.add_cudnn("9.26.0.51", cuda=13)
    index.add_cudnn("9.27.0.42", cuda=12)
    index.add_cudnn("9.27.0.42", cuda=13)
    assert resolve("9.26.0.51").cuda_major == 13
    assert resolve("9.27.0.42").cuda_major == 12
    assert resolve("9.27.0.42+cu13").cuda_major == 13


def test_a_cached_cuda_major_is_preferred_to_one_that_must_be_fetched(index) -> None:
    index.add_cudnn("9.27.0.42", cuda=12)
    index.add_cudnn("9.27.0.42", cuda=13)
    assert resolve("9.27.0.42+cu13").cuda_major == 13
    assert resolve("9.27.0.42").cuda_major == 13


def test_the_beginning_of_one_version_is_enough(index) -> None:
    for version in ("9.13.0.50", "9.13.1.26", "9.1.0.70"):
        index.add_cudnn(version)
    assert resolve("9.13.1").version == "9.13.1.26"
    assert resolve("9.1.0").version == "9.1.0.70"
    with pytest.raises(UsageError, match=r"9\.13 is ambiguous") as caught:
        resolve("9.13")
    assert caught.value.hint == "it may be 9.13.0.50, 9.13.1.26"


@pytest.mark.parametrize(
    ("text", "near"),
    [("9.28.0.24", "9.28.0.42"), ("9.28.0.42+cu14", "9.28.0.42+cu12"), ("lates", "latest")],
)
def test_an_unknown_release_names_the_nearest(index, text: str, near: str) -> None:
    index.add_cudnn("9.28.0.42")
    index.add_cudnn("8.9.7.29")
    with pytest.raises(UsageError, match="unknown release") as caught:
        resolve(text)
    assert caught.value.exit_code == EXIT_USAGE
    assert near in caught.value.hint


def test_latest_is_the_newest_of_the_index_and_offline_of_the_cache(index, monkeypatch) -> None:
    index.add_cudnn("9.9.0.52")
    resolve("9.9.0.52")
    index.add_cudnn("9.10.0.56")
    assert resolve("latest", allow_fetch=False).version == "9.9.0.52"
    assert resolve("latest").version == "9.10.0.56"
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    assert resolve("latest").version == "9.10.0.56"


def test_latest_of_a_cuda_leaves_the_releases_of_others_out(index, monkeypatch) -> None:
    index.add_cudnn("9.10.0.56")
    index.add_cudnn("9.11.0.98", 13)
    assert resolve("latest").name == "9.11.0.98+cu13"
    assert resolve("latest+cu12").name == "9.10.0.56+cu12"
    with pytest.raises(UsageError, match="no cuDNN for CUDA 14") as caught:
        resolve("latest+cu14")
    assert caught.value.hint == "allowed: latest+cu12, latest+cu13"
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    assert resolve("latest+cu12").name == "9.10.0.56+cu12"  # of the cache


@pytest.mark.parametrize("text", ["9.26.0.51", "latest"])
def test_an_index_without_cudnn_is_told_as_such(index, text: str) -> None:
    with pytest.raises(HarnessError, match="offers no cuDNN for this machine") as caught:
        resolve(text)
    assert caught.value.exit_code == EXIT_ENVIRONMENT


def test_offline_a_light_release_does_not_pass_for_a_full_one(index, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    resolve("9.26.0.51")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    with pytest.raises(HarnessError, match="is not cached in full"):
        resolve("9.26.0.51", full=True)
    with pytest.raises(HarnessError, match="cannot be reached"):
        resolve("latest", full=True)


@pytest.mark.parametrize("text", ["9.26.0.51", "9.26", "latest"])
def test_offline_and_not_cached_is_an_environment_error(offline, text: str) -> None:
    with pytest.raises(HarnessError, match="cannot be reached") as caught:
        resolve(text)
    assert caught.value.exit_code == EXIT_ENVIRONMENT
    assert "PIP_INDEX_URL" in caught.value.hint


def test_offline_a_prefix_is_found_in_the_cache_and_others_are_listed(index, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    fetch(list_offers()[0])
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    assert resolve("9.26").version == "9.26.0.51"
    with pytest.raises(HarnessError, match=r"9\.27\.0\.42 is not cached") as caught:
        resolve("9.27.0.42")
    assert "cached: 9.26.0.51+cu12" in caught.value.hint


def test_without_leave_to_fetch_the_network_is_not_touched(index) -> None:
    index.add_cudnn("9.26.0.51")
    with pytest.raises(HarnessError, match="fetching is not allowed"):
        resolve("9.26.0.51", allow_fetch=False)
    assert index.pages == []


def test_a_library_by_path(build_library: Callable[..., Path]) -> None:
    path = build_library("lib/libcudnn.so.9", REQUIRED_SYMBOLS)
    release = resolve(str(path))
    assert (release.path, release.origin, release.version) == (path, "path", None)
    assert release.name == str(path)
    assert resolve(str(path.parent)).path == path
    assert resolve(str(path.parent.parent)).path == path


def test_a_relative_path_stays_below_the_working_folder(build_library, monkeypatch) -> None:
    path = build_library("lib/libcudnn.so.9", REQUIRED_SYMBOLS)
    monkeypatch.chdir(path.parent)
    assert resolve("libcudnn.so.9").path == path


def test_a_version_is_read_from_the_header_beside_the_library(build_library) -> None:
    path = build_library("lib/libcudnn.so.9", REQUIRED_SYMBOLS)
    header = path.parent.parent / "include" / "cudnn_version.h"
    header.parent.mkdir()
    header.write_text("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 13\n#define CUDNN_PATCHLEVEL 1\n")
    assert resolve(str(path)).name == "9.13.1"


def test_a_file_name_with_the_whole_version_tells_it(build_library) -> None:
    path = build_library("lib/libcudnn.so.9.13.1", REQUIRED_SYMBOLS)
    link = path.with_name("libcudnn.so.9")
    link.symlink_to(path.name)
    release = resolve(str(path.parent))
    assert (release.path, release.version) == (link, "9.13.1")


def test_a_folder_with_two_major_versions_must_be_narrowed(build_library) -> None:
    build_library("lib/libcudnn.so.8", REQUIRED_SYMBOLS)
    path = build_library("lib/libcudnn.so.9", REQUIRED_SYMBOLS)
    with pytest.raises(UsageError, match="several cuDNN"):
        resolve(str(path.parent))


def test_a_library_that_is_not_cudnn_is_called_by_its_name(build_library) -> None:
    path = build_library("lib/libother.so.1", ("something",))
    with pytest.raises(UsageError, match=r"not cuDNN: it is libother\.so\.1"):
        resolve(str(path))


def test_a_cudnn_without_a_function_is_told_which(build_library) -> None:
    without = tuple(s for s in REQUIRED_SYMBOLS if s != "cudnnSetRNNDescriptor_v8")
    path = build_library("lib/libcudnn.so.7", without)
    with pytest.raises(UsageError, match=r"lacks 1 function.*: cudnnSetRNNDescriptor_v8\n"):
        resolve(str(path))
    assert resolve(str(path), required=without).path == path


def test_a_library_of_another_architecture(build_library) -> None:
    path = build_library("lib/libcudnn.so.9", REQUIRED_SYMBOLS)
    content = bytearray(path.read_bytes())
    content[18] = FOREIGN[content[18]]  # e_machine of the ELF header
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"is built for .*, this machine is"):
        resolve(str(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"INPUT(libcudnn.so.9)\n", "a text file"),
        (b"PK\3\4\0\0", "a data file"),
        (b"\x7fELF", "a damaged ELF file"),
        (b"\x7fELF\2\1\1" + bytes(57), "a damaged ELF file|an ELF file of another kind"),
    ],
)
def test_a_file_that_is_no_library(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "libcudnn.so.9"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        resolve(str(path))


def test_a_damaged_library_never_escapes_as_another_error(build_library) -> None:
    path = build_library("lib/libcudnn.so.9", REQUIRED_SYMBOLS)
    content = path.read_bytes()
    chance = random.Random(9)
    refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 3, 20))):
            place = chance.randrange(chance.choice((64, 1000, len(content))))
            damaged[place] = chance.choice((0, 255, chance.randrange(256)))
        path.write_bytes(damaged[: chance.choice((len(content), chance.randrange(len(content))))])
        try:
            resolve(str(path))
        except UsageError:
            refused += 1
    assert refused > 100  # the others changed bytes that nobody reads


def test_a_path_that_does_not_exist_names_what_lies_beside_it(build_library) -> None:
    path = build_library("lib/libcudnn.so.9", REQUIRED_SYMBOLS)
    with pytest.raises(UsageError, match="does not exist") as caught:
        resolve(str(path.with_name("libcudnn.so.8")))
    assert "libcudnn.so.9" in caught.value.hint


@pytest.mark.parametrize("text", ["~no-such-user/libcudnn.so.9", "/" + "x" * 5000, "y" * 5000])
def test_a_path_that_the_system_refuses(text: str) -> None:
    with pytest.raises(UsageError):
        resolve(text)


def test_a_folder_without_cudnn(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no libcudnn"):
        resolve(str(tmp_path))


def test_installed_takes_the_newest(build_library, nothing_installed) -> None:
    old = build_library("old/libcudnn.so.9.9.0", REQUIRED_SYMBOLS)
    new = build_library("new/libcudnn.so.9.10.0", REQUIRED_SYMBOLS)
    unknown = build_library("odd/libcudnn.so.9", REQUIRED_SYMBOLS)
    nothing_installed += [("system", p.parent) for p in (old, unknown, new)]
    release = resolve("installed")
    assert (release.version, release.path, release.origin) == ("9.10.0", new, "installed")


def test_installed_on_a_machine_without_cudnn(nothing_installed) -> None:
    with pytest.raises(HarnessError, match="no cuDNN is installed") as caught:
        resolve("installed")
    assert caught.value.exit_code == EXIT_ENVIRONMENT


def test_a_relative_name_of_a_version_is_no_path(index, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir("9.26.0.51")  # noqa: PTH102 - a folder of that name does not hide the release
    index.add_cudnn("9.26.0.51")
    assert resolve("9.26.0.51").origin == "cache"
