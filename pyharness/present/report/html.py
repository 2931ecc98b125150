"""The report as one HTML file that asks no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from math import copysign, isfinite, isnan
from sys import float_info
from typing import Any

from pyharness.present.report.machines import moment
from pyharness.present.report.model import REPEAT, Column, Report, Row, Section, Table
from pyharness.present.report.words import SYMBOLS, stamp, tone, words

_PAGE = 15  # rows that a table shows at once
_MOST_CONDITIONS, _PARTS = 12, 4  # of a step, of a problem; more of these are folded
_LONG = 48  # letters of a label that need room
_SCRIPTS = ("page.js", "explorer.js")


def render_html(report: Report) -> str:
    """The whole page; needs Jinja2, and vl-convert if there is a chart."""
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415 - only where a page is made

    environment = Environment(
        loader=PackageLoader("pyharness.present.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = environment.loader
    assert loader is not None
    raw = {name: loader.get_source(environment, name)[0] for name in ("style.css", *_SCRIPTS)}
    sections, tables, charts = _parts(report)
    payload = {
        "page": _PAGE,
        "symbols": SYMBOLS,
        "tables": tables,
        "charts": charts,
        "cubes": [c for s in report.sections for c in s.data.get("cubes", ())],
    }
    return environment.get_template("report.html.j2").render(
        report=report,
        sections=sections,
        ids={s.id for s in report.sections},
        charts=bool(charts),
        payload=_safe(_script_json(payload)),
        style=_safe(raw["style.css"]),
        scripts=_safe("\n".join(raw[name] for name in _SCRIPTS)),
        vega=_safe(_vega()) if charts else "",
        symbols=SYMBOLS,
        tone=tone,
        words=words,
        stamp=stamp(report.word),
        moment=moment,
        most=_MOST_CONDITIONS,
        parts=_PARTS,
    )


def _safe(text: str) -> Any:
    """Text of ours that goes into the page as it is."""
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(text)  # noqa: S704 - escaped by _script_json, or no reader's text


def _script_json(data: Any) -> str:
    """JSON that may stand in a script element, whatever texts are in it."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


@cache
def _vega() -> str:
    """What draws charts, as one script whose names are its own; it takes seconds to make."""
    import vl_convert  # noqa: PLC0415 - starts an engine of its own

    bundle = f"(() => {{{vl_convert.javascript_bundle('window.vegaEmbed=vegaEmbed;')}}})();"
    return re.sub("</(?=script)", r"<\\/", bundle, flags=re.IGNORECASE)


def _parts(report: Report) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    """Sections for the template; tables and charts for the scripts."""
    tables: dict[str, Any] = {}
    charts: list[dict[str, Any]] = []
    sections = []
    for section in report.sections:
        own_tables, own_charts = [], []
        for table in section.tables:
            name = f"t{len(tables)}"
            data = _table_data(table)
            tables[name] = data
            own_tables.append(_shown(name, table, data))
        for chart in section.charts:
            own_charts.append({"id": len(charts), "title": chart.title, "about": chart.about})
            charts.append(dict(chart.vega))
        sections.append(
            {
                "id": section.id,
                "title": section.title,
                "short": section.title.partition(":")[0],
                "emulated": section.emulated,
                "lead": section.lead,
                "steps": _grouped(section),
                "explorer": bool(section.data.get("cubes")),
                "charts": own_charts,
                "tables": own_tables,
                "commands": section.commands,
            }
        )
    return sections, tables, charts


def _grouped(section: Section) -> list[tuple[str, list[Any]]]:
    return [(heading, list(of)) for heading, of in groupby(section.steps, lambda s: s.heading)]


def _shown(name: str, table: Table, data: dict[str, Any]) -> dict[str, Any]:
    """A table as the page shows it before, or without, scripts."""
    count = len(data["rows"])
    return {
        "id": name,
        "title": table.title,
        "note": table.note,
        "columns": data["columns"],
        "repeat": bool(data["repeat"]),
        "first": data["rows"][:_PAGE],
        "range": f"1 to {_PAGE} of {count:,} rows" if count > _PAGE else "",
    }


def _table_data(table: Table) -> dict[str, Any]:
    """A table as the scripts take it: a number with what it is sorted by, a word with its tone."""
    columns = table.shown
    repeat = [str(row.get(REPEAT) or "") for row in table.rows]

    def cells(row: Row) -> Iterator[Any]:
        for column in columns:
            value = row.get(column.key)
            text = "" if value is None else column.show(value)
            if column.kind == "number":
                yield [text, _sortable(value)]
            elif column.kind == "word":
                yield [text, tone(str(value))]
            else:
                yield text

    return {
        "columns": [
            {"title": c.title, "kind": c.kind, "look": _look(c, table.rows)} for c in columns
        ],
        "rows": [list(cells(row)) for row in table.rows],
        "repeat": repeat if any(repeat) else None,
    }


def _look(column: Column, rows: Sequence[Row]) -> str:
    """The classes of a column's cells: what has long texts is not to be narrow."""
    texts = (str(row.get(column.key) or "") for row in rows)
    long = column.key == "label" and any(len(text) > _LONG for text in texts)
    return f"{column.kind} {column.key}{' long' if long else ''}"


def _sortable(value: Any) -> Any:
    """A number that JSON has: the largest for an infinite one, None for what is no number."""
    if not isinstance(value, float) or isfinite(value):
        return value
    return None if isnan(value) else copysign(float_info.max, value)
