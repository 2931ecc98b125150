"""Advice on the lengths of a batch: other calls for the same numbers.

Rows and steps count from 0. A recipe is NumPy code; NAMES says what its names stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyharness.spec.batches import (
    LONGEST,
    chunks,
    empty_rows,
    list_text,
    negative,
    rows_text,
    rows_where,
    sort_order,
    too_long,
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A way around.

    ``title``  what to do, in a clause.
    ``code``   NumPy lines that do it, or "" where a setting does.
    ``notes``  what else must hold for the numbers to stay the same.
    """

    title: str
    code: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """One property of a batch that a call may refuse.

    ``kind``     nothing, count, negative, over_max, under_max, empty, unsorted or too_many_steps.
    ``rows``     every row that has it.
    ``words``    what was found, in a sentence.
    ``recipes``  ways around, the nearest first; all keep the numbers unless a note says otherwise.
    """

    kind: str
    rows: tuple[int, ...]
    words: str
    recipes: tuple[Recipe, ...]


# What the names in a recipe stand for: to be said once beside recipes.
NAMES = (
    "x and y are [steps, batch, width] (swap the first two axes of batch-major ones), hx, cx, hy "
    "and cy [pseudo-layers, batch, width], lengths an array of integers, y_width the width of y, "
    "np is numpy, and rnn is the call: y, hy, cy = rnn(x, lengths, hx, cx); cells other than lstm "
    "have no cx and cy; a packed x or y is this without the steps beyond each row's end"
)

SORT = """\
order = np.argsort(-lengths, kind="stable")
y, hy, cy = rnn(x[:, order], lengths[order], hx[:, order], cx[:, order])
inverse = np.argsort(order)
y, hy, cy = y[:, inverse], hy[:, inverse], cy[:, inverse]"""

DROP_EMPTY = """\
kept = np.flatnonzero(lengths)
y = np.zeros((len(x), len(lengths), y_width), x.dtype)
hy, cy = hx.copy(), cx.copy()
if len(kept):
    y[:, kept], hy[:, kept], cy[:, kept] = rnn(
        x[:, kept], lengths[kept], hx[:, kept], cx[:, kept])"""

FEED_ONE = """\
empty = lengths == 0
y, hy, cy = rnn(x, np.maximum(lengths, 1), hx, cx)
y[:, empty], hy[:, empty], cy[:, empty] = 0, hx[:, empty], cx[:, empty]"""

PAD = """\
x = np.concatenate([x, np.zeros((max(lengths) - len(x), *x.shape[1:]), x.dtype)])
y, hy, cy = rnn(x, lengths, hx, cx)"""

SHORTEN = """\
longest = max(lengths)
y = np.zeros((len(x), len(lengths), y_width), x.dtype)
y[:longest], hy, cy = rnn(x[:longest], lengths, hx, cx)"""

CUT = """\
y = np.zeros((len(x), len(lengths), y_width), x.dtype)
hy, cy = hx.copy(), cx.copy()
for first in range(0, max(lengths), longest):
    rows = np.flatnonzero(lengths > first)
    part = np.minimum(lengths[rows] - first, longest)
    end = first + max(part)
    y[first:end, rows], hy[:, rows], cy[:, rows] = rnn(
        x[first:end, rows], part, hy[:, rows], cy[:, rows])"""

# The reverse direction as a network of its own, from the last chunk to the first: x of a row is
# turned round within its chunk, and the state comes from the chunk that follows in time.
CUT_REVERSE = """\
y = np.zeros((len(x), len(lengths), y_width), x.dtype)
hy, cy = hx.copy(), cx.copy()
for first in reversed(range(0, max(lengths), longest)):
    rows = np.flatnonzero(lengths > first)
    part = np.minimum(lengths[rows] - first, longest)
    end = first + max(part)
    turned = np.arange(end - first)[:, None]
    turned = np.where(turned < part, part - 1 - turned, turned)
    there = (first + turned, rows[None, :])
    y[there], hy[:, rows], cy[:, rows] = rnn(x[there], part, hy[:, rows], cy[:, rows])"""


