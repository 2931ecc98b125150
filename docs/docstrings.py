"""Shows the house's docstrings: their aligned lines ("Returns  a frame") become a list."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"(``[^`]+``(?:, ``[^`]+``)*|Shapes|Units|Returns|Raises|Source) {2,}(.+)")


class AlignedDocstrings(griffe.Extension):
    """Rewrites every docstring as it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites this object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_list(obj.docstring.value)


def as_list(text: str) -> str:
    """A docstring's text as Markdown.

    Returns  the same words; what was an aligned line is an item of a list.
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry:
            lines += ([] if inside else [""]) + [f"- {entry[1].replace('``', '`')}: {entry[2]}"]
            inside = True
        elif inside and line.startswith(" "):
            lines[-1] += f" {line.strip()}"
        else:
            inside = False
            lines.append(line)
    return "\n".join(lines)
