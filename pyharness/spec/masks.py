"""Masks as lengths, or why a mask cannot be lengths: cuDNN knows only how long each row is.

A mask marks the steps that count; a row of it is lengths if what counts comes first. Rows and steps
count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import UsageError
from pyharness.spec.array_files import read_array
from pyharness.spec.batches import rows_text, rows_where
from pyharness.spec.mask_values import as_bool

# A way to have a mask with gaps or padding on the left all the same: mask and x are [steps, batch]
# and [steps, batch, width], y as well. Every row takes its steps in order, without those masked, so
# the numbers are those of a network that skips them.
CLOSE_UP = """\
order = np.argsort(~mask, axis=0, kind="stable")[..., None]
closed, hy, cy = rnn(np.take_along_axis(x, order, 0), mask.sum(0), hx, cx)
y = np.zeros_like(closed)
np.put_along_axis(y, order, closed, 0)"""

Kind = Literal["gap", "left_padding", "empty_row"]
_INVERT = (
    "if True marks padding here, which is the other convention, give the inverse (~mask): it has "
    "what counts first in every row"
)
_FOUND: dict[Kind, str] = {
    "gap": "masked steps between steps that count",
    "left_padding": "masked steps before the first step that counts",
    "empty_row": "no step that counts: length 0",
}


@dataclass(frozen=True, slots=True)
class MaskFault:
    """What is unusual about a row.

    ``kind``   gap, left_padding or empty_row; an empty row has a length, 0, the others have none.
    ``step``   gap: the first masked step of it; left_padding: the first step that counts.
    ``moved``  how many steps what follows has to move to the left to close it; 0 for an empty row.
    ``words``  the same in a sentence, with what to do.
    """

    kind: Kind
    row: int
    step: int
    moved: int
    words: str


@dataclass(frozen=True, slots=True)
class MaskReading:
    """What a mask means.

    ``lengths``     one a row; None if some row has a gap or padding on the left.
    ``time_major``  whether it was read as time x batch.
    ``faults``      every row that is unusual, by row; a row may have two.
    ``notes``       what was assumed and what is likely, in sentences.
    """

    lengths: tuple[int, ...] | None
    time_major: bool
    batch_size: int
    max_seq_length: int
    faults: tuple[MaskFault, ...]
    notes: tuple[str, ...]

    @property
    def summary(self) -> tuple[str, ...]:
        """One sentence a kind of fault, with the first rows that have it."""
        said = []
        for kind, found in _FOUND.items():
            rows = [f.row for f in self.faults if f.kind == kind]
            if rows:
                said.append(f"{rows_text(rows)}: {found}")
        return tuple(said)


def read_mask_file(path: str | Path) -> NDArray[Any]:
    """The array of a .npy file, or of a .npz file with one.

    Raises  UsageError in words for everything that is no such file.
    """
    return read_array(Path(path))


def read_mask(
    mask: NDArray[Any],
    *,
    time_major: bool | None = None,
    batch_size: int | None = None,
    max_seq_length: int | None = None,
) -> MaskReading:
    """The lengths that a mask stands for, or the rows that have none.

    ``mask``        [batch, time] or [time, batch], True or not 0 where a step counts; a last axis
                    of features is allowed if all of them agree.
    ``time_major``  which of the two; None: found from the sizes, or from the mask itself.

    Raises  UsageError for what is no mask, or one of another batch.
    """
    counts, notes = as_bool(mask)
    turned = _orientation(counts, time_major, batch_size, max_seq_length, notes)
    if turned:
        counts = counts.T
    faults = _faults(counts)
    lengths = None
    if all(f.kind == "empty_row" for f in faults):
        lengths = tuple(int(n) for n in counts.sum(1))
    else:
        notes.append("cuDNN is told how long each row is and no more: no release takes this mask")
    if faults and _is_prefix(~counts) and (lengths is None or not any(lengths)):
        notes.append(_INVERT)
    rows, steps = counts.shape
    return MaskReading(lengths, turned, rows, steps, tuple(faults), tuple(notes))


def _is_prefix(counts: NDArray[np.bool_]) -> bool:
    """Whether in every row what counts comes before what does not."""
    return not bool((counts[:, 1:] & ~counts[:, :-1]).any())


def _orientation(
    counts: NDArray[np.bool_],
    time_major: bool | None,
    batch_size: int | None,
    max_seq_length: int | None,
    notes: list[str],
) -> bool:
    """Whether the mask is time x batch; what was assumed goes to the notes."""
    shapes = {False: counts.shape, True: counts.shape[::-1]}
    fitting = [
        turned
        for turned, (rows, steps) in shapes.items()
        if time_major in (None, turned)
        and batch_size in (None, rows)
        and max_seq_length in (None, steps)
    ]
    if not fitting:
        raise _unfit(counts.shape, time_major, batch_size, max_seq_length)
    if len(fitting) == 1:
        return fitting[0]
    size = f"{counts.shape[0]}x{counts.shape[1]}"
    if min(counts.shape) > 1:  # one step, or one row, says nothing about the order
        for inverse, but in ((False, ""), (True, ", if it is inverted")):
            both = {t: _is_prefix((counts.T if t else counts) ^ inverse) for t in (False, True)}
            left_padded = not inverse and _is_prefix(counts[:, ::-1])
            if both[True] and not both[False] and left_padded:
                raise _two_readings(counts.shape)
            if both[False] != both[True]:
                words = "time x batch" if both[True] else "batch x time"
                notes.append(
                    f"the mask ({size}) is read as {words}: the other way round what counts does "
                    f"not come first in every row{but}"
                )
                return both[True]
    rows, steps = shapes[False]
    notes.append(
        f"the mask ({size}) can be read both ways, batch x time is assumed: {rows} rows of {steps} "
        "steps; say --time-major (time_major=True) if it is not, or give batch_size"
    )
    return False


def _two_readings(shape: tuple[int, ...]) -> UsageError:
    """The error for a mask that is padded on the left, or lies the other way: who could tell."""
    rows, steps = shape
    return UsageError(
        f"a mask of {rows}x{steps} has two readings: batch x time, padded on the left, or time x "
        "batch, padded at the end",
        "say which: --batch-major or --time-major (time_major=), or give batch_size",
    )


def _unfit(
    shape: tuple[int, ...],
    time_major: bool | None,
    batch_size: int | None,
    max_seq_length: int | None,
) -> UsageError:
    """The error for a mask of another batch: both numbers, and what each axis would be."""
    given = {"batch_size": batch_size, "max_seq_length": max_seq_length}
    wanted = " and ".join(f"{name}={value}" for name, value in given.items() if value is not None)
    a, b = shape
    readings = []
    if time_major is not True:
        readings.append(f"as batch x time it has {a} rows of {b} steps")
    if time_major is not False:
        readings.append(f"as time x batch it has {b} rows of {a} steps")
    return UsageError(
        f"a mask of {a}x{b} does not fit {wanted}: {', '.join(readings)}",
        "mask, batch_size and max_seq_length must be those of one x",
    )


def _faults(counts: NDArray[np.bool_]) -> list[MaskFault]:
    """Every unusual row, ascending; a row may have padding on the left and a gap."""
    steps = counts.shape[1]
    total = counts.sum(1)
    first = counts.argmax(1)
    end = np.where(total > 0, steps - counts[:, ::-1].argmax(1), 0)
    unusual = (total == 0) | (end != total)
    faults = []
    for row in rows_where(unusual):
        if not total[row]:
            words = f"row {row} has no step that counts: its length is 0"
            faults.append(MaskFault("empty_row", row, 0, 0, words))
            continue
        begin, last = int(first[row]), int(end[row])
        if begin:
            faults.append(_left_padding(row, begin))
        if last - begin != total[row]:
            gap = begin + int(counts[row, begin:].argmin())
            resumes = gap + int(counts[row, gap:].argmax())
            faults.append(_gap(row, gap, resumes))
    return faults


def _left_padding(row: int, begin: int) -> MaskFault:
    words = (
        f"row {row} is padded on the left: its first step that counts is {begin}; shift it left by "
        f"{begin}"
    )
    return MaskFault("left_padding", row, begin, begin, words)


def _gap(row: int, gap: int, resumes: int) -> MaskFault:
    masked = f"step {gap} is" if resumes - gap == 1 else f"steps {gap} to {resumes - 1} are"
    words = (
        f"row {row} has a gap: {masked} masked and step {resumes} counts again; a network that "
        "skips masked steps gives the same with the steps that count moved to the front"
    )
    return MaskFault("gap", row, gap, resumes - gap, words)
