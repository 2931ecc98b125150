"""``pyharness upgrade``: verdict, gate and exit code, on planted changes and on real releases."""

from __future__ import annotations

import errno
import json
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pyharness
from pyharness.api import diffing, upgrading
from pyharness.api.upgrade_problems import lasting
from pyharness.releases import Release
from pyharness.spec.axes import parse_values
from pyharness.spec.calls import all_axes
from pyharness.spec.seq_lengths import resolve_seq_lengths
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.doubles import rules
from tests.doubles.build import build_planted_data
from tests.emulator.build import EmulatedRelease
from tests.logs.items import random_item, record

run = test_main.run  # the fixture
OLD, NEW = "9.12.0.46", "9.13.0.50"
DATA = ("--preset", "data-core")
PASSED = "PASSED: nothing is worse by the gate; 4 of 5 questions are not measured."
MEASURED_ELSEWHERE = ["time", "memory", "repeatability", "accuracy"]


@pytest.fixture(autouse=True)
def untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cost of a call is in the verdict and no report is looked at, so none is made here."""
    monkeypatch.setattr(diffing, "time_in_turn", lambda *_: None)
    monkeypatch.setattr(upgrading, "write_report", lambda *_: [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the maps of a module's tests lie, so that each library is mapped once."""
    return tmp_path_factory.mktemp("upgrades")


@pytest.fixture(scope="module")
def planted(shared_tmp: Path) -> Callable[..., Path]:
    """Builds the library with these changes planted."""
    return lambda *defines: build_planted_data(shared_tmp / "planted-data", *defines)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]) -> Path:
    """Doubles in a batch of two, three times; floats; packed and unsorted, which is refused."""
    data = {"only": "data", "max_seq_length": 5, "vector_size": 8}
    two = {**data, "data_type": 1, "layout": 0, "seq_lengths": [5, 5]}
    floats = {**data, "data_type": 0, "layout": 0, "seq_lengths": [5, 4, 3]}
    unsorted = {**data, "data_type": 0, "layout": 1, "seq_lengths": [3, 5]}
    target = tmp_path_factory.mktemp("log") / "api.log"
    return record(cudnn("8.9.7.29"), [two, floats, two, unsorted, two], target)


def planted_counts() -> dict[str, int]:
    """Of data-core: what the plain library takes of doubles by two, and refuses as unsupported."""
    patterns = parse_values(all_axes()["seq_lengths"], "all")
    counts = {"newly_refused": 0, "newly_accepted": 0}
    for pattern, longest, batch, layout in product(
        patterns, (1, 16, 65535, 65536), (1, 2, 8), range(3)
    ):
        lengths = resolve_seq_lengths(pattern, longest, batch)
        status, _ = rules.data(layout, longest, batch, lengths)
        alike = 2 * 2  # widths and fills, which decide nothing
        if status == 0 and batch == 2:
            counts["newly_refused"] += alike
        if status == rules.NOT_SUPPORTED:
            counts["newly_accepted"] += alike * 4  # data types
    return counts


def verdict(said: test_main.Said) -> tuple[dict[str, Any], dict[str, str]]:
    """The document, and each question's word."""
    data = json.loads(said.out)
    return data, {q["question"]: q["word"] for q in data["questions"]}


