"""The words of verdicts: what each means for the reader, as a tone and a symbol."""

from __future__ import annotations

from pyharness.present.report.model import Tone

# Never by colour alone: a symbol and the word itself stand beside it.
SYMBOLS: dict[Tone, str] = {"good": "✓", "bad": "✗", "warn": "!", "plain": "·"}
_TONES: dict[str, Tone] = {
    **dict.fromkeys(
        ("passed", "better", "same", "faster", "repeatable", "within", "holds", "steady"), "good"
    ),
    **dict.fromkeys(("newly_accepted", "no_longer_failed", "call_added", "smaller"), "good"),
    **dict.fromkeys(
        ("failed", "worse", "slower", "not_repeatable", "beyond", "violated", "leak"), "bad"
    ),
    **dict.fromkeys(("newly_refused", "newly_failed", "call_removed", "contradicted"), "bad"),
    **dict.fromkeys(
        ("mixed", "inconclusive", "drifted", "fragmentation", "out_of_memory", "larger"), "warn"
    ),
}


def tone(word: str) -> Tone:
    """What a word means: good, bad, to be looked at, or neither."""
    return _TONES.get(word, "plain")


def words(word: str) -> str:
    """A word as a person reads it."""
    return word.replace("_", " ")


def stamp(word: str) -> str:
    """What becomes of a gate, in the word for an upgrade: a library that fails is another thing."""
    return "worse" if word == "failed" else words(word)


def ratio_text(ratio: float) -> str:
    """A ratio of new over old: ``1.032``."""
    return f"{ratio:.3f}" if ratio < 99.9995 else f"{ratio:,.0f}"
