"""The tensors that each pass writes, and what a look at them came to."""

from __future__ import annotations

from typing import Literal

# A cell without a state of its own has no cy and no dcx.
WRITTEN = {
    **dict.fromkeys(("forward_inference", "forward_training"), ("y", "hy", "cy")),
    "backward_data": ("dx", "dhx", "dcx"),
    "backward_weights": ("dw",),
}
AccuracyVerdict = Literal["within", "beyond", "not_told"]
