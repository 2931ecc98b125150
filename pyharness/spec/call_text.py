"""The text of a call in a framework's words, ``LSTM(256, 512, num_layers=2)``, taken apart.

It is parsed, never evaluated: what is not written out as a number, a word or a truth has no value
here.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyharness.errors import UsageError, unknown_name
from pyharness.spec.axes import INT_MAX, check_int

# What an argument may be. ``word`` is a string, None, or a name whose last part counts; ``ignored``
# is anything, because cuDNN never sees it.
Kind = Literal["size", "real", "truth", "word", "ignored"]
_MOST_CHARACTERS = 10_000
_ALLOWED: dict[Kind, str] = {
    "size": "a whole number, written out",
    "real": "a number, written out",
    "truth": "True or False",
    "word": "a word in quotes, or a name such as torch.float16",
}
_SHAPE = re.compile(r"\d+(\s*[xX,*\u00d7]\s*\d+)*", re.ASCII)
_OUT = "write every argument out: name=value"
_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a class; without a default it must be given."""

    name: str
    kind: Kind
    default: Any = _REQUIRED

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED


@dataclass(frozen=True, slots=True)
class FrameworkProblem:
    """What a framework would ask of cuDNN.

    ``words``        axis to text, as pyharness.spec.problem.parse_problem takes them.
    ``notes``        what was assumed and what the framework does by itself, in sentences.
    ``calls_cudnn``  False if the framework would not call cuDNN for it; a note says why.
    """

    words: dict[str, str]
    notes: tuple[str, ...]
    calls_cudnn: bool = True


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as it is written.

    ``name``    the last part of what is called.
    ``source``  the text that the node's places refer to.
    """

    name: str
    node: ast.Call
    source: str

    def text(self, node: ast.expr) -> str:
        """A part of it as it is written, shortened."""
        return _short(ast.get_source_segment(self.source, node) or "")

    def inner(self, node: ast.expr) -> WrittenCall | None:
        """A part of it as a call of its own; None if it is none by name."""
        name = name_of(node.func) if isinstance(node, ast.Call) else None
        if name is None or not isinstance(node, ast.Call):
            return None
        return WrittenCall(name, node, self.source)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:59]}…"


def read_call(text: str, example: str) -> WrittenCall:
    """The one call that a text is, or is assigned: ``self.rnn = nn.LSTM(…)``.

    Raises  UsageError if it is none.
    """
    hint, source = f"write one call, for example {example!r}", text.strip()
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"a text of {len(text):,} characters is no call", hint)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python, about how the text is written
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise UsageError(f"cannot read {_short(text)!r}: {reason}", hint) from None
    node = body[0] if len(body) == 1 else None
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call):
        raise UsageError(f"{_short(text)!r} is no call", hint)
    name = name_of(call.func)
    if name is None:
        raise UsageError(
            f"{_short(text)!r} goes on after the call",
            f"leave out what follows it, such as .cuda() or (x); for .half() add dtype=…; {hint}",
        )
    return WrittenCall(name, call, source)


def name_of(node: ast.expr) -> str | None:
    """The last part of a dotted name, ``float16`` of ``torch.float16``; None for anything else."""
    last: str | None = None
    while isinstance(node, ast.Attribute):
        last, node = last or node.attr, node.value
    return (last or node.id) if isinstance(node, ast.Name) else None


def bind(
    call: WrittenCall,
    parameters: Sequence[Parameter],
    by_name_only: Sequence[Parameter] = (),
    elsewhere: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The value of every parameter: what the call gives, or the default.

    ``by_name_only``  further parameters, that have no place among the first.
    ``elsewhere``     names that belong to other classes, with what to say of them.

    Raises  UsageError for an argument that is unknown, given twice, missing, or not written out.
    """
    owner, node = call.name, call.node
    known = {p.name: p for p in (*parameters, *by_name_only)}
    if len(node.args) > len(parameters):
        raise UsageError(
            f"{owner} has {len(node.args)} arguments without a name",
            f"allowed: {len(parameters)} ({', '.join(p.name for p in parameters)}); the others by "
            "name",
        )
    given: dict[str, Any] = {}
    for parameter, argument in zip(parameters, node.args, strict=False):
        given[parameter.name] = _value(parameter, argument, call)
    for keyword in node.keywords:
        name = keyword.arg
        if name is None:
            raise UsageError(f"{owner} is given **{call.text(keyword.value)}", _OUT)
        if name not in known:
            if elsewhere and name in elsewhere:
                raise UsageError(f"{owner} has no argument {name!r}", elsewhere[name])
            raise unknown_name(f"argument of {owner}", name, known)
        if name in given:
            raise UsageError(f"{owner} is given {name} twice", "give it once")
        given[name] = _value(known[name], keyword.value, call)
    missing = [p.name for p in parameters if p.required and p.name not in given]
    if missing:
        raise UsageError(
            f"{owner} is not given {' and '.join(missing)}",
            f"its arguments: {', '.join(p.name for p in parameters)}",
        )
    return {name: given.get(name, p.default) for name, p in known.items()}


