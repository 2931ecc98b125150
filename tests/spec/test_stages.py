"""The order of the stages, what each needs, and what a status comes to."""

from __future__ import annotations

import pytest

from pyharness.errors import UsageError
from pyharness.spec.stage_results import outcome_of
from pyharness.spec.stages import (
    CALLS,
    NEEDS,
    PASSES,
    STAGES,
    blocked_by,
    needed_passes,
    stages_until,
)


def test_the_order() -> None:
    assert " ".join(STAGES) == (
        "descriptor data state sizes build "
        "forward_inference forward_training backward_data backward_weights"
    )
    assert set(NEEDS) == set(CALLS) == set(STAGES)
    for stage, needs in NEEDS.items():
        assert all(STAGES.index(need) < STAGES.index(stage) for need in needs)


@pytest.mark.parametrize(
    ("ended", "blocked"),
    [
        ((), ()),
        (("descriptor",), STAGES[1:]),
        (("sizes",), STAGES[4:]),
        (("build",), STAGES[5:]),
        (("forward_inference",), ()),  # training may work where inference does not
        (("forward_training",), ("backward_data", "backward_weights")),
        (("backward_data",), ("backward_weights",)),
        (("backward_weights",), ()),
    ],
)
def test_what_blocks_what(ended: tuple[str, ...], blocked: tuple[str, ...]) -> None:
    assert tuple(s for s in STAGES if blocked_by(s, ended)) == blocked
    assert {blocked_by(s, ended) for s in blocked} <= set(ended)


@pytest.mark.parametrize(
    ("passes", "needed"),
    [
        ((), ()),
        (PASSES[:1], PASSES[:1]),
        (PASSES[1:2], PASSES[1:2]),
        (PASSES[2:3], PASSES[1:3]),
        (PASSES[3:], PASSES[1:]),
        ((PASSES[3], PASSES[0]), PASSES),
    ],
)
def test_passes_with_those_that_they_need(passes: tuple[str, ...], needed: tuple[str, ...]) -> None:
    assert tuple(needed_passes(passes)) == needed


def test_until() -> None:
    assert stages_until("descriptor") == ("descriptor",)
    assert stages_until("backward_weights") == STAGES
    with pytest.raises(UsageError, match="unknown stage 'forward'") as caught:
        stages_until("forward")
    assert "forward_training" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("SUCCESS", "passed"),
        ("BAD_PARAM", "unsupported"),
        ("BAD_PARAM_SIZE_INSUFFICIENT", "unsupported"),
        ("INVALID_VALUE", "unsupported"),
        ("NOT_SUPPORTED", "unsupported"),
        ("ARCH_MISMATCH", "unsupported"),
        ("NOT_SUPPORTED_ARCH_MISMATCH", "unsupported"),
        ("NOT_SUPPORTED_OF_A_RELEASE_TO_COME", "unsupported"),
        ("ALLOC_FAILED", "out_of_memory"),
        ("INTERNAL_ERROR_HOST_ALLOCATION_FAILED", "out_of_memory"),
        ("INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "out_of_memory"),
        ("EXECUTION_FAILED", "failed"),
        ("EXECUTION_FAILED_CUBLAS", "failed"),
        ("INTERNAL_ERROR", "failed"),
        ("MAPPING_ERROR", "failed"),
        ("NOT_INITIALIZED", "failed"),
        ("SUBLIBRARY_LOADING_FAILED", "failed"),
        ("4711", "failed"),
    ],
)
def test_what_a_status_comes_to(status: str, outcome: str) -> None:
    assert outcome_of(status) == outcome
