"""What problems ask for, in words and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from pyharness.analyze.memory import Change, FitResult, Growth, Memory, Weighed, last_modes
from pyharness.analyze.memory_fit import Fit
from pyharness.present.units import binary_text, count_text, wrapped
from pyharness.spec.footprint import GRADES, PARTS, TERMS, Footprint, Term

_COLUMNS = (*PARTS, "total")
_TITLES = {
    "weight_space": "weights",
    "workspace": "workspace",
    "reserve_space": "reserve",
    "tensor": "tensors",
    "dropout_states": "dropout",
    "total": "total",
}
_WORDS = {
    "weight_space": "the weight space",
    "workspace": "the workspace",
    "reserve_space": "the reserve space",
    "tensor": "the tensors",
    "dropout_states": "the dropout states",
}
_SHARING = [
    "every call may use the same workspace; a reserve space is kept from its forward pass to its",
    "backward passes, so that each network in between needs its own",
]
_MARGIN, _WIDTH, _LABEL = 14, 12, 36  # columns: before sizes, of one size, before powers


def render_memory(found: Memory) -> str:
    """Everything that was found; ends without a newline."""
    parts = [_head(found), _table(found.rows)]
    if _one(found) and any(row.total is not None for row in found.rows):
        parts.append(_SHARING)
    if found.growth:
        parts.append(_growth(found.growth))
    parts += [_fit(fit) for fit in found.fits]
    for row in last_modes(found.rows):
        if row.order in found.advice:
            parts.append(_advice(row, found.advice[row.order], alone=_one(found)))
    if any(found.advice.values()):
        parts.append(_asked(found))
    if found.device is None and _one(found):
        parts.append(_formula())
    return "\n\n".join("\n".join(part) for part in parts)


def _one(found: Memory) -> bool:
    return len({row.order for row in found.rows}) == 1


def _head(found: Memory) -> list[str]:
    if found.release is None:
        words = (
            "predicted by formula; with --cudnn a release says what it refuses, on a GPU its sizes"
        )
        return wrapped(words, 0, 2)
    release = f"cuDNN {found.release}"
    if found.device is None:
        lines = wrapped(f"{release}: predicted by formula, no GPU was asked: {found.without}", 0, 2)
        return [*lines, *wrapped("what its host calls refuse is refused here, too", 2)]
    asked = "emulated" if found.device.emulated else "observed"
    memory = binary_text(found.device.memory_bytes)
    return wrapped(f"{release}: {asked} on {found.device.name}, {memory}", 0, 2)


def _table(rows: Sequence[Weighed]) -> list[str]:
    lines = [" " * _MARGIN + "".join(f"{_TITLES[c]:>{_WIDTH}}" for c in _COLUMNS)]
    for _, several in groupby(rows, lambda r: r.order):
        group = list(several)
        words = group[0].problem.command or "the defaults"
        name = group[0].name
        lines += wrapped(words if name in (None, words) else f"{name}: {words}", 0, 2)
        for row in group:
            if row.footprint is not None:
                lines.append(f"  {row.mode:<{_MARGIN - 2}}{_cells(row.footprint)}")
            if row.observed is not None:
                lines.append(f"  {'formula':>{_MARGIN - 4}}  {_errors(row)}")
            if row.observed is not None and row.outcome == "out_of_memory":
                lines += _no_room(row)
        for said in dict.fromkeys(_refusal(row) for row in group if row.total is None):
            lines += wrapped(said, 2, 4)
    return lines


def _cells(footprint: Footprint) -> str:
    sizes = {**footprint.parts, "total": footprint.total}
    return "".join(f"{binary_text(sizes[c]) if sizes[c] else '-':>{_WIDTH}}" for c in _COLUMNS)


def _errors(row: Weighed) -> str:
    errors = row.errors
    return "".join(f"{_error(errors[column]):>{_WIDTH}}" for column in _COLUMNS)


def _error(error: float | None) -> str:
    if error is None:
        return "-"
    return "0.0%" if abs(error) < 0.0005 else f"{error:+,.1%}"


def _no_room(row: Weighed) -> list[str]:
    asked, free = row.asked_bytes or 0, row.free_bytes or 0
    return wrapped(
        f"out of memory: it asks for {binary_text(asked)}, {binary_text(free)} are there", 4
    )


def _refusal(row: Weighed) -> str:
    """Why there are no bytes to count."""
    who = " ".join(word for word in (row.call, row.status) if word)
    outcome = row.outcome.replace("_", " ")
    return ": ".join(word for word in (outcome, who, row.reason) if word)


def _growth(growth: Sequence[Growth]) -> list[str]:
    lines = ["what grows with what: how many times the bytes each time that the value doubles"]
    shown = [p for p in _COLUMNS if any(g.part == p and g.exponent is not None for g in growth)]
    for mode in dict.fromkeys(g.mode for g in growth):
        lines.append(f"  {mode:<{_LABEL}}" + "".join(f"{_TITLES[p]:>{_WIDTH}}" for p in shown))
        for axis, parts in groupby((g for g in growth if g.mode == mode), lambda g: g.axis):
            of = {g.part: g for g in parts}
            ends = next(iter(of.values()))
            label = f"{axis} {ends.first:,} to {ends.last:,}"
            factors = "".join(f"{_factor(of[p].exponent):>{_WIDTH}}" for p in shown)
            lines.append(f"  {label:<{_LABEL}}{factors}")
    return lines


def _factor(exponent: float | None) -> str:
    return "-" if exponent is None else f"x{2**exponent:.3g}"


def _fit(fit: FitResult) -> list[str]:
    found = fit.found
    what = f"the largest {fit.axis} of {fit.problem.command or 'the defaults'}, {fit.mode}"
    lines = wrapped(f"to fit {binary_text(fit.limit)}: {what}", 0, 2)
    footprint = fit.told.footprint
    if found.value is None:
        lines += wrapped(f"no value was found that fits; {_beyond(fit)}", 2, 4)
    else:
        assert found.size is not None
        spare = f"{binary_text(fit.limit - found.size)} to spare"
        lines += wrapped(f"{fit.axis}={found.value}: {binary_text(found.size)}, {spare}", 2, 4)
        lines += wrapped(_beyond(fit), 2, 4)
    if footprint is not None and footprint.total:
        part, size = max(footprint.parts.items(), key=lambda pair: pair[1])
        lines += wrapped(f"most of it, {size / footprint.total:.0%}, is {_WORDS[part]}", 2, 4)
    if not found.proven:
        lines += wrapped(
            f"not proven: {count_text(found.asked, 'value')} were asked, and sizes are not "
            "monotonic, so that a larger one may fit",
            2,
            4,
        )
    return lines


def _beyond(fit: FitResult) -> str:
    """What limits it."""
    found = fit.found
    if found.limited_by == "range":
        return "larger values are not tried"
    if found.beyond is None:
        return f"{fit.axis}={found.neighbour} is refused"
    more = binary_text(found.beyond - fit.limit)
    return f"{fit.axis}={found.neighbour} asks for {binary_text(found.beyond)}, {more} too much"


def _advice(row: Weighed, changes: Sequence[Change], alone: bool) -> list[str]:
    words = row.problem.command or "the defaults"
    of = "" if alone else f" of {words}"
    lines = wrapped(f"what to change{of}, {row.mode}, what keeps most of the results first:", 0, 2)
    if row.total is None:
        return [*lines, "  nothing was tried: the problem is refused"]
    if not changes:
        return [*lines, "  no change that is accepted saves anything"]
    for change in changes:
        what = " ".join(f"{n}={_short(t)}" for n, t in change.changes.items()) or change.mode
        fits = "" if change.fits is None else ", fits" if change.fits else ", does not fit"
        saved = f"saves {binary_text(change.saved)}, needs {binary_text(change.total)}"
        lines += wrapped(f"{what}: {saved}{fits}", 2, 6)
        lines += wrapped(f"{change.words}: {change.cost}", 6)
    return lines


def _asked(found: Memory) -> list[str]:
    """Who was asked whether what is advised can be done."""
    if found.release is None:
        words = "no release was asked whether it accepts this"
    elif found.device is None:
        words = "the release's host calls accept this; what needs a GPU was not asked"
    else:
        words = "the release told sizes for this; `pyharness map --stages all` says whether it runs"
    return wrapped(words, 0, 2)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:56]}…]"


def _formula() -> list[str]:
    lines = ["the formula, elements of the data type each:"]
    lines += [line for term in TERMS for line in _term(term)]
    return lines


def _term(term: Term) -> Iterator[str]:
    modes = "" if len(term.modes) > 1 else f" ({term.modes[0]})"
    yield from wrapped(f"{_TITLES[term.part]}{modes}: {term.words}", 2, 4)
    yield from wrapped(f"{GRADES[term.grade]}: {term.source}", 6)


def memory_data(found: Memory) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {
        "release": found.release,
        "device": None if found.device is None else asdict(found.device),
        "without": found.without or None,
        "problems": [_row_data(row) for row in found.rows],
        "growth": [asdict(g) for g in found.growth],
        "fits": [_fit_data(fit) for fit in found.fits],
        "advice": [
            {"order": order, "changes": [asdict(c) for c in changes]}
            for order, changes in found.advice.items()
        ],
        "formula": list(_terms_data(TERMS)),
    }


def _row_data(row: Weighed) -> dict[str, Any]:
    return {
        "order": row.order,
        "name": row.name,
        "problem": dict(row.problem.given),
        "forward_mode": row.mode,
        "provenance": row.provenance,
        "outcome": row.outcome,
        "call": row.call,
        "status": row.status,
        "reason": row.reason,
        "bytes": _sizes(row.footprint),
        "predicted_bytes": _sizes(row.predicted),
        "error": row.errors,
        "asked_bytes": row.asked_bytes,
        "free_bytes": row.free_bytes,
    }


def _sizes(footprint: Footprint | None) -> dict[str, int] | None:
    return None if footprint is None else {**footprint.parts, "total": footprint.total}


def _fit_data(fit: FitResult) -> dict[str, Any]:
    found: Fit = fit.found
    return {
        "order": fit.order,
        "axis": fit.axis,
        "forward_mode": fit.mode,
        "limit_bytes": fit.limit,
        **asdict(found),
        "bytes": _sizes(fit.told.footprint),
    }


def _terms_data(terms: Iterable[Term]) -> Iterator[dict[str, Any]]:
    for term in terms:
        yield {
            "part": term.part,
            "forward_modes": list(term.modes),
            "words": term.words,
            "grade": term.grade,
            "source": term.source,
        }
