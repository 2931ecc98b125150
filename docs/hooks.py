"""The pages that are made when the guide is built: from the code, or of what lies elsewhere."""

from __future__ import annotations

import html
import inspect
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.main import get_command

from pyharness.cli.main import app
from pyharness.present.dictionary import render_dictionary

ROOT = Path(__file__).parents[1]
RESULTS = "results/README.md"
# Pages of the repository that the guide shows as they are, by their place in it.
SHOWN = {
    "contributing.md": "CONTRIBUTING.md",
    "emulator.md": "tests/emulator/README.md",
    "measured/atlas.md": "results/atlas/README.md",
    "measured/audit.md": "results/audit/README.md",
    "measured/explain.md": "results/explain.md",
    "measured/logs.md": "results/logs.md",
    "measured/overhead.md": "results/overhead.md",
    "measured/upgrade-simulation.md": "results/upgrade-simulation.md",
    "measured/walk.md": "results/walk.md",
}
# Their tables need the room of the page's own contents.
WIDE = {"measured/atlas.md", "measured/explain.md", "measured/upgrade-simulation.md"}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the pages that are not written by hand."""
    pages = {place: _moved(place, source) for place, source in SHOWN.items()}
    pages["reference/cli.md"] = render_commands()
    pages["reference/dictionary.md"] = render_dictionary().replace("# Results", "# Data dictionary")
    history = (ROOT / "results" / "atlas" / "history.html").read_text("utf-8")
    pages["measured/history.html"] = history.replace('href="README.md"', 'href="atlas.html"')
    for diff in sorted((ROOT / "results" / "upgrades").glob("*/*/diff.txt")):
        pages[f"upgrades/{diff.parents[1].name}.txt"] = diff.read_text("utf-8")
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fills in what a page shows of another file: from the line that begins so to its end."""

    def shown(match: re.Match[str]) -> str:
        text = (ROOT / match[1]).read_text("utf-8")
        return text[text.index(f"\n{match[2]}") :].strip()

    return re.sub(r"<!-- from (\S+): (.+) -->", shown, markdown)


def _moved(place: str, source: str) -> str:
    """A page of the repository, its links led to where the guide has their targets."""
    homes = {home: page for page, home in SHOWN.items()} | {
        RESULTS: "reference/dictionary.md",
        "results/atlas/history.html": "measured/history.html",
    }
    text = (ROOT / source).read_text("utf-8").replace("[../README.md]", "[the data dictionary]")

    def led(match: re.Match[str]) -> str:
        target = (ROOT / source).parent.joinpath(match[1]).resolve().relative_to(ROOT).as_posix()
        return f"]({'../' * place.count('/')}{homes[target]})"

    head = "---\nhide: [toc]\n---\n" if place in WIDE else ""
    return head + re.sub(r"\]\((?!https?:|#)([^)\s]+)\)", led, text)


def render_commands() -> str:
    """The reference of the command line, from the declared commands and options.

    Returns  Markdown.
    """
    root: Any = get_command(app)  # click's, or typer's own copy of it
    pages = [
        "# Command line\n\nMade from the code: what `pyharness COMMAND --help` says.\n",
        *(_command(command, name) for name, command in root.commands.items()),
    ]
    return "\n".join(pages)


def _command(command: Any, name: str) -> str:
    context = command.context_class(command, info_name=f"pyharness {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    usage = re.sub(r"\n\s*", " ", usage)
    about = inspect.cleandoc(command.help or "").replace("\b\n", "")
    records = (parameter.get_help_record(context) for parameter in command.params)
    rows = [f"| `{_plain(words)}` | {_cell(text)} |" for words, text in filter(None, records)]
    table = ["| argument or option | meaning |", "|---|---|", *rows]
    return "\n".join([f"## {name}\n", _safe(about), "", f"    {usage}\n", *table, ""])


def _plain(words: str) -> str:
    """How an argument is written, without the type that some versions of typer add to it."""
    return re.sub(r" <.*>$", "", words)


def _cell(text: str) -> str:
    return _safe(" ".join(text.split())).replace("|", "\\|")


def _safe(text: str) -> str:
    """Words that Markdown leaves as they are; `code` stays code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_\[])", r"\\\1", html.escape(p, quote=False)) for p in parts[::2]]
    return "`".join(parts)
