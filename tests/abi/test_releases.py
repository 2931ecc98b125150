"""Every release on the index declares what we declare."""

from __future__ import annotations

import platform

import pytest

from pyharness.errors import HarnessError

from .differences import COMMAND, DIFFERENCES, complete, render
from .headers import Headers
from .proof import prove


def test_headers_agree_with_our_declarations(headers: Headers) -> None:
    problems = prove(headers.release, headers.include_dirs)
    if problems:
        pytest.fail(f"{headers.name}:\n" + "\n".join(problems), pytrace=False)


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="other architectures have other releases on the index"
)
def test_list_of_differences_is_up_to_date(
    found_headers: dict[str, Headers | HarnessError],
) -> None:
    missing = [name for name, found in found_headers.items() if isinstance(found, HarnessError)]
    if missing:
        pytest.fail(f"no headers of {', '.join(missing)}", pytrace=False)
    expected = render(complete(found_headers))
    written = DIFFERENCES.read_text(encoding="utf-8") if DIFFERENCES.exists() else ""
    if written != expected:
        pytest.fail(f"csrc/abi/{DIFFERENCES.name} is out of date: run {COMMAND}", pytrace=False)
