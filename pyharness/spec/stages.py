"""The stages of an RNN's life, in order: those that the host validates, then those of a device."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyharness.errors import unknown_name
from pyharness.spec.calls import HOST_STAGES

PASSES = ("forward_inference", "forward_training", "backward_data", "backward_weights")
STAGES = (*HOST_STAGES, "sizes", "build", *PASSES)

# What has to have passed before a stage is tried. A refused inference does not stop training.
NEEDS: dict[str, tuple[str, ...]] = {
    "descriptor": (),
    "data": ("descriptor",),
    "state": ("data",),
    "sizes": ("state",),
    "build": ("sizes",),
    "forward_inference": ("build",),
    "forward_training": ("build",),
    "backward_data": ("forward_training",),
    "backward_weights": ("backward_data",),
}
# The last call of a stage: what is named where a stage passed, or was never begun.
CALLS = {
    "descriptor": "cudnnSetRNNDescriptor_v8",
    "data": "cudnnSetRNNDataDescriptor",
    "state": "cudnnSetTensorNdDescriptor",
    "sizes": "cudnnGetRNNTempSpaceSizes",
    "build": "cudnnBuildRNNDynamic",
    "forward_inference": "cudnnRNNForward",
    "forward_training": "cudnnRNNForward",
    "backward_data": "cudnnRNNBackwardData_v8",
    "backward_weights": "cudnnRNNBackwardWeights_v8",
}


def stages_until(last: str) -> tuple[str, ...]:
    """The stages up to this one, itself included.

    Raises  UsageError if there is no such stage.
    """
    if last not in STAGES:
        raise unknown_name("stage", last, STAGES)
    return STAGES[: STAGES.index(last) + 1]


def blocked_by(stage: str, ended: Collection[str]) -> str | None:
    """The stage that has to pass before this one and is among those that did not; None if none."""
    for need in NEEDS[stage]:
        found = need if need in ended else blocked_by(need, ended)
        if found is not None:
            return found
    return None


def needed_passes(passes: Sequence[str]) -> list[str]:
    """The passes, in order, with those that they need."""
    last = max((PASSES.index(name) for name in passes), default=-1)
    return [p for i, p in enumerate(PASSES[: last + 1]) if p in passes or i > 0]
