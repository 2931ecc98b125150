"""The atlas: every answer comes back, a job goes on, and the cache is left as it was."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyharness.api import atlas as atlas_module
from pyharness.api.atlas import fold, make_atlas
from pyharness.api.atlas_files import alike
from pyharness.api.mapping import MapOptions, map_release
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release
from pyharness.releases.cache import cache_dir, find_cached
from pyharness.releases.index import Offer
from pyharness.releases.manifest import MANIFEST_NAME, Manifest, write_manifest
from pyharness.releases.wheel import Member
from pyharness.space.grid import Space, make_grid
from pyharness.space.presets import build_space
from pyharness.spec.calls import call_named
from pyharness.spec.ledger import FAILED
from pyharness.store import atlas as store
from pyharness.store.atlas import Atlas, FoldedGrid, folded_row, read_atlas, write_atlas
from pyharness.store.reading import GridStatuses, MapFolder
from pyharness.store.schema import write_rows
from tests.doubles import rules

CALL = "cudnnSetRNNDescriptor_v8"
AXES = {
    "algo": "0,1",
    "cell_mode": "2,3",
    "data_type": "0,1",
    "hidden_size": "-1,64",
    "proj_size": "same,half,over",
    "aux_flags": "0..2",
}
SPACE = build_space(None, CALL, [f"{name}={values}" for name, values in AXES.items()])
WILD = build_space(None, CALL, ["hidden_size=64,666", "proj_size=same,over"])  # 666 is a crash
ONE = MapOptions(walkers=1)


def put_into_cache(version: str, library: Path) -> Release:
    """A library as a complete release of the cache."""
    name, content = "libcudnn.so.9", library.read_bytes()
    folder = cache_dir() / "releases" / f"{version}+cu12"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(content)
    member = Member(name, len(content), hashlib.sha256(content).hexdigest())
    write_manifest(Manifest(version, 12, False, {}, (member,), {}), folder / MANIFEST_NAME)
    cached = find_cached(f"{version}+cu12")
    assert cached
    return cached.release()


class Index:
    """An index that has every version, and hands out one library; it counts."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.fetched: list[str] = []

    def plan(self, text: str) -> Release | Offer:
        version = text.removesuffix("+cu12")
        cached = find_cached(f"{version}+cu12")
        return cached.release() if cached else Offer("p", version, 12, "f.whl", "")

    def fetch(self, offer: Offer, progress: object) -> Release:
        del progress
        # One at a time: what was fetched before has left the disk.
        assert not [version for version in self.fetched if find_cached(f"{version}+cu12")]
        self.fetched.append(offer.version)
        return put_into_cache(offer.version, self.library)