@pytest.mark.parametrize(
    ("defines", "word", "changes", "code"),
    [
        ((), "same", (), 0),
        (("REFUSES",), "worse", ("newly_refused",), 3),
        (("ACCEPTS",), "better", ("newly_accepted",), 0),
        (("REFUSES", "ACCEPTS"), "mixed", ("newly_refused", "newly_accepted"), 3),
    ],
)
def test_what_was_planted_is_the_verdict(
    run: Run,
    fake: Path,
    planted: Callable[..., Path],
    folder: Path,
    tmp_path: Path,
    defines: tuple[str, ...],
    word: str,
    changes: tuple[str, ...],
    code: int,
) -> None:
    words = ["upgrade", fake, planted(*defines), *DATA, "--maps", folder, "--out", tmp_path / "u"]
    said = run(*words, "--json")
    assert (said.code, said.err) == (code, "")
    data, found = verdict(said)
    assert found == {"validity": word, **dict.fromkeys(MEASURED_ELSEWHERE, "not_measured")}
    assert data["gate"]["word"] == ("failed" if code else "passed")
    (source,) = data["questions"][0]["evidence"]
    expected = planted_counts()
    assert source["counts"] == {change: expected[change] for change in changes}
    assert sum(f["problems"] for f in source["findings"]) == sum(source["counts"].values())
    assert source["compared"] == 4608
    for question in data["questions"][1:]:
        assert question["why"]
        assert question["commands"]
    kept = json.loads((tmp_path / "u" / "upgrade.json").read_text())
    assert data == {"folder": str(tmp_path / "u"), **kept}
    manifest = json.loads((tmp_path / "u" / "run.json").read_text())
    assert (manifest["kind"], manifest["state"]) == ("upgrade", "complete")
    rows = pq.read_table(tmp_path / "u" / "diff" / "changes.parquet").to_pylist()
    assert sum(r["change"] in changes for r in rows) == sum(source["counts"].values())


def test_a_crash_and_another_status(
    run: Run, fake: Path, planted: Callable[..., Path], folder: Path, tmp_path: Path
) -> None:
    library = planted("CRASHES", "RESTATES")
    said = run("upgrade", fake, library, *DATA, "--maps", folder, "--out", tmp_path / "u")
    assert said.code == 3
    lines = said.out.splitlines()
    # Batches of one, 16 steps, one width, a fill: equal, descending, unsorted and one_zero or
    # all_zero or trailing_zeros are all taken there, over_max and negative are not.
    assert lines[1] == "WORSE: 6 problems newly failing."
    restated = planted_counts()["newly_accepted"]
    assert f"  Refused as before, with another status: {restated:,}" in lines
    assert "    cudnnSetRNNDataDescriptor  6: SUCCESS -> failed" in lines
    assert max(len(line) for line in lines[:-1] if " pyharness " not in line) <= 90


def test_a_call_that_is_gone_and_one_that_came(
    run: Run, fake: Path, build: Callable[..., Path], folder: Path, tmp_path: Path
) -> None:
    sides = fake, build("WITHOUT_OPTIONAL")
    common = ("--preset", "clip", "--maps", folder)
    there = run("upgrade", *sides, *common, "--out", tmp_path / "there")
    assert there.code == 3
    assert there.out.splitlines()[1] == "WORSE: 1 call gone."
    back = run("upgrade", *sides[::-1], *common, "--out", tmp_path / "back", "--json")
    assert (back.code, verdict(back)[1]["validity"]) == (0, "better")
    gate = tmp_path / "g.toml"
    gate.write_text('\ufeffvalidity.call_removed = "none"\n')  # as some editors begin a file
    said = run("upgrade", *sides, *common, "--out", tmp_path / "there", "--gate", gate)
    assert said.code == 0
    assert said.out.splitlines()[1] == PASSED


