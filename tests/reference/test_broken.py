"""A reference that is wrong in one place is found out by the oracle."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import pyharness.reference

from .networks import Case, case_of, off, referred, wanted

FOLDER = Path(pyharness.reference.__file__).parent
MODULES = ("rows", "cells", "blocks", "pseudo_layer", "network")  # each imports those before it
BATCH = {"seq_lengths": "[2,4,1,4]", "batch_size": "4", "max_seq_length": "5"}
BOTH = {"direction_mode": "bidirectional", "num_layers": "2", **BATCH}
SIZES = {"input_size": "3", "hidden_size": "4"}
SKIP = {"input_mode": "skip_input", "input_size": "4", "hidden_size": "4"}
CLIP = {"cell_mode": "lstm", "clip_mode": "minmax", "lclip": "-0.25", "rclip": "0.125"}
WORDS = {
    "lstm": {"cell_mode": "lstm", "proj_size": "2", **SIZES, **BOTH},
    "clip": {**CLIP, **SIZES, **BATCH},
    "gru": {"cell_mode": "gru", **SIZES, **BOTH},
    "relu": {"cell_mode": "rnn_relu", **SKIP, **BOTH},
    "tanh": {"cell_mode": "rnn_tanh", **SIZES, **BATCH},
    "skip": {"cell_mode": "lstm", **SKIP, **BATCH},
}
# Of which case what is wrong: the module, its text, and what stands there instead.
PLANTED = [
    ("lstm", "cells", "i[:], f[:], g[:], o[:] =", "f[:], i[:], g[:], o[:] ="),
    ("lstm", "cells", "f * before.c + i * g", "f * before.c + i"),
    ("lstm", "cells", "doutput * o * (1 - tanh_c**2)", "doutput * o * (1 - tanh_c)"),
    ("lstm", "cells", "dtotal * before.c * f", "dtotal * f"),
    ("lstm", "cells", "None, dtotal * f)", "None, dtotal)"),
    ("clip", "cells", "if self.clip is None else self.clip(c)", ""),
    ("clip", "cells", "self.clip.passes(total)", "total < 1e9"),
    ("clip", "cells", "(c <= self.high)", "(c < 1e9)"),
    ("gru", "cells", "x_new + r * h_new", "r * (x_new + h_new)"),
    ("gru", "cells", "(1 - z) * n + z * before.h", "z * n + (1 - z) * before.h"),
    ("gru", "cells", "dnew * r)", "dnew)"),
    ("gru", "cells", "            doutput * z,", "            doutput * 0,"),
    ("gru", "cells", "dnew * recurrent * r", "dnew * r"),
    ("relu", "cells", "kept > 0", "kept > -1"),
    ("tanh", "cells", "1 - kept**2", "1 - kept"),
    ("lstm", "rows", "-self.lengths, kind", "self.lengths, kind"),
    ("lstm", "rows", "reversed(steps) if reverse else steps", "steps"),
    ("lstm", "rows", "given[self.order] = state", "given[:] = state"),
    ("tanh", "rows", "return state[self.order]", "return state.copy()"),
    ("tanh", "pseudo_layer", "turns(reverse=not self.reverse)", "turns(reverse=self.reverse)"),
    ("lstm", "pseudo_layer", "= doutputs[here] + dh[:live]", "= doutputs[here]"),
    ("lstm", "pseudo_layer", "projected.T @ kept.hidden", "doutputs.T @ kept.hidden"),
    ("gru", "pseudo_layer", "from_h.T @ kept.before.h", "from_x.T @ kept.before.h"),
    ("gru", "pseudo_layer", "else from_h.sum(0)", "else from_x.sum(0)"),
    ("gru", "pseudo_layer", "dh[:live] += step.dh", "dh[:live] = step.dh"),
    ("gru", "pseudo_layer", "from_h += w.h_bias", "from_h -= w.h_bias"),
    ("skip", "pseudo_layer", "self.hidden_size).sum(1)", "self.hidden_size).mean(1)"),
    ("relu", "pseudo_layer", "np.tile(inputs, (1, self._gates))", "0 * inputs"),
    ("lstm", "blocks", "stacked[begin : ends[block]]", "stacked[: weight.rows]"),
    ("lstm", "network", "returning += found.dinputs", "returning = found.dinputs"),
    ("lstm", "network", "first_h[at], first_c[at]", "first_h[0], first_c[0]"),
    ("gru", "network", "returning *= tape.masks[number - 1]", "pass"),
    ("gru", "network", "passing = passing * dropped[number - 1]", "pass"),
    ("gru", "network", "tape.masks[number - 1]", "tape.masks[number - 1] ** 2"),
]


def case(name: str) -> Case:
    """One of the cases; with dropout where there is a second layer."""
    layers = WORDS[name].get("num_layers", "1")
    return case_of(WORDS[name], 3, dropout=0.4 if layers != "1" else 0.0)


def broken(patch: pytest.MonkeyPatch, module: str, old: str, new: str) -> ModuleType:
    """The reference, made anew from its text with one place changed."""
    for name in MODULES:
        whole = f"pyharness.reference.{name}"
        text = (FOLDER / f"{name}.py").read_text("utf-8")
        if name == module:
            assert text.count(old) == 1, f"{old} is there {text.count(old)} times"
            text = text.replace(old, new)
        made = ModuleType(whole)
        patch.setitem(sys.modules, whole, made)
        exec(compile(text, whole, "exec"), made.__dict__)  # the tests' own change of our own text
    return importlib.import_module("pyharness.reference.network")


@pytest.mark.parametrize("name", WORDS)
def test_the_text_as_it_is_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = broken(monkeypatch, "", "", "")
    assert max(off(referred(case(name), code), wanted(case(name))).values()) < 1e-12


@pytest.mark.parametrize(("name", "module", "old", "new"), PLANTED)
def test_a_planted_mistake_is_found(
    name: str, module: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case(name)
    code = broken(monkeypatch, module, old, new)
    assert max(off(referred(one, code), wanted(one)).values()) > 1e-3
