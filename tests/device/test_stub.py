"""The typed stub of the compiled part says what is there, no more and no less."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import WrapperDescriptorType
from typing import Any

import pytest

import pyharness.device
from pyharness.device import core

STUB = ast.parse(Path(pyharness.device.__file__).with_name("_core.pyi").read_text("utf-8"))
Members = dict[str, "list[str] | Members | None"]
SHOWN = ("__init__", "__cuda_array_interface__")  # of what begins with an underscore


def stubbed(body: list[ast.stmt]) -> Members:
    """Names to their parameters, to the members of a class, or to None for plain values."""
    found: Members = {}
    for node in body:
        match node:
            case ast.ClassDef():
                found[node.name] = stubbed(node.body)
            case ast.FunctionDef():
                if any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
                    found[node.name] = None
                else:
                    found[node.name] = [a.arg for a in node.args.args]
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = None
    return found


def parameters(function: Any) -> list[str]:
    """The names of a compiled function's parameters, which stand in the first line of its text."""
    assert function.__doc__
    signature = next(line for line in function.__doc__.splitlines() if "(" in line)
    assert "Overloaded" not in function.__doc__, "a second signature would go unseen"
    (definition,) = ast.parse(f"def {signature}: ...").body
    assert isinstance(definition, ast.FunctionDef)
    assert not definition.args.defaults
    return [a.arg for a in definition.args.args]


def compiled(owner: Any) -> Members:
    """The same of the compiled module or one of its classes."""
    found: Members = {}
    for name, value in vars(owner).items():
        if name.startswith("_") and name not in SHOWN:
            continue
        if isinstance(value, WrapperDescriptorType):  # the __init__ of what cannot be made
            continue
        if inspect.isclass(value):
            own = issubclass(value, BaseException)
            found[name] = {} if own else compiled(value)
        elif isinstance(value, property):
            found[name] = None
        elif callable(value):
            found[name] = parameters(value)
        else:
            found[name] = None
    return found


def test_the_stub_is_the_module() -> None:
    assert stubbed(STUB.body) == compiled(core())


def test_the_stub_is_read_to_the_end() -> None:
    members = stubbed(STUB.body)
    assert members["call_axes"] == ["call"]
    assert members["compiler"] is None
    library = members["Library"]
    assert isinstance(library, dict)
    assert set(library) == {"__init__", "version", "status_name", "has"}
    assert library["has"] == ["self", "symbol"]


@pytest.mark.parametrize("name", ["compiler", "build_type"])
def test_values_have_the_type_that_the_stub_says(name: str) -> None:
    annotated = [n for n in STUB.body if isinstance(n, ast.AnnAssign)]
    assert name in {n.target.id for n in annotated if isinstance(n.target, ast.Name)}
    assert isinstance(getattr(core(), name), str)


def test_errors_are_those_that_the_stub_says() -> None:
    errors = {
        node.name: base.id
        for node in STUB.body
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    }
    assert errors.pop("LoadError") == "OSError"
    assert issubclass(core().LoadError, OSError)
    assert errors == dict.fromkeys(("CudaError", "CudnnError", "OutOfMemory"), "RuntimeError")
    for name in errors:
        assert issubclass(getattr(core(), name), RuntimeError)