@pytest.fixture
def index(fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    made = Index(fake)
    monkeypatch.setattr(atlas_module, "plan", made.plan)
    monkeypatch.setattr(atlas_module, "fetch", made.fetch)
    return made


def answers(space: Space = SPACE, *, tame: bool = False) -> list[str | None]:
    """The status of every problem by the rules of the fake library; None: it died."""
    (grid,) = space.grids
    said = []
    for row in range(grid.size):
        at, word = grid.at(row), grid.words(row)["proj_size"]
        answer = rules.descriptor({**at, "proj_size": word}, tame=tame)
        said.append(None if isinstance(answer, str) else rules.NAMES[answer[0]])
    return said


def told(folded: FoldedGrid) -> list[str | None]:
    """The status of every problem, one by one."""
    grid = folded.grid
    return [folded.status(grid.digits(row)) for row in range(grid.size)]


def named(statuses: GridStatuses) -> list[str | None]:
    return [None if c == FAILED else statuses.names[c] for c in statuses.codes.reshape(-1)]


def read(folder: Path) -> Atlas:
    found = read_atlas(folder)
    assert found is not None
    return found


def content(folder: Path) -> tuple[Any, ...]:
    """What an atlas says, without what differs from run to run."""
    found = read(folder)
    return (
        found.names,
        found.steps,
        found.fetched,
        {key: told(f) for key, f in found.folds.items()},
        found.rows["reasons"],
        found.rows["atlas_steps"],
        [(r["release"], r["call"], r["answer"]) for r in found.rows["costs"]],
    )


@settings(max_examples=50)
@given(st.data())
def test_a_fold_gives_back_every_status(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    grid = make_grid(call_named(CALL), {"algo": "0..2", "cell_mode": "0..2", "hidden_size": "1..3"})
    names = [f"STATUS_{i}" for i in range(data.draw(st.integers(1, 40)))]
    code = st.sampled_from([*range(len(names)), FAILED])
    drawn = data.draw(st.lists(code, min_size=grid.size, max_size=grid.size))
    codes = np.array(drawn, np.uint8).reshape(grid.shape)
    folded = fold(GridStatuses(grid, codes, names, None, [""]))
    expected = [None if c == FAILED else names[c] for c in drawn]
    assert told(folded) == expected
    assert folded.counts() == {s: expected.count(s) for s in set(expected)}
    kept = folded_row("r", folded)
    assert (kept["accepted"], kept["failed"]) == (0, expected.count(None))
    assert kept["refused"] == grid.size - kept["failed"]
    folder = tmp_path_factory.mktemp("atlas")
    entry = {"name": "9.1.0.1+cu12", "absent_calls": []}
    made = Atlas(Space("s", (grid,)), [entry], folds={("9.1.0.1+cu12", CALL): folded})
    write_atlas(made, folder)
    back = read(folder).folds["9.1.0.1+cu12", CALL]
    assert told(back) == named(back.unfolded()) == expected
    assert back.answers_as(folded)
    renamed = FoldedGrid(grid, folded.classes, folded.cells, [f"OTHER_{name}" for name in names])
    assert renamed.answers_as(folded) == (set(expected) == {None})
    other = codes.copy()
    other.flat[data.draw(st.integers(0, grid.size - 1))] ^= 0x80  # no status drawn has that code
    names_of_all = [*names, *(f"OTHER_{i}" for i in range(255 - len(names)))]
    assert not fold(GridStatuses(grid, other, names_of_all, None, [""])).answers_as(folded)


def test_a_step_of_which_rows_are_missing_is_found_anew(tmp_path: Path) -> None:
    """A job may have been cut off between the table and what says how many rows it has."""
    grid = make_grid(call_named(CALL), {"algo": "0"})
    fold_of_all = fold(GridStatuses(grid, np.zeros(grid.shape, np.uint8), ["S"], None, [""]))
    names = ("9.1.0.1+cu12", "9.2.0.1+cu12")
    made = Atlas(
        Space("s", (grid,)),
        [{"name": name, "absent_calls": []} for name in names],
        [names],
        folds={(name, CALL): fold_of_all for name in names},
    )
    sides = dict(zip(("release_a", "release_b"), names, strict=True))
    steps = [{**sides, "change": "enumerator_added", "what": what} for what in "ab"]
    made.rows["atlas_steps"] = steps
    write_atlas(made, tmp_path)
    assert (read(tmp_path).steps, len(read(tmp_path).rows["atlas_steps"])) == ([names], 2)
    write_rows(tmp_path / "atlas_steps.parquet", "atlas_steps", steps[:1])
    assert (read(tmp_path).steps, read(tmp_path).rows["atlas_steps"]) == ([], [])


def test_what_was_fetched_goes_and_what_was_cached_stays(
    index: Index, fake: Path, tmp_path: Path
) -> None:
    put_into_cache("9.1.0.1", fake)
    run = make_atlas(["9.2.0.1", "9.1.0.1"], tmp_path / "a", SPACE, ONE)
    assert (run.added, run.kept, run.failed) == (["9.2.0.1+cu12", "9.1.0.1+cu12"], [], [])
    assert index.fetched == ["9.2.0.1"]
    assert find_cached("9.1.0.1+cu12")
    assert not find_cached("9.2.0.1+cu12")
    assert not list((tmp_path / "cache" / "releases").glob("*9.2.0.1+cu12.leaving"))
    found = read(tmp_path / "a")
    assert found.names == ["9.1.0.1+cu12", "9.2.0.1+cu12"]  # the oldest first
    for name in found.names:
        assert told(found.folds[name, CALL]) == answers()
    visible = {f.name for f in (tmp_path / "a").iterdir() if f.name != ".lock"}
    tables = ("atlas", "atlas_axes", "atlas_rules", "atlas_steps", "costs", "reasons")
    assert visible == {"atlas.json", "README.md", "history.html", *(f"{t}.parquet" for t in tables)}
    # Both answer alike, though their statuses may be numbered otherwise.
    assert [span.releases for span in alike(found)] == [found.names]
    assert alike(found)[0].accepted[CALL] == (answers().count("SUCCESS"), SPACE.size)
    again = make_atlas(["9.2.0.1", "9.1.0.1"], tmp_path / "a", SPACE, ONE)
    assert (again.added, len(again.kept), len(index.fetched)) == ([], 2, 1)
    make_atlas(["9.3.0.1", "9.4.0.1"], tmp_path / "b", SPACE, ONE)  # see Index.fetch
    assert index.fetched == ["9.2.0.1", "9.3.0.1", "9.4.0.1"]


@pytest.fixture(scope="module")
def whole(fake: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """What the same job leaves that nothing cuts off."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYHARNESS_CACHE", str(folder / "cache"))
        put_into_cache("9.1.0.1", fake)
        put_into_cache("9.2.0.1", fake)
        make_atlas(["9.1.0.1", "9.2.0.1"], folder / "a", SPACE, ONE)
    return content(folder / "a")


@pytest.mark.parametrize(
    ("module", "function", "at"),
    [
        (atlas_module, "fetch", 1),
        (atlas_module, "map_release", 2),
        (atlas_module, "write_atlas", 2),
        (atlas_module, "remove", 1),
        (store, "write_rows", 8),
        (store, "write_head", 2),
    ],
)
def test_a_job_that_was_cut_off_ends_as_if_nothing_had_been(
    index: Index,
    fake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    module: Any,
    function: str,
    at: int,
    whole: tuple[Any, ...],
) -> None:
    put_into_cache("9.1.0.1", fake)
    asked = ["9.1.0.1", "9.2.0.1"]
    real, calls = getattr(module, function), 0

    def cut_off(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(module, function, cut_off)
        with pytest.raises(KeyboardInterrupt):
            make_atlas(asked, tmp_path / "cut", SPACE, ONE)
    before = read(tmp_path / "cut").names
    run = make_atlas(asked, tmp_path / "cut", SPACE, ONE)
    assert run.kept == before
    assert content(tmp_path / "cut") == whole
    assert (tmp_path / "cut" / "README.md").exists()
    assert find_cached("9.1.0.1+cu12")
    assert not any(find_cached(f"{version}+cu12") for version in asked[1:])


def test_a_step_is_what_changed_and_a_release_in_between_parts_it(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del index
    make_atlas(["9.1.0.1"], tmp_path / "a", WILD, ONE)
    monkeypatch.setenv("FAKE_CUDNN_TAME", "1")
    make_atlas(["9.3.0.1"], tmp_path / "a", WILD, ONE)
    died = [b for a, b in zip(answers(WILD), answers(WILD, tame=True), strict=True) if a is None]
    expected = {
        ("no_longer_failed", None, status, died.count(status), "yes") for status in set(died)
    }

    def steps() -> dict[tuple[str, str], set[tuple[Any, ...]]]:
        found = read(tmp_path / "a")
        made: dict[tuple[str, str], set[tuple[Any, ...]]] = {step: set() for step in found.steps}
        for r in found.rows["atlas_steps"]:
            if r["rows"]:
                told = (r["change"], r["status_a"], r["status_b"], r["rows"], r["proven"])
                made[r["release_a"], r["release_b"]].add(told)
        return made

    first, between, last = (f"9.{n}.0.1+cu12" for n in (1, 2, 3))
    assert steps() == {(first, last): expected}
    assert len(alike(read(tmp_path / "a"))) == 2
    make_atlas(["9.2.0.1"], tmp_path / "a", WILD, ONE)
    assert steps() == {(first, between): expected, (between, last): set()}
    rows = read(tmp_path / "a").rows["atlas_steps"]
    whats = {r["what"] for r in rows if r["rows"]}
    assert whats
    assert all("hidden_size=666" in what for what in whats)
    page = (tmp_path / "a" / "README.md").read_text()
    assert f"| {first} | {between} | {CALL} | no_longer_failed SUCCESS |" in page
    assert f"| {between} .. {last} | " in page


def test_a_call_that_goes_is_a_step(
    index: Index, build: Callable[..., Path], tmp_path: Path
) -> None:
    space = build_space("clip", None, [])
    make_atlas(["9.1.0.1"], tmp_path / "a", space, ONE)
    index.library = build("WITHOUT_OPTIONAL")
    make_atlas(["9.2.0.1"], tmp_path / "a", space, ONE)
    found = read(tmp_path / "a")
    gone = set(found.releases[1]["absent_calls"])
    assert gone
    rows = found.rows["atlas_steps"]
    assert {r["call"] for r in rows if r["change"] == "call_removed"} == gone
    assert {call for name, call in found.folds if name == "9.2.0.1+cu12"} == (
        {g.call.name for g in space.grids} - gone
    )


def test_a_release_that_cannot_be_used_is_told_and_dropped(
    index: Index, build: Callable[..., Path], fake: Path, tmp_path: Path
) -> None:
    put_into_cache("9.1.0.1", fake)
    index.library = build("UNLOADABLE")
    run = make_atlas(["9.2.0.1", "9.1.0.1"], tmp_path / "a", SPACE, ONE)
    assert run.added == ["9.1.0.1+cu12"]
    ((name, why),) = run.failed
    assert name == "9.2.0.1+cu12"
    assert why
    assert not find_cached(name)
    assert read(tmp_path / "a").fetched == []
    with pytest.raises(HarnessError, match="cannot"):
        make_atlas(["9.2.0.1"], tmp_path / "b", SPACE, ONE)


def test_what_it_refuses(index: Index, fake: Path, tmp_path: Path) -> None:
    put_into_cache("9.1.0.1", fake)
    with pytest.raises(UsageError, match="'nine' is not a version"):
        make_atlas(["9.1.0.1", "nine"], tmp_path / "a", SPACE, ONE)
    assert not (tmp_path / "a").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match=r"holds letter\.txt, but no atlas"):
        make_atlas(["9.1.0.1"], tmp_path / "mine", SPACE, ONE)
    make_atlas(["9.1.0.1"], tmp_path / "a", SPACE, ONE)
    with pytest.raises(UsageError, match="an atlas of other problems"):
        make_atlas(["9.1.0.1"], tmp_path / "a", build_space("clip", None, []), ONE)
    for table in ("atlas", "atlas_axes"):
        shutil.copytree(tmp_path / "a", tmp_path / table)
        (tmp_path / table / f"{table}.parquet").unlink()
        with pytest.raises(UsageError, match="no atlas that can be read"):
            make_atlas(["9.1.0.1"], tmp_path / table, SPACE, ONE)
    (tmp_path / "a" / "atlas.json").write_text("{")
    with pytest.raises(UsageError, match="no atlas that can be read"):
        make_atlas(["9.1.0.1"], tmp_path / "a", SPACE, ONE)
    assert index.fetched == []


def test_two_real_releases_have_every_status_of_their_maps(
    cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    data = build_space("data-core", None, ["data_type=float,bfloat16"])
    clip = build_space("clip", None, [])
    few = build_space("descriptor-core", None, ["data_type=all", "math_prec=float", "algo=0"])
    space = Space("some", (*few.grids, *data.grids, *clip.grids))
    versions = ["9.12.0.46+cu12", "9.13.0.50+cu12"]
    releases = [cudnn(version) for version in versions]
    made = make_atlas(versions, tmp_path / "a", space)
    assert made.added == versions
    found = read(tmp_path / "a")
    for release in releases:
        map_release(release, space, tmp_path / release.name)
        apart = MapFolder(tmp_path / release.name)
        for grid in apart.grids:
            folded = found.folds[release.name, grid.call.name]
            assert named(folded.unfolded()) == named(apart.statuses(grid))
        assert find_cached(release.name)  # it was there before
    newly = [r for r in found.rows["atlas_steps"] if r["change"] == "newly_accepted"]
    assert {r["call"] for r in newly} == {CALL, "cudnnSetRNNDataDescriptor"}
    assert all("data_type=bfloat16" in r["what"] for r in newly)
    page = (tmp_path / "a" / "README.md").read_text()
    (row,) = [r for r in newly if r["call"] == CALL]
    assert f"| {CALL} | {row['rows']:,} | 9.13.0.50+cu12 | data_type=bfloat16 |" in page
    assert "every one that has the call" in page
    sizes = [f.stat().st_size for f in (tmp_path / "a").iterdir() if f.is_file()]
    assert sum(sizes) < 100_000
