"""The real package index: what it offers, and that the headers of a release compile."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pyharness.releases import fetch_headers, list_offers

pytestmark = pytest.mark.network


def test_the_index_offers_all_known_versions() -> None:
    versions = {offer.version for offer in list_offers()}
    assert len(versions) >= 55
    assert {"8.9.7.29", "9.12.0.46", "9.13.0.50", "9.28.0.42"} <= versions


@pytest.mark.parametrize("name", ["8.9.7.29+cu12", "9.28.0.42+cu13"])
def test_the_headers_of_a_release_compile(name: str, tmp_path: Path) -> None:
    offer = next(offer for offer in list_offers() if offer.name == name)
    folders = fetch_headers(offer, tmp_path)
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "these tests need a C compiler"
    numbers = name.split("+", 1)[0].split(".")
    source = (
        "#include <cudnn.h>\n"
        f'_Static_assert(CUDNN_MAJOR == {numbers[0]} && CUDNN_MINOR == {numbers[1]}, "");\n'
        "cudnnStatus_t (*f)(cudnnRNNDescriptor_t *) = cudnnCreateRNNDescriptor;\n"
    )
    includes = [f"-I{folder}" for folder in folders]
    command = [compiler, "-fsyntax-only", *includes, "-x", "c", "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
