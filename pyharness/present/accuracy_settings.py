"""Accuracy setting by setting, in words and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyharness.analyze.accuracy_settings import SETTINGS, Setting, by_settings
from pyharness.present.units import count_text, share_text, wrapped

_KINDS = {"outputs": "y, hy, cy", "inputs": "dx", "states": "dhx, dcx", "weights": "dw"}
_WITHIN = {"steps": "over steps", "layer": "over layers"}


def settings_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The worst of each setting, and what errors grow with; none for a single problem."""
    if len({row["name"] for row in rows}) < 2:
        return []
    settings = by_settings(rows)
    varying = [n for n in SETTINGS if len({s.values[n] for s in settings}) > 1]
    same = [f"{n}={settings[0].values[n]}" for n in SETTINGS if n not in varying]
    lines = wrapped(f"by setting, the largest error of each ({', '.join(same)})", 0, 2)
    for setting in settings:
        if varying:
            lines += wrapped(" ".join(f"{n}={setting.values[n]}" for n in varying), 2, 4)
        lines += wrapped("; ".join(_words(setting)), 4, 6)
    return lines


def settings_data(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same as plain data, for JSON."""
    return [asdict(setting) for setting in by_settings(rows)]


def _words(setting: Setting) -> list[str]:
    said = [f"{names} {setting.worst[k]:.1e}" for k, names in _KINDS.items() if k in setting.worst]
    words = [", ".join(said) or "no number"]
    if setting.share is not None:
        words.append(f"at most {share_text(setting.share)} of the limit")
    if setting.beyond:
        words.append(f"{setting.beyond:,} of {count_text(setting.tensors, 'tensor')} beyond")
    grown = []
    for name, growth in setting.growth.items():
        over = _WITHIN.get(name, f"for {name} {growth.first} to {growth.last}")
        grown.append(f"x {growth.ratio:.2g} {over}")
    return [*words, f"the usual error grows {', '.join(grown)}"] if grown else words
