"""The parent's view of the board is the C++ side's: what one writes, the other reads."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pyharness.device import core
from pyharness.engine.board import Board
from pyharness.engine.worker import Launch
from pyharness.spec.ledger import FAILED
from tests.doubles.walking import descriptors, walk

Start = Callable[..., Launch]


@pytest.fixture
def board() -> Iterator[Board]:
    """A board of a size that no alignment is due to."""
    made = Board(1237)
    yield made
    made.close()


@pytest.mark.parametrize("rows", [1, 2, 1237, 1 << 20])
def test_both_sides_agree_on_the_size(rows: int) -> None:
    made = Board(rows)
    with mmap.mmap(made.fd, 0) as memory:
        assert len(memory) == core().board_bytes(rows)
    made.close()


def test_a_fresh_board_is_empty(board: Board) -> None:
    assert (board.cursor, board.statuses, board.texts) == (0, [], [""])


def test_memory_too_small_for_a_row_is_refused() -> None:
    core_ = core()
    with pytest.raises(ValueError, match="too small for one row"):
        core_.Board(bytearray(core_.board_bytes(1) - 1))
    core_.Board(bytearray(core_.board_bytes(1)))


def test_many_statuses_are_told_apart_until_the_codes_run_out(launch: Start) -> None:
    # 20004 … 20303: more than a board has codes for; cuDNN has about fifty.
    grid = descriptors(hidden_size="670", num_layers="4..303")
    answers, ledger = walk(launch(), grid)
    numbers = [ledger.statuses[c] if c != FAILED else None for c in answers.codes]
    assert numbers[:254] == [20000 + n for n in range(4, 258)]
    assert numbers[254:] == [None] * 46
    assert answers.deaths == {}


@pytest.mark.parametrize("status", [12345, 7777, -5])
def test_numbers_without_a_name_come_through(launch: Start, status: int) -> None:
    layers = {12345: 1, 7777: 2, -5: 3}[status]
    answers, ledger = walk(launch(), descriptors(hidden_size="670", num_layers=str(layers)))
    assert ledger.statuses == [status]
    assert ledger.name_of(answers.codes[0]) == str(status)


def test_more_texts_than_are_kept_say_so(launch: Start) -> None:
    # 5000 different reasons; the board keeps 4096 of them, which are right row by row.
    grid = descriptors(num_layers="1..5000")
    answers, ledger = walk(launch(ECHO="cudnnSetRNNDescriptor_v8"), grid, explain=True)
    texts = [ledger.texts[i] for i in answers.text_ids]
    kept = [f"0,2,2,0,0,0,0,0,64,64,64,{layers},1,1" for layers in range(1, 5001)]
    assert texts[:4096] == kept[:4096]
    assert set(texts[4096:]) == {"(more distinct texts than are kept)"}


def test_texts_of_one_row_do_not_leak_into_the_next(launch: Start) -> None:
    grid = descriptors(hidden_size="0,8", aux_flags="0..2", num_layers="0,1")
    answers, ledger = walk(launch(), grid, explain=True)
    texts = [ledger.texts[i] for i in answers.text_ids]
    assert texts == [
        *["hiddenSize < 1"] * 6,
        *["numLayers < 1 with algo 0"] * 2,
        "auxFlags > 1",
        *["", ""],
        "auxFlags > 1",
    ]


@pytest.mark.parametrize("silent", ["", "1"])
def test_old_words_of_the_library_are_not_taken_for_a_reason(
    launch: Start, silent: str, tmp_path: Path
) -> None:
    # The library shows an old text to whoever asks; double with algo 1 it refuses without a word.
    grid = descriptors(algo="0,1", data_type="float,double", hidden_size="-1,4")
    answers, ledger = walk(launch(SILENT=silent), grid, explain=True)
    texts = [ledger.texts[i] for i in answers.text_ids]
    refused = "hiddenSize < 1"
    assert texts == [refused, "", refused, "", refused, "", refused, ""]
    numbers = [ledger.statuses[c] for c in answers.codes]
    assert numbers == [2000, 0, 2000, 0, 2000, 0, 2000, 3000]


def test_the_order_of_codes_is_the_order_of_rows(launch: Start) -> None:
    grid = descriptors(hidden_size="670,0,5", num_layers="3,1,2")
    answers, ledger = walk(launch(), grid)
    numbers = np.array(ledger.statuses)[answers.codes].tolist()
    assert numbers == [-5, 12345, 7777, 2000, 2000, 2000, 0, 0, 0]
