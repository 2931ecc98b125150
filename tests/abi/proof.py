"""The proof of one release: what we declare against what its headers declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyharness.spec.enums import ENUM_TYPES, EnumType, ReleaseNumber, appeared
from pyharness.spec.functions import FUNCTIONS, Function
from pyharness.spec.statuses import Status, family, numbering

from .compiler import compile_errors, preprocess
from .surface import Surface, read_surface

REPOSITORY = Path(__file__).parents[2]
FUNCTIONS_HPP = REPOSITORY / "csrc" / "abi" / "functions.hpp"
STATUS_TYPE = "cudnnStatus_t"
FLAG_PREFIX = "CUDNN_RNN_"
_CONSTANTS = {
    "CUDNN_STATUS_SUCCESS": "pyharness::abi::kSuccess",
    "CUDNN_SEV_ERROR_EN": "pyharness::abi::kErrorEnabled",
    "CUDNN_SEV_WARNING_EN": "pyharness::abi::kWarningEnabled",
}


@dataclass(frozen=True, slots=True)
class Declared:
    """All that we say of cuDNN's headers; a test changes one part to see the proof fail."""

    functions_hpp: Path = FUNCTIONS_HPP
    functions: tuple[Function, ...] = FUNCTIONS
    enum_types: tuple[EnumType, ...] = ENUM_TYPES
    statuses: Callable[[ReleaseNumber], tuple[Status, ...]] = numbering


@dataclass(frozen=True, slots=True)
class Name:
    """An enumerator or a macro that we know, whether or not a release has it."""

    vendor: str
    value: int
    since: ReleaseNumber | None


def prove(
    release: ReleaseNumber, include_dirs: tuple[Path, ...], declared: Declared | None = None
) -> list[str]:
    """Compare what we declare with the headers of a release.

    Returns  what does not agree, one line each; empty when all of it does.
    Raises   HarnessError if the headers cannot be read.
    """
    declared = declared or Declared()
    surface = read_surface(preprocess(include_dirs))
    unit = translation_unit(release, declared)
    return [
        *_absent_functions(release, surface, declared.functions),
        *_names(release, surface, declared),
        *compile_errors(unit, include_dirs, [declared.functions_hpp.parent]),
    ]


def translation_unit(release: ReleaseNumber, declared: Declared) -> str:
    """C++ that compiles only if types and values of this release are what we declare."""
    lines = ["#include <cudnn.h>", '#include "functions.hpp"', '#include "canonical.hpp"']
    for function in declared.functions:
        if appeared(function.since, release):
            types = f"{function.returns}({', '.join(function.parameters)})"
            lines.append(f"PROVE_ABI({function.name})")
            lines.append(f"PROVE_TYPES({function.name}, {types})")
    for c_type, names in known_names(release, declared).items():
        for name in names:
            if not appeared(name.since, release):
                continue
            if _is_macro(c_type):
                lines.append(f"PROVE_MACRO({name.vendor}, {name.value})")
            else:
                lines.append(f"PROVE_ENUMERATOR({c_type}, {name.vendor}, {name.value})")
    lines += [f"PROVE_MACRO({macro}, {ours})" for macro, ours in _CONSTANTS.items()]
    statuses = declared.statuses(release)
    heads = {s.name: s.vendor for s in statuses if s.value and s.value % 1000 == 0}
    for status in statuses:
        if appeared(status.since, release) and family(status.name) in heads:
            lines.append(f"PROVE_FAMILY({status.vendor}, {heads[family(status.name)]})")
    return "\n".join([*lines, ""])


def known_names(release: ReleaseNumber, declared: Declared) -> dict[str, tuple[Name, ...]]:
    """Every enumerator that we know by C type, whether this release has it or not."""
    names = {
        t.vendor: tuple(Name(m.vendor, m.value, m.since) for m in (*t.members, *t.markers))
        for t in declared.enum_types
    }
    statuses = declared.statuses(release)
    names[STATUS_TYPE] = tuple(Name(s.vendor, s.value, s.since) for s in statuses)
    return names


def _is_macro(c_type: str) -> bool:
    return not c_type.startswith("cudnn")


def _absent_functions(
    release: ReleaseNumber, surface: Surface, functions: tuple[Function, ...]
) -> Iterator[str]:
    for function in functions:
        name = function.name
        if not appeared(function.since, release) and name in surface.identifiers | {
            *surface.macros
        }:
            yield f"{name}: declared before the release that pyharness/spec/functions.py gives"


def _names(release: ReleaseNumber, surface: Surface, declared: Declared) -> Iterator[str]:
    """Names too many, too few, too early and too late, type by type."""
    for c_type, names in known_names(release, declared).items():
        if _is_macro(c_type):
            found = {n: t for n, t in surface.macros.items() if n.startswith(FLAG_PREFIX)}
        elif c_type in surface.enumerators:
            found = {n: str(v) for n, v in surface.enumerators[c_type].items()}
        else:
            yield f"{c_type}: the headers have no enumeration of this name"
            continue
        since = {name.vendor: name.since for name in names}
        for name, value in found.items():
            if name not in since:
                yield f"{name} = {value}: pyharness/spec does not know this {c_type}"
            elif not appeared(since[name], release):
                yield f"{name}: in the headers before the release that pyharness/spec gives"
        for name, first in since.items():
            if appeared(first, release) and name not in found:
                yield f"{name}: pyharness/spec has it, the headers of this release do not"
