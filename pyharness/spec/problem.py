"""One problem: a description of an RNN call, as text that can be repeated, and per host call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyharness.errors import UsageError, unknown_name
from pyharness.spec import calls as c
from pyharness.spec.axes import INT_MAX, INT_MIN, parse_values, resolve_proj_size
from pyharness.spec.enums import CELL_MODE, DIRECTION_MODE
from pyharness.spec.run_axes import RUN_DEFAULTS, problem_axes
from pyharness.spec.seq_lengths import literal_lengths

_BIDIRECTIONAL = DIRECTION_MODE.parse("bidirectional")
_LSTM = CELL_MODE.parse("lstm")
_DEFAULTS = (*(call.defaults for call in c.CALLS), RUN_DEFAULTS)


@dataclass(frozen=True, slots=True)
class CallTexts:
    """One call that a problem makes.

    ``role``   what the call describes: descriptor, clip, x, y, h or c.
    ``texts``  axis texts that differ from the call's defaults, for space.grid.make_grid.
    ``unfit``  why there is no such call: a value that follows from others fits no argument.
    """

    call: c.Call
    role: str
    texts: dict[str, str]
    unfit: str | None = None

    @property
    def impossible(self) -> str | None:
        """Why the call cannot be made at all, in a sentence; None if it can."""
        return self.unfit or self.call.cannot_make(self.texts)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What one call said.

    ``role``    what it describes: descriptor, clip, x, y, h or c.
    ``status``  cuDNN's enumerator without its prefix; None if the worker ended.
    ``reason``  cuDNN's condition verbatim, or what happened to the worker; None without a word.
    """

    role: str
    call: str
    stage: str
    status: str | None
    status_code: int | None
    outcome: str
    reason: str | None
    provenance: str = "observed"


