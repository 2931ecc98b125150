"""Masks: what is lengths becomes lengths, what is not is said with row and step."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pyharness.errors import UsageError
from pyharness.spec.masks import CLOSE_UP, read_mask, read_mask_file
from tests.spec.test_batches import Network, follow

MASKS = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7))


def prefix(lengths: list[int], steps: int) -> np.ndarray[Any, Any]:
    return np.arange(steps) < np.array(lengths)[:, None]


def from_text(*rows: str) -> np.ndarray[Any, Any]:
    return np.array([[c == "1" for c in row] for row in rows])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.integers(0, 2), st.booleans())
def test_a_prefix_mask_gives_its_lengths(lengths: list[int], more: int, turned: bool) -> None:
    steps = max(*lengths, 1) + more
    mask = prefix(lengths, steps)
    read = read_mask(mask.T if turned else mask, time_major=turned)
    assert read.lengths == tuple(lengths)
    assert (read.batch_size, read.max_seq_length, read.time_major) == (len(lengths), steps, turned)
    assert [f.row for f in read.faults] == [row for row, n in enumerate(lengths) if n == 0]


def by_hand(row: list[bool]) -> list[tuple[str, int, int]]:
    """What is unusual about one row: kind, step, and how far what follows has to move."""
    text = "".join("1" if step else "0" for step in row)
    if "1" not in text:
        return [("empty_row", 0, 0)]
    found, begin = [], text.index("1")
    if begin:
        found.append(("left_padding", begin, begin))
    gap = text.find("0", begin)
    if gap >= 0 and "1" in text[gap:]:
        found.append(("gap", gap, text.index("1", gap) - gap))
    return found


@given(MASKS)
def test_every_fault_is_found_where_it_is(mask: np.ndarray[Any, Any]) -> None:
    read = read_mask(mask, time_major=False)
    wanted = [(i, *fault) for i, row in enumerate(mask.tolist()) for fault in by_hand(row)]
    assert [(f.row, f.kind, f.step, f.moved) for f in read.faults] == wanted
    plain = all(kind == "empty_row" for _, kind, _, _ in wanted)
    assert read.lengths == (tuple(mask.sum(1).tolist()) if plain else None)


@given(MASKS, st.integers(0, 9), st.integers(1, 2))
def test_closing_up_gives_what_a_network_that_skips_gives(
    mask: np.ndarray[Any, Any], seed: int, directions: int
) -> None:
    """The recipe as it is printed, against each row by itself with nothing but what counts."""
    draw = np.random.default_rng(seed)
    rows, steps = mask.shape
    network = Network(seed, 2, 3, directions=directions)
    x = draw.uniform(-1, 1, (steps, rows, 2))
    hx, cx = (draw.uniform(-1, 1, (directions, rows, 3)) for _ in range(2))
    names = {"x": x, "mask": mask.T.copy(), "hx": hx, "cx": cx, "np": np}
    y, hy, cy = follow(CLOSE_UP, names, network.run)
    for row in range(rows):
        counts = mask[row]
        one = slice(row, row + 1)
        alone = x[counts, one]
        y_one, hy_one, cy_one = network.run(alone, np.array([len(alone)]), hx[:, one], cx[:, one])
        assert np.array_equal(y[counts, row], y_one[:, 0])
        assert not y[~counts, row].any()
        assert np.array_equal(hy[:, one], hy_one)
        assert np.array_equal(cy[:, one], cy_one)


def test_words_name_row_and_step() -> None:
    read = read_mask(from_text("11010", "00111", "00000", "11110", "01011"))
    assert read.lengths is None
    assert read.notes[-1].endswith("no release takes this mask")
    assert [f.words for f in read.faults] == [
        "row 0 has a gap: step 2 is masked and step 3 counts again; a network that skips masked "
        "steps gives the same with the steps that count moved to the front",
        "row 1 is padded on the left: its first step that counts is 2; shift it left by 2",
        "row 2 has no step that counts: its length is 0",
        "row 4 is padded on the left: its first step that counts is 1; shift it left by 1",
        "row 4 has a gap: step 2 is masked and step 3 counts again; a network that skips masked "
        "steps gives the same with the steps that count moved to the front",
    ]
    assert read.summary == (
        "rows 0 and 4: masked steps between steps that count",
        "rows 1 and 4: masked steps before the first step that counts",
        "row 2: no step that counts: length 0",
    )


def test_a_wide_gap_names_its_first_and_last_step() -> None:
    (fault,) = read_mask(from_text("1001", "1111"), time_major=False).faults
    assert "steps 1 to 2 are masked and step 3 counts again" in fault.words
    assert fault.moved == 2


def test_all_rows_are_in_the_data_and_few_in_words() -> None:
    read = read_mask(np.tile(from_text("101"), (50, 1)), time_major=False)
    assert len(read.faults) == 50
    assert read.summary == (
        "rows 0, 1, 2, 3, 4 and 45 more: masked steps between steps that count",
    )


@pytest.mark.parametrize(
    ("mask", "sizes", "turned"),
    [
        (prefix([3, 1], 4), {"batch_size": 2}, False),
        (prefix([3, 1], 4).T, {"batch_size": 2}, True),
        (prefix([3, 1], 4).T, {"max_seq_length": 4}, True),
        (prefix([3, 1], 4).T, {"batch_size": 2, "max_seq_length": 4}, True),
        (prefix([2, 2, 2], 3), {"time_major": True, "batch_size": 3}, True),
    ],
)
def test_sizes_decide_which_axis_is_time(mask: Any, sizes: Any, turned: bool) -> None:
    read = read_mask(mask, **sizes)
    assert read.time_major is turned
    assert read.notes == ()


@pytest.mark.parametrize("lengths", [(1, 3, 2), (2, 1, 4)])
def test_the_mask_decides_which_axis_is_time(lengths: tuple[int, ...]) -> None:
    mask = prefix(list(lengths), 4)
    for given_mask, turned in ((mask, False), (mask.T, True)):
        read = read_mask(given_mask)
        assert (read.lengths, read.time_major) == (lengths, turned)
        words = "time x batch" if turned else "batch x time"
        size = "x".join(map(str, given_mask.shape))
        assert f"the mask ({size}) is read as {words}: the other way round" in read.notes[0]


@pytest.mark.parametrize("lengths", [[4, 3, 1], [4, 2], [3, 3, 2, 1]])
def test_a_mask_that_may_be_padded_on_the_left_is_asked_about(lengths: list[int]) -> None:
    """Sorted by length and padded on the left it is a prefix mask the other way round."""
    mask = prefix(lengths, 4)[:, ::-1]
    with pytest.raises(UsageError, match="two readings: batch x time, padded on the left") as said:
        read_mask(mask)
    assert "--time-major" in said.value.hint
    assert read_mask(mask, time_major=True).lengths is not None
    left = read_mask(mask, time_major=False)
    assert left.lengths is None
    assert {f.kind for f in left.faults} == {"left_padding"}


@pytest.mark.parametrize(
    "mask",
    [
        np.ones((3, 3)),
        np.ones((2, 4)),
        from_text("1101"),
        from_text("1", "0", "1"),
        prefix([2, 1], 2),
    ],
)
def test_where_both_fit_batch_x_time_is_assumed_and_said(mask: Any) -> None:
    read = read_mask(mask)
    assert (read.batch_size, read.max_seq_length, read.time_major) == (*mask.shape, False)
    assert "both ways, batch x time is assumed" in read.notes[0]
    assert f"{mask.shape[0]} rows of {mask.shape[1]} steps" in read.notes[0]


@pytest.mark.parametrize("turned", [None, False, True])
def test_an_inverted_mask_is_suspected(turned: bool | None) -> None:
    inverted = ~prefix([1, 4, 2], 4)
    read = read_mask(inverted.T if turned else inverted, time_major=turned)
    assert read.lengths is None
    assert "the other convention" in read.notes[-1]
    assert "(~mask)" in read.notes[-1]
    assert read.time_major is bool(turned)
    assert [f.kind for f in read.faults] == ["left_padding", "empty_row", "left_padding"]


def test_an_inverted_mask_of_time_x_batch_is_read_so() -> None:
    read = read_mask((~prefix([1, 3, 2], 4)).T)
    assert read.time_major
    assert "if it is inverted" in read.notes[0]


def test_a_mask_that_masks_everything_may_be_inverted() -> None:
    read = read_mask(np.zeros((2, 3)), batch_size=2)
    assert read.lengths == (0, 0)
    assert "the other convention" in read.notes[-1]


@pytest.mark.parametrize("mask", [prefix([2, 0], 3), from_text("101", "110"), np.ones((2, 3))])
def test_an_ordinary_mask_is_not_suspected(mask: Any) -> None:
    assert not any("inverted" in note for note in read_mask(mask, batch_size=2).notes)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"batch_size": 5}, "does not fit batch_size=5: as batch x time it has 4 rows of 7 steps, "
         "as time x batch it has 7 rows of 4 steps"),
        ({"batch_size": 4, "max_seq_length": 9}, "does not fit batch_size=4 and max_seq_length=9"),
        ({"batch_size": 4, "time_major": True}, "batch_size=4: as time x batch it has 7 rows of 4"),
        ({"max_seq_length": 4, "time_major": False}, "max_seq_length=4: as batch x time it has 4"),
    ],
)  # fmt: skip
def test_a_mask_of_another_batch_is_refused_with_both_numbers(sizes: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_mask(np.ones((4, 7)), **sizes)
    assert said in caught.value.message
    assert ("time x batch" in caught.value.message) is (sizes.get("time_major") is not False)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "f2", "f4", "f8", ">i4", "g"])
def test_types_that_a_mask_may_have(dtype: str) -> None:
    assert read_mask(prefix([2, 1], 3).astype(dtype), batch_size=2).lengths == (2, 1)


def test_other_integers_count_and_are_said() -> None:
    tokens = np.array([[7, 1, 0], [5, 0, 0]])
    read = read_mask(tokens, batch_size=2)
    assert read.lengths == (2, 1)
    assert read.notes == ("integers other than 0 and 1 count as 1, the first at [0, 0]: 7",)


@pytest.mark.parametrize(
    ("mask", "message", "hint"),
    [
        ([[1, 1], [0.5, 0]], "the mask is 0.5 at [1, 0]", "all 0 or 1"),
        ([[1, 1], [1, np.nan]], "the mask is nan at [1, 1]", "all 0 or 1"),
        ([[0.0, -np.inf]], "the mask is -inf at [0, 1]", "mask == 0"),
        (np.array([[1, None]], object), "a mask of type object", "allowed: bool"),
        (np.array([["1", "0"]]), "a mask of type <U1", "allowed: bool"),
        (np.ones((2, 2), complex), "a mask of type complex128", "allowed: bool"),
        (np.array([5, 3]), "a mask of one axis (2 integers)", "--lengths"),
        (np.array([True, False]), "a mask of 1 axes (2)", "two are allowed"),
        (np.array(True), "a mask of 0 axes (a single value)", "two are allowed"),
        (np.ones((2, 2, 2, 2)), "a mask of 4 axes (2x2x2x2)", "two are allowed"),
        (np.ones((0, 5)), "the mask is empty (0x5)", "make no call"),
        (np.ones((5, 0)), "the mask is empty (5x0)", "make no call"),
        (np.ones((2, 3, 0)), "the mask is empty (2x3x0)", "make no call"),
    ],
)
def test_what_is_no_mask_is_refused(mask: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_mask(np.asarray(mask))
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_mask_with_features() -> None:
    mask = prefix([3, 1], 3)
    for features in (1, 4):
        wide = np.repeat(mask[..., None], features, 2)
        assert read_mask(wide, batch_size=2).lengths == (3, 1)
    wide[1, 0, 2] = False
    with pytest.raises(UsageError, match=r"at \[1, 0, 0\] and \[1, 0, 2\]"):
        read_mask(wide)


def saved(save: Callable[[Any], None]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


MASK = prefix([3, 1], 4)
NPY = saved(lambda f: np.save(f, MASK))


@pytest.mark.parametrize(
    "content",
    [
        NPY,
        saved(lambda f: np.save(f, np.asfortranarray(MASK))),
        saved(lambda f: np.savez(f, MASK)),
        saved(lambda f: np.savez_compressed(f, mask=MASK)),
        saved(lambda f: np.lib.format.write_array(f, MASK, (2, 0))),
    ],
)
def test_a_mask_out_of_a_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a file.of any name"
    path.write_bytes(content)
    assert np.array_equal(read_mask_file(path), MASK)
    assert read_mask(read_mask_file(str(path))).lengths == (3, 1)


def member(name: str, content: bytes) -> bytes:
    def save(file: Any) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)

    return saved(save)


def header(text: str, version: bytes = b"\x01\x00") -> bytes:
    size = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + size + text.encode("latin1")


HUGE = "{'descr': '|b1', 'fortran_order': False, 'shape': (1000000000, 1000000000), }"
NPZ = saved(lambda f: np.savez(f, MASK))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"hello there", "is no .npy or .npz file"),
        (pickle.dumps([1, 2]), "is a pickle, which is not opened"),
        (saved(lambda f: np.save(f, np.array([[{}]]))), "holds pickled Python objects"),
        (NPY[:-1], "is cut short: 2x4 of bool are 8 bytes, 7 are there"),
        (NPY[:20], "the header of"),
        (NPY[:7], "the header of"),
        (header(HUGE), "is cut short: 1000000000x1000000000 of bool are 1,000,000,000,000,000,000"),
        (
            header("{'descr': '|b1', 'fortran_order': False, 'shape': (-1, 4), }"),
            "is cut short: -1x4",
        ),
        (
            header("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 9" + "9" * 30 + "), }"),
            "hold",
        ),
        (header("{'descr': '|b1'}"), "the header of"),
        (header("__import__('os').abort()"), "the header of"),
        (header("("), "the header of"),
        (header(" " * 60_000), "the header of"),
        (header(" " * 10, b"\x03\x00"), "is of format 3.0"),
        (saved(lambda f: np.savez(f, a=MASK, b=MASK)), "has 2 arrays (a, b)"),
        (saved(lambda f: np.savez(f, **{f"m{i}": MASK for i in range(9)})), "m7, …)"),
        (NPZ[:100], "is damaged, or cut short"),
        (NPZ[:60] + b"\xff" * 30 + NPZ[90:], "damaged"),
        (member("data.pkl", b"x"), "is an archive without a NumPy array"),
        (member("a.npy", b"hello"), "the header of"),
        (member("a.npy", NPY[:-2]), "is cut short"),
        (member("a.npy", saved(lambda f: np.save(f, np.array([{}])))), "pickled Python objects"),
    ],
)
def test_a_file_that_is_no_mask(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "mask.npy"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_mask_file(path)
    assert said in caught.value.message
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mask"
    for content in (NPY, NPZ):
        for end in range(len(content)):
            path.write_bytes(content[:end])
            with pytest.raises(UsageError):
                read_mask_file(path)


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        read_mask_file(tmp_path / "no")
    with pytest.raises(UsageError, match="is a folder"):
        read_mask_file(tmp_path)
    with pytest.raises(UsageError, match="is no plain file"):
        read_mask_file("/dev/null")
