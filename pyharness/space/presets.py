"""Presets: the spaces that ship with the package, one TOML file each.

A file says what it is about, and either lists grids (a call and the values of its axes; what is not
named has its default) or includes other presets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyharness.errors import UsageError, unknown_name
from pyharness.space import shipped
from pyharness.space.grid import Grid, Space, make_grid
from pyharness.spec.calls import CALLS, all_axes, call_named


@dataclass(frozen=True, slots=True)
class Preset:
    """A named space as it is written: texts, not yet values."""

    name: str
    about: str
    grids: tuple[tuple[str, Mapping[str, str]], ...]


def preset_names() -> list[str]:
    """The names of all presets, sorted."""
    return shipped.names(shipped.SPACES)


def load_preset(name: str) -> Preset:
    """One preset by name.

    Raises  UsageError if there is none, with the nearest names.
    """
    data = shipped.read(shipped.SPACES, name)
    grids: list[tuple[str, Mapping[str, str]]] = [
        (g["call"], {k: str(v) for k, v in g["axes"].items()}) for g in data.get("grid", ())
    ]
    for included in data.get("include", ()):
        grids.extend(load_preset(included).grids)
    return Preset(name, data["about"], tuple(grids))


def parse_axes(axes: Sequence[str], known: Collection[str]) -> dict[str, str]:
    """``name=v1,v2,…`` texts as axis name to values.

    Raises  UsageError for a text without a name, a name given twice or not among the known.
    """
    chosen: dict[str, str] = {}
    for text in axes:
        name, equals, values = text.partition("=")
        if not equals or not name:
            raise UsageError(f"cannot read the axis {text!r}", "write name=value,value,…")
        if name in chosen:
            raise UsageError(f"the axis {name} is given twice", f"join them: {name}=v1,v2,…")
        if name not in known:
            raise unknown_name("axis", name, known)
        chosen[name] = values
    return chosen


def _owners(axis: str) -> list[str]:
    return [c.name for c in CALLS if any(a.name == axis for a in c.axes)]


def build_space(preset: str | None, call: str | None, axes: Sequence[str]) -> Space:
    """The space that a preset, a call and ``name=v1,v2,…`` texts describe.

    A call alone is its part of ``host``; with axes, a grid of these and its defaults. With a
    preset, the call picks its grids. An axis replaces the values of that axis in every grid that
    has it.

    Returns  the space; its name tells what it was made from.
    Raises   UsageError for anything unknown, for a call that the preset lacks, and for an axis that
             no chosen call has.
    """
    chosen = parse_axes(axes, all_axes())
    if preset is None and call is not None and not chosen:
        call_named(call)
        preset = "host"  # one problem would say nothing of a call
    if preset is None and call is None:
        owners = [c.name for c in CALLS if all(any(a.name == n for a in c.axes) for n in chosen)]
        if not chosen:
            preset = "host"
        elif not owners:
            raise UsageError(
                f"no call has all of the axes {', '.join(chosen)}",
                "; ".join(f"{n} belongs to {', '.join(_owners(n))}" for n in chosen),
            )
        else:
            call = owners[0]
    if preset is None:
        assert call is not None
        written: list[tuple[str, Mapping[str, str]]] = [(call_named(call).name, {})]
    else:
        written = list(load_preset(preset).grids)
        if call is not None:
            call_named(call)
            written = [(c, a) for c, a in written if c == call]
            if not written:
                raise UsageError(
                    f"the preset {preset} has no grid of {call}",
                    f"its calls: {', '.join(c for c, _ in load_preset(preset).grids)}",
                )
    grids: list[Grid] = []
    used: set[str] = set()
    for call_name, texts in written:
        target = call_named(call_name)
        own = {n: v for n, v in chosen.items() if any(a.name == n for a in target.axes)}
        used |= set(own)
        grids.append(make_grid(target, {**texts, **own}))
    for name in chosen:
        if name not in used:
            call_named(written[0][0]).axis(name)
    parts = [preset or ""] if preset else []
    parts += [call] if call else []
    parts += [f"{n}={v}" for n, v in chosen.items()]
    return Space(" ".join(parts), tuple(grids))


def preset_data() -> dict[str, Any]:
    """Every preset with its size, and every call with its axes, as plain data."""
    return {
        "presets": [
            {
                "name": name,
                "about": load_preset(name).about,
                "problems": build_space(name, None, []).size,
                "grids": [{"call": c, "axes": dict(a)} for c, a in load_preset(name).grids],
            }
            for name in preset_names()
        ],
        "calls": [
            {
                "call": c.name,
                "stage": c.stage,
                "axes": [
                    {
                        "axis": a.name,
                        "default": c.defaults[a.name],
                        "about": a.about,
                        "names": list(a.names),
                    }
                    for a in c.axes
                ],
            }
            for c in CALLS
        ],
    }
