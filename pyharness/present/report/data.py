"""The report as plain data."""

from __future__ import annotations

from math import isfinite
from typing import Any

from pyharness.present.report.model import Report, Row, Section

REPORT_VERSION = 1


def report_data(report: Report) -> dict[str, Any]:
    """Everything that the page shows, numbers in full; ``report_version`` says in which form.

    A row lacks what is not known of it; a number that is none of JSON's stands as a word.
    """
    return {
        "report_version": REPORT_VERSION,
        "tool_version": report.tool_version,
        "made": report.made,
        "title": report.title,
        "word": report.word or None,
        "headline": report.headline,
        "emulated": report.emulated,
        "notes": list(report.notes),
        "gate": [dict(row) for row in report.gate],
        "questions": [
            {"question": c.question, "word": c.word or None, "told": list(c.told)}
            for c in report.cards
        ],
        "sections": [_section(section) for section in report.sections],
    }


def _known(row: Row) -> dict[str, Any]:
    """What is known of a row; a number that JSON has no form for as its word: ``inf``, ``nan``."""
    return {
        k: str(v) if isinstance(v, float) and not isfinite(v) else v
        for k, v in row.items()
        if v is not None
    }


def _section(section: Section) -> dict[str, Any]:
    return {
        "id": section.id,
        "title": section.title,
        "emulated": section.emulated,
        "lead": list(section.lead),
        "steps": [
            {
                "heading": s.heading,
                "tone": s.tone,
                "what": s.what,
                "conditions": list(s.conditions),
                "parts": list(s.parts),
            }
            for s in section.steps
        ],
        "tables": [
            {
                "title": table.title,
                "note": table.note,
                "columns": [{"key": c.key, "title": c.title} for c in table.columns],
                "rows": [_known(row) for row in table.rows],
            }
            for table in section.tables
        ],
        "charts": [{"title": c.title, "about": c.about} for c in section.charts],
        "commands": list(section.commands),
        **({"data": dict(section.data)} if section.data else {}),
    }
