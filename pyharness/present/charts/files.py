"""Charts as pictures, without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyharness.present.charts.theme import spec

if TYPE_CHECKING:
    import altair as alt

_SCALE = 2
_MOST_WORDS = 120


def told_error(error: Exception) -> str:
    """Why a chart is not drawn, on one short line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:_MOST_WORDS]}"


def pictures(chart: alt.TopLevelMixin, dark: bool = False) -> dict[str, bytes]:
    """The chart as it is written, by the ending of its file: ``png`` and ``svg``."""
    import altair  # noqa: PLC0415 - slow, and only for pictures
    import vl_convert  # noqa: PLC0415

    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    data = spec(chart, dark)
    return {
        "png": vl_convert.vegalite_to_png(data, vl_version=version, scale=_SCALE),
        "svg": vl_convert.vegalite_to_svg(data, vl_version=version).encode(),
    }
