"""Every option of ``time``, ``upgrade`` and ``atlas`` reaches what does the work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.api import atlas, driver, time_change, upgrading
from pyharness.api.mapping import MapOptions
from pyharness.api.time_change import TimeOptions
from pyharness.errors import UsageError
from pyharness.releases import Release, locate
from pyharness.space.problems import build_problems
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
Handed = tuple[tuple[Any, ...], dict[str, Any]]


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[Handed]]:
    """Puts a function in another's place that takes what it is given, and gives up."""

    def replaced(module: Any, name: str) -> list[Handed]:
        taken: list[Handed] = []

        def take(*args: Any, **more: Any) -> None:
            taken.append((args, more))
            raise UsageError("that will do", "")

        monkeypatch.setattr(module, name, take)
        return taken

    return replaced


def test_time(
    run: Run,
    handed: Callable[[Any, str], list[Handed]],
    fake_release: Release,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = handed(time_change, "compare_time")
    monkeypatch.setattr(driver, "require_driver", lambda: None)
    monkeypatch.setattr(locate, "resolve", lambda text, **_: (text, fake_release))
    out = tmp_path / "out"
    words = ["time", "9.1", "9.2", "--preset", "smoke", "--axis", "hidden_size=8", "--out", out]
    said = run(
        *words,
        *("--passes", "backward_data", "--modes", "cold,graph", "--processes", "8"),
        *("--margin", "0.05", "--level", "0.01", "--budget", "2m", "--device", "1"),
        *("--timeout", "3", "--resume"),
    )
    assert said.err.startswith("error: that will do")
    ((sides, problems, folder, options), more) = taken[0]
    assert [text for text, _ in sides] == ["9.1", "9.2"]
    assert problems == build_problems("smoke", ["hidden_size=8"])
    assert folder == out
    assert more["resume"] is True
    assert options == TimeOptions(
        processes=8,
        margin=0.05,
        level=0.01,
        budget_s=120,
        passes=("backward_data",),
        modes=("cold", "graph"),
        ordinal=1,
        timeout_s=3,
    )
    run(*words)
    ((*_, options), more) = taken[1]
    assert options == TimeOptions()
    assert more["resume"] is False


def test_upgrade(run: Run, handed: Callable[[Any, str], list[Handed]], tmp_path: Path) -> None:
    taken = handed(upgrading, "upgrade")
    gate = tmp_path / "gate.toml"
    gate.write_text('memory.grown = "7%"\n')
    words = ["upgrade", "9.1", "9.2", "--preset", "clip"]
    run(
        *words,
        *("--problems", "smoke hidden_size=8", "--budget", "2m", "--gate", gate, "--device", "1"),
        *("--out", tmp_path / "out", "--maps", tmp_path / "maps", "--threads", "3"),
        *("--timeout", "4", "--yes"),
    )
    ((request, maps, out, _), _) = taken[0]
    assert (request.old, request.new, request.space.name) == ("9.1", "9.2", "clip")
    assert (request.problems, request.budget_s) == ("smoke hidden_size=8", 120)
    assert (request.device, request.logs) == (1, [])
    assert request.gate.source == str(gate)
    assert request.gate.rules["memory.grown"].limit == 0.07
    assert request.options == MapOptions(3, 4, "all", True)
    assert (maps, out) == (tmp_path / "maps", tmp_path / "out")
    run(*words, "--no-device", "--log", "a.log", "--log", "b.log")
    ((request, *_), _) = taken[1]
    assert (request.device, list(request.logs)) == ("none", ["a.log", "b.log"])
    assert (request.problems, request.budget_s) == (None, 1800)
    run(*words)
    ((request, *_), _) = taken[2]
    assert request.device == "first"


def test_atlas(run: Run, handed: Callable[[Any, str], list[Handed]], tmp_path: Path) -> None:
    taken = handed(atlas, "make_atlas")
    run(
        *("atlas", "--releases", "9.1.0.70, 9.2.0.82", "--preset", "clip", "--out", tmp_path),
        *("--threads", "2", "--timeout", "5"),
    )
    ((versions, folder, space, options, _), _) = taken[0]
    assert (versions, folder, space.name) == (["9.1.0.70", "9.2.0.82"], tmp_path, "clip")
    assert (options.walkers, options.timeout_s) == (2, 5)
