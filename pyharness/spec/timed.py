"""What is timed, and how: passes that a device runs, made of stages, and the ways to time them."""

from __future__ import annotations

from pyharness.spec.stages import PASSES

TRAINING_STEP = "training_step"  # forward_training, backward_data, backward_weights
BACKWARD = "backward"  # both backward passes, where a peer cannot tell them apart
TIMED_PASSES = (*PASSES, TRAINING_STEP)
CLOSE = "close"  # no pass: what follows them, a row only where it failed

# hot: back to back between two events. cold: the L2 cache flushed before each. graph: replay of a
# CUDA graph. enqueue: the host's time of the call, with nothing queued.
TIMING_MODES = ("hot", "cold", "graph", "enqueue")
NOT_CAPTURABLE = "NOT_CAPTURABLE"  # the status where there is no CUDA graph of a pass


def stages_of(pass_name: str) -> tuple[str, ...]:
    """The stages that a pass is made of."""
    if pass_name == TRAINING_STEP:
        return ("forward_training", "backward_data", "backward_weights")
    return (pass_name,)
