"""From what a person has to a problem: words, JSON, a row, lengths, a mask, a framework's text."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import UsageError
from pyharness.spec.axes import PROJ_RULES
from pyharness.spec.frameworks import FrameworkProblem, keras_problem, torch_problem
from pyharness.spec.length_text import read_lengths
from pyharness.spec.masks import MaskReading, read_mask, read_mask_file
from pyharness.spec.problem import parse_problem
from pyharness.spec.reading import Reading
from pyharness.spec.run_axes import problem_axes

_TABLES = (".parquet", ".csv")
_WHOLE = re.compile(r"-?[0-9]+\.0")
_FORMS = "a .json file, - for JSON on stdin, or TABLE.parquet:ROW, TABLE.csv:ROW with ROW from 0"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a problem comes from besides key=value words; None: not from there.

    ``source``      JSON, or a row of a table.
    ``mask``        a file, or the array itself.
    ``time_major``  how the mask lies.
    ``shape``       of the framework layer's input.
    """

    source: str | None = None
    lengths: str | None = None
    mask: str | NDArray[Any] | None = None
    time_major: bool | None = None
    torch: str | None = None
    keras: str | None = None
    shape: str | None = None


def read_problem(words: Sequence[str], sources: Sources) -> Reading:
    """The problem that all of these describe together; ``key=value`` words win.

    Raises  UsageError for whatever cannot be read, or for two sources of the same thing.
    """
    _refuse_pairs(sources)
    own = parse_problem(words).given
    texts = {} if sources.source is None else _from_source(sources.source)
    layer = _layer(sources, None)
    known = {**texts, **(layer.words if layer else {}), **own}
    mask = None if sources.mask is None else _mask(sources, known)
    lengths = mask.lengths if mask else None
    if sources.lengths is not None:
        lengths = read_lengths(sources.lengths)
    if lengths is not None:
        texts["seq_lengths"] = f"[{','.join(str(n) for n in lengths)}]"
        texts["batch_size"] = str(len(lengths))
        layer = _layer(sources, lengths)
    if mask is not None:
        texts["batch_size"], texts["max_seq_length"] = (
            str(mask.batch_size),
            str(mask.max_seq_length),
        )
    # What a framework makes of lengths, such as sorting them, is what cuDNN gets to see.
    texts.update({**(layer.words if layer else {}), **own})
    if not texts:
        raise UsageError(
            "no problem is given", "write key=value words, or use --from, --torch, --mask …"
        )
    problem = parse_problem([f"{name}={text}" for name, text in texts.items()])
    return Reading(problem, mask, layer.notes if layer else ())


def _layer(sources: Sources, lengths: Sequence[int] | None) -> FrameworkProblem | None:
    """What the framework's text means, with these lengths; None where there is no such text."""
    if sources.torch is not None:
        return torch_problem(sources.torch, sources.shape, lengths)
    if sources.keras is not None:
        return keras_problem(sources.keras, sources.shape, lengths)
    return None


def _mask(sources: Sources, known: Mapping[str, str]) -> MaskReading:
    """The mask, read in the light of the batch that the rest describes."""
    given = sources.mask
    batch, steps = known.get("batch_size"), known.get("max_seq_length")
    return read_mask(
        given if isinstance(given, np.ndarray) else read_mask_file(given or ""),
        time_major=sources.time_major,
        batch_size=None if batch is None else int(batch),
        max_seq_length=None if steps is None else int(steps),
    )


def _refuse_pairs(sources: Sources) -> None:
    if sources.torch is not None and sources.keras is not None:
        raise UsageError("both --torch and --keras are given", "a problem is one layer")
    if sources.lengths is not None and sources.mask is not None:
        raise UsageError("both --lengths and --mask are given", "either says how long each row is")
    if sources.shape is not None and sources.torch is None and sources.keras is None:
        raise UsageError(
            "--input is the shape of a layer's input",
            "give the layer with --torch or --keras, or write batch_size=, max_seq_length= and "
            "input_size=",
        )
    if sources.time_major is not None and sources.mask is None:
        raise UsageError("--time-major and --batch-major are about a mask", "give it with --mask")


def _from_source(text: str) -> dict[str, str]:
    path, colon, row = text.rpartition(":")
    if colon and path.endswith(_TABLES):
        return _from_row(Path(path), row)
    if text.endswith(_TABLES):
        raise UsageError(f"{text} has many rows", f"say which: {text}:17, counted from 0")
    try:
        if text == "-" and sys.stdin is None:
            raise UsageError("there is no standard input", _FORMS)
        written = sys.stdin.read() if text == "-" else Path(text).expanduser().read_text("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{text} is no text", _FORMS) from None
    except OSError as error:
        raise UsageError(f"{text} cannot be read: {error.strerror or error}", _FORMS) from None
    return _from_json(written, "stdin" if text == "-" else text)


def _from_json(written: str, where: str) -> dict[str, str]:
    try:
        data = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is no JSON: {error}", _FORMS) from None
    if isinstance(data, dict) and isinstance(data.get("problem"), dict):
        data = data["problem"]  # what `pyharness try --json` prints
    if not isinstance(data, dict):
        raise UsageError(f"{where} holds no problem", 'write an object: {"hidden_size": 256, …}')
    return {name: _text(name, value) for name, value in data.items()}


def _text(name: str, value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(str(v) for v in value)}]"
    if value is None or isinstance(value, (dict, bool)):
        raise UsageError(f"{name} is {json.dumps(value)}", "a name, a number or a list of lengths")
    return str(value)


def _from_row(path: Path, row: str) -> dict[str, str]:
    """One row of a table that has the axes as columns."""
    if not (row.isascii() and row.isdecimal()):
        raise UsageError(f"{row!r} is no row of {path}", "rows count from 0")
    try:
        count, record = (
            _parquet_row(path, int(row)) if path.suffix == ".parquet" else _csv_row(path, int(row))
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", _FORMS) from None
    if record is None:
        raise UsageError(f"{path} has no row {row}", f"it has {count:,}, counted from 0")
    if record.get("proj_rule") in PROJ_RULES:
        record["proj_size"] = record["proj_rule"]
    return {n: _cell(record[n]) for n in problem_axes() if n in record}


def _parquet_row(path: Path, row: int) -> tuple[int, dict[str, Any] | None]:
    """How many rows there are, and what one holds; nan is a value, null is none."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only for tables: it takes a tenth of a second

    table = pq.read_table(path)
    if row >= table.num_rows:
        return table.num_rows, None
    (record,) = table.slice(row, 1).to_pylist()
    return table.num_rows, {n: v for n, v in record.items() if v is not None}


def _csv_row(path: Path, row: int) -> tuple[int, dict[str, Any] | None]:
    """The same of a CSV file, where an empty cell is none."""
    with path.open(newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    if row >= len(records):
        return len(records), None
    return len(records), {n: v for n, v in records[row].items() if n and v}


def _cell(value: Any) -> str:
    """A cell as text: other tools write a column of integers with gaps as floats."""
    text = str(value)
    return text.removesuffix(".0") if _WHOLE.fullmatch(text) else text
