"""The page of the whole history: its filters count what the answers say, one by one."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from pyharness.api.atlas_fates import fate_rows
from pyharness.api.atlas_files import history_data
from pyharness.present import atlas_history
from pyharness.present.atlas_history import render_history
from pyharness.present.charts.history import history_chart
from pyharness.store.atlas import Atlas, read_atlas

COMMITTED = Path(__file__).parents[2] / "results" / "atlas"
DATA, TENSOR = "cudnnSetRNNDataDescriptor", "cudnnSetTensorNdDescriptor"


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    found = read_atlas(COMMITTED)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = [p for n in names if (p := shutil.which(n))]
    path = os.environ.get("PYHARNESS_CHROMIUM") or next(iter(found), None)
    if path is None:
        pytest.skip("no chromium: set PYHARNESS_CHROMIUM")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 390, "height": 800})
        opened.said, opened.asked = [], []
        opened.on("console", lambda message: opened.said.append(message.text))
        opened.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.on("request", lambda request: opened.asked.append(request.url))
        yield opened
        browser.close()


def short(release: str) -> str:
    return ".".join(release.partition("+")[0].split(".")[:3])


def expected(atlas: Atlas, call: str, chosen: dict[str, str]) -> list[tuple[Any, ...]]:
    """Spans by asking every problem of every release: first release, accepted, began, stopped."""
    (grid,) = [g for g in atlas.space.grids if g.call.name == call]
    places = [
        [at for at, word in enumerate(labels) if chosen.get(axis, word) == word]
        for axis, labels in grid.labels().items()
    ]
    digits = list(product(*places))
    statuses = [[atlas.folds[name, call].status(d) for d in digits] for name in atlas.names]
    spans = [(short(atlas.names[0]), statuses[0].count("SUCCESS"), 0, 0)]
    for (before, after), name in zip(pairwise(statuses), atlas.names[1:], strict=True):
        if before != after:
            changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
            began = sum(b == "SUCCESS" for _, b in changed)
            stopped = sum(a == "SUCCESS" for a, _ in changed)
            spans.append((short(name), after.count("SUCCESS"), began, stopped))
    return spans


def shown(page: Any) -> list[tuple[Any, ...]]:
    """The same from the table of the page."""
    found = []
    for row in page.query_selector_all("#spans tr"):
        first, accepted, began, stopped = [c.inner_text() for c in row.query_selector_all("th,td")][
            :4
        ]

        def number(text: str) -> int:
            digits = re.match(r"\D*([\d,]+)", text)
            return int(digits[1].replace(",", "")) if digits else 0

        found.append((first.split()[0], number(accepted), number(began), number(stopped)))
    return found


def sentence(spans: list[tuple[Any, ...]], page: Any) -> str:
    """What began and stopped, release by release, of as many problems as the table says."""
    total = page.query_selector("#spans tr td").inner_text().split(" of ")[1]
    parts = []
    for release, _, began, stopped in spans:
        parts += [f"{release} began to accept {began:,}"] if began else []
        parts += [f"{release} stopped accepting {stopped:,}"] if stopped else []
    return f"These {total} problems: {'; '.join(parts)}."


@pytest.mark.parametrize(
    ("call", "chosen"),
    [
        (
            DATA,
            {"seq_lengths": "trailing_zeros", "layout": "seq_major_packed", "data_type": "half"},
        ),
        (DATA, {"max_seq_length": "65536", "data_type": "float"}),
        (TENSOR, {"nb_dims": "2", "data_type": "float"}),
    ],
)
def test_filters_count_what_the_answers_say(
    page: Any, atlas: Atlas, call: str, chosen: dict[str, str]
) -> None:
    page.said.clear()
    page.goto((COMMITTED / "history.html").as_uri())
    page.check(f'#calls input[value="{call}"]')
    for axis, word in chosen.items():
        page.select_option(f'#axes select[name="{axis}"]', label=word)
    assert shown(page) == expected(atlas, call, chosen)
    address = page.url
    before = shown(page)
    page.goto("about:blank")
    page.goto(address)  # what was chosen is in the address
    assert shown(page) == before
    command = page.inner_text("#command")
    a, b = command.removeprefix("pyharness diff ").split()[:2]
    assert atlas.names.index(b) == atlas.names.index(a) + 1
    asked = [f"{axis}={word}" for axis, word in chosen.items()]
    assert sorted(re.findall(r"--axis (\S+)", command)) == sorted(asked)
    assert page.inner_text("#told") == sentence(expected(atlas, call, chosen), page)
    page.click("button[type=reset]")
    whole = {n: f.counts().get("SUCCESS", 0) for (n, c), f in atlas.folds.items() if c == call}
    assert shown(page)[0][1] == whole[atlas.names[0]]
    assert shown(page)[-1][1] == whole[atlas.names[-1]]
    titles = page.eval_on_selector_all("#strip title", "all => all.map((t) => t.textContent)")
    assert titles == [f"{name}: {whole[name]:,} accepted" for name in atlas.names]
    foot = "all => all.map((b) => +b.getAttribute('y') + +b.getAttribute('height'))"
    assert len({round(y, 6) for y in page.eval_on_selector_all("#strip rect.bar", foot)}) == 1
    assert page.said == []
    assert all(url.startswith(("file:", "about:")) for url in page.asked)


def test_it_opens_with_every_release_that_changed_what_is_accepted(page: Any, atlas: Atlas) -> None:
    page.said.clear()
    page.goto("about:blank")
    page.goto(f"{(COMMITTED / 'history.html').as_uri()}#%E0%A4%A&layout=%")  # a damaged address
    words = {"newly_accepted": "began to accept", "newly_refused": "stopped accepting"}
    told = {
        (short(row["release_b"]), row["call"], f"{words[row['change']]} {row['rows']:,}")
        for row in atlas.rows["atlas_steps"]
        if row["change"] in words
    }
    found = set()
    for line in page.eval_on_selector_all("#steps li", "all => all.map(one => one.innerText)"):
        release, call, *rest = line.split(maxsplit=2)
        found |= {(release, call, part.strip()) for part in re.split("[▲▼]", rest[0]) if part}
    assert found == told
    page.click(f'#steps a[href="#{DATA}"]')
    assert page.is_checked(f'#calls input[value="{DATA}"]')
    # What a step did is told in the words of that step.
    told_of = {
        release: " or ".join(
            row["what"]
            for row in atlas.rows["atlas_steps"]
            if (short(row["release_b"]), row["call"], row["change"])
            == (release, DATA, "newly_accepted")
        )
        for release in (line[0] for line in shown(page) if line[2])
    }
    assert told_of
    for line in page.query_selector_all("#spans tr"):
        code = line.query_selector("td:nth-of-type(2) code")
        release = line.query_selector("th").inner_text().split()[0]
        assert (code.text_content() if code else "") == told_of.get(release, "")
    # The command shows a step that changed what is accepted, not the last that changed a status.
    assert "diff 9.12.0.46+cu12 9.13.0.50+cu12" in page.inner_text("#command")
    assert page.said == []


def test_one_problem_has_its_status(page: Any, atlas: Atlas) -> None:
    (grid,) = [g for g in atlas.space.grids if g.call.name == "cudnnRNNSetClip_v9"]
    words = "&".join(f"{n}={w}" for n, w in grid.words(0).items())
    page.goto(f"{(COMMITTED / 'history.html').as_uri()}#{grid.call.name}&{words}")
    told = [row.inner_text() for row in page.query_selector_all("#spans tr")]
    assert "no such call" in told[0]  # before 9.0
    status = atlas.folds[atlas.names[-1], grid.call.name].status(grid.digits(0))
    assert status in told[-1]
    width = page.evaluate("[document.body.scrollWidth, innerWidth]")
    assert width[0] <= width[1]  # nothing sticks out on a phone


def test_it_is_small_needs_no_network_and_is_of_the_tables(atlas: Atlas) -> None:
    text = (COMMITTED / "history.html").read_text()
    assert len(text) < 150_000
    assert not re.search(r"(src|href)=.?https?:", text)
    data = json.loads(text.split('id="answers">')[1].split("</script>")[0])
    assert {k: data[k] for k in ("releases", "calls")} == {
        k: v for k, v in history_data(atlas).items() if k in ("releases", "calls")
    }
    assert data["presets"][DATA] == "data-full"
    # What the tests above drive is what this version writes.
    for part in ("page.js", "page.css"):
        assert (Path(atlas_history.__file__).with_name("history_page") / part).read_text() in text
    hostile = {**history_data(atlas), "space": "</script><b>"}
    assert "</script><b>" not in render_history(hostile, [], {})


def test_the_picture_has_every_release_of_every_set(atlas: Atlas) -> None:
    rows = fate_rows(atlas)
    totals = {
        (name, call): sum(
            r["problems"] for r in rows
            if (r["release"], r["call"], r["accepted"]) == (name, call, "yes")
        )
        for name, call in atlas.folds
    }  # fmt: skip
    assert totals == {key: f.counts().get("SUCCESS", 0) for key, f in atlas.folds.items()}
    spec = history_chart(rows).to_dict()
    data = [panel["data"] for panel in spec["vconcat"]]
    drawn = [r for d in data for r in (d.get("values") or spec["datasets"][d["name"]])]
    calls = {r["call"] for r in rows if r["accepted"] == "no"}
    kept = [r for r in rows if r["call"] in calls]
    assert len(drawn) == len(kept)
    assert [r["accepted"] for r in drawn] == [r["accepted"] for r in kept]
    whole = {" ".join(r["set"].split()) for r in drawn}
    assert whole == {r["what"] for r in kept}  # no label is cut off
    steady = [r for r in rows if r["call"] not in calls]
    assert "no release changed" in json.dumps(history_chart(steady).to_dict())
