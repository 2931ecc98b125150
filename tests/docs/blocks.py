"""Reads what a page of the guide says to run, and what it says is printed.

A comment before a block says how it is run: `<!-- run: gpu; exit 3; with --runs 4 -->`.

    gpu           on the emulator, where passes calculate nothing; gpu computing: where they do
    exit N        ends with this code; otherwise with 0
    with WORDS    these are added to its last command, to make it short
    printed       what stands below the commands, or in this block of text, is what they print
    file NAME     the block is this file
    no            it is shown, not run
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_SAYS = re.compile(r"\s*<!-- run: (.+) -->")
_FENCE = re.compile(r"(\s*)```(\w+)")


@dataclass
class Block:
    """A fenced block: where it stands, its language, its lines and how it is run."""

    line: int
    language: str
    lines: list[str]
    says: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def commands(self) -> list[str]:
        """The commands, without the comments behind them."""
        return [command for command, _ in self.told()]

    def told(self) -> list[tuple[str, list[str]]]:
        """Each command with the lines that stand below it."""
        found: list[tuple[str, list[str]]] = []
        goes_on = False
        for line in self.lines:
            if goes_on:
                found[-1] = (f"{found[-1][0]} {_bare(line)}", [])
            elif line.startswith("$ "):
                found.append((_bare(line[2:]), []))
            elif found:
                found[-1][1].append(line)
            else:
                raise AssertionError(f"line {self.line}: a console block begins with a command")
            goes_on = found[-1][0].endswith("\\")
            if goes_on:
                found[-1] = (found[-1][0].removesuffix("\\").rstrip(), [])
        return found


def _bare(line: str) -> str:
    """A command's line without the comment behind it."""
    return re.sub(r"\s+# .*", "", line).strip()


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    says: dict[str, str] = {}
    current: Block | None = None
    indent = 0
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if current is not None:
            if line.strip() == "```":
                yield current
                current, says = None, {}
            else:
                current.lines.append(line[indent:])
        elif match := _FENCE.fullmatch(line):
            indent = len(match[1])
            current = Block(number, match[2], [], says)
        elif match := _SAYS.fullmatch(line):
            words = (part.strip().partition(" ") for part in match[1].split(";"))
            says = {name: value for name, _, value in words}
        elif line.strip():
            says = {}
    assert current is None, f"{page}: the block of line {current and current.line} has no end"


# What is not the same in each run, as it is written and as it may be printed.
_MASKS = {
    r"\s*\[…\]\s*": r"[\s\S]*?",
    r"\d[\d.,]* (?:ns|µs|ms|s|min|MB/s|Gflop/s)\b": r"\d[\d.,]*\s+\S+",
    r"\d{4}-\d\d-\d\dT[\d:+]+": r"\S+",
    r"\bon .* Processor,": r"on .*,",
    r"(?<![\d.])\d+\.\d{1,2}(?![\d.%])": r"\d+\.\d+",
    r"\s+": r"\s+",
}
_ANY = re.compile("|".join(f"({mask})" for mask in _MASKS))


def matches(expected: str, printed: str) -> bool:
    """Whether this was printed; times, dates and machines may be others, […] is anything."""
    text, pattern, at = expected.strip(), "", 0
    for match in _ANY.finditer(text):
        assert match.lastindex is not None
        instead = list(_MASKS.values())[match.lastindex - 1]
        pattern += re.escape(text[at : match.start()]) + instead
        at = match.end()
    return re.search(pattern + re.escape(text[at:]), printed) is not None
