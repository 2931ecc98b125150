"""Every command of the guide and of the README runs, and prints what the page says it prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from pyharness.releases import Release
from pyharness.space import shipped
from pyharness.space.presets import build_space, preset_names
from pyharness.space.problems import build_problems, load_problem_set
from tests.docs.blocks import PAGES, ROOT, Block, blocks, matches
from tests.docs.scene import Scene, shorter, write_files, write_tools
from tests.emulator.build import EmulatedRelease

OLD, NEW = "9.12.0.46", "9.28.0.42"
LATEST = {"latest": NEW, "latest+cu12": NEW}
EMULATED = (OLD, "9.13.0.50", NEW)
RUN = [
    page for page in PAGES if any(b.language in {"console", "python", "yaml"} for b in blocks(page))
]
IDS = [str(page.relative_to(ROOT)) for page in RUN]
CARD: dict[str, object] = {"l2_bytes": 4096, "cost_ns": 20000, "noise": 0.001}
Places = Callable[[str], Scene]
# What ran on the emulator and leaves nothing that is used: pages that say the same share it.
_RAN: set[tuple[str, str]] = set()


@pytest.fixture
def places(
    tmp_path: Path,
    shared_tmp: Path,
    cudnn: Callable[[str], Release],
    emulator: Callable[..., EmulatedRelease],
) -> Places:
    """A page's folder, as what runs in it sees the machine: by what a block says of a GPU."""
    maps = shared_tmp / "maps-of-the-guide"
    maps.mkdir(exist_ok=True)
    folder = tmp_path / "page"
    write_files(folder, cudnn("8.9.7.29"), maps)

    @cache
    def place(gpu: str) -> Scene:
        if gpu == "none":
            return Scene(folder, write_tools(tmp_path / "host", LATEST), {})
        card = {**CARD, "compute": "on" if gpu == "computing" else "off"}
        made = {version: emulator(cudnn(version).path, **card) for version in EMULATED}
        words = {version: str(release.cudnn) for version, release in made.items()}
        tools = write_tools(tmp_path / f"gpu{gpu}", words | {"latest": words[NEW]})
        return Scene(folder, tools, made[NEW].env)

    return place


@pytest.mark.parametrize("page", RUN, ids=IDS)
def test_what_a_page_says_runs(page: Path, places: Places, shared_tmp: Path) -> None:
    last = ""
    # Pages of several processes share their maps: one at a time makes what is missing.
    with FileLock(shared_tmp / "guide.lock"):
        for block in blocks(page):
            place = places(block.says.get("gpu", "none"))
            where = f"{page.name}:{block.line}"
            if "file" in block.says:
                (place.folder / block.says["file"]).write_text(block.text)
            elif block.language == "text" and "printed" in block.says:
                assert matches(block.text, last), f"{where}: printed is\n{last}"
            elif not {"no", "preset"} & block.says.keys():
                last = _run(block, place, where) or last


def _run(block: Block, place: Scene, where: str) -> str:
    """Runs what the block says; returns what it printed."""
    if block.language == "python":
        (place.folder / "page.py").write_text(_emulated(block.text, place))
        done = place.run("python page.py")
        assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"
        return done.stdout
    if block.language == "yaml":
        told = [(line, []) for line in _job(block)]
    elif block.language == "console":
        told = [(line, below) for line, below in block.told() if line.startswith("pyharness")]
    else:
        return ""
    printed = ""
    for at, (line, below) in enumerate(told):
        last = at == len(told) - 1
        words = shorter(line) if "gpu" in block.says else line
        if "gpu" in block.says and "--out" not in words:
            if (words, block.says["gpu"]) in _RAN:
                continue
            _RAN.add((words, block.says["gpu"]))
        done = place.run(f"{words} {block.says.get('with', '')}")
        assert done.returncode == (int(block.says.get("exit", 0)) if last else 0), (
            f"{where}: $ {line}\nexits with {done.returncode}\n{done.stdout}{done.stderr}"
        )
        printed = done.stdout + done.stderr
        if "printed" in block.says:
            assert matches("\n".join(below), printed), f"{where}: $ {line}\nprints\n{printed}"
    return printed


def _emulated(text: str, place: Scene) -> str:
    """Python's text with the words that the scene's ``pyharness`` takes for others."""
    for word, other in re.findall(
        r"^    (\S+)\) word=(\S+) ;;", (place.bin / "pyharness").read_text(), re.M
    ):
        text = text.replace(f'"{word}"', f'"{other}"')
    return text


def _job(block: Block) -> list[str]:
    """What the steps of a job run of us."""
    (job,) = yaml.safe_load(block.text)["jobs"].values()
    texts = [step.get("run", "") for step in job["steps"]]
    return [text for text in texts if re.search("^pyharness", text, re.M)]


def test_the_presets_of_the_guide_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [block for page in PAGES for block in blocks(page) if "preset" in block.says]
    for block in found:
        file = tmp_path / block.says["preset"]
        file.parent.mkdir(exist_ok=True)
        file.write_text(block.text)
    monkeypatch.setattr(shipped, "_HOME", tmp_path)
    assert {p.name for p in load_problem_set("wide").problems} == {"encoder-512", "encoder-1024"}
    assert build_space("packed", None, []).size == 8 * 3 * 64
    assert len(found) == 2


def test_the_presets_that_pages_name_are_there() -> None:
    lines = [
        line
        for page in PAGES
        for b in blocks(page)
        if b.language == "console"
        for line in b.commands
    ]
    named = {name for line in lines for name in re.findall(r"--preset '?([\w/,*-]+)", line)}
    assert {name for name in named if name not in preset_names()} >= {"smoke", "algos", "seq2seq"}
    for name in named - set(preset_names()):
        assert build_problems(name, []).problems, name


@pytest.mark.parametrize("page", RUN, ids=IDS)
def test_what_else_a_page_names_is_there(page: Path) -> None:
    """Targets of make, extras of pip, programs of this repository."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    project = (ROOT / "pyproject.toml").read_text()
    for block in blocks(page):
        for line in (
            block.commands if block.language == "console" and "no" not in block.says else []
        ):
            program, *words = line.split()
            if program == "make":
                assert targets.issuperset(w for w in words if "=" not in w), line
            elif program == "pip":
                extras = re.findall(r"\[([\w,]+)\]", line)
                named = {name for extra in extras for name in extra.split(",")}
                assert all(re.search(rf"^{name} = \[", project, re.M) for name in named), line
            elif program.startswith("scripts/"):
                assert (ROOT / program).exists(), line
            elif program == "python":
                assert words[0] == "-m" or (ROOT / words[0]).exists(), line
            else:
                assert program in {"pyharness", "export", "git", "."}, line
