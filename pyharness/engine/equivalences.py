"""One problem run in two ways that must come to the same, and what is said of each tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyharness.engine import equivalent_batches as batches
from pyharness.engine import equivalent_networks as networks
from pyharness.engine import equivalent_pieces as pieces
from pyharness.engine.beside import Whole
from pyharness.engine.repeats import Refused
from pyharness.engine.told import Found
from pyharness.engine.workbench import Workbench
from pyharness.errors import UsageError, unknown_name
from pyharness.spec.plan_settings import drops
from pyharness.spec.problem import Problem
from pyharness.spec.stages import needed_passes

__all__ = ["Found", "check"]

_CHECKS: dict[str, Callable[[Whole], list[Found]]] = {
    "packed_is_padded": batches.packed_is_padded,
    "padding_filled": batches.padding_filled,
    "padding_ignored": batches.padding_ignored,
    "reverse_starts_at_end": batches.reverse_starts_at_end,
    "projection_off": networks.projection_off,
    "layers_in_turn": networks.layers_in_turn,
    "inference_is_training": networks.inference_is_training,
    "batch_is_parts": batches.batch_is_parts,
    "chunks_are_whole": pieces.chunks_are_whole,
}
_OF_FORWARD = ("padding_filled", "inference_is_training")
# Both ways are the same problem there, so that the same is dropped.
_DROP_ALIKE = ("padding_ignored", *_OF_FORWARD)


def check(bench: Workbench, problem: Problem, passes: Sequence[str], name: str) -> list[Found]:
    """Runs a problem, and what must come to the same.

    ``passes``  of spec.stages.PASSES: what they write is compared; those that they need are run.
    ``name``    of spec.equivalences.CHECKS.
    Returns     each tensor, in each way that there is.
    Raises      repeats.Refused where the check says nothing of such a problem, or its other way is
                not to be had; StageFailed.
    """
    if name not in _CHECKS:
        raise unknown_name("check", name, _CHECKS)
    try:
        return _CHECKS[name](Whole(bench, problem, _passes(problem, passes, name)))
    except UsageError as error:  # it describes no network
        raise Refused(error.message) from None


def _passes(problem: Problem, passes: Sequence[str], name: str) -> list[str]:
    """Those that can be compared, with those that they need."""
    needed = needed_passes(passes)
    if name in _OF_FORWARD:
        needed = [one for one in needed if one.startswith("forward")]
    if name in _DROP_ALIKE or not drops(problem):
        return needed
    if "forward_inference" not in needed:
        raise Refused("what is dropped depends on the place in the batch, and on the layer")
    return ["forward_inference"]
