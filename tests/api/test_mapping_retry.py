"""What failed because of the circumstances is tried again when they have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness.api.mapping import MapOptions, map_release
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.store.manifest import read_manifest
from tests.doubles.maps import space_of, table

SET = "cudnnSetRNNDescriptor_v8"
PLAIN = MapOptions(1, reasons="none")


def outcomes(folder: Path) -> list[str]:
    return [r["outcome"] for r in table(folder)]


@pytest.mark.parametrize("layers", ["1..3", "1..30"])
def test_a_library_that_was_mended_is_asked_again(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: str
) -> None:
    space = space_of("hidden_size=1,0", f"num_layers={layers}")
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", SET)
    with pytest.raises(HarnessError, match="before they answered a single case"):
        map_release(fake_release, space, tmp_path, PLAIN)
    assert set(outcomes(tmp_path)) == {"failed"}
    assert read_manifest(tmp_path).state == "stopped"
    monkeypatch.delenv("FAKE_CUDNN_ABORT_IN")
    manifest = map_release(fake_release, space, tmp_path, PLAIN)
    half = space.size // 2
    assert manifest.state == "complete"
    assert outcomes(tmp_path) == ["passed"] * half + ["unsupported"] * half


def test_a_finished_map_with_failures_is_made_anew_elsewhere(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = space_of("hidden_size=1,668,0")
    map_release(fake_release, space, tmp_path, PLAIN)
    assert outcomes(tmp_path) == ["passed", "failed", "unsupported"]
    monkeypatch.setenv("FAKE_CUDNN_TAME", "1")  # not a variable that a map is known by
    map_release(fake_release, space, tmp_path, PLAIN)
    assert outcomes(tmp_path) == ["passed", "failed", "unsupported"]
    map_release(fake_release, space, tmp_path, MapOptions(1, timeout_s=7, reasons="none"))
    assert outcomes(tmp_path) == ["passed", "passed", "unsupported"]


def test_statuses_that_nobody_could_name_yet_are_named_on_resume(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes after rows are in the journal and before the library was asked."""
    space = space_of("hidden_size=1,0,668", "num_layers=1..3000")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pyharness.engine.worker.Worker.status_names", interrupted)
        with pytest.raises(KeyboardInterrupt):
            map_release(fake_release, space, tmp_path, PLAIN)
    monkeypatch.setenv("FAKE_CUDNN_TAME", "1")
    manifest = map_release(fake_release, space, tmp_path, PLAIN)
    assert set(manifest.results["statuses"]) <= {"SUCCESS", "BAD_PARAM", "failed"}
    rows = table(tmp_path)
    assert {r["status"] for r in rows} <= {"SUCCESS", "BAD_PARAM", None}
    assert {r["status"] for r in rows if r["hidden_size"] == 0} == {"BAD_PARAM"}


def test_a_library_that_dies_when_asked_why_still_gives_a_map(
    fake_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = space_of("hidden_size=-5..20", "num_layers=0..3")
    monkeypatch.setenv("FAKE_CUDNN_ABORT_IN", "cudnnGetLastErrorString")
    manifest = map_release(fake_release, space, tmp_path, MapOptions(1))
    assert manifest.state == "complete"
    assert any("reasons, the spot check and costs are missing" in n for n in manifest.notes)
    assert set(outcomes(tmp_path)) == {"passed", "unsupported"}
