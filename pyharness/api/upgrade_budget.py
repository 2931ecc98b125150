"""The time that an upgrade may take, and what each part of it is given."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pyharness.analyze.upgrade import Part
from pyharness.errors import UsageError

DEFAULT_BUDGET = "30m"
_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(s|m|min|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_MOST_S = 7 * 24 * 3600.0
# In the order in which they run, the most telling first: of the time that is left, what each gets
# beside those behind it.
WEIGHTS: dict[Part, int] = {
    "stages": 10,
    "time": 40,
    "memory": 5,
    "determinism": 25,
    "accuracy": 10,
    "drift": 10,
}


def parse_budget(text: str) -> float:
    """A time such as 90s, 30m or 1h in seconds.

    Raises  UsageError for anything else, for none, and for more than a week.
    """
    found = _TIME.fullmatch(text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0 < seconds <= _MOST_S:
        raise UsageError(
            f"{text!r} is no time to spend", "write 90s, 30m or 1h: more than 0, up to 168h"
        )
    return seconds


class Budget:
    """Time that runs from now on.

    ``clock``  seconds; by default those of time.monotonic().
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock, self._began = seconds, clock, clock()

    @property
    def spent_s(self) -> float:
        """That has gone by."""
        return self._clock() - self._began

    def share(self, part: Part) -> float:
        """What a part is given of the time that is left, while those behind it are to come."""
        weights = list(WEIGHTS.values())[list(WEIGHTS).index(part) :]
        return max(0.0, self.seconds - self.spent_s) * weights[0] / sum(weights)


def left_of(until: float) -> float:
    """Seconds until a time of time.monotonic(), 0 where it has gone by."""
    return max(0.0, until - time.monotonic())
