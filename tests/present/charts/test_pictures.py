"""Charts as files: PNG and SVG that can be read, with all that is in the chart."""

from __future__ import annotations

import struct
from xml.etree import ElementTree

import pytest

from pyharness.present.charts.files import pictures
from pyharness.present.charts.outcomes import stages_chart
from pyharness.present.charts.theme import config
from pyharness.present.charts.times import time_chart
from tests.present.charts.rows import every


def test_png_is_twice_as_large_as_svg_and_both_are_whole() -> None:
    made = pictures(time_chart(every()["timings"]))
    assert made["png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert made["png"].endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", made["png"][16:24])
    root = ElementTree.fromstring(made["svg"])
    assert (width, height) == pytest.approx(
        (2 * float(root.attrib["width"]), 2 * float(root.attrib["height"])), abs=2
    )


def test_words_of_the_table_are_in_the_picture() -> None:
    text = "".join(
        ElementTree.fromstring(pictures(stages_chart(every(3)["stages"]))["svg"]).itertext()
    )
    assert all(word in text for word in ("hidden_size=1", "hidden_size=3", "descriptor", "ok"))


def test_the_page_and_its_text_follow_the_theme() -> None:
    light, dark = (
        pictures(time_chart(every()["timings"]), d)["svg"].decode() for d in (False, True)
    )
    for svg, own, other in ((light, config(), config(True)), (dark, config(True), config())):
        assert own["background"].lower() in svg.lower()
        assert own["title"]["color"].lower() in svg.lower()
        assert other["title"]["color"].lower() not in svg.lower()
