"""Since when, in words."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.analyze.explanation import Since, Span
from pyharness.present.units import wrapped


def render_since(past: Since) -> str:
    """How other releases answer, as ranges; ends without a newline."""
    lines = [f"since when ({_sources(past)}):"]
    lines += [f"  {_span(span, last=span is past.spans[-1])}" for span in past.spans]
    lines += [line for note in _notes(past) for line in wrapped(note, 2, 4)]
    lines += [line for note in past.notes for line in wrapped(f"note: {note}", 0)]
    return "\n".join(lines)


def _sources(past: Since) -> str:
    asked = f"{past.asked} asked now"
    if not past.known:
        return f"the {asked}; --all-releases asks every one"
    return f"the {past.known} releases of the atlas; {asked}"


def _notes(past: Since) -> Iterator[str]:
    if past.derived:
        yield (
            f"derived: the atlas has not this very problem, but {'; '.join(past.derived)}; and all "
            "that it has around it is answered alike"
        )
    if past.missing:
        yield f"not covered: {'; '.join(past.missing)}; --all-releases asks every one"
    if past.wrong:
        yield (
            f"{', '.join(past.wrong)} answered otherwise than was derived: do not rely on what is"
        )


def _span(span: Span, *, last: bool) -> str:
    ends = " to ".join(dict.fromkeys((span.first, span.last)))
    if span.outcome == "unknown":
        return f"not covered: {ends}"
    where = f"by {ends}"
    if last and span.first != span.last:
        where = f"from {span.first} on (the newest is {span.last})"
    basis = ", derived" if span.basis == "derived" else ""
    if span.outcome == "accepted":
        return f"accepted {where}{basis}"
    status = f": {span.status}" if span.status else ""
    return f"{span.outcome} {where}{basis}: {span.call}{status}"
