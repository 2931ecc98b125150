"""What a report is made of, before it is a page: sections with tables, charts and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Row = Mapping[str, Any]
Tone = Literal["good", "bad", "warn", "plain"]
REPEAT = "repeat"  # of a row: the command that makes it again
EMULATED = "emulated"


@dataclass(frozen=True, slots=True)
class Source:
    """One result folder.

    ``title``   the folder as it was given, or where it lies in one.
    ``run``     run.json as plain data; of a diff, an atlas or an audit what stands for it.
    ``tables``  rows of those that the report reads.
    ``data``    of a diff diff.json, of an upgrade upgrade.json.
    ``folds``   release, grid and folded answers: store.atlas.FoldedGrid, as plain data.
    """

    kind: str
    folder: Path
    title: str
    run: Mapping[str, Any]
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    folds: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    ``show``  a value as text; None is never given to it.
    ``kind``  number: sorted as one; word: has a tone and a symbol; code: cuDNN's or a shell's text.
    """

    key: str
    title: str
    show: Callable[[Any], str] = str
    kind: Literal["text", "number", "word", "code"] = "text"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and the columns to show; a row's key REPEAT holds the command that makes it again.

    ``short``  keys of the columns that a narrow place shows, such as a pull request.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: str = ""
    short: Sequence[str] = ()

    @property
    def shown(self) -> list[Column]:
        """The columns without those that say nothing: no row has a value, or all passed."""
        values = ((c, {row.get(c.key) for row in self.rows} - {None}) for c in self.columns)
        return [c for c, of in values if of and (c.key != "outcome" or of != {"passed"})]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart; ``about`` says in words what it shows, or why there is none.

    ``vega``  what Vega draws in either theme: what both share, and each ``light`` and ``dark``.
    """

    title: str
    about: str
    vega: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """Problems that changed alike, in words.

    ``conditions``  conjunctions, whose union is exactly these problems.
    ``parts``       several things that are said of ``what``.
    """

    heading: str
    tone: Tone
    what: str
    conditions: Sequence[str] = ()
    parts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A question and its answer, for the top of the page."""

    question: str
    word: str
    told: Sequence[str]
    section: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report.

    ``lead``      sentences that say what was found.
    ``emulated``  some of it comes from a test double.
    ``data``      more, for report.json and for the page's own scripts.
    """

    id: str
    title: str
    lead: Sequence[str] = ()
    steps: Sequence[Step] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    commands: Sequence[str] = ()
    emulated: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """All of it.

    ``word``      what becomes of the upgrade's gate; empty where there is no upgrade.
    ``headline``  the same in one sentence, or what there is to see.
    ``gate``      the lines of the gate, each with its word.
    """

    title: str
    word: str
    headline: str
    cards: Sequence[Card]
    gate: Sequence[Row]
    sections: Sequence[Section]
    made: str
    tool_version: str
    notes: Sequence[str] = ()

    @property
    def emulated(self) -> bool:
        """Whether any number of it comes from a test double."""
        return any(section.emulated for section in self.sections)


def is_emulated(rows: Sequence[Row]) -> bool:
    """Whether a test double gave any of these rows."""
    return any(row.get("provenance") == EMULATED for row in rows)
