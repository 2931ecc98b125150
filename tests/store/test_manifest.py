"""run.json: what its readers take for granted is checked when it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyharness.errors import UsageError
from pyharness.spec.calls import SET_RNN_DESCRIPTOR
from pyharness.store.manifest import Manifest, read_manifest
from tests.doubles.walking import descriptors

GRID = descriptors(hidden_size="1..3")


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Any]:
    """A finished map's run.json, as plain data."""
    manifest = Manifest(
        kind="map",
        release={
            "asked": "9.13.0",
            "name": "9.13.0",
            "version": None,
            "cuda_major": None,
            "path": "/x/libcudnn.so.9",
            "stamp": None,
            "origin": "path",
        },
        space={
            "name": "x",
            "fingerprint": "abc",
            "grids": [{"call": SET_RNN_DESCRIPTOR.name, "axes": GRID.labels()}],
        },
        reasons="none",
        timeout_s=10,
        state="complete",
        results={"rows": 3, "statuses": {"SUCCESS": 3}, "walk_s": 0.1, "failures": []},
    )
    manifest.write(tmp_path)
    assert read_manifest(tmp_path) == manifest
    loaded: dict[str, Any] = json.loads((tmp_path / "run.json").read_text())
    return loaded


def told(folder: Path, data: Any) -> str:
    """The words for a run.json that cannot be read."""
    (folder / "run.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"run\.json cannot be read: ") as caught:
        read_manifest(folder)
    assert caught.value.hint == "the folder is damaged: map it again elsewhere"
    return caught.value.message.partition("cannot be read: ")[2]


# Where, and what stands there instead; MISSING for nothing at all.
MISSING = "MISSING"
DAMAGE: list[tuple[str, Any, str]] = [
    ("release/asked", MISSING, "run.json: release has no asked"),
    ("release/stamp", 3, "run.json: release: stamp is 3"),
    ("release/version", ["9"], 'run.json: release: version is ["9"]'),
    ("release/cuda_major", True, "run.json: release: cuda_major is true"),
    ("release", None, "run.json: release is null"),
    ("release", MISSING, "run.json has no release"),
    ("space/grids", MISSING, "run.json: space has no grids"),
    ("space/grids", 3, "run.json: space: grids is 3"),
    ("space/grids", [3], "run.json: space: grids is 3"),
    ("space/grids/0/call", MISSING, "run.json: space: grids has no call"),
    ("space/grids/0/axes", ["algo"], 'run.json: space: grids: axes is ["algo"]'),
    ("space/grids/0/axes/algo", MISSING, f"the grid of {SET_RNN_DESCRIPTOR.name} has no algo"),
    ("space/grids/0/axes/algo", 0, f"the grid of {SET_RNN_DESCRIPTOR.name}: algo is 0"),
    ("space/grids/0/axes/algo", [0], f"the grid of {SET_RNN_DESCRIPTOR.name}: algo is 0"),
    (
        "space/grids/0/axes/algo",
        [],
        f"the grid of {SET_RNN_DESCRIPTOR.name} has no value of algo",
    ),
    ("space/fingerprint", MISSING, "run.json: space has no fingerprint"),
    ("schema_version", "1", 'run.json: schema_version is "1"'),
    ("schema_version", True, "run.json: schema_version is true"),
    ("absent_calls", "cudnn", 'run.json: absent_calls is "cudnn"'),
    ("notes", [None], "run.json: notes is null"),
    ("host/cpu", MISSING, "run.json: host has no cpu"),
    ("kind", MISSING, "run.json has no kind"),
    ("state", 1, "run.json: state is 1"),
    ("started", None, "run.json: started is null"),
    ("results", [], "run.json: results is []"),
    ("results/statuses", MISSING, "results has no statuses"),
    ("results/rows", "3", 'results: rows is "3"'),
    ("results/failures", [{}], "results: failures has no call"),
    ("results/spot_check", [{"rows": 1}], "results: spot_check has no changed"),
]


@pytest.mark.parametrize(("where", "value", "words"), DAMAGE, ids=lambda v: str(v)[:30])
def test_damage_is_named(
    tmp_path: Path, data: dict[str, Any], where: str, value: Any, words: str
) -> None:
    *parents, last = where.split("/")
    place: Any = data
    for name in parents:
        place = place[int(name)] if isinstance(place, list) else place[name]
    if value is MISSING:
        del place[last]
    else:
        place[last] = value
    assert told(tmp_path, data) == words


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        ({}, "run.json has no schema_version"),
        ([], "run.json is []"),
        (None, "run.json is null"),
        (3, "run.json is 3"),
        ("map", 'run.json is "map"'),
    ],
)
def test_what_is_no_run_at_all(tmp_path: Path, whole: Any, words: str) -> None:
    assert told(tmp_path, whole) == words


def test_what_an_unfinished_run_has_not_yet_is_not_asked_for(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({**data, "state": "running", "results": {}}))
    assert read_manifest(tmp_path).results == {}


def test_a_call_that_this_version_does_not_know_is_left_to_the_reader(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    data["space"]["grids"].append({"call": "cudnnOfTomorrow", "axes": {}})
    (tmp_path / "run.json").write_text(json.dumps(data))
    assert len(read_manifest(tmp_path).space["grids"]) == 2
