"""Since when, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pyharness.analyze.explanation import Span
from pyharness.present.units import wrapped


def render_since(spans: Sequence[Span], notes: Sequence[str], *, complete: bool) -> str:
    """How other releases answer, as ranges; ends without a newline."""
    asked = sum(len(s.releases) for s in spans)
    which = "of the index" if complete else "that are cached; --all-releases asks every one"
    lines = [f"since when (the {asked} releases {which}):"]
    lines += [f"  {_span(span, last=span is spans[-1])}" for span in spans]
    lines += [line for note in notes for line in wrapped(f"note: {note}", 0)]
    return "\n".join(lines)


def _span(span: Span, *, last: bool) -> str:
    where = f"by {span.first}"
    if span.first != span.last:
        where += f" to {span.last}"
    if last and span.first != span.last:
        where = f"from {span.first} on (the newest asked is {span.last})"
    if span.outcome == "accepted":
        return f"accepted {where}"
    status = f": {span.status}" if span.status else ""
    return f"{span.outcome} {where}: {span.call}{status}"
