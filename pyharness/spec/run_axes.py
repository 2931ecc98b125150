"""Run axes: what a problem says of a run on a device, and no host call is handed.

A problem may give them beside the axes of the calls; grids and host tables do not have them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyharness.errors import UsageError
from pyharness.spec.axes import Axis, ChoiceAxis, RealAxis, SizeAxis
from pyharness.spec.calls import all_axes


@dataclass(frozen=True, slots=True)
class RateAxis(RealAxis):
    """A share that is dropped: 0 or more, less than 1."""

    def parse(self, text: str) -> list[int]:
        (value,) = RealAxis.parse(self, text)
        if not 0 <= self.number(value) < 1:
            raise UsageError(
                f"{self.name}: {text} is no rate", "0 or more and less than 1, for example 0.5"
            )
        return [value]


RUN_AXES: tuple[Axis, ...] = (
    RateAxis("dropout_rate", "share of each layer's output that training drops"),
    ChoiceAxis(
        "dev_seq_lengths",
        ("rule", "given", "null"),
        "lengths on the device: as the release wants them, handed over, or NULL",
    ),
    ChoiceAxis("initial_states", ("given", "null"), "hx and cx: handed over, or NULL"),
    SizeAxis(
        "seed",
        "what weights, inputs and dropout are drawn from",
        least=0,
        why="a seed is no negative number",
    ),
)
RUN_DEFAULTS = {
    "dropout_rate": "0.0",
    "dev_seq_lengths": "rule",
    "initial_states": "given",
    "seed": "0",
}


def problem_axes() -> dict[str, Axis]:
    """Every axis that a problem may give by name: those of the calls, then those of a run."""
    return {**all_axes(), **{axis.name: axis for axis in RUN_AXES}}
