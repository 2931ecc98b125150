"""What several charts need: titles, messages, labels of problems, and what to leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, TypeVar

from pyharness.present.units import count_text
from pyharness.spec.columns import AXIS_COLUMNS, RUN_COLUMNS

if TYPE_CHECKING:
    import altair as alt

Row = Mapping[str, Any]
Value = TypeVar("Value")
SIZES = ("hidden_size", "batch_size", "max_seq_length", "num_layers", "input_size")
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
MOST_CATEGORIES = 40  # names on an axis that can still be read
MOST_SIZES = 24  # groups of marks on an axis
MOST_SERIES = 8  # colours that can be told apart
_MOST_POINTS = 4_000
_LABEL = 46  # letters
_MOST_DECADES = 6
SECONDS = "format(datum.value, '~s') + 's'"  # 10µs, 2ms
_CELLS = tuple(c.name for c in (*AXIS_COLUMNS, *RUN_COLUMNS))


def told_apart(old: str, new: str) -> tuple[str, str]:
    """The names of two releases; (a) and (b) where both call themselves alike."""
    return (old, new) if old != new else (f"{old} (a)", f"{new} (b)")


def data_of(rows: Sequence[Row]) -> alt.InlineData:
    """Rows as a chart's own data."""
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    return alt.InlineData(values=[dict(row) for row in rows])


def heading(own: str, given: str | None, *notes: str) -> alt.TitleParams:
    """A chart's title over what must be said of it; ``given`` replaces its own, "": none."""
    import altair as alt  # noqa: PLC0415

    said = [note for note in notes if note]
    if given == "":  # what is below a title is drawn with one alone
        return alt.TitleParams(text=said or "", fontSize=12, fontWeight="normal")
    return alt.TitleParams(text=own if given is None else given, subtitle=said)


def origin(rows: Iterable[Row]) -> str:
    """What a picture must say of numbers that are none of a GPU."""
    emulated = any(row.get("provenance") == "emulated" for row in rows)
    return "EMULATED: a test double's numbers, not a GPU's" if emulated else ""


def titled(chart: Any, own: str, given: str | None, *notes: str) -> alt.TopLevelMixin:
    """A chart with its heading, see there."""
    done: alt.TopLevelMixin = chart.properties(title=heading(own, given, *notes))
    return done


def message_chart(own: str, title: str | None, words: str) -> alt.TopLevelMixin:
    """In place of a chart that has nothing to show: why."""
    import altair as alt  # noqa: PLC0415

    base = alt.Chart(data_of([{"words": words}]), width=420, height=60)
    mark = base.mark_text(align="left", baseline="middle", fontSize=13)
    return titled(mark.encode(text="words:N", x=alt.value(0)), own, title)


def capped(
    values: Sequence[Value], noun: str, most: int = MOST_CATEGORIES, which: str = "the first"
) -> tuple[list[Value], str]:
    """The first values, and a note that says how many there are if that is not all of them.

    ``which``  what is special about the first ones.
    """
    if len(values) <= most:
        return list(values), ""
    note = f"shown: {which} {most:,} of {count_text(len(values), noun)}; the table has all"
    return list(values[:most]), note


def thinned(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The first points that a chart can hold, with a note if that is not all of them."""
    return capped(rows, "point", _MOST_POINTS)


def log_ticks(values: Iterable[float]) -> list[float]:
    """Round numbers for a logarithmic axis: powers of ten, 1, 2 and 5 of them, or even steps."""
    known = [value for value in values if value > 0]
    if not known:
        return []
    least, most = min(known), max(known)
    low, high = floor(log10(least)), ceil(log10(most))
    if high - low > _MOST_DECADES:
        step = ceil((high - low) / _MOST_DECADES)
        return [10.0**power for power in range(low, high + 1, step)]
    factors = (1, 2, 5) if high - low <= 2 else (1,)
    ticks = [factor * 10.0**power for power in range(low, high + 1) for factor in factors]
    if sum(least <= tick <= most for tick in ticks) >= 2 or least == most:
        return ticks
    rough = (most - least) / 3
    unit = 10.0 ** floor(log10(rough))
    step_size = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= rough)
    first = floor(least / step_size)
    return [step_size * place for place in range(first, ceil(most / step_size) + 1) if place]


def distinct(values: Iterable[Value]) -> list[Value]:
    """The values without repetition, in the order of their first."""
    return list(dict.fromkeys(values))


def problem_labels(rows: Sequence[Row]) -> dict[str, str]:
    """A short label for each problem, all different: its preset's name, or what tells it apart."""
    # One of a log is called as it is asked for.
    names = {r["problem"]: r.get("name") or r["problem"] for r in rows}
    words = {problem: str(name).split() for problem, name in names.items()}
    shared = set.intersection(*(set(w) for w in words.values())) if len(words) > 1 else set()
    labels = (" ".join(w for w in own if w not in shared) for own in words.values())
    return dict(zip(words, short_labels(label or "the defaults" for label in labels), strict=True))


def short_labels(labels: Iterable[str], most: int = _LABEL) -> list[str]:
    """Labels without the middle of those that are too long, and all different."""
    found: list[str] = []
    times: dict[str, int] = {}
    for label in labels:
        half = most // 2
        short = label if len(label) <= most else f"{label[:half]}…{label[-half:]}"
        times[short] = times.get(short, 0) + 1
        found.append(short if times[short] == 1 else f"{short} ({times[short]})")
    return found


def differing(rows: Sequence[Row], but: Iterable[str] = ()) -> list[str]:
    """The columns of a problem that have several values in these rows."""
    left_out = set(but)
    return [
        name for name in _CELLS if name not in left_out and len({row.get(name) for row in rows}) > 1
    ]


def size_axis(rows: Sequence[Row], among: Sequence[str] = SIZES) -> str | None:
    """The size that a picture goes over: the one with most values; None if none has several."""
    counts = {name: len({row.get(name) for row in rows} - {None}) for name in among}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > 1 else None


def series_of(rows: Sequence[Row], but: Iterable[str]) -> tuple[list[str], str]:
    """What tells the lines of a picture apart: a label for each row, and what it is made of.

    ``but``  columns that are told otherwise.
    """
    names = differing(rows, but)
    names = distinct(["algo", *names])
    labels = [" ".join(str(row.get(n)) for n in names) for row in rows]
    if len(set(labels)) > MOST_SERIES:
        names, labels = ["algo"], [str(row.get("algo")) for row in rows]
    return labels, ", ".join(names).replace("_", " ")
