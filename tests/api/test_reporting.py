"""Reports of result folders: the right numbers, nothing half written, bad folders told."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api import diffing
from pyharness.api.changes import write_diff
from pyharness.api.diffing import diff_maps
from pyharness.api.mapping import MapOptions, map_release
from pyharness.api.reporting import write_report
from pyharness.present.diff import diff_data, render_diff
from pyharness.present.report.markdown import MOST_BYTES
from pyharness.releases import Release
from pyharness.space.presets import build_space
from pyharness.store.folds import read_folds
from pyharness.store.reading import MapFolder
from tests.api import report_scene as scene

OLD, NEW = "9.12.0.46+cu12", "9.13.0.50+cu12"


@pytest.fixture(scope="module")
def maps(
    tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]
) -> tuple[Path, Path]:
    """The data descriptor of two releases, mapped."""
    space = build_space("data-core", None, [])
    found = []
    for name in (OLD, NEW):
        folder = tmp_path_factory.mktemp("maps") / name
        map_release(cudnn(name), space, folder, MapOptions())
        found.append(folder)
    return found[0], found[1]


@pytest.fixture
def diff(maps: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(diffing, "time_in_turn", lambda *_: None)
    found = diff_maps(*map(MapFolder, maps))
    write_diff(found, render_diff(found), diff_data(found), tmp_path / "diff")
    return tmp_path / "diff"


def report(*folders: Path, out: Path) -> tuple[str, str, dict[str, Any]]:
    page, markdown, data = write_report(folders, out)
    assert [p.name for p in (page, markdown, data)] == ["report.html", "report.md", "report.json"]
    return page.read_text("utf-8"), markdown.read_text("utf-8"), json.loads(data.read_text("utf-8"))


def section(data: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [s for s in data["sections"] if s["id"] == name]
    return found


def accepted(folder: Path) -> int:
    statuses = pq.read_table(folder / "validity.parquet", columns=["status"])["status"]
    return statuses.to_pylist().count("SUCCESS")


@pytest.mark.parametrize("from_maps", [False, True])
def test_validity_is_that_of_the_maps(
    maps: tuple[Path, Path], diff: Path, tmp_path: Path, from_maps: bool
) -> None:
    page, markdown, data = report(*(maps if from_maps else (diff,)), out=tmp_path / "out")
    rows = section(data, "validity")["tables"][0]["rows"]
    assert [r["release"] for r in rows] == [OLD, NEW]
    assert [r["accepted"] for r in rows] == [accepted(m) for m in maps]
    assert {r["problems"] for r in rows} == {
        pq.read_metadata(maps[0] / "validity.parquet").num_rows
    }
    assert f"{accepted(maps[1]):,}" in page
    assert f"{accepted(maps[1]):,}" in markdown


def test_folds_beside_a_diff_are_its_maps(maps: tuple[Path, Path], diff: Path) -> None:
    folds = read_folds(diff)
    assert [name for name, _ in folds] == [OLD, NEW]
    for (_, folded), folder in zip(folds, maps, strict=True):
        there = MapFolder(folder)
        kept = there.statuses(there.grids[0])
        back = folded.unfolded()
        assert [back.names[c] for c in back.codes.reshape(-1)] == [
            kept.names[c] for c in kept.codes.reshape(-1)
        ]


def test_a_diff_in_words_and_what_repeats_it(diff: Path, tmp_path: Path) -> None:
    told = json.loads((diff / "diff.json").read_text("utf-8"))
    counts: dict[str, int] = {}
    for call in told["calls"]:
        for group in call["changes"]:
            counts[group["change"]] = counts.get(group["change"], 0) + group["problems"]
    _, markdown, data = report(diff, out=tmp_path / "out")
    assert counts["newly_accepted"] > 0
    assert f"{counts['newly_accepted']:,} newly accepted" in data["headline"]
    assert "none newly refused" in data["headline"]
    changes = section(data, "changes")
    conditions = [c for s in changes["steps"] for c in s["conditions"]]
    assert conditions == [w for c in told["calls"] for g in c["changes"] for w in g["words"]]
    assert changes["commands"] == [f"pyharness diff {OLD} {NEW} --preset data-core"]
    assert section(data, "validity")["commands"] == changes["commands"]
    assert f"`pyharness diff {OLD} {NEW} --preset data-core`" in markdown


def test_a_diff_without_its_maps_says_so(diff: Path, tmp_path: Path) -> None:
    for name in ("atlas.parquet", "atlas_axes.parquet"):
        (diff / name).unlink()
    _, _, data = report(diff, out=tmp_path / "out")
    assert "written without its maps" in section(data, "validity")["lead"][0]


def test_two_benches_stand_beside_each_other(tmp_path: Path) -> None:
    old = scene.folder(
        tmp_path / "a", "bench", OLD, {"timings": scene.timings(OLD, {"x": 1e-3, "y": 2e-3})}
    )
    new = scene.folder(
        tmp_path / "b", "bench", NEW, {"timings": scene.timings(NEW, {"x": 1.1e-3, "y": 1e-3})}
    )
    _, markdown, data = report(old, new, out=tmp_path / "out")
    (table,) = section(data, "time")["tables"]
    ratios = {row["name"]: row["ratio"] for row in table["rows"]}
    assert ratios == pytest.approx({"x": 1.1, "y": 0.5})
    first = table["rows"][0]
    assert first["name"] == "x"  # the slowest ratio first
    assert first["ratio_low"] == pytest.approx(1.1 * 0.99 / 1.01)
    assert first["ratio_high"] == pytest.approx(1.1 * 1.01 / 0.99)
    assert first["repeat"] == f"pyharness bench --cudnn {OLD} cell_mode=lstm x"
    assert "1.100 ms | 1.100" in markdown
    assert not data["emulated"]


def test_the_older_side_comes_first(tmp_path: Path) -> None:
    """Whatever the alphabet says: 9.9.0 before 9.12.0, and old before new."""
    for names in (("9.9.0", "9.12.0"), ("old", "new")):
        results = tmp_path / names[0]
        for name, median in zip(names, (1e-3, 2e-3), strict=True):
            rows = {"timings": scene.timings(name, {"x": median})}
            scene.folder(results / name, "bench", name, rows)
        _, _, data = report(results, out=tmp_path / "out")
        assert section(data, "time")["tables"][0]["rows"][0]["ratio"] == pytest.approx(2.0)


def test_one_release_twice_is_two_sides(tmp_path: Path) -> None:
    for name, median in (("a", 1e-3), ("b", 3e-3)):
        scene.folder(tmp_path / name, "bench", OLD, {"timings": scene.timings(OLD, {"x": median})})
    _, _, data = report(tmp_path / "a", tmp_path / "b", out=tmp_path / "out")
    (table,) = section(data, "time")["tables"]
    assert table["rows"][0]["ratio"] == pytest.approx(3.0)
    titles = [c["title"] for c in table["columns"]]
    assert [t for t in titles if t.startswith(OLD)] == [
        f"{OLD} ({tmp_path / 'a'})",
        f"{OLD} ({tmp_path / 'b'})",
    ]


def test_memory_old_and_new(tmp_path: Path) -> None:
    for name, release, totals in (
        ("a", OLD, {"x": 1024, "y": 2048, "z": 512}),
        ("b", NEW, {"x": 3072, "y": 2048, "z": 256}),
    ):
        scene.folder(tmp_path / name, "memory", release, {"memory": scene.memory(release, totals)})
    _, _, data = report(tmp_path / "a", tmp_path / "b", out=tmp_path / "out")
    told = section(data, "memory")
    verdicts = {r["name"]: (r["change"], r["verdict"]) for r in told["tables"][0]["rows"]}
    assert verdicts == {"x": (2048, "larger"), "y": (0, "same"), "z": (-256, "smaller")}
    assert told["lead"] == [f"{OLD} → {NEW}: of 3 rows 1 larger, 1 smaller, 1 same."]


def test_the_matrix_of_repeatability(tmp_path: Path) -> None:
    verdicts = {
        "same_objects": "repeatable",
        "load": "not_repeatable",
        "dropout_continued": "not_repeatable",  # asked for: no fault
        "graph": "not_tried",
    }
    rows = scene.repeatability(NEW, verdicts)
    rows.append({**rows[0], "buffer": "dw", "verdict": "not_repeatable", "share": 1.0})
    rows[-1] |= {k: rows[1][k] for k in ("differing", "most_ulps", "most_abs", "distinct")}
    _, markdown, data = report(
        scene.folder(tmp_path / "a", "repeatability", NEW, {"repeatability": rows}),
        out=tmp_path / "out",
    )
    (row,) = section(data, "repeatability")["tables"][0]["rows"]
    assert {k: row[k] for k in verdicts} == {
        "same_objects": "not_repeatable",  # the worst of the tensors
        "load": "not_repeatable",
        "dropout_continued": "by_design",
        "graph": "not_tried",
    }
    lead = section(data, "repeatability")["lead"][0]
    assert lead.startswith(f"{NEW}: 1 of 1 problem do not repeat")
    assert "✗ differs" in markdown


def test_accuracy_nearest_to_its_limit_first(tmp_path: Path) -> None:
    rows = scene.accuracy(NEW, [1e-4, 2e-3, 5e-4])
    folder = scene.folder(tmp_path / "a", "accuracy", NEW, {"accuracy": rows})
    _, _, data = report(folder, out=tmp_path / "out")
    told = section(data, "accuracy")
    assert [r["of_limit"] for r in told["tables"][0]["rows"]] == pytest.approx([2.0, 0.5, 0.1])
    assert told["lead"] == [f"{NEW}: 3 tensors beside float64, 2 within, 1 beyond."]


@pytest.mark.parametrize(
    ("word", "headline"),
    [
        ("failed", "By the gate: 12 problems newly refused."),
        ("passed", "Nothing is worse by the gate; 4 of 5 questions are not measured."),
    ],
)
def test_a_verdict_stands_on_top(tmp_path: Path, word: str, headline: str) -> None:
    page, markdown, data = report(scene.upgrade(tmp_path / "u", word), out=tmp_path / "out")
    assert (data["word"], data["headline"]) == (word, headline)
    assert data["questions"][0]["told"] == [
        "host: 1,000 problems compared; 12 newly refused, none newly failing"
    ]
    assert data["questions"][1] == {
        "question": "time",
        "word": "not_measured",
        "told": ["no GPU here"],
    }
    lines = markdown.splitlines()
    assert lines[0] == "## cuDNN 9.12.0.46+cu12 → 9.13.0.50+cu12"
    assert {"failed": "✗ WORSE", "passed": "✓ PASSED"}[word] in lines[2]
    assert page.index(headline) < page.index("<main")


class _Tags(HTMLParser):
    """The tags of a page, and what its scripts and texts hold."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_texts_of_others_are_texts(tmp_path: Path) -> None:
    """No reason, name, path or variable becomes markup; none is lost either."""
    rows = scene.accuracy(NEW, [1e-4] * len(scene.HOSTILE))
    for row, text in zip(rows, scene.HOSTILE, strict=True):
        row.update(name=text, problem=text, reason=text)
    scene.upgrade(tmp_path / "r" / "<img src=x onerror=alert(2)>")
    folder = scene.folder(
        tmp_path / "r" / "a",
        "accuracy",
        NEW,
        {"accuracy": rows},
        environment={"CUDNN_X": scene.HOSTILE[0]},
    )
    page, markdown, data = report(folder.parent, out=tmp_path / "out")
    seen = _Tags()
    seen.feed(page)
    tags = [tag for tag, _ in seen.tags]
    assert "img" not in tags
    assert tags.count("script") == 4  # theme, data, charts, ours
    assert all(not a.startswith("on") for _, of in seen.tags for a in of)
    assert all(text.strip() in seen.text for text in scene.HOSTILE[:2])
    assert [r["name"] for r in section(data, "accuracy")["tables"][0]["rows"]] == list(
        scene.HOSTILE
    )
    bare = markdown.replace("\\<", "")
    in_code = [part for i, part in enumerate(bare.split("`")) if i % 2]
    outside = "".join(part for i, part in enumerate(bare.split("`")) if not i % 2)
    assert "<img" not in outside
    assert in_code


