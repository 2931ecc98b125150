"""The report's page in a headless Chromium: quiet, exact, by keyboard, in every theme and width."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from pyharness.api.mapping import MapOptions, map_release
from pyharness.api.reporting import write_report
from pyharness.releases import Release
from pyharness.space.presets import build_space
from tests.api import report_scene as scene
from tests.api.report_browser import BROWSERS, FOUND, Opened

OLD, NEW = "9.12.0.46+cu12", "9.13.0.50+cu12"
LARGE = 10_000
PAPER = 688  # pixels of an A4 page between its margins
AUDIT = Path(__file__).with_name("report_audit.js").read_text("utf-8")

pytestmark = pytest.mark.skipif(
    FOUND is None, reason=f"no browser: none of {', '.join(BROWSERS)}, and no PYHARNESS_CHROMIUM"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=FOUND, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def maps(
    tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]
) -> tuple[Path, Path]:
    space = build_space("data-core", None, [])
    found = [tmp_path_factory.mktemp("maps") / name for name in (OLD, NEW)]
    for folder in found:
        map_release(cudnn(folder.name), space, folder, MapOptions())
    return found[0], found[1]


@pytest.fixture(scope="module")
def made(maps: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with a verdict, both maps, charts, a table of several pages and hostile texts."""
    folder = tmp_path_factory.mktemp("results")
    rows = scene.accuracy(NEW, [n * 1e-5 for n in range(1, 121)])
    for row, text in zip(rows, scene.HOSTILE, strict=False):
        row.update(name=text, reason=text, provenance="emulated")
    scene.upgrade(folder / "upgrade")
    scene.folder(folder / "accuracy", "accuracy", NEW, {"accuracy": rows})
    for name, release, median in (("a", OLD, 1e-3), ("b", NEW, 1.1e-3)):
        timed = {"timings": scene.timings(release, {"x": median, "y": 2 * median})}
        scene.folder(folder / name, "bench", release, timed)
    verdicts = {"load": "not_repeatable", "graph": "not_tried", "same_objects": "repeatable"}
    tables = {"repeatability": scene.repeatability(NEW, verdicts)}
    scene.folder(folder / "det", "repeatability", NEW, tables)
    return write_report([folder, *maps], folder / "out")[0]


@pytest.fixture
def opened(browser: Any, made: Path) -> Iterator[Callable[..., Opened]]:
    there: list[Opened] = []

    def open_page(path: Path = made, **context: Any) -> Opened:
        there.append(Opened(browser, path, **context))
        return there[-1]

    yield open_page
    for each in there:
        each.context.close()
        assert each.faults == []


def test_it_is_quiet_and_draws_every_chart(opened: Callable[..., Opened]) -> None:
    page = opened().page
    charts = page.locator(".chart")
    assert charts.count() == 4  # time and ratio, repeatability, accuracy
    drawn = page.evaluate("[...document.querySelectorAll('.chart .light svg')].length")
    assert drawn == charts.count()
    assert page.evaluate("typeof alert_called") == "undefined"
    assert page.locator("img").count() == 0
    assert page.locator("#verdict").inner_text().split("\n")[0].lower().endswith("worse")
    assert page.locator("#verdict").bounding_box()["y"] < 450  # seen without scrolling


@pytest.fixture(scope="module")
def counted(maps: tuple[Path, Path]) -> Callable[[dict[str, list[Any]]], tuple[int, ...]]:
    """Problems, accepted old and new, newly accepted and no longer, counted from the tables."""
    old, new = (pq.read_table(folder / "validity.parquet").to_pandas() for folder in maps)
    a, b = ((side["status"] == "SUCCESS").to_numpy() for side in (old, new))
    axes = old.astype(str)

    def count(chosen: dict[str, list[Any]]) -> tuple[int, ...]:
        mask = np.ones(len(axes), bool)
        for axis, values in chosen.items():
            mask &= axes[axis].isin([str(v) for v in values]).to_numpy()
        return tuple(int((mask & x).sum()) for x in (mask, a, b, b & ~a, a & ~b))

    return count


