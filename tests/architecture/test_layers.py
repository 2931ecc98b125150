"""Who may import whom: the table of the design, over the imports of every file."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyharness

ROOT = Path(pyharness.__file__).parent
LOWER = frozenset({"spec", "space", "measure", "reference", "releases", "device", "engine"})
ALL = LOWER | {"logs", "peer", "store", "analyze", "present", "doctor", "cli", "api"}
# The package may import these others; errors and its own files always.
LAYERS: dict[str, frozenset[str]] = {
    "spec": frozenset(),
    "space": frozenset({"spec"}),
    "measure": frozenset(),
    "reference": frozenset({"spec"}),
    "releases": frozenset({"spec"}),
    "device": frozenset({"spec"}),
    "engine": frozenset({"spec", "space", "measure", "reference"}),
    "store": frozenset({"spec", "space"}),
    "analyze": frozenset({"spec", "measure", "reference"}),
    "logs": frozenset({"spec"}),
    "peer": frozenset({"spec", "logs", "device", "engine"}),
    "present": frozenset({"spec", "analyze"}),
    "doctor": frozenset({"spec", "space", "releases", "device", "engine", "present"}),
    "api": ALL,
    "cli": ALL,
    "": frozenset({"api"}),  # pyharness itself, only where it is asked for something
    "errors": frozenset(),
}
# What comes from elsewhere; None: anything.
OTHERS: dict[str, frozenset[str] | None] = {
    "spec": frozenset({"numpy", "tomli"}),
    "space": frozenset({"tomli"}),
    "measure": frozenset({"numpy", "scipy"}),
    "reference": frozenset({"numpy"}),
    "releases": None,
    "device": frozenset({"numpy", "cupy"}),
    "engine": frozenset({"numpy", "pynvml"}),
    "store": frozenset({"numpy", "pyarrow", "pandas"}),
    "logs": frozenset(),
    "peer": frozenset({"torch"}),
    "analyze": frozenset({"numpy", "scipy", "pandas", "pyarrow", "duckdb"}),
    "present": None,
    "doctor": None,
    "api": None,
    "cli": None,
    "": frozenset(),
    "errors": frozenset(),
}
FILES = sorted(ROOT.rglob("*.py"))
STANDARD = sys.stdlib_module_names | {"tomllib"}  # of 3.11; before it tomli takes its place


def owner(file: Path) -> str:
    """The package that a file belongs to; "" for pyharness itself."""
    first = file.relative_to(ROOT).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def imported(tree: ast.AST, file: Path) -> Iterator[str]:
    """Every module that is imported anywhere in a file, for types alone or in a function too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            assert node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "__import__":
            pytest.fail(f"{file}: an import that cannot be read")


def breaches(package: str, modules: Iterator[str]) -> list[str]:
    """What a package imports and may not."""
    others, found = OTHERS[package], []
    for module in modules:
        first, _, rest = module.partition(".")
        if first == "pyharness":
            target = rest.partition(".")[0]
            same = target in (package, "errors", "__version__")
            if not same and target not in LAYERS[package]:
                found.append(module)
        elif first not in STANDARD and others is not None and first not in others:
            found.append(module)
    return found


def test_every_package_has_its_row() -> None:
    assert {owner(f) for f in FILES} <= set(LAYERS)


@pytest.mark.parametrize("file", FILES, ids=[str(f.relative_to(ROOT)) for f in FILES])
def test_a_file_imports_what_its_package_may(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    assert breaches(owner(file), imported(tree, file)) == []


@pytest.mark.parametrize(
    ("package", "source", "found"),
    [
        ("spec", "from pyharness.space import grid", ["pyharness.space.grid"]),
        ("spec", "import pyarrow", ["pyarrow"]),
        (
            "space",
            "def f():\n    from pyharness.engine.crew import Crew",
            ["pyharness.engine.crew.Crew"],
        ),
        ("engine", "from pyharness import device", ["pyharness.device"]),
        ("present", "import pyharness.store.journal", ["pyharness.store.journal"]),
        ("store", "from pyharness.space.grid import Grid\nimport json, numpy", []),
        ("cli", "import rich\nfrom pyharness.engine import crew", []),
    ],
)
def test_a_breach_is_seen(package: str, source: str, found: list[str]) -> None:
    assert breaches(package, imported(ast.parse(source), ROOT)) == found


def test_only_device_knows_the_compiled_part() -> None:
    knowing = [f for f in FILES if any("_core" in m for m in imported(ast.parse(f.read_text()), f))]
    assert {owner(f) for f in knowing} == {"device"}


def modules() -> list[str]:
    """Every module of the package by its name."""
    names = [".".join(("pyharness", *f.relative_to(ROOT).with_suffix("").parts)) for f in FILES]
    return sorted(n.removesuffix(".__init__") for n in names)


def run(program: str, *arguments: str) -> str:
    """What a program prints, in a process of its own that must end well."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_everything_imports_without_the_compiled_part() -> None:
    program = """
import importlib, sys
sys.modules["pyharness.device._core"] = None  # an import of it fails from here on
for name in sys.argv[1:]:
    importlib.import_module(name)
from pyharness.device import core
from pyharness.errors import HarnessError
try:
    core()
except HarnessError as error:
    print(error)
"""
    said = run(program, *modules())
    assert said.startswith("the compiled part of pyharness cannot be loaded")
    assert "pip install ." in said


def test_importing_pyharness_loads_nothing_heavy() -> None:
    program = "import sys, pyharness; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = set(run(program).split())
    assert "pyharness" in loaded
    heavy = {"numpy", "pyarrow", "pandas", "scipy", "rich", "typer", "duckdb", "requests"}
    assert loaded & heavy == set()


def test_importing_pyharness_loads_none_of_its_packages() -> None:
    program = "import sys, pyharness; print(*(m for m in sys.modules if m.startswith('pyharness')))"
    assert sorted(run(program).split()) == ["pyharness", "pyharness.errors"]