def test_a_log_decides_where_there_is_one(
    run: Run, fake: Path, planted: Callable[..., Path], folder: Path, log: Path, tmp_path: Path
) -> None:
    words = ["upgrade", fake, planted("REFUSES"), *DATA, "--maps", folder, "--log", log, "--out"]
    said = run(*words, tmp_path / "u")
    assert said.code == 3
    lines = said.out.splitlines()
    assert lines[1] == "WORSE: 1 problem of the log newly refused."
    assert "    3 calls: " in said.out
    assert f"  $ pyharness explain --cudnn {planted('REFUSES')} --log {log}" in lines
    assert "SUCCESS -> NOT_SUPPORTED: double in batches of two" in " ".join(said.out.split())
    data = json.loads((tmp_path / "u" / "upgrade.json").read_text())
    own, space = data["questions"][0]["evidence"]
    assert (own["scope"], own["compared"], own["counts"]) == ("log", 3, {"newly_refused": 1})
    assert own["findings"][0]["times"] == 3
    assert space["counts"]["newly_refused"] == planted_counts()["newly_refused"]
    replayed = pq.read_table(tmp_path / "u" / "replay" / "recorded.parquet").to_pylist()
    assert len(replayed) == 3

    # What the log does not have may be refused.
    words = ["upgrade", fake, planted("REFUSES"), *DATA, "--maps", folder, "--log"]
    other = tmp_path / "other.log"
    other.write_bytes(log.read_bytes().replace(b"CUDNN_DATA_DOUBLE (1)", b"CUDNN_DATA_FLOAT (0)"))
    passed = run(*words, other, "--out", tmp_path / "o", "--json")
    assert (passed.code, verdict(passed)[1]["validity"]) == (0, "worse")
    gate = tmp_path / "g.toml"
    gate.write_text('[validity]\nnewly_refused = "any"\n')
    assert run(*words, other, "--out", tmp_path / "o", "--gate", gate).code == 3
    gate.write_text("".join(f'validity.{c} = "none"\n' for c in ("newly_refused", "newly_failed")))
    nothing = run(*words, other, "--out", tmp_path / "o", "--gate", gate)
    assert nothing.code == 0
    assert nothing.out.splitlines()[1].startswith("NOT JUDGED: the gate asks for nothing")


def test_what_cannot_be_asked_is_inconclusive(
    run: Run, fake: Path, folder: Path, tmp_path: Path, cudnn: Callable[[str], Release]
) -> None:
    item = {**random_item(random.Random(1)), "direction_mode": 1, "cell_mode": 3}
    item.update(hidden_size=7777, proj_size=7777, data_type=0, math_prec=0)
    item.pop("clip", None)
    log = record(cudnn(OLD), [item], tmp_path / "api.log")
    # y is twice as wide as h: wider than any descriptor can say.
    log.write_text(log.read_text().replace("15554", "4000000000").replace("7777", "2000000000"))
    words = ["upgrade", fake, fake, *DATA, "--maps", folder, "--out", tmp_path / "u", "--log", log]
    said = run(*words)
    assert said.code == 4
    told = f"INCONCLUSIVE: validity: 1 of 1 problems of {log} cannot be told."
    assert told in " ".join(said.out.split())
    assert "Not compared, because a call cannot be made: 1" in said.out
    data, found = verdict(run(*words, "--json"))
    assert (found["validity"], data["gate"]["word"]) == ("inconclusive", "inconclusive")


def test_the_same_upgrade_again_maps_nothing_and_another_is_refused(
    run: Run, fake: Path, planted: Callable[..., Path], tmp_path: Path
) -> None:
    maps, out = tmp_path / "maps", tmp_path / "u"
    words = ["upgrade", fake, planted("ACCEPTS"), *DATA, "--maps", maps, "--out", out, "--json"]
    first = run(*words)
    made = {p: p.stat().st_mtime_ns for p in maps.rglob("run.json")}
    assert len(made) == 2
    again = run(*words)
    told, before = (json.loads(said.out) for said in (again, first))
    assert {**told, "spent_s": 0} == {**before, "spent_s": 0}
    assert {p: p.stat().st_mtime_ns for p in maps.rglob("run.json")} == made
    other = run("upgrade", fake, fake, *DATA, "--maps", maps, "--out", out)
    assert other.code == 2
    assert "holds the upgrade of other releases, problems or logs" in other.err
    side = run("diff", out, fake, *DATA)
    assert (side.code, "not a map" in side.err) == (2, True)


