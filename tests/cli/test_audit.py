"""``pyharness audit``: words, data, files, gates and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from pyharness.releases import Release
from pyharness.spec.tables import TABLES
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
NEW, OLD = "9.28.0.42+cu12", "8.9.7.29+cu12"
FEW = ("--rule", "SET-PROJ-ZERO", "--rule", "DD-LEN-ZERO-NEW", "--rule", "PT-PROJECTION")


def test_a_contradiction_in_words(run: Run) -> None:
    said = run("audit", "--cudnn", NEW, *FEW)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == f"cuDNN {NEW}: 1 contradicted, 1 partly, 1 agrees"
    text = " ".join(said.out.split())
    assert "Contradicted: the library answers otherwise SET-PROJ-ZERO proj_size 0" in text
    assert "document accepted; projection is off [A: NVIDIA headers of cuDNN 9.22" in text
    assert f"pyharness try --cudnn {NEW} proj_size=0 -> BAD_PARAM: projSize <= 0" in text
    assert "otherwise where layout=seq_major_packed" in text
    assert "Which proj_size turns projection off: 0, or hidden_size?" in text
    assert "May a sequence have length 0?" in text
    assert "Is devSeqLengths used?" not in text  # none of its rules was asked for
    assert "agrees: what it hands over is what is accepted" in text
    assert max(map(len, lines)) <= 100


def test_a_rule_that_was_asked_for_is_printed_in_full_whatever_came_of_it(run: Run) -> None:
    rules = ("SET-HID-POS", "BD-LEN-ZERO", "SET-BF16-PRE", "PT-PROJECTION")
    said = run("audit", "--cudnn", NEW, *(word for r in rules for word in ("--rule", r)))
    text = " ".join(said.out.split())
    assert (
        "SET-HID-POS hidden_size must be at least 1 "
        "document refused with BAD_PARAM [B: NVIDIA cuDNN 7.5 developer guide, third-party copy "
        "(cudnnSetRNNDescriptor_v6)] "
        "grade B, a third party's copy or transcription of NVIDIA's documentation "
        "releases stated for v6 note assumed to carry over to v8 seen 180 refused as BAD_PARAM; "
        "1,356 not counted (another rule may have refused them)"
    ) in text
    assert "seen none of its calls is answered on the host" in text
    assert "seen it speaks of releases before 9.13" in text
    assert "source: PyTorch, aten/src/ATen/native/cudnn/RNN.cpp (get_algo)" in text
    both = run("audit", "--cudnn", NEW, "--cudnn", OLD, "--rule", "SET-HID-POS")
    assert both.out.startswith("1 rule on 2 releases\n")
    assert "note assumed to carry over to v8" in " ".join(both.out.split())


def test_of_what_needs_no_words_only_the_id_is_printed(run: Run) -> None:
    said = run("audit", "--cudnn", NEW)
    text = " ".join(said.out.split())
    assert "SET-HID-POS, SET-LAYERS-POS, SET-ENUM" in text
    assert "hidden_size must be at least 1" not in text
    assert "SET-BIAS-ALGO no text keeps the persistent algos from bias modes" in text
    assert "Is devSeqLengths used? not decided here: FW-DSL-REQ, FW-DSL-NULL" in text
    assert len(said.out.splitlines()) < 190
    assert "KERAS-GRU Keras chooses cuDNN for a GRU" in text
    assert "`pyharness audit --rule ID` prints any rule in full." in text
    legend = text[text.index("Grades of sources: ") :]
    assert legend.startswith("Grades of sources: A NVIDIA's own header or page was read; B a third")
    assert "M from memory" in legend


def test_every_rule_fits_the_page_and_has_a_place(run: Run) -> None:
    said = run("audit", "--cudnn", NEW)
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 100
    from pyharness.spec.documented.rules import load_contradictions, load_frameworks, load_rules

    for rule in (*load_rules(), *load_frameworks()):
        assert rule.id in said.out, rule.id
    text = " ".join(said.out.split())
    for contradiction in load_contradictions():
        assert contradiction.question in text
        assert f"left open: {contradiction.gpu}" in text


def test_several_releases_as_a_table_of_letters(run: Run) -> None:
    said = run("audit", "--cudnn", NEW, "--cudnn", OLD, *FEW, "--rule", "BD-LEN-ZERO")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == "4 rules on 2 releases"
    assert lines[1].split()[:2] == ["1", OLD]  # the oldest first, however they were named
    assert lines[2].split()[:2] == ["2", NEW]
    rows = {words[0]: words[1:] for line in lines if (words := line.split()) and len(words) == 3}
    assert rows["SET-PROJ-ZERO"] == [".", "C"]
    assert rows["DD-LEN-ZERO-NEW"] == ["H", "P"]
    assert rows["PT-PROJECTION"] == ["A", "A"]
    assert "BD-LEN-ZERO" not in rows
    text = " ".join(said.out.split())
    assert "need a GPU: BD-LEN-ZERO" in text
    assert f"a length may be 0 from cuDNN 8.0 on -- holds on {OLD}" in text
    assert max(map(len, lines)) <= 100


def test_the_same_as_data(run: Run) -> None:
    said = run("audit", "--cudnn", NEW, "--json", *FEW)
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert set(data) == {"releases", "contradictions"}
    (release,) = data["releases"]
    assert release["release"] == NEW
    zero, length, projection = release["findings"]
    assert (zero["rule"], zero["verdict"], zero["kind"]) == (
        "SET-PROJ-ZERO",
        "contradicted",
        "rule",
    )
    assert zero["example"] == {
        "problem": "proj_size=0",
        "status": "BAD_PARAM",
        "reason": "projSize <= 0",
    }
    assert (zero["grade"], zero["grade_means"]) == ("A", "NVIDIA's own header or page was read")
    assert length["otherwise_where"] == ["layout=seq_major_packed"]
    assert (projection["kind"], projection["also_accepted"]) == ("framework", [])


def test_the_folder_holds_a_table_and_a_page(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "audit"
    assert run("audit", "--cudnn", NEW, *FEW, "--out", out).code == 0
    assert sorted(p.name for p in out.iterdir()) == ["README.md", "audit.parquet"]
    frame = pd.read_parquet(out / "audit.parquet")
    assert list(frame.columns) == [c.name for c in TABLES["audit"]]
    assert list(frame["rule"]) == ["SET-PROJ-ZERO", "DD-LEN-ZERO-NEW", "PT-PROJECTION"]
    assert list(frame["verdict"]) == ["contradicted", "partly", "agrees"]
    assert list(frame["conditions"].dropna()) == ["layout=seq_major_packed"]
    assert set(frame["release"]) == {NEW}
    assert set(frame["provenance"]) == {"observed"}
    page = (out / "README.md").read_text("utf-8")
    command = f"$ pyharness audit --cudnn {NEW} {' '.join(FEW)} --out {out}"
    assert command in page
    assert "proj_size=0  -> BAD_PARAM" in page
    assert run("audit", "--cudnn", NEW, *FEW, "--out", out).code == 0  # made anew


def test_the_folder_is_looked_at_before_the_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyharness.api import auditing

    def work(*_: object) -> None:
        raise AssertionError("the work was started")

    monkeypatch.setattr(auditing, "audit_releases", work)
    other, file = tmp_path / "other", tmp_path / "file"
    other.mkdir()
    for notes in (other / "notes.txt", file):
        notes.write_text("mine", "utf-8")
    said = run("audit", "--cudnn", NEW, *FEW, "--out", other)
    assert said.code == 2
    assert "holds notes.txt" in said.err
    assert sorted(p.name for p in other.iterdir()) == ["notes.txt"]
    for out in (file, file / "x", Path("/proc/x")):
        said = run("audit", "--cudnn", NEW, *FEW, "--out", out)
        assert (said.code, said.out) == (2, "")
        assert f"{out} cannot be used as a folder for tables: " in said.err
        assert "give another --out" in said.err
    assert file.read_text("utf-8") == "mine"


def test_a_folder_that_was_made_for_nothing_is_gone_again(run: Run, tmp_path: Path) -> None:
    said = run("audit", "--cudnn", "99.1", "--out", tmp_path / "a" / "b")
    assert said.code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_set_of_releases_is_named_on_the_page(
    run: Run, tmp_path: Path, fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyharness import releases

    class Entry:
        name = NEW

    monkeypatch.setattr(releases, "list_cached", lambda: [Entry])
    out = tmp_path / "an audit"
    said = run("audit", "--cudnn", fake, "--all-cached", "--rule", "LEGACY-GONE", "--out", out)
    assert said.code == 0
    page = (out / "README.md").read_text("utf-8")
    command = f"pyharness audit --cudnn {fake} --all-cached --rule LEGACY-GONE --out '{out}'"
    assert f"$ {command}\n```" in page
    assert re.search(r"^On \d{4}-\d\d-\d\d that came to 2 releases\.$", page, re.M)


def test_each_release_is_tried_once(run: Run, cudnn: Callable[[str], Release]) -> None:
    path = cudnn(NEW).path
    for first, name in ((NEW, NEW), (path, None)):
        given = (first, NEW.partition("+")[0], NEW, path)
        words = [word for release in given for word in ("--cudnn", release)]
        said = run("audit", *words, "--rule", "LEGACY-GONE", "--json")
        assert said.code == 0
        (release,) = json.loads(said.out)["releases"]
        assert name is None or release["release"] == name


@pytest.mark.parametrize(
    ("gates", "code"),
    [("contradicted", 3), ("partly,wider", 3), ("wider", 0), ("cannot_be_told", 0), ("agrees", 3)],
)
def test_a_gate(run: Run, gates: str, code: int) -> None:
    said = run("audit", "--cudnn", NEW, *FEW, "--fail-on", gates)
    assert said.code == code
    assert said.err.startswith("gate: ") == (code == 3)
    assert "SET-PROJ-ZERO" in said.out  # what was found is printed all the same


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("--rule", "SET-PROJ-ZER"), "unknown rule 'SET-PROJ-ZER'", "did you mean SET-PROJ-ZERO"),
        (("--fail-on", "contradictd"), "unknown verdict 'contradictd'", "contradicted"),
        (("--cudnn", "99.1"), "unknown release '99.1'", ""),
    ],
)
def test_what_is_wrong_is_said(run: Run, words: tuple[str, ...], message: str, hint: str) -> None:
    said = run("audit", *(() if "--cudnn" in words else ("--cudnn", NEW)), *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {message}")
    assert hint in said.err


def test_no_release_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = run("audit")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: no release to audit")
    assert "--all-cached" in said.err
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    said = run("audit", "--all-cached")
    assert said.code == 2
    assert "none is cached" in said.err


def test_all_that_is_cached(run: Run, fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyharness import releases

    class Entry:
        name = str(fake)

    monkeypatch.setattr(releases, "list_cached", lambda: [Entry, Entry])
    said = run("audit", "--all-cached", "--rule", "SET-HID-POS", "--json")
    assert said.code == 0
    (release,) = json.loads(said.out)["releases"]
    assert release["findings"][0]["verdict"] == "holds"


def test_all_releases_are_those_of_the_index_but_the_yanked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from pyharness.releases import index

    offers = [("8.9.7.29", False), ("9.28.0.42", False), ("9.28.0.42", False), ("9.1.0.70", True)]
    monkeypatch.setattr(
        index, "list_offers", lambda: [SimpleNamespace(version=v, yanked=y) for v, y in offers]
    )
    said = run("audit", "--all-releases", "--rule", "SET-HID-POS", "--json")
    assert said.code == 0
    assert [r["release"] for r in json.loads(said.out)["releases"]] == [OLD, NEW]


def test_a_release_that_cannot_be_used_is_said_beside_the_others(
    run: Run, fake: Path, build: object
) -> None:
    assert callable(build)
    dying = build("DIES_ON_LOAD")
    said = run("audit", "--cudnn", dying, "--cudnn", fake, "--rule", "SET-HID-POS")
    assert said.code == 1
    assert "SET-HID-POS" in said.out
    assert said.err.startswith(f"not audited: {dying}: ")
