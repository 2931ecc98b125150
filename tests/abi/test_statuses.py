"""Names, families and aliases of the statuses."""

from __future__ import annotations

import pytest

from pyharness.spec.statuses import (
    STATUSES_8,
    STATUSES_9,
    Status,
    canonical,
    family,
    known_statuses,
    status_name,
)


@pytest.mark.parametrize(
    ("code", "release", "name"),
    [
        (3, (8, 9, 7, 29), "BAD_PARAM"),
        (2000, (9, 0, 0, 312), "BAD_PARAM"),
        (2000, (8, 9, 7, 29), "2000"),
        (3, (9, 0, 0, 312), "3"),
        (6, (8, 5, 0, 96), "ARCH_MISMATCH"),
        (3007, (9, 28, 0, 42), "NOT_SUPPORTED_ARCH_MISMATCH"),
        (3013, (9, 4, 0, 58), "3013"),
        (3013, (9, 5, 0, 50), "NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API"),
        (-1, (9, 28, 0, 42), "-1"),
    ],
)
def test_number_to_name(code: int, release: tuple[int, ...], name: str) -> None:
    assert status_name(code, release) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SUCCESS", "SUCCESS"),
        ("BAD_PARAM", "BAD_PARAM"),
        ("BAD_PARAM_NULL_POINTER", "BAD_PARAM"),
        ("INVALID_VALUE", "BAD_PARAM"),
        ("NOT_SUPPORTED_LAYOUT", "NOT_SUPPORTED"),
        ("ARCH_MISMATCH", "NOT_SUPPORTED"),
        ("RUNTIME_PREREQUISITE_MISSING", "NOT_SUPPORTED"),
        ("ALLOC_FAILED", "INTERNAL_ERROR"),
        ("MAPPING_ERROR", "INTERNAL_ERROR"),
        ("EXECUTION_FAILED_CUBLAS", "EXECUTION_FAILED"),
        ("NOT_INITIALIZED", "NOT_INITIALIZED"),
        ("VERSION_MISMATCH", "SUBLIBRARY_VERSION_MISMATCH"),
        ("NOT_SUPPORTED_OF_A_LATER_RELEASE", "NOT_SUPPORTED"),
        ("1999", "1999"),
    ],
)
def test_family(name: str, expected: str) -> None:
    assert family(name) == expected


def test_every_old_name_lives_on_in_the_new_numbering() -> None:
    assert {s.name for s in STATUSES_8} <= {s.name for s in STATUSES_9}


@pytest.mark.parametrize("status", [s for s in STATUSES_9 if s.alias_of], ids=lambda s: s.name)
def test_alias_shares_the_number_of_its_canonical_name(status: Status) -> None:
    target = next(s for s in STATUSES_9 if s.name == canonical(status.name))
    assert target.value == status.value
    assert target.alias_of is None


@pytest.mark.parametrize("release", [(8, 5), (8, 9, 7, 29), (9, 0), (9, 28, 1, 4)])
def test_a_number_has_one_canonical_name(release: tuple[int, ...]) -> None:
    values = [s.value for s in known_statuses(release) if s.alias_of is None]
    assert len(set(values)) == len(values)
