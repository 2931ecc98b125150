"""The reports of cases.toml, typed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.api.reading import Sources, read_problem
from pyharness.present.predictions import render_predictions
from pyharness.spec.documented import Prediction, predictions
from pyharness.spec.documented.rules import REFUSALS, parse_version
from pyharness.spec.reading import Reading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A rule that hangs on these alone may refuse the problem on somebody's machine.
_OF_THE_MACHINE = {"compute_capability", "multiprocessors", "os"}


@dataclass(frozen=True)
class Ask:
    """One problem out of a report, and the right answer.

    ``problem``, ``torch``, ``keras``, ``input``, ``mask``  what is asked; a mask as rows of 0, 1.
    ``on``       releases, or versions where no library is asked.
    ``refused``  role to status; every other call accepts it.
    ``reason``   cuDNN's condition, the same for each refusal; "": not looked at.
    ``blames``   C argument, what it holds, what is allowed; all of them.
    ``rows``     kind of advice to the rows that have it; all of them.
    ``says``     part of the advice's words.
    ``first``    what the nearest accepted problem changes; "": not looked at.
    ``faults``   of the mask: kind, row, step.
    ``unmaskable``  the mask has no lengths.
    ``notes``, ``without_notes``  what the reading of a framework's text says, and does not.
    ``claims``   rules by which a later call would refuse it, or may on some machine; all of them.
    ``depends``  rules that depend on what the program does.
    ``effects``  other rules that apply.
    ``absent``   rules that do not speak of it.
    """

    problem: str = ""
    torch: str | None = None
    keras: str | None = None
    input: str | None = None
    mask: list[str] = field(default_factory=list)
    on: list[str] = field(default_factory=lambda: ["9.28.0.42"])
    refused: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    blames: list[list[str]] = field(default_factory=list)
    rows: dict[str, list[int]] = field(default_factory=dict)
    says: str = ""
    first: str = ""
    faults: list[str] = field(default_factory=list)
    unmaskable: bool = False
    notes: list[str] = field(default_factory=list)
    without_notes: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    depends: list[str] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """What is asked, in a few words."""
        return self.torch or self.keras or self.problem or "the defaults"

    def read(self, folder: Path) -> Reading:
        """The problem, as the command would read it; a mask is written to a file first."""
        mask = None
        if self.mask:
            mask = str(folder / "mask.npy")
            np.save(mask, np.array([[c == "1" for c in row] for row in self.mask]))
        # An empty list of words is no problem to the command; the first default is one.
        words = self.problem.split() or ([] if self.torch or self.keras else ["algo=standard"])
        sources = Sources(mask=mask, torch=self.torch, keras=self.keras, shape=self.input)
        return read_problem(words, sources)


@dataclass(frozen=True)
class Case:
    """One report.

    ``source``       where it was made public.
    ``met``          what its author met.
    ``cause``        of [[gpu]]: documented, no rule (known but in no document), or unknown.
    ``shown_by``     of [[gpu]]: the command that shows it on a GPU, if one does.
    ``since``        of [[host]]: how releases answer the first ask, as «status first last».
    ``answered_by``  of [[other]]: a command, «nothing yet: topic», or unknown.
    """

    source: str
    met: str
    asks: tuple[Ask, ...]
    cause: str = ""
    shown_by: str = ""
    since: tuple[str, ...] = ()
    answered_by: str = ""


def _case(data: dict[str, Any]) -> Case:
    asks = tuple(Ask(**ask) for ask in data.pop("ask", []))
    return Case(asks=asks, since=tuple(data.pop("since", ())), **data)


_DATA = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
HOST, GPU, OTHER = ([_case(dict(d)) for d in _DATA[key]] for key in ("host", "gpu", "other"))


def every_ask(
    cases: Sequence[Case], where: Callable[[Ask], object] = lambda _ask: True
) -> list[Any]:
    """Ask and release, of each case, for parametrize."""
    return [
        pytest.param(ask, release, id=f"{case.source} {ask.words} {release}")
        for case in cases
        for ask in filter(where, case.asks)
        for release in ask.on
    ]


def claims(found: Sequence[Prediction]) -> set[str]:
    """The rules by which a later call refuses the problem, or does on some machine."""
    return {
        p.rule.id
        for p in found
        if p.rule.status in (*REFUSALS, "unstated") and set(p.depends_on) <= _OF_THE_MACHINE
    }


def check_told(ask: Ask, release: str, folder: Path) -> None:
    """The text for people says each of the claims."""
    problem = ask.read(folder).problem
    found = predictions(problem, parse_version(release))
    said = " ".join(render_predictions([(p, None) for p in found], problem).split())
    assert {p.rule.id for p in found if p.rule.says in said} >= set(ask.claims)


def check_predictions(ask: Ask, release: str, folder: Path) -> None:
    """What documents say of the problem on a release is what the table says."""
    found = predictions(ask.read(folder).problem, parse_version(release))
    assert claims(found) == set(ask.claims)
    assert set(ask.depends) <= {p.rule.id for p in found if p.state == "depends"}
    assert set(ask.effects) <= {p.rule.id for p in found if p.state == "applies"}
    assert not {p.rule.id for p in found} & set(ask.absent)
