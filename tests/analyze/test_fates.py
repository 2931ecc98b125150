"""Sets of problems with one history, against every problem on its own."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.conditions import AxisValues, evaluate
from pyharness.analyze.fates import find_fates
from pyharness.analyze.partition import partition

AXES = [
    AxisValues("size", ("1", "2", "4"), (1.0, 2.0, 4.0)),
    AxisValues("kind", ("a", "b", "c", "d")),
    AxisValues("flag", ("off", "on")),
]
SHAPE = (3, 4, 2)


@given(st.data())
def test_every_problem_is_in_the_set_of_its_history(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4))
    cube = st.lists(st.booleans(), min_size=24, max_size=24)
    answers = [np.array(data.draw(cube)).reshape(SHAPE) for _ in range(count)]
    folds = [partition(a) for a in answers]
    fates = find_fates(AXES, [(p.classes, p.quotient) for p in folds])
    expected = Counter(
        history
        for at in product(*map(range, SHAPE))
        if any(history := tuple(bool(a[at]) for a in answers))
    )
    assert {f.accepted: f.rows for f in fates} == dict(expected)
    ever = np.any(answers, axis=0).reshape(-1)
    for fate in fates:
        said = np.concatenate([inside for _, inside in evaluate(fate.conditions, AXES)])
        own = np.all([a.reshape(-1) == f for a, f in zip(answers, fate.accepted, strict=True)], 0)
        assert np.array_equal(said & ever, own)


def test_words_name_no_value_that_nothing_is_accepted_with() -> None:
    accepted = np.zeros(SHAPE, bool)
    accepted[1:, 1:3, 0] = True
    later = accepted.copy()
    later[:, 2, 0] = False
    parts = [partition(a) for a in (accepted, later)]
    fates = find_fates(AXES, [(p.classes, p.quotient) for p in parts])
    assert {f.words: f.accepted for f in fates} == {"kind=b": (True, True), "kind=c": (True, False)}