def _numbers(text: str) -> list[int]:
    plain = text.replace(OLD, "").replace(NEW, "").replace(",", "")
    plain = re.sub(r"\([^)]*\)", "", plain)
    return [int(n) for n in re.findall(r"\d+", plain)]


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"data_type": ["bfloat16"]},
        {"data_type": ["bfloat16", "float"], "layout": ["seq_major_packed"]},
        {"seq_lengths": ["equal", "over_max"], "batch_size": [1], "max_seq_length": [16, 65536]},
    ],
    ids=lambda chosen: "+".join(chosen) or "all",
)
def test_filters_change_the_numbers_to_the_right_ones(
    opened: Callable[..., Opened],
    counted: Callable[[dict[str, list[Any]]], tuple[int, ...]],
    chosen: dict[str, list[Any]],
) -> None:
    page = opened().page
    for axis, values in chosen.items():
        box = page.locator(".filters details").filter(has_text=f"{axis}:")
        box.locator("summary").click()
        box.get_by_role("button", name=f"No values of {axis}").click()
        for value in values:
            box.get_by_label(str(value), exact=True).check()
    told = _numbers(page.locator(".totals").inner_text())
    assert tuple(told) == counted(chosen)
    # Every cell of both panels and of the difference, in two axes of our own.
    rows, columns = "data_type", "layout"
    page.get_by_label("Rows", exact=True).select_option(label=rows)
    page.get_by_label("Columns", exact=True).select_option(label=columns)
    found = "nodes => nodes.map((n) => n.getAttribute('aria-label'))"
    labels = page.locator(".maps .cell").evaluate_all(found)
    assert len(labels) % 3 == 0
    assert labels
    third = len(labels) // 3
    for place, label in enumerate(labels):
        where, _, counts = label.partition(": ")
        pair = dict(word.split("=") for word in where.split(", "))
        own = {**chosen, **{axis: [value] for axis, value in pair.items()}}
        n, old, new, gained, lost = counted(own)
        right = ([old, n], [new, n], [gained, lost, n])[place // third]
        assert _numbers(counts) == right, label


def test_an_axis_without_a_value_is_said(opened: Callable[..., Opened]) -> None:
    page = opened().page
    page.locator(".filters summary").first.click()
    page.locator(".filters").get_by_role("button", name="No values").first.click()
    assert "No problem" in page.locator(".totals").inner_text()
    page.get_by_role("button", name="Reset filters").click()
    assert page.locator(".maps .cell").count() > 0


def test_tables_are_sorted_searched_and_paged(opened: Callable[..., Opened]) -> None:
    page = opened().page
    box = page.locator("#accuracy .table")
    column = [h.inner_text().split()[0] for h in box.locator("thead th").all()].index("ulp") + 1
    shown = box.locator(f"tbody td:nth-child({column})")
    head = box.locator(f"thead th:nth-child({column})")
    assert head.get_attribute("aria-sort") is None
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [int(t) for t in shown.all_inner_texts()] == list(range(119, 104, -1))
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [int(t) for t in shown.all_inner_texts()] == list(range(15))
    box.get_by_role("button", name="Last").click()
    assert [int(t) for t in shown.all_inner_texts()] == list(range(105, 120))
    assert box.locator(".range").inner_text() == "106 to 120 of 120 rows"
    box.get_by_label("Find").fill("hidden_size=77")
    assert box.locator("tbody tr").count() == 1
    assert box.locator(".range").inner_text() == "1 to 1 of 1 rows (of 120)"


def test_a_line_is_repeated_by_its_command(opened: Callable[..., Opened]) -> None:
    here = opened(permissions=["clipboard-read", "clipboard-write"])
    here.page.locator("#time .table .copy").first.click()
    here.page.wait_for_function("document.getElementById('said').textContent !== ''")
    said = here.page.locator("#said").inner_text()
    assert said == f"Copied: pyharness bench --cudnn {OLD} cell_mode=lstm x"
    assert here.page.evaluate("navigator.clipboard.readText()") == said.removeprefix("Copied: ")


def test_light_and_dark_by_system_and_by_choice(opened: Callable[..., Opened]) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
    places = "[...document.querySelectorAll('.chart > *')].filter((n) => n.checkVisibility())"
    shown = f"{places}.map((n) => n.classList[0])"
    for scheme, first, then in (("light", light, dark), ("dark", dark, light)):
        page = opened(color_scheme=scheme).page
        assert page.evaluate(colour) == first
        assert set(page.evaluate(shown)) == {scheme}
        page.locator("#theme").click()
        assert page.evaluate(colour) == then
        assert set(page.evaluate(shown)) == {"light", "dark"} - {scheme}
        page.emulate_media(media="print")  # paper is white
        assert page.evaluate(colour) == light
        assert set(page.evaluate(shown)) == {"light"}


def test_print_leaves_out_what_paper_cannot_do(opened: Callable[..., Opened]) -> None:
    page = opened().page
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for gone in ("nav", "#theme", ".picks", ".filters", ".tools"):
        assert not page.locator(gone).first.is_visible(), gone
    for there in ("#verdict", "#validity .maps", "#accuracy table", ".chart svg", ".command code"):
        assert page.locator(there).first.is_visible(), there


def test_paper_is_light_and_no_table_is_wider(opened: Callable[..., Opened]) -> None:
    page = opened(color_scheme="dark", viewport={"width": PAPER, "height": 900}).page
    page.emulate_media(media="print")
    fills = (
        "[...document.querySelectorAll('.cell')].map((c) => getComputedStyle(c).backgroundColor)"
    )
    found = set(page.evaluate(fills))
    assert "rgb(241, 243, 245)" in found  # no share, on a light page
    assert "rgb(34, 39, 46)" not in found
    assert not page.locator("th.repeat").first.is_visible()
    right = "[...document.querySelectorAll('table, svg')].filter((n) => n.checkVisibility())"
    assert page.evaluate(f"Math.max(...{right}.map((n) => n.getBoundingClientRect().right))") <= (
        PAPER
    )


@pytest.mark.parametrize("width", [360, 1280])
def test_a_command_is_copied_without_scrolling(opened: Callable[..., Opened], width: int) -> None:
    page = opened(viewport={"width": width, "height": 900}).page
    ends = page.evaluate(
        "[...document.querySelectorAll('.table .repeat button')].map((b) => "
        "[b.getBoundingClientRect().right, b.closest('.scroll').getBoundingClientRect().right])"
    )
    assert ends
    assert all(own <= box for own, box in ends)


def test_a_chart_that_fails_in_the_page_is_told(opened: Callable[..., Opened]) -> None:
    here = opened()
    text = here.page.evaluate(
        "(async () => { const box = document.querySelector('.chart'); const own = vegaEmbed;"
        "window.vegaEmbed = async () => { throw new Error('planted'); };"
        "await drawChart(box).catch((error) => { notDrawn(box, error); });"
        "window.vegaEmbed = own; return box.textContent; })()"
    )
    assert text == "Not drawn: planted"


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_scrolls_sideways(opened: Callable[..., Opened], width: int) -> None:
    page = opened(viewport={"width": width, "height": 740}).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("document.body.scrollWidth") == width


def test_by_keyboard_alone(opened: Callable[..., Opened]) -> None:
    page = opened().page
    focused = "document.activeElement.textContent.trim()"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Skip to the report"
    page.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate("document.activeElement.id") == "theme"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    cell = "document.activeElement.className === 'cell'"
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(cell):
            break
    assert page.evaluate(cell)
    label = "document.activeElement.getAttribute('aria-label').split(':')[0]"
    first = page.evaluate(label)
    page.keyboard.press("ArrowDown")
    second = page.evaluate(label)
    assert first.split(", ")[0] != second.split(", ")[0]
    assert first.split(", ")[1] == second.split(", ")[1]
    assert page.locator(".detail").inner_text().startswith(second)
    sorts = "document.activeElement.closest('th') !== null"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(sorts):
            break
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.closest('th').getAttribute('aria-sort')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(opened: Callable[..., Opened], scheme: str) -> None:
    page = opened(color_scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate(AUDIT) == []


def test_the_audit_finds_what_is_wrong(opened: Callable[..., Opened]) -> None:
    """The check above can fail: each fault planted here is one that it names."""
    page = opened().page
    page.evaluate("""() => {
      const add = (html) => document.body.insertAdjacentHTML("beforeend", html);
      add('<p style="color:#999">grey</p><button></button><p id="main"></p>');
      add('<table><tr><th>x</th></tr></table><a href="#nowhere">y</a><h2>a</h2><h4>b</h4>');
    }""")
    said = " ".join(page.evaluate(AUDIT))
    for fault in ("contrast 2.8", "no name", "an id twice", "no scope", "dead link", "heading 4"):
        assert fault in said, fault


def test_ten_thousand_rows_open_in_three_seconds(
    opened: Callable[..., Opened], tmp_path: Path
) -> None:
    rows = scene.accuracy(NEW, [n * 1e-7 for n in range(1, LARGE + 1)])
    folder = scene.folder(tmp_path / "a", "accuracy", NEW, {"accuracy": rows})
    here = opened(write_report([folder], tmp_path / "out")[0])
    times = []  # ms, from the request until scripts have run and the page is usable
    while len(times) < 3 and min(times, default=3_000) >= 3_000:  # a busy machine may be late once
        here.page.reload()
        loaded = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        times.append(here.page.evaluate(loaded))
    assert 0 < min(times) < 3_000, times
    assert here.page.locator("#accuracy .range").inner_text() == f"1 to 15 of {LARGE:,} rows"
    began = here.page.evaluate("performance.now()")
    here.page.locator("#accuracy th button").first.click()
    assert here.page.evaluate("performance.now()") - began < 3_000
