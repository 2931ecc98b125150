"""Samples that the card took while something held its clocks down: marked, counted, left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Bits of nvmlDeviceGetCurrentClocksEventReasons (before: …ThrottleReasons), from nvml.h.
SLOWING = {
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
# These say how the card is set or that it has nothing to do; they hold for a run as a whole.
SETTINGS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x010: "sync_boost",
    0x100: "display_clock_setting",
}


def reason_names(bits: int) -> tuple[str, ...]:
    """The names of all reasons in a reading, lowest bit first; a bit without a name in hex."""
    known = SLOWING | SETTINGS
    set_bits = (1 << place for place in range(bits.bit_length()) if bits >> place & 1)
    return tuple(known.get(bit, hex(bit)) for bit in set_bits)


def slows(bits: int) -> bool:
    """Whether a reading has a reason that makes samples slower than the card is set to be."""
    return any(bits & bit for bit in SLOWING)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Samples that were taken in one go, and the card's reasons read just before and just after.

    ``before``, ``after``  bits; None where nothing could be read.
    """

    samples: tuple[float, ...]
    before: int | None
    after: int | None

    @property
    def throttled(self) -> bool:
        """The rule: a slowing reason before or after marks every sample between."""
        return any(bits is not None and slows(bits) for bits in (self.before, self.after))

    @property
    def unread(self) -> bool:
        """Whether a reading is missing and the other one shows nothing: the samples are kept."""
        return not self.throttled and None in (self.before, self.after)


@dataclass(frozen=True, slots=True)
class Sieved:
    """What is left, and what was taken out.

    ``kept``       the samples that count, in order.
    ``throttled``  for each sample in order, whether it was left out.
    ``unread``     samples kept although a reading is missing.
    ``reasons``    names of the slowing reasons to the samples beside them; a sample may have two.
    """

    kept: tuple[float, ...]
    throttled: tuple[bool, ...]
    unread: int
    reasons: dict[str, int]

    @property
    def left_out(self) -> int:
        """The samples that do not count."""
        return sum(self.throttled)


def sieve(chunks: Sequence[Chunk]) -> Sieved:
    """The samples of a case without those of throttled chunks.

    If all were throttled none is kept: a time of a card that is held down is no time of a pass.
    """
    reasons: dict[str, int] = {}
    for chunk in chunks:
        bits = (chunk.before or 0) | (chunk.after or 0)
        for bit, name in SLOWING.items():
            if bits & bit:
                reasons[name] = reasons.get(name, 0) + len(chunk.samples)
    return Sieved(
        tuple(s for chunk in chunks if not chunk.throttled for s in chunk.samples),
        tuple(chunk.throttled for chunk in chunks for _ in chunk.samples),
        sum(len(chunk.samples) for chunk in chunks if chunk.unread),
        reasons,
    )
