"""What an upgrade is made of: its time, its problems, what repeats them, and whose a folder is."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pyharness.api.mapping import MapOptions
from pyharness.api.upgrade_budget import parse_budget
from pyharness.api.upgrade_folder import manifest_of
from pyharness.api.upgrade_problems import commands_of, problems_of
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.space.presets import build_space
from pyharness.spec.problem import parse_problem
from pyharness.spec.recording import Recorded, Recording


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("2 min", 120), ("1h", 3600), ("1.5h", 5400), ("168h", 604800)],
)
def test_a_time_in_seconds(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-1s", "10", "1d", "169h", "1h30m", "nan s"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is no time to spend"):
        parse_budget(text)


def test_the_problems_of_a_log_come_by_their_calls_each_once() -> None:
    def recorded(words: str, **calls: int) -> Recorded:
        return Recorded(
            parse_problem([words]), ("descriptor",), (), "a.log@0", calls=Counter(calls)
        )

    problems = [
        recorded("seed=1", cudnnRNNForward=2),
        recorded("seed=2", cudnnRNNForward=3, cudnnRNNBackwardData_v8=2),
        recorded("seed=1", cudnnRNNForward=1),
        recorded("seed=3", cudnnRNNForward=9),
    ]
    found, times = problems_of(Recording(problems=problems, files=["/x/a.log", "b.log"]))
    assert [p.name for p in found.problems] == ["seed=3", "seed=2", "seed=1"]
    assert times == {"seed=1": 3, "seed=2": 5, "seed=3": 9}
    assert found.name == "log a.log b.log"


def test_what_repeats_a_part_has_all_that_was_asked() -> None:
    limit = ["--timeout", "75"]
    found = commands_of("9.12.0.46", "9.13.0.50", (), "smoke hidden_size=64 seed=2", 1, limit)
    what = "--preset smoke --axis hidden_size=64 --axis seed=2 --device 1 --timeout 75"
    assert found["time"] == [f"pyharness time 9.12.0.46 9.13.0.50 {what}"]
    assert found["drift"] == [f"pyharness drift 9.12.0.46 9.13.0.50 {what}"]
    for part in ("memory", "determinism", "accuracy"):
        assert [shlex.split(c)[1] for c in found[part]] == [part] * 2
    assert [sorted(shlex.split(c)) for c in found["stages"]] == [
        sorted(["pyharness", "map", "--stages", "all", "--cudnn", side, *what.split()])
        for side in ("9.12.0.46", "9.13.0.50")
    ]
    of_logs = commands_of("a", "b", ("my app.log", "b.log"), "smoke", 0, ())
    assert of_logs["time"] == ["pyharness time a b --log 'my app.log' --log b.log"]


def test_a_folder_is_known_by_all_that_its_verdict_rests_on(tmp_path: Path) -> None:
    libraries = tmp_path / "old.so.9", tmp_path / "new.so.9"
    for library in libraries:
        library.write_bytes(b"one")
    versions = zip(("9.12.0.46", "9.13.0.50"), libraries, strict=True)
    old, new = (Release(version, 12, library, "path") for version, library in versions)
    options = MapOptions(1, 10.0, "all")
    space, other = (build_space(name, None, []) for name in ("clip", "state"))
    first = manifest_of(space, ("a.log",), options, old, new).identity
    assert manifest_of(space, (os.path.abspath("a.log"),), options, old, new).identity == first  # noqa: PTH100 - as it is made
    several = [
        manifest_of(other, ("a.log",), options, old, new),
        manifest_of(space, ("b.log",), options, old, new),
        manifest_of(space, (), options, old, new),
        manifest_of(space, ("a.log",), options, old, replace(new, version="9.20.0.48")),
        manifest_of(space, ("a.log",), options, replace(old, version="9.20.0.48"), new),
    ]
    for library in reversed(libraries):
        library.write_bytes(b"another build")
        several.append(manifest_of(space, ("a.log",), options, old, new))
    assert len({first, *(manifest.identity for manifest in several)}) == 1 + len(several)
