"""Partitions against the definition: two values are one class if and only if their slices agree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pyharness.analyze import partition as module
from pyharness.analyze.partition import partition


def expand(part):
    """The label array that a partition stands for."""
    return part.quotient[np.ix_(*part.classes)]


@st.composite
def grids(draw):
    """Label arrays whose values repeat: a small array, each axis stretched by a random choice."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=5, max_side=3))
    dtype = draw(st.sampled_from([np.uint8, np.uint16, np.bool_]))
    elements = st.booleans() if dtype is np.bool_ else st.sampled_from([0, 1, 2, 200])
    small = draw(hnp.arrays(dtype, shape, elements=elements))
    for axis, length in enumerate(shape):
        choice = draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=4))
        small = small.take(choice, axis)
    return small


@pytest.fixture(params=[(1 << 17, 1 << 21), (1, 1), (4, 6)], ids=["usual", "tiny", "small"])
def blocks(request, monkeypatch):
    rows, block = request.param
    monkeypatch.setattr(module, "_MOST_ROWS", rows)
    monkeypatch.setattr(module, "_BLOCK", block)
    return request.param


def definition(labels, axis):
    slabs = [labels.take(value, axis).tobytes() for value in range(labels.shape[axis])]
    firsts = list(dict.fromkeys(slabs))
    return [firsts.index(slab) for slab in slabs]


@pytest.mark.usefixtures("blocks")
def test_is_the_definition_and_expands_to_the_labels():
    # Within one test, so that the blocks stay as they are for all examples.
    @settings(max_examples=60, deadline=None)
    @given(grids())
    def check(labels):
        part = partition(labels)
        for axis, classes in enumerate(part.classes):
            assert classes.tolist() == definition(labels, axis)
        assert part.quotient.dtype == labels.dtype
        assert part.quotient.shape == tuple(len(set(of.tolist())) for of in part.classes)
        assert part.quotient.shape == part.counts.shape
        assert np.array_equal(expand(part), labels)

    check()


@given(grids(), st.data())
def test_counts_are_the_points_of_each_label(labels, data):
    part = partition(labels)
    for label in np.unique(labels):
        assert part.counts[part.quotient == label].sum() == (labels == label).sum()


@given(grids())
def test_order_of_memory_and_write_protection_do_not_matter(labels):
    expected = partition(labels)
    view = np.asfortranarray(labels)
    view.flags.writeable = False
    found = partition(view)
    assert all(map(np.array_equal, found.classes, expected.classes))
    assert np.array_equal(found.quotient, expected.quotient)


def test_no_axes_is_one_cell():
    part = partition(np.array(7, np.uint8))
    assert part.classes == ()
    assert part.quotient.shape == ()
    assert part.counts == 1
    assert expand(part) == 7


def test_no_points():
    with pytest.raises(ValueError, match="no points"):
        partition(np.zeros((3, 0), np.uint8))
