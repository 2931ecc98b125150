"""What a release's headers declare, read from their preprocessed text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DEFINE = re.compile(r"#define (CUDNN_\w+) (.+)")
_PARENTHESES = (
    r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # three deep is more than any header goes
)
_ATTRIBUTE = re.compile(rf"__attribute__\s*\({_PARENTHESES}\)|\[\[[^]]*\]\]")
_ENUM = re.compile(r"\benum\b[^{};]*\{([^{}]*)\}\s*(\w+)\s*;")
_SUFFIX = re.compile(r"[uUlL]+$")


@dataclass(frozen=True, slots=True)
class Surface:
    """The names of one release.

    ``enumerators``  C type to its enumerators to their values.
    ``macros``       macros without parameters whose name starts with CUDNN_, to their text.
    ``identifiers``  every word of the text outside macro definitions.
    """

    enumerators: dict[str, dict[str, int]]
    macros: dict[str, str]
    identifiers: frozenset[str]


def read_surface(preprocessed: str) -> Surface:
    """Read the output of ``g++ -E -P -dD``: declarations, and the macros beside them.

    Raises  ValueError for an enumerator whose value is neither a number nor another enumerator.
    """
    lines = preprocessed.splitlines()
    code = "\n".join(line for line in lines if not line.startswith("#"))
    macros = (_DEFINE.fullmatch(line) for line in lines)
    return Surface(
        enumerators={
            name: _values(body)
            for body, name in _ENUM.findall(_ATTRIBUTE.sub("", code))
            if name.startswith("cudnn")
        },
        macros={m[1]: m[2] for m in macros if m is not None},
        identifiers=frozenset(re.findall(r"\w+", code)),
    )


def _values(body: str) -> dict[str, int]:
    """The enumerators between the braces of an enumeration."""
    values: dict[str, int] = {}
    following = 0
    for item in filter(None, map(str.strip, body.split(","))):
        name, _, text = (part.strip() for part in item.partition("="))
        value = following if not text else values.get(text)
        if value is None:
            try:
                value = int(_SUFFIX.sub("", text), 0)
            except ValueError:
                raise ValueError(f"cannot read the value of the enumerator {item!r}") from None
        values[name] = value
        following = value + 1
    return values
