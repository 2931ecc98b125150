"""A problem and how it came to be one: what a mask or a framework's text was taken to mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyharness.spec.masks import MaskReading
from pyharness.spec.problem import Problem


@dataclass(frozen=True, slots=True)
class Reading:
    """What was understood.

    ``mask``   the mask that was given; without lengths the problem has all rows full.
    ``notes``  what was assumed, in sentences.
    """

    problem: Problem
    mask: MaskReading | None = None
    notes: tuple[str, ...] = field(default=())

    def data(self) -> dict[str, Any]:
        """What was assumed, as plain data."""
        mask = self.mask
        return {
            "notes": list(self.notes),
            "mask": None
            if mask is None
            else {
                "time_major": mask.time_major,
                "batch_size": mask.batch_size,
                "max_seq_length": mask.max_seq_length,
                "lengths": None if mask.lengths is None else list(mask.lengths),
                "faults": [
                    {"kind": f.kind, "row": f.row, "step": f.step, "words": f.words}
                    for f in mask.faults
                ],
                "notes": list(mask.notes),
            },
        }
