"""The whole history as one page that filters: answers inline, no network, no library of charts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness import __version__
from pyharness.present.units import count_text

_PARTS = Path(__file__).with_name("history_page")
_MOST_WORDS = 2_000  # of one group of problems; the table has all of it


def render_history(
    data: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], presets: Mapping[str, str | None]
) -> str:
    """The page of an atlas, in HTML.

    ``data``     releases, and of each call labels, distinct answers and which release has which.
    ``steps``    rows of the table atlas_steps.
    ``presets``  of each call the one that has the same problems; None: there is none.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - slow
    from markupsafe import Markup  # noqa: PLC0415

    place = {name: at for at, name in enumerate(data["releases"])}
    told = [
        [place[s["release_b"]], s["call"], s["change"], _short(s["what"])]
        for s in steps
        if s["rows"] is not None
    ]
    inline = json.dumps({**data, "steps": told, "presets": presets}, separators=(",", ":"))
    releases = data["releases"]
    env = Environment(loader=FileSystemLoader(_PARTS), autoescape=True, undefined=StrictUndefined)
    page: str = env.get_template("page.html.j2").render(
        title="Which cuDNN release accepts what",
        lead=f"{count_text(len(releases), 'release')}, {releases[0]} to {releases[-1]}.",
        css=Markup((_PARTS / "page.css").read_text("utf-8")),  # noqa: S704 - our own file
        js=Markup((_PARTS / "page.js").read_text("utf-8")),  # noqa: S704
        data=Markup(inline.replace("<", "\\u003c")),  # noqa: S704 - no tag is left in it
        version=__version__,
    )
    return page + "\n"


def _short(words: str) -> str:
    return words if len(words) <= _MOST_WORDS else f"{words[:_MOST_WORDS]} …"
