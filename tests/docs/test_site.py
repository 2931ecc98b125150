"""The site that the guide becomes: built without a warning, with every command, and no network."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

import pyharness
from pyharness.cli.main import app
from pyharness.spec.tables import TABLES
from tests.docs.blocks import ROOT

pytest.importorskip("mkdocs", reason="python -m pip install 'pyharness[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def module(name: str) -> ModuleType:
    """A program of the guide's, which is no package."""
    spec = importlib.util.spec_from_file_location(f"guide_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_nothing_of_it_comes_from_the_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 35
    for page in pages:
        loaded = re.findall(
            r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?([^\s\">]+)", page.read_text()
        )
        assert loaded or page.name == "history.html"  # which has all in itself
        assert not [url for url in loaded if re.match(r"(https?:)?//", url)], page


def test_every_command_and_option_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "cli.html").read_text()
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        assert f'id="{name}"' in page
        section = page[page.index(f'<h2 id="{name}"') :].split("<h2", 2)[1]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in section, (name, parameter.opts)


def test_every_table_and_function_is_in_the_reference(site: Path) -> None:
    tables = (site / "reference" / "dictionary.html").read_text()
    assert [name for name in TABLES if f'id="{name}"' not in tables] == []
    functions = (site / "reference" / "python.html").read_text()
    named = set(re.findall(r'<h\d id="pyharness\.[\w.]+\.(\w+)"', functions))
    assert named == set(pyharness.__all__) - {"__version__"}


def test_aligned_lines_become_a_list() -> None:
    text = (
        "What it does.\n\n``a``  one,\n       more\n``b``, ``c``  two\nReturns  a frame\n\nAfter."
    )
    assert module("docstrings").as_list(text) == (
        "What it does.\n\n\n- `a`: one, more\n- `b`, `c`: two\n- Returns: a frame\n\nAfter."
    )


def test_sets_of_values_are_on_the_page_and_not_taken_for_attributes(site: Path) -> None:
    told, shown = (
        re.findall(r"\{[\w, ]+\}", page.read_text("utf-8"))
        for page in (ROOT / "results" / "atlas" / "README.md", site / "measured" / "atlas.html")
    )
    assert len(told) > 50
    assert [each for each in shown if each in set(told)] == told
