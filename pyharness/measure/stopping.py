"""When a case has been timed for long enough."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from pyharness.errors import UsageError
from pyharness.measure.median import Samples, median_error

Reason = Literal["precise", "time limit", "sample limit"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do next: take ``chunk`` more samples, or stop for a ``reason``."""

    chunk: int
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Stop once the median is known well enough, and never later than a time limit.

    precise       least_samples and least_s are reached and the standard error of the median is at
                  most relative_error of the median
    time limit    most_s have passed, whatever has been reached
    sample limit  most_samples have been taken, those that were left out included

    Asked after each chunk. A chunk is as large as all before it, those that were left out too, so
    that the rule looks only some ten times: who looks after every sample stops at the first that
    happens to look good. It is cut to what the time left and the sample limit allow. The first
    sample comes alone, since nobody knows yet how long it takes.

    ``resolution_s``  the timer's step, if all samples should be one reading.
    """

    least_samples: int = 30
    least_s: float = 0.1
    relative_error: float = 0.005
    most_s: float = 3.0
    most_samples: int = 10_000
    resolution_s: float = 0.0

    def __post_init__(self) -> None:
        if not 2 <= self.least_samples <= self.most_samples:
            raise UsageError(
                f"at least {self.least_samples} samples and at most {self.most_samples}",
                "at least 2, and at most as many or more",
            )
        if not 0 <= self.least_s <= self.most_s < inf:
            raise UsageError(
                f"at least {self.least_s} s and at most {self.most_s} s",
                "at least 0 s, and at most as long or longer, but not for ever",
            )
        if not self.relative_error > 0:
            raise UsageError(f"a relative error of {self.relative_error}", "more than 0")

    @property
    def name(self) -> str:
        """The rule in words, for the record."""
        return (
            f"median within {self.relative_error:.2%}, {self.least_samples} to "
            f"{self.most_samples} samples, {self.least_s:g} to {self.most_s:g} s"
        )

    def decide(self, samples: Samples, elapsed_s: float, left_out: int = 0) -> Decision:
        """What to do after these samples.

        ``samples``    those that count, of all chunks so far, in seconds.
        ``elapsed_s``  since sampling began; more than their sum where each is prepared for.
        ``left_out``   samples that do not count, of all chunks so far.
        """
        taken = len(samples) + left_out
        if self._precise(samples, elapsed_s):
            return Decision(0, "precise")
        if elapsed_s >= self.most_s:
            return Decision(0, "time limit")
        if taken >= self.most_samples:
            return Decision(0, "sample limit")
        chunk = max(1, min(taken, self.most_samples - taken))
        if taken > 0 and elapsed_s > 0:
            affordable = int((self.most_s - elapsed_s) / (elapsed_s / taken))
            chunk = max(1, min(chunk, affordable))
        return Decision(chunk)

    def _precise(self, samples: Samples, elapsed_s: float) -> bool:
        if len(samples) < self.least_samples or elapsed_s < self.least_s:
            return False
        bound = self.relative_error * float(np.median(np.asarray(samples, np.float64)))
        return median_error(samples, self.resolution_s) <= bound