def advise(
    lengths: Sequence[int],
    *,
    batch_size: int | None = None,
    max_seq_length: int | None = None,
    packed: bool = False,
    bidirectional: bool = False,
    limit: int = LONGEST,
) -> tuple[Advice, ...]:
    """Everything about these lengths that some call of some release refuses, and ways around.

    ``packed``         the layout is seq_major_packed: its own demands are looked at too.
    ``bidirectional``  the network has two directions, which changes how long sequences are cut.

    Returns  nothing if any release takes the batch as it is.
    """
    if not lengths and batch_size == 0:
        return (_nothing("sequences"),)
    if max_seq_length == 0:
        return (_nothing("steps"),)
    found = [
        _count(lengths, batch_size),
        _negative(lengths),
        _over_max(lengths, max_seq_length),
        _under_max(lengths, max_seq_length) if packed else None,
        _empty(lengths),
        _unsorted(lengths) if packed else None,
        _too_many_steps(lengths, max_seq_length, bidirectional, limit),
    ]
    return tuple(one for one in found if one is not None)


def _nothing(what: str) -> Advice:
    title = f"make no call where there are no {what}: y is empty, hy is hx and cy is cx"
    note = "where a batch is split, the last parts may get none; backwards dw gets nothing added"
    return Advice("nothing", (), f"the batch has no {what}", (Recipe(title, "", (note,)),))


def _count(lengths: Sequence[int], batch_size: int | None) -> Advice | None:
    if batch_size is None or batch_size == len(lengths):
        return None
    words = f"{len(lengths):,} lengths are given and batch_size is {batch_size:,}"
    extra = tuple(range(batch_size, len(lengths))) if batch_size >= 0 else ()
    title = f"set batch_size={len(lengths)}, or give one length for each sequence"
    return Advice("count", extra, words, (Recipe(title),))


def _negative(lengths: Sequence[int]) -> Advice | None:
    rows = negative(lengths)
    if not rows:
        return None
    words = f"{rows_text(rows)}: the length is below 0 (row {rows[0]}: {lengths[rows[0]]})"
    title = "a sequence has 0 or more steps: mend what computes the lengths"
    return Advice("negative", rows, words, (Recipe(title),))


def _over_max(lengths: Sequence[int], max_seq_length: int | None) -> Advice | None:
    rows = () if max_seq_length is None else too_long(lengths, max_seq_length)
    if not rows:
        return None
    longest = max(lengths)
    words = (
        f"{rows_text(rows)}: longer than the {max_seq_length} steps that the batch is padded to "
        f"(row {rows[0]}: {lengths[rows[0]]}; the longest: {longest})"
    )
    note = "only if the sequences have these steps: what is padded with zeros is computed with"
    clip = Recipe(
        f"cut the lengths to {max_seq_length}, for example np.minimum(lengths, {max_seq_length})",
        "",
        ("the steps that are cut off are not seen: these rows give other numbers",),
    )
    title = f"raise max_seq_length to {longest} and pad x"
    return Advice("over_max", rows, words, (Recipe(title, PAD, (note,)), clip))


def _under_max(lengths: Sequence[int], max_seq_length: int | None) -> Advice | None:
    longest = max(lengths, default=0)
    if max_seq_length is None or longest >= max_seq_length or longest < 1:
        return None
    words = (
        f"no sequence has the {max_seq_length} steps of max_seq_length: the longest is {longest}, "
        "and the packed layout has no steps beyond it"
    )
    recipes = (
        Recipe(f"set max_seq_length={longest}", SHORTEN),
        Recipe("use a padded layout: layout=seq_major_unpacked aux_flags=padded_io_enabled"),
    )
    return Advice("under_max", (), words, recipes)


