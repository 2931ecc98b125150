"""How every picture looks: fonts, and colours of light and dark pages.

Charts name ranges (``category``, ``heatmap``, ``diverging``), not colours; what they say by colour
alone in no theme is said by shape or text, too. Colours of classes are Okabe and Ito's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
GOOD, SOME, BAD, UNKNOWN = "#0072B2", "#E69F00", "#D55E00", "#9A9A9A"
ON_DARK, ON_LIGHT = "#FFFFFF", "#111111"  # text on GOOD and BAD; on SOME and UNKNOWN
_CLASSES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#7A7A7A"]
_LIGHT = {
    "page": "#FFFFFF",
    "text": "#24292F",
    "quiet": "#57606A",
    "line": "#D8DEE4",
    "category": _CLASSES,
    "heatmap": ["#EEF0F2", "#B9CFE4", "#6FA3CE", "#2F73AE", "#0B3D70"],
    "diverging": ["#B34700", "#F0994D", "#EEF0F2", "#5D9CCB", "#0B4F8A"],
}
_DARK = {
    "page": "#15181C",
    "text": "#E6EAEF",
    "quiet": "#A3ABB5",
    "line": "#343B44",
    "category": [
        "#56B4E9",
        "#F28E4B",
        "#2FBF94",
        "#E39AC4",
        "#F0C14B",
        "#9BC1E6",
        "#C2A35A",
        "#A0A0A0",
    ],
    "heatmap": ["#2A3038", "#2C4F73", "#3D7FB8", "#74B3E3", "#C9E6FF"],
    "diverging": ["#FF9A4D", "#A85D28", "#2A3038", "#2F6EA3", "#7CC0F5"],
}


def config(dark: bool = False, background: str | None = "") -> dict[str, Any]:
    """What a Vega-Lite spec takes as its config.

    ``background``  "": the theme's; None: none, so that the page shows.
    """
    of = _DARK if dark else _LIGHT
    text = {"labelColor": of["quiet"], "titleColor": of["text"]}
    return {
        "background": of["page"] if background == "" else background,
        "font": FONT,
        "view": {"stroke": None, "continuousWidth": 420, "continuousHeight": 240},
        "axis": {
            **text,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "labelLimit": 330,
            "gridColor": of["line"],
            "domainColor": of["quiet"],
            "tickColor": of["line"],
        },
        "axisBand": {"grid": False, "ticks": False, "domain": False, "labelPadding": 6},
        "header": {**text, "labelColor": of["text"], "labelFontSize": 12, "titleFontSize": 12},
        "legend": {
            **text,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 330,
            "symbolSize": 110,
            "gradientThickness": 12,
        },
        "title": {
            "color": of["text"],
            "subtitleColor": of["quiet"],
            "fontSize": 15,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "anchor": "start",
            "offset": 14,
        },
        "mark": {"color": of["category"][0]},
        "text": {"color": of["text"], "fontSize": 12},
        "rule": {"color": of["quiet"]},
        "tick": {"color": of["text"]},
        "range": {name: of[name] for name in ("category", "heatmap", "diverging")},
        "concat": {"spacing": 26},
    }


def spec(
    chart: alt.TopLevelMixin, dark: bool = False, background: str | None = ""
) -> dict[str, Any]:
    """A chart as the Vega-Lite spec that a page embeds, in this theme."""
    data: dict[str, Any] = chart.to_dict()
    data.pop("background", None)
    return {**data, "config": config(dark, background)}
