"""Folders in, a report out: what there is to say of each, in the order in which one reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyharness.present.report.machines import FINISHED, machine_section, releases, state_of
from pyharness.present.report.memory import memory_section
from pyharness.present.report.model import Card, Chart, Report, Section, Source
from pyharness.present.report.others import (
    atlas_section,
    audit_section,
    replay_section,
    soak_section,
    stages_section,
)
from pyharness.present.report.repeatability import repeatability_section
from pyharness.present.report.results import (
    accuracy_section,
    drift_section,
    equivalences_section,
)
from pyharness.present.report.sides import library_names
from pyharness.present.report.timing import time_section
from pyharness.present.report.validity import validity_section
from pyharness.present.report.verdict import (
    cards,
    change_section,
    diff_told,
    gate_rows,
    headline,
)

_MOST_CARDS = 2  # sentences of a section's lead that stand at the top


def build_report(
    sources: Sequence[Source],
    charts: Mapping[str, Sequence[Chart]],
    made: str,
    tool_version: str,
) -> Report:
    """The report of some folders.

    ``charts``  by the section that they belong to.
    ``made``    when, in words.
    """
    upgrades = [s for s in sources if s.kind == "upgrade"]
    diffs = [s for s in sources if s.kind == "diff"]

    def of(name: str) -> Sequence[Chart]:
        return charts.get(name, ())

    sections = [
        change_section(upgrades, diffs),
        validity_section(sources),
        replay_section(sources),
        stages_section(sources, of("stages")),
        time_section(sources, of("time")),
        memory_section(sources, of("memory")),
        repeatability_section(sources, of("repeatability")),
        accuracy_section(sources, of("accuracy")),
        drift_section(sources, of("drift")),
        equivalences_section(sources, of("checks")),
        soak_section(sources, of("soak")),
        audit_section(sources),
        atlas_section(sources, of("history")),
        machine_section(sources),
    ]
    there = [s for s in sections if s is not None]
    word, told = headline(upgrades[0]) if upgrades else ("", _without(diffs))
    return Report(
        _title(sources),
        word,
        told,
        cards(upgrades[0]) if upgrades else _section_cards(there),
        gate_rows(upgrades[0]) if upgrades else (),
        there,
        made,
        tool_version,
        [
            *(note for s in upgrades[:1] for note in (_which(s), _stale(s)) if note),
            *(f"{s.title} holds another upgrade: its verdict is not shown." for s in upgrades[1:]),
        ],
    )


def _title(sources: Sequence[Source]) -> str:
    """The releases: old → new where two are compared."""
    for kind in ("upgrade", "diff"):
        for source in sources:
            if source.kind == kind:
                return f"cuDNN {' → '.join(releases(source, {}))}"
    called = library_names(sources)
    names = list(dict.fromkeys(name for s in sources for name in releases(s, called)))
    if len(names) > 4:
        return f"cuDNN {names[0]} … {names[-1]}, {len(names)} releases"
    return f"cuDNN {', '.join(names)}" if names else "cuDNN RNN results"


def _which(upgrade: Source) -> str:
    """Which library is which, where both have one name."""
    old = upgrade.run.get("release") or {}
    new = old.get("against") or {}
    if upgrade.data["release_a"] != upgrade.data["release_b"] or not new:
        return ""
    return f"(a) is {old.get('asked')}, (b) is {new.get('asked')}."


def _stale(upgrade: Source) -> str:
    """That a later call has not come to a verdict, so that the one shown is older."""
    if (state := state_of(upgrade)) in FINISHED:
        return ""
    return f"{upgrade.title} is not finished ({state}): this verdict is that of an earlier call."


def _without(diffs: Sequence[Source]) -> str:
    """What stands at the top where nobody asked for a verdict."""
    if diffs:
        return " ".join(diff_told(d.data) for d in diffs)
    return "Results without a verdict: pyharness upgrade gives one."


def _section_cards(sections: Sequence[Section]) -> list[Card]:
    return [
        Card(s.title.partition(":")[0], "", list(s.lead[:_MOST_CARDS]), s.id)
        for s in sections
        if s.lead and s.id not in ("changes", "machine")
    ]
