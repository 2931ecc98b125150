"""``--plots``: pictures beside the tables of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pyharness.api import plotting
from pyharness.releases import Release
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
CALL = "cudnnSetRNNDescriptor_v8"
SMALL = ["--call", CALL, "--axis", "hidden_size=0,64", "--axis", "data_type=float,half"]


def names(folder: Path) -> list[str]:
    """The files of a folder, each of which is a picture that can be read."""
    for path in folder.iterdir():
        if path.suffix == ".svg":
            ElementTree.parse(path)
        else:
            assert path.read_bytes().startswith(b"\x89PNG")
    return sorted(path.name for path in folder.iterdir())


def test_a_map_and_a_diff_draw_beside_their_tables(run: Run, fake: Path, tmp_path: Path) -> None:
    one, two, diff = (tmp_path / name for name in ("one", "two", "diff"))
    said = run("map", "--cudnn", fake, *SMALL, "--out", one, "--plots")
    assert (said.code, said.err) == (0, f"Pictures in {one / 'plots'}\n")
    assert names(one / "plots") == [
        f"{name}.{ending}"
        for name in ("costs", "reasons", f"validity-{CALL}")
        for ending in ("png", "svg")
    ]
    assert run("map", "--cudnn", fake, *SMALL, "--out", two).code == 0
    assert not (two / "plots").exists()
    said = run("diff", one, two, "--out", diff, "--plots", "--json")
    assert said.err == f"Pictures in {diff / 'plots'}\n"
    assert json.loads(said.out)["folder"] == str(diff)
    assert names(diff / "plots") == [f"validity-{CALL}.png", f"validity-{CALL}.svg"]


def test_memory_draws_into_its_folder(run: Run, tmp_path: Path) -> None:
    words = ["memory", "--axis", "batch_size=1,2,4", "hidden_size=64"]
    out = tmp_path / "m"
    said = run(*words[:1], *words[3:], *words[1:3], "--out", out, "--plots", "--json")
    assert (said.code, said.err) == (0, f"Pictures in {out / 'plots'}\n")
    assert len(json.loads(said.out)["problems"]) == 6
    assert names(out / "plots") == ["memory.png", "memory.svg"]
    text = "".join(ElementTree.parse(out / "plots" / "memory.svg").getroot().itertext())
    assert "predicted by formula" in text
    assert "batch size" in text


def test_a_picture_that_cannot_be_drawn_is_a_warning(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise KeyError("planted")

    monkeypatch.setitem(plotting._TABLES, "memory", {"memory": broken})
    said = run("memory", "hidden_size=64", "--out", tmp_path / "m", "--plots", "--json")
    assert (said.code, said.err) == (
        0,
        f"nothing in {tmp_path / 'm'} can be drawn\n"
        "warning: the picture memory could not be drawn: KeyError: 'planted'\n",
    )
    assert len(json.loads(said.out)["problems"]) == 2


def test_where_there_is_no_folder_or_no_picture(run: Run, fake: Path, tmp_path: Path) -> None:
    said = run("memory", "hidden_size=64", "--plots")
    assert said.code == 2
    assert "--plots needs a folder" in said.err
    log = tmp_path / "log"
    log.write_text("")
    said = run("map", "--cudnn", fake, "--log", log, "--plots")
    assert said.code == 2
    assert "--plots draws the map of a space" in said.err


def test_an_upgrade_draws_what_both_accept(
    run: Run, cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    sides = [cudnn(version).path for version in ("9.12.0.46", "9.13.0.50")]
    out = tmp_path / "u"
    words = ["upgrade", *sides, "--preset", "clip", "--no-device", "--out", out, "--maps", tmp_path]
    said = run(*words, "--plots")
    assert (said.code, said.err) == (0, f"Pictures in {out / 'plots'}\n")
    clips = [f"validity-cudnnRNNSetClip_v{n}.{ending}" for n in (8, 9) for ending in ("png", "svg")]
    assert [name for name in names(out / "plots") if name in clips] == clips