def _empty(lengths: Sequence[int]) -> Advice | None:
    rows = empty_rows(lengths)
    if not rows:
        return None
    left = len(lengths) - len(rows)
    words = f"{rows_text(rows)}: length 0, {left:,} of {len(lengths):,} sequences have steps"
    kept = (
        f"batch_size becomes {left:,}, of hx and cx too"
        if left
        else "no sequence is left: make no call"
    )
    drop = Recipe(
        "leave these rows out; their y is 0, hy is hx and cy is cx, as no step was taken",
        DROP_EMPTY,
        (kept, "backwards, their dhx is dhy and dcx is dcy, and they add nothing to dw"),
    )
    feed = Recipe(
        "give them length 1 and put back y, hy and cy afterwards",
        FEED_ONE,
        (
            "one step of padding is computed for nothing, so x there must be finite",
            "backwards, give dy, dhy and dcy as 0 for these rows, and take their dhx and dcx from "
            "dhy and dcy",
        ),
    )
    return Advice("empty", rows, words, (drop, feed))


def _unsorted(lengths: Sequence[int]) -> Advice | None:
    steps = np.asarray(lengths, np.int64)
    rows = rows_where(np.concatenate([[False], steps[1:] > steps[:-1]]))
    if not rows:
        return None
    order, inverse = sort_order(lengths)
    words = (
        f"{rows_text(rows)}: longer than the row before, the packed layout wants the lengths to "
        f"descend (row {rows[0]}: {lengths[rows[0]]} after {lengths[rows[0] - 1]})"
    )
    notes = (
        f"order {list_text(order.tolist())}, inverse {list_text(inverse.tolist())}",
        "with dropout the random draws fall on other rows",
    )
    recipes = (
        Recipe("sort the rows by length, longest first, and sort what comes back", SORT, notes),
        Recipe(
            "use a padded layout, which takes any order: layout=seq_major_unpacked "
            "aux_flags=padded_io_enabled"
        ),
    )
    return Advice("unsorted", rows, words, recipes)


def _too_many_steps(
    lengths: Sequence[int], max_seq_length: int | None, bidirectional: bool, limit: int
) -> Advice | None:
    longest = max(lengths, default=0)
    padded = longest if max_seq_length is None else max(longest, max_seq_length)
    if padded <= limit:
        return None
    if longest <= limit:
        words = (
            f"the batch is padded to {padded:,} steps and the longest sequence has {longest:,}: "
            f"{limit:,} is the limit"
        )
        title = f"set max_seq_length={max(longest, 1)}"
        return Advice("too_many_steps", (), words, (Recipe(title, SHORTEN if longest else ""),))
    rows = too_long(lengths, limit)
    plan = chunks([max(n, 0) for n in lengths], limit)
    words = f"{rows_text(rows)}: longer than {limit:,} steps (the longest: {longest:,})"
    training = (
        "for training keep the reserve space of every call, go backwards in the opposite order "
        "with dhy and dcy from dhx and dcx of the call that came after, and let dw add up",
        "with dropout the random draws are others",
    )
    ended = "rows that have ended are left out of a chunk: length 0 is refused by some releases"
    cut = f"longest = {limit}\n{CUT}"
    if not bidirectional:
        title = f"cut into {len(plan):,} calls of at most {limit:,} steps that carry hy and cy over"
        return Advice("too_many_steps", rows, words, (Recipe(title, cut, (ended, *training)),))
    forward = Recipe(
        "one bidirectional call cannot be cut, its reverse direction would begin anew at every "
        "cut: run each layer as two networks of one layer and one direction; this is the first",
        cut,
        (ended, "the weights of a pseudo-layer are those of its network", *training),
    )
    reverse = Recipe(
        f"the second takes the {len(plan):,} chunks from the last to the first, each row turned "
        "round within a chunk; join both y along the width before the next layer",
        f"longest = {limit}\n{CUT_REVERSE}",
        ("finish both networks of a layer over all chunks before the next begins", *training),
    )
    return Advice("too_many_steps", rows, words, (forward, reverse))