def _value(parameter: Parameter, node: ast.expr, call: WrittenCall) -> Any:
    """The value of an argument.

    Raises  UsageError if it is not of the parameter's kind, or has to be computed.
    """
    kind, name, said = parameter.kind, parameter.name, call.text(node)
    if isinstance(node, ast.Starred):
        raise UsageError(f"{said} stands for arguments", _OUT)
    if kind == "ignored":
        return None
    if kind == "word":
        word = _word(node)
        if word is not _REQUIRED:
            return word
    value = _literal(node)
    if value is _REQUIRED:
        what = (
            "word" if kind == "word" else "truth (True or False)" if kind == "truth" else "number"
        )
        raise UsageError(f"{name}={said} has to be computed", f"write the {what} itself")
    fits = {
        "size": isinstance(value, int) and not isinstance(value, bool),
        "real": isinstance(value, (int, float)) and not isinstance(value, bool),
        "truth": isinstance(value, bool),
        "word": False,
    }
    if not fits[kind]:
        raise UsageError(f"{name}={said} is not what it may be", f"allowed: {_ALLOWED[kind]}")
    return check_int(name, value) if kind == "size" else value


def _literal(node: ast.expr) -> Any:
    """The value of a constant, with its sign; _REQUIRED if it is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(inner, (int, float)) and not isinstance(inner, bool):
            return -inner if isinstance(node.op, ast.USub) else inner
    return _REQUIRED


def _word(node: ast.expr) -> Any:
    """A string, None, the end of a dotted name, or the word that a call is given; else _REQUIRED.

    So ``tf.nn.relu`` is relu, and ``Policy("mixed_float16")`` mixed_float16.
    """
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        node = node.args[0]
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str)):
        return node.value
    if isinstance(node, (ast.Attribute, ast.Name)):
        return name_of(node) or _REQUIRED
    return _REQUIRED


def read_shape(text: str, axes: Sequence[Sequence[str]]) -> dict[str, int]:
    """The sizes of a shape such as ``120x64x256``, by the names of its axes.

    ``axes``  the names, for each number of axes that is allowed.

    Raises  UsageError for what is no shape, or one of another number of axes.
    """
    written = " or ".join(" x ".join(names) for names in axes)
    inner = text.strip()
    for left, right in (("(", ")"), ("[", "]")):
        if inner.startswith(left) and inner.endswith(right):
            inner = inner[1:-1].strip().removesuffix(",")
    if not _SHAPE.fullmatch(inner):
        raise UsageError(
            f"{text[:60]!r} is no shape", f"write {written} as numbers, for example 120x64x256"
        )
    numbers = re.findall(r"\d+", inner)
    if any(len(number) > len(str(INT_MAX)) for number in numbers):
        raise UsageError(f"{text[:60]!r} has a size that no tensor has", f"at most {INT_MAX}")
    sizes = [int(number) for number in numbers]
    for names in axes:
        if len(names) == len(sizes):
            return {n: check_int(n, s) for n, s in zip(names, sizes, strict=True)}
    raise UsageError(f"{text!r} has {len(sizes)} axes", f"allowed: {written}")
