"""A report of result folders: one page, Markdown for a pull request, and data."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from pyharness import __version__
from pyharness.api.folder import writable_folder
from pyharness.api.progress import Progress, silent
from pyharness.api.report_sources import read_sources
from pyharness.errors import UsageError
from pyharness.present.report.build import build_report
from pyharness.present.report.data import report_data
from pyharness.present.report.html import render_html
from pyharness.present.report.markdown import render_markdown
from pyharness.present.report.model import Report
from pyharness.present.report.pictures import pictures
from pyharness.store.files import replacing
from pyharness.store.manifest import now

_NO_CHARTS = "No charts: the packages altair and vl-convert-python are not installed here."
PAGE, MARKDOWN, DATA = "report.html", "report.md", "report.json"


def write_report(folders: Sequence[Path], out: Path, progress: Progress = silent) -> list[Path]:
    """Writes report.html, report.md and report.json of result folders, and of those in them.

    ``out``  the folder that they go to, made if it is not there; may be one of the folders.
    Returns  the three paths.
    Raises   UsageError for a folder that holds nothing of pyharness, that cannot be read or cannot
             be written; HarnessError if the disk is full. Each file is there whole or not at all.
    """
    report = make_report(folders, progress)
    rendered: dict[str, Callable[[Report], str]] = {
        PAGE: render_html,
        MARKDOWN: render_markdown,
        DATA: lambda r: json.dumps(report_data(r), allow_nan=False) + "\n",
    }
    texts = {}
    for place, (name, render) in enumerate(rendered.items()):
        progress("rendering", place, len(rendered))
        texts[name] = render(report)
    writable_folder(out)
    for name, text in texts.items():
        with replacing(out / name) as scratch:
            scratch.write_text(text, "utf-8")
    return [out / name for name in texts]


def make_report(folders: Sequence[Path], progress: Progress = silent) -> Report:
    """The report before it is rendered.

    Raises  UsageError as write_report does.
    """
    if not folders:
        raise UsageError("no folder is given", "pyharness report DIR…")
    sources = read_sources(folders, progress)
    drawable = all(find_spec(name) for name in ("altair", "vl_convert"))
    charts = pictures(sources) if drawable else {}
    report = build_report(sources, charts, now(), __version__)
    return report if drawable else replace(report, notes=[*report.notes, _NO_CHARTS])
