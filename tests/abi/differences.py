"""What differs between the headers of the releases, as csrc/abi/DIFFERENCES.md.

Run as  python -m tests.abi.differences  from the root of the repository to write it anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise

from pyharness.errors import HarnessError

from .compiler import preprocess
from .headers import Headers, chosen_offers, fetch_all
from .proof import FLAG_PREFIX, FUNCTIONS_HPP, STATUS_TYPE, Declared
from .surface import Surface, read_surface

DIFFERENCES = FUNCTIONS_HPP.with_name("DIFFERENCES.md")
COMMAND = "python -m tests.abi.differences"
INTRODUCTION = f"""# What differs between the releases

Generated from the headers of every release on the index by `{COMMAND}`; a test
compares. A release that is not named declares what the one before it declares. Looked at are the
functions of `functions.hpp`, the enumerations that they take, and the statuses.

How a difference is handled:

- **function**: resolved at run time; where a release lacks it, the shim holds a null pointer.
- **enumerator**: passed as an integer, also to a release that has no name for it.
- **status**: named by `cudnnGetErrorString` of the release itself, compared by name and by family
  (`pyharness/spec/statuses.py`), never by number.
"""

Entry = tuple[str, str]  # what it is (a C type, "function" or "macro") and its name


def render(all_headers: Iterable[Headers]) -> str:
    """The text of DIFFERENCES.md for releases given from the oldest to the newest."""
    read = [(h, _entries(read_surface(preprocess(h.include_dirs)))) for h in all_headers]
    parts = [INTRODUCTION]
    for (_, old), (headers, new) in pairwise(read):
        rows = list(_rows(old, new))
        if rows:
            head = ["| of | name | before | now |", "|---|---|---|---|"]
            parts.append("\n".join([f"## {headers.name.partition('+')[0]}", "", *head, *rows, ""]))
    return "\n".join(parts)


def _entries(surface: Surface) -> dict[Entry, str]:
    """What a release declares of all that we look at, each with its value."""
    declared = Declared()
    types = [STATUS_TYPE, *(t.vendor for t in declared.enum_types)]
    return {
        **{
            ("function", f.name): "declared"
            for f in declared.functions
            if f.name in surface.identifiers
        },
        **{
            (c_type, name): str(value)
            for c_type in types
            for name, value in surface.enumerators.get(c_type, {}).items()
        },
        **{("macro", n): t for n, t in surface.macros.items() if n.startswith(FLAG_PREFIX)},
    }


def _rows(old: dict[Entry, str], new: dict[Entry, str]) -> Iterator[str]:
    for entry in sorted(old.keys() | new.keys(), key=lambda e: (e[0], _rank(new.get(e)), e[1])):
        before, now = old.get(entry, "absent"), new.get(entry, "absent")
        if before != now:
            yield f"| {entry[0]} | {entry[1]} | {before} | {now} |"


def _rank(value: str | None) -> int:
    """Enumerators in the order of their values."""
    return int(value) if value is not None and value.isdigit() else -1


def complete(found: dict[str, Headers | HarnessError]) -> list[Headers]:
    """The headers, all of them.

    Raises  HarnessError for the first release that could not be had.
    """
    for name, headers in found.items():
        if isinstance(headers, HarnessError):
            raise HarnessError(f"no headers of {name}: {headers.message}", headers.hint)
    return [headers for headers in found.values() if isinstance(headers, Headers)]


def main() -> int:
    """Write the file."""
    try:
        text = render(complete(fetch_all(chosen_offers())))
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    DIFFERENCES.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
