"""The argument names that an explanation gives, against the prototypes of real headers."""

from __future__ import annotations

import re

from pyharness.spec.arguments import argument
from pyharness.spec.calls import CALLS

from .headers import Headers


def prototypes(headers: Headers) -> dict[str, set[str]]:
    """The parameter names of every function that a release declares."""
    found: dict[str, set[str]] = {}
    for folder in headers.include_dirs:
        for file in folder.glob("cudnn*.h"):
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text("utf-8"), flags=re.DOTALL)
            for name, arguments in re.findall(r"\b(cudnn\w+)\s*\(([^;{]*?)\)\s*;", text):
                words = (re.findall(r"\w+", part) for part in arguments.split(","))
                found[name] = {w[-1] for w in words if w}
    return found


def test_every_argument_is_one_of_the_prototype(oldest: Headers, newest: Headers) -> None:
    declared = [prototypes(oldest), prototypes(newest)]
    assert not any("cudnnRNNSetClip_v9" in d for d in declared[:1])
    for call in CALLS:
        names = set().union(*(d.get(call.name, set()) for d in declared))
        assert names, call.name
        for axis in call.axes:
            plain = argument(call, axis.name).partition("[")[0]
            assert plain in names, (call.name, axis.name)


def test_no_axis_is_without_an_argument() -> None:
    for call in CALLS:
        assert len({argument(call, a.name) for a in call.axes}) > 1
