"""A gate passes only on what was judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.api.diffing import map_folder
from pyharness.releases import Release
from pyharness.space.presets import build_space
from tests.api.test_changes import make_map
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
AXES = {"algo": "0,1", "hidden_size": "0,64"}


def test_reasons_that_were_not_kept_by_row(run: Run, fake: Path, tmp_path: Path) -> None:
    said = run("diff", fake, fake, "--axis", "hidden_size=0,64", "--reasons", "distinct",
               "--fail-on", "other_reason", "--maps", tmp_path / "m",
               "--out", tmp_path / "d")  # fmt: skip
    assert said.code == 2
    assert "cannot tell whether there is any other_reason" in said.err
    assert "Not judged: refused for another reason" in said.out.replace("\n", " ")


def test_the_gate_alone_makes_reasons_be_kept(run: Run, fake: Path, tmp_path: Path) -> None:
    said = run("diff", fake, fake, "--axis", "hidden_size=0,64", "--fail-on", "other_reason",
               "--maps", tmp_path / "m",
               "--out", tmp_path / "d")  # fmt: skip
    assert said.code == 0


def test_costs_of_a_library_that_is_gone(
    run: Run, build: Callable[..., Path], tmp_path: Path
) -> None:
    library = tmp_path / "libcudnn.so.9"
    library.write_bytes(build().read_bytes())
    folder = make_map(library, tmp_path / "a", **AXES).folder
    library.unlink()
    said = run("diff", folder, folder, "--fail-on", "slower", "--out", tmp_path / "d")
    assert said.code == 2
    assert "cannot tell whether there is any slower" in said.err
    assert (
        run("diff", folder, folder, "--fail-on", "newly_refused", "--out", tmp_path / "d").code == 0
    )


def test_a_call_that_came_is_a_change_by_itself(
    run: Run, fake: Path, build: Callable[..., Path], tmp_path: Path
) -> None:
    said = run("diff", build("WITHOUT_OPTIONAL"), fake, "--call", "cudnnRNNSetClip_v9",
               "--fail-on", "call_added", "--maps", tmp_path / "m",
               "--out", tmp_path / "d")  # fmt: skip
    assert said.code == 3
    assert "1 call added: cudnnRNNSetClip_v9" in said.out


def test_a_folder_with_a_map_or_another_diff_is_refused(
    run: Run, fake: Path, tmp_path: Path
) -> None:
    folder = make_map(fake, tmp_path / "a", **AXES).folder
    other = make_map(fake, tmp_path / "b", algo="0").folder
    assert "holds a map" in run("diff", folder, folder, "--out", folder).err
    assert run("diff", folder, folder, "--out", tmp_path / "d").code == 0
    assert run("diff", folder, folder, "--out", tmp_path / "d").code == 0  # the same again
    said = run("diff", folder, other, "--out", tmp_path / "d")
    assert (said.code, "holds another diff" in said.err) == (2, True)


def test_two_builds_of_a_version_have_maps_of_their_own(fake: Path, tmp_path: Path) -> None:
    space = build_space(None, None, ["algo=all"])
    folders = set()
    for name in ("one", "two"):
        library = tmp_path / name / "libcudnn.so.9"
        library.parent.mkdir()
        library.write_bytes(fake.read_bytes())
        release = Release("9.13.0", 12, library, "path")
        folders.add(map_folder(release, space, "all", tmp_path))
    assert len(folders) == 2


@pytest.mark.parametrize("answer", ["accepted", "refused"])
def test_diff_json_names_no_machine_and_no_path(
    run: Run, fake: Path, tmp_path: Path, answer: str
) -> None:
    folder = make_map(fake, tmp_path / "a", **AXES).folder
    run("diff", folder, folder, "--out", tmp_path / "d")
    text = (tmp_path / "d" / "diff.json").read_text("utf-8")
    assert answer in text
    assert str(tmp_path) not in text
    assert str(fake.parent) not in text