@dataclass(frozen=True)
class Problem:
    """An immutable description: axis name to the value's label, only what was given.

    Everything else has the default of the call that it belongs to. x is input_size wide and y as
    wide as the output; vector_size, if given, replaces the width of x.
    """

    given: Mapping[str, str]

    @property
    def command(self) -> str:
        """The words that describe it again."""
        return " ".join(f"{name}={text}" for name, text in self.given.items())

    @property
    def defaults(self) -> dict[str, str]:
        """What was not given of the network and the batch: axis name to what it is then.

        Of a run only what is given counts: the host calls do not read it.
        """
        texts: dict[str, str] = {}
        clipping = (c.SET_CLIP_V9,) if self.clips else ()
        for call in (c.SET_RNN_DESCRIPTOR, *clipping, c.SET_RNN_DATA_DESCRIPTOR):
            for name, text in call.defaults.items():
                if name != "vector_size":  # follows from the sizes
                    texts.setdefault(name, text)
        texts.update(self._from_lengths())
        return {name: text for name, text in texts.items() if name not in self.given}

    @property
    def telling(self) -> frozenset[str]:
        """The axes that were given another value than their default."""
        return frozenset(
            name
            for name, text in self.given.items()
            if any(defaults.get(name, text) != text for defaults in _DEFAULTS)
        )

    def value(self, name: str) -> int:
        """The value of an axis: what was given, what follows from it, or the first default."""
        axes = problem_axes()
        follows = self._from_lengths() if name in ("batch_size", "max_seq_length") else {}
        for defaults in _DEFAULTS:
            if name in defaults:
                text = self.given.get(name, follows.get(name, defaults[name]))
                return parse_values(axes[name], text)[0]
        raise unknown_name("axis", name, axes)

    @property
    def widths(self) -> tuple[int, int]:
        """Width of x and of y: input_size, and the output's size times the directions.

        Source  the documented order of calls; proj_size is the output's width of an LSTM.
        """
        output = resolve_proj_size(self.value("proj_size"), self.value("hidden_size"))
        directions = 2 if self.value("direction_mode") == _BIDIRECTIONAL else 1
        return self.value("input_size"), output * directions

    @property
    def clips(self) -> bool:
        """Whether the cell state is clipped, or clipping is set at all."""
        return not {"clip_mode", "lclip", "rclip", "clip_nan_opt"}.isdisjoint(self.given)

    @property
    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """What each tensor has to be: x, y [steps, batch, width]; h, c [layers, batch, width].

        ``layers`` are pseudo-layers, num_layers times the directions; c only of an LSTM.
        """
        batch, steps, (x, y) = self.value("batch_size"), self.value("max_seq_length"), self.widths
        directions = 2 if self.value("direction_mode") == _BIDIRECTIONAL else 1
        layers = self.value("num_layers") * directions
        if "vector_size" in self.given:
            x = self.value("vector_size")
        shapes = {"x": (steps, batch, x), "y": (steps, batch, y)}
        shapes["h"] = (layers, batch, y // directions)
        if self.value("cell_mode") == _LSTM:
            shapes["c"] = (layers, batch, self.value("hidden_size"))
        return shapes

    def calls(self, present: Sequence[str]) -> list[CallTexts]:
        """The host calls that it makes, in the documented order, of those that a release has."""
        made = [self._call(c.SET_RNN_DESCRIPTOR, "descriptor")]
        clip = c.SET_CLIP_V9 if c.SET_CLIP_V9.name in present else c.SET_CLIP_V8
        if self.clips:
            made.append(self._call(clip, "clip"))
        for role, width in zip(("x", "y"), self.widths, strict=True):
            texts = {**self._from_lengths(), "vector_size": str(width)}
            if role == "x" and "vector_size" in self.given:
                del texts["vector_size"]
            one = self._call(c.SET_RNN_DATA_DESCRIPTOR, role, texts)
            if "vector_size" in texts and not INT_MIN <= width <= INT_MAX:
                unfit = f"{role} would be {width} wide, which does not fit a 32-bit vector_size"
                one = replace(one, unfit=unfit)
            made.append(one)
        if "tensor" in self.given:
            tensors = [self.given["tensor"]]
        else:  # only an LSTM has a cell state to describe
            tensors = ["h", "c"] if self.value("cell_mode") == _LSTM else ["h"]
        batch = {n: t for n, t in self._from_lengths().items() if n == "batch_size"}
        made += [self._call(c.SET_TENSOR_ND, t, {"tensor": t, **batch}) for t in tensors]
        return [m for m in made if m.call.name in present]

    def _from_lengths(self) -> dict[str, str]:
        """The batch size and the padded time that a list of lengths means where none are given."""
        lengths = literal_lengths(self.value("seq_lengths"))
        if lengths is None:
            return {}
        follows = {"batch_size": len(lengths), "max_seq_length": max(lengths)}
        return {n: str(size) for n, size in follows.items() if n not in self.given and size > 0}

    def _call(self, call: c.Call, role: str, extra: Mapping[str, str] | None = None) -> CallTexts:
        own = {a.name for a in call.axes}
        texts = {n: t for n, t in self.given.items() if n in own}
        return CallTexts(call, role, {**texts, **(extra or {})})


def parse_problem(words: Sequence[str]) -> Problem:
    """The problem that ``key=value`` words describe.

    Raises  UsageError for an unknown key or value, or for a key that is given several values.
    """
    given: dict[str, str] = {}
    axes = problem_axes()
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(
                f"cannot read {word!r}", "write key=value, for example hidden_size=256"
            )
        if name not in axes:
            raise unknown_name("key", name, axes)
        if name in given:
            raise UsageError(f"{name} is given twice", "a problem has one value for each key")
        values = parse_values(axes[name], text)
        if len(values) != 1:
            raise UsageError(
                f"{name}={text} is more than one value",
                "a problem has one value for each key; `pyharness map` takes several",
            )
        given[name] = axes[name].label(values[0])  # one spelling, whatever stood around it
    return Problem(given)
