"""What is here, in words and on one screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyharness.present.units import bytes_text, count_text, path_text

if TYPE_CHECKING:
    from pyharness.doctor import Diagnosis, Finding, Library

_LABEL = 17
_MOST_OUTPUT = 2  # lines of what a library printed before it ended


def render_doctor(found: Diagnosis, width: int) -> str:
    """The whole diagnosis, ``width`` columns wide; ends without a newline."""
    lines = [_title(found), ""]
    for label, text in _facts(found, width):
        lines += _labelled(label, text, width)
    lines += ["", *_libraries(found.libraries, width)]
    if found.findings:
        lines += ["", "What is missing or broken"]
        for finding in found.findings:
            lines += _finding(finding, width)
    verdict = "works" if found.works else "does not work"
    lines += ["", f"Mapping what a release accepts (map, diff, try) {verdict} here."]
    return "\n".join(lines)


def _title(found: Diagnosis) -> str:
    machine = found.machine
    parts = [
        f"pyharness {machine.pyharness}",
        f"Python {machine.python}",
        f"{machine.system} {machine.architecture}",
    ]
    if machine.cores is not None:
        parts.append(count_text(machine.cores, "core"))
    if machine.memory_bytes is not None:
        parts.append(f"{bytes_text(machine.memory_bytes)} memory")
    return ", ".join(parts)


def _facts(found: Diagnosis, width: int) -> Iterator[tuple[str, str]]:
    compiled, driver, index, cache = found.compiled, found.driver, found.index, found.cache
    if compiled.problem:
        yield "compiled part", "not there"
    else:
        yield "compiled part", f"{compiled.compiler}, {compiled.build_type}"
    yield "driver", _driver(found)
    for gpu in driver.gpus:
        memory = bytes_text(gpu.memory_bytes)
        yield "GPU", f"{gpu.name}, {memory}, compute capability {gpu.compute_capability}"
    if index.problem:
        yield "package index", "not reached"
    else:
        yield (
            "package index",
            f"{count_text(index.releases, 'release')}, {index.oldest} to {index.newest}",
        )
    free = "" if cache.free_bytes is None else f", {bytes_text(cache.free_bytes)} free"
    held = f"{count_text(cache.releases, 'release')}, {bytes_text(cache.size_bytes)}"
    room = width - _LABEL - len(held) - len(free) - 6
    yield "cache", f"{held} in {path_text(cache.folder, room)}{free}"
    have = [f"{name} {version}" for name, version in found.packages.items() if version]
    lack = [name for name, version in found.packages.items() if not version]
    yield "packages", ", ".join(have) + (f"; without {', '.join(lack)}" if lack else "")


def _driver(found: Diagnosis) -> str:
    driver = found.driver
    if not driver.loaded and driver.version is None:
        return "none"
    serves = f", serves CUDA {driver.cuda_version}" if driver.cuda_version else ""
    gpus = "" if driver.gpus else ", no GPU that CUDA can use"
    return f"{driver.version or 'of unknown version'}{serves}{gpus}"


def _libraries(libraries: Sequence[Library], width: int) -> list[str]:
    """A line for each library that was tried or is installed; the rest of the cache in one."""
    if not libraries:
        return ["cuDNN libraries", "  none"]
    shown = [one for one in libraries if one.opening is not None or one.source != "cache"]
    cells = [(one.name, _where(one), _state(one)) for one in shown]
    name_width = max((len(name) for name, _, _ in cells), default=0) + 3
    where_width = max((len(where) for _, where, _ in cells), default=0) + 3
    lines = ["cuDNN libraries"]
    for one, (name, where, state) in zip(shown, cells, strict=True):
        head = f"  {name:<{name_width}}{where:<{where_width}}"
        lines += _wrapped(state, head, " " * len(head), width)
        if one.source != "cache":
            lines.append(f"    {path_text(one.path, width - 4)}")
    rest = len(libraries) - len(shown)
    if rest:
        lines.append(f"  {rest:,} more in the cache, not opened (--all opens them)")
    return lines


def _where(library: Library) -> str:
    if library.source != "cache":
        return library.source
    return "cache, full" if library.full else "cache, light"


def _state(library: Library) -> str:
    opening = library.opening
    if opening is None:
        return "not opened"
    faults = ["files of several versions"] if library.mixed else []
    faults += ["shadowed by LD_LIBRARY_PATH"] if library.shadowed_by else []
    faults += ["damaged files"] if library.damaged else []
    faults += ["libraries missing"] if library.missing else []
    faults += ["sublibraries missing"] if library.absent and not library.missing else []
    head = "does not work" if opening.problem else "works"
    says = f", says {opening.says}" if opening.says else ""
    calls = "" if opening.problem else f", {count_text(len(opening.calls), 'call')} answered"
    return ", ".join([f"{head}{says}{calls}", *faults])


def _finding(finding: Finding, width: int) -> list[str]:
    lines = _wrapped(finding.what, "  ", "    ", width)
    for said in finding.detail.splitlines()[-_MOST_OUTPUT:]:
        lines += _labelled(
            "  it said", textwrap.shorten(said, 3 * width - 70, placeholder=" …"), width
        )
    lines += _labelled("  prevents", finding.prevents, width)
    label = "  mend"
    for command in finding.commands:  # on one line, so that it can be copied
        lines.append(f"  {label:<{_LABEL - 2}}{command}")
        label = "  or"
    if finding.advice:
        lines += _labelled(label if not finding.commands else "", finding.advice, width)
    return lines


def _labelled(label: str, text: str, width: int) -> list[str]:
    return _wrapped(text, f"  {label:<{_LABEL - 2}}", " " * _LABEL, width)


def _wrapped(text: str, first: str, later: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    )