def test_emulated_numbers_say_so_everywhere(tmp_path: Path) -> None:
    rows = [{**r, "provenance": "emulated"} for r in scene.accuracy(NEW, [1e-4])]
    folder = scene.folder(tmp_path / "r" / "a", "accuracy", NEW, {"accuracy": rows})
    scene.folder(tmp_path / "r" / "b", "bench", NEW, {"timings": scene.timings(NEW, {"x": 1e-3})})
    page, markdown, data = report(folder.parent, out=tmp_path / "out")
    assert data["emulated"]
    assert {s["id"]: s["emulated"] for s in data["sections"]} == {
        "time": False,
        "accuracy": True,
        "machine": False,
    }
    assert page.count('class="emulated"') == 2  # the top and the section
    assert markdown.count("EMULATED") == 2


def test_markdown_fits_a_comment_and_names_what_it_leaves_out(tmp_path: Path) -> None:
    word = "w" * 150
    for n in range(30):
        rows = [
            {**r, "name": f"{word}{n}"}
            for r in scene.repeatability(NEW, {"load": "not_repeatable"})
        ]
        rows = [{**rows[0], "name": f"{word}{n}-{k}", "problem": word} for k in range(12)]
        scene.folder(tmp_path / "r" / f"{n:02}", "repeatability", NEW, {"repeatability": rows})
    scene.folder(tmp_path / "r" / "z", "accuracy", NEW, {"accuracy": scene.accuracy(NEW, [1e-4])})
    _, markdown, data = report(tmp_path / "r", out=tmp_path / "out")
    assert len(markdown.encode()) <= MOST_BYTES
    assert "Left out to fit a comment: Repeatability" in markdown
    assert "### Accuracy" in markdown
    assert len(section(data, "repeatability")["tables"]) > 30


def test_a_report_may_lie_in_its_folder_and_be_made_again(tmp_path: Path) -> None:
    folder = scene.upgrade(tmp_path / "u")
    first = report(folder, out=folder)[2]
    again = report(folder, out=folder)[2]
    assert {**first, "made": None} == {**again, "made": None}
    assert first["report_version"] == 1


@pytest.mark.parametrize("state", ["running", "interrupted"])
def test_a_verdict_of_an_earlier_call_says_so(tmp_path: Path, state: str) -> None:
    folder = scene.upgrade(tmp_path / "u")
    told = f"{folder} is not finished ({state}): this verdict is that of an earlier call."
    assert told not in report(folder, out=tmp_path / "before")[2]["notes"]
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**run, "state": state}))
    page, markdown, data = report(folder, out=tmp_path / "after")
    assert data["notes"] == [told]
    assert all(told in text.replace("\\", "") for text in (page, markdown))