def test_a_folder_that_is_called_like_a_release_is_not_taken_for_it(
    run: Run, fake: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("map", "--cudnn", fake, "--preset", "clip", "--out", OLD).code == 0
    said = run("upgrade", OLD, fake, "--preset", "clip", "--maps", folder, "--out", "u", "--json")
    data, _ = verdict(said)
    assert data["release_a"] == f"{OLD}+cu12"
    assert data["questions"][0]["evidence"][0]["counts"]  # it is not the fake against itself


def test_a_full_disk_is_told_and_the_same_command_goes_on(
    run: Run, fake: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, write = tmp_path / "u", Path.write_text
    words = ["upgrade", fake, fake, *DATA, "--maps", folder, "--out", out, "--json"]

    def full(path: Path, *args: Any) -> int:
        if "upgrade.json" in path.name:
            write(path, "{")
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        said = run(*words)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"error: {out} cannot take more data: No space left on device\n")
    assert json.loads((out / "run.json").read_text())["state"] == "running"
    assert not list(out.rglob("*.part"))
    assert not (out / "upgrade.json").exists()
    (out / "report.md").write_text("the report of an earlier call")
    again = run(*words)
    assert (again.code, verdict(again)[1]["validity"]) == (0, "same")
    assert json.loads((out / "run.json").read_text())["state"] == "complete"
    assert not (out / "report.md").exists()  # it is written behind the verdict, here by nobody


def test_a_real_upgrade(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ["upgrade", OLD, NEW, *DATA, "--maps", folder, "--out", tmp_path / "u"]
    said = run(*words)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[:2] == [
        "cuDNN 9.12.0.46+cu12 -> 9.13.0.50+cu12",
        PASSED,
    ]
    assert (tmp_path / "u" / "upgrade.txt").read_text() == "\n".join(lines[:-2]) + "\n"
    assert f"  $ pyharness diff {OLD} {NEW} --preset data-core" in lines
    # bfloat16 since 9.13: the diff that is committed in results/upgrades has the same number.
    assert "    cudnnSetRNNDataDescriptor  524: NOT_SUPPORTED -> SUCCESS" in lines
    assert max(map(len, lines[:-1])) <= 90
    back = run("upgrade", NEW, OLD, *DATA, "--maps", folder, "--out", tmp_path / "back", "--json")
    assert back.code == 3
    data, found = verdict(back)
    assert found["validity"] == "worse"
    assert data["questions"][0]["evidence"][0]["counts"]["newly_refused"] == 524


def test_a_release_that_the_gpu_cannot_run_is_no_pass(
    run: Run,
    fake: Path,
    folder: Path,
    tmp_path: Path,
    cudnn: Callable[[str], Release],
    emulator: Callable[..., EmulatedRelease],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["upgrade", fake, fake, *DATA, "--maps", folder, "--json", "--out"]
    monkeypatch.setenv("PYHARNESS_LIBCUDA", str(tmp_path / "none"))
    assert {q["why"] for q in json.loads(run(*words, tmp_path / "u").out)["questions"][1:]} == {
        "no GPU here"
    }
    for name, value in emulator(cudnn(NEW).path).env.items():
        monkeypatch.setenv(name, value)
    said = run(*words, tmp_path / "there")
    data, found = verdict(said)
    assert (said.code, data["gate"]["word"]) == (4, "inconclusive")
    # The host alone is not all: what was to run on the GPU is open.
    elsewhere = dict.fromkeys(MEASURED_ELSEWHERE, "not_measured")
    assert found == {"validity": "inconclusive", **elsewhere}
    assert [e["word"] for e in data["questions"][0]["evidence"]] == ["same", "inconclusive"]
    assert {p["state"] for p in data["parts"]} == {"stopped"}
    assert {q["why"] for q in data["questions"][1:]} == {p["why"] for p in data["parts"][1:5]}
    left_out = run(*words, tmp_path / "left-out", "--no-device")
    assert left_out.code == 0
    assert {q["why"] for q in json.loads(left_out.out)["questions"][1:]} == {"--no-device is given"}
    other = run(*words, tmp_path / "u")
    assert (other.code, "on another device" in other.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--preset", "nothing"], "unknown preset 'nothing'", "known:"),
        (["--preset", "smoke"], "is a set of problems to run", "here:"),
        (["--problems", "nothing"], "unknown preset 'nothing'", "known:"),
        (["--problems", "host"], "is a space of host calls", "smoke"),
        (["--problems", "smoke", "--log", "text"], "--log brings its own", "--problems out"),
        (["--budget", "30"], "'30' is no time to spend", "30m"),
        (["--budget", "0s"], "'0s' is no time to spend", "more than 0"),
        (["--budget", "-5m"], "'-5m' is no time to spend", "30m"),
        (["--device", "0", "--no-device"], "do not go together", "leave one"),
        (["--device", "3"], "there is no CUDA driver", "doctor"),
        (["--gate", "no.toml"], "no.toml cannot be read: No such file", "TOML"),
        (["--gate", "."], ". cannot be read: Is a directory", "TOML"),
        (["--gate", "bytes"], "bytes cannot be read: it is no text", "TOML"),
        (["--gate", "text"], "text is no TOML", "validity.newly_refused"),
        (["--log", "no.log"], "no.log cannot be read", ""),
        (["--log", "text"], "no entry of a cuDNN API log in text", "CUDNN_LOGLEVEL_DBG"),
        (["--out", "full"], "full is not empty", "another --out"),
        (["--out", "text"], "text is a file", "another --out"),
        (["--maps", "text"], "text is a file", "another --maps"),
    ],
)
def test_what_cannot_be_done(
    run: Run,
    fake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYHARNESS_LIBCUDA", str(tmp_path / "none"))
    Path("text").write_text("epoch 1\n")
    Path("bytes").write_bytes(b"\xff\xfe")
    Path("full").mkdir()
    Path("full/other").touch()
    before = sorted(tmp_path.rglob("*"))
    said = run("upgrade", fake, fake, *(() if "--preset" in words else DATA), *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert message in said.err
    assert hint in said.err
    assert sorted(tmp_path.rglob("*")) == before


def test_what_repeats_a_line_means_the_same_release_on_another_day(
    cudnn: Callable[[str], Release],
) -> None:
    side = cudnn(NEW)
    for text in ("latest", "9.13.0", side.name):
        assert lasting(side, text) == side.name == f"{NEW}+cu12"
    assert lasting(side, NEW) == NEW
    assert lasting(side, "installed") == str(side.path)
    assert lasting(side, "latest+cu12") == side.name
    assert lasting(side, "./libcudnn.so.9") == "./libcudnn.so.9"


def test_what_repeats_a_line_has_the_time_limit(fake: Path, folder: Path) -> None:
    sides = str(fake), str(fake)
    usual = pyharness.upgrade(*sides, preset="data-core", device="none", maps=folder)
    slow = pyharness.upgrade(*sides, preset="data-core", device="none", maps=folder, timeout_s=75)
    for before, after in zip(usual.verdicts, slow.verdicts, strict=True):
        commands = [*before.commands, *(c for e in before.evidence for c in e.commands)]
        longer = [*after.commands, *(c for e in after.evidence for c in e.commands)]
        assert commands
        assert longer == [f"{command} --timeout 75" for command in commands]


def test_releases_that_are_none(run: Run, fake: Path, tmp_path: Path) -> None:
    said = run("upgrade", fake, "latests", *DATA)
    assert (said.code, "unknown release 'latests'" in said.err) == (2, True)
    said = run("upgrade", tmp_path, fake, *DATA)
    assert (said.code, "holds no libcudnn.so" in said.err) == (2, True)


def test_the_python_api(fake: Path, planted: Callable[..., Path], folder: Path) -> None:
    sides = str(fake), str(planted("REFUSES"))
    found = pyharness.upgrade(*sides, preset="data-core", device="none", maps=folder)
    assert (found.word, found.verdicts[0].word) == ("failed", "worse")
    (refused,) = [r for r in found.requirements if r.word == "failed"]
    expected = planted_counts()["newly_refused"]
    assert (refused.key, refused.found) == ("validity.newly_refused", expected)
    with pytest.raises(pyharness.UsageError, match="is no time to spend"):
        pyharness.upgrade(*sides, budget="soon")
    with pytest.raises(pyharness.UsageError, match="device"):
        pyharness.upgrade(*sides, device=-1)


def test_a_ctrl_c_is_told_to_go_on(run: Run, fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(upgrading, "upgrade", interrupted)
    said = run("upgrade", fake, fake, *DATA)
    assert (said.code, said.out) == (130, "")
    assert said.err == "interrupted: the same command goes on\n"
