"""What logs hold, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyharness.present.units import bytes_text, count_text, led
from pyharness.spec.problem import Problem
from pyharness.spec.recording import Recorded, Recording

MOST_SHOWN = 20
_MOST_LENGTHS = 40  # characters of a list
# Shown whatever it is: our defaults are not those of whose program it was.
_ALWAYS = {
    *("algo", "cell_mode", "data_type", "input_size", "hidden_size", "num_layers"),
    *("vector_size", "max_seq_length", "batch_size"),
}
_SET_TENSOR = "cudnnSetTensorNdDescriptor"


def render_recording(recording: Recording, versions: Sequence[str]) -> str:
    """What logs hold, the most frequent problems first; ends without a newline.

    ``versions``  of cuDNN, as the entries carry them.
    """
    files = recording.files
    name = files[0] if len(files) == 1 else count_text(len(files), "log")
    lines = [f"{name}: {bytes_text(recording.size_bytes)}, {count_text(recording.entries, 'call')}"]
    origins = recording.origins
    who = f"{_processes(origins)}, {count_text(len(origins), 'thread')}" if origins else ""
    when = f"{recording.first} to {recording.last}" if recording.first else ""
    what = f"cuDNN {', '.join(versions)}" if versions else ""
    if about := "; ".join(part for part in (what, who, when) if part):
        lines += in_lines(about, "  ")
    lines += [*_calls(recording), *_doubts(recording), *_statuses(recording), ""]
    count = count_text(len(recording.problems), "distinct problem")
    lines.append(f"{count}, the most frequent first" if recording.problems else "No RNN problem")
    ordered = sorted(recording.problems, key=lambda p: (-p.count, p.order))
    for recorded in ordered[:MOST_SHOWN]:
        lines += _problem_lines(recorded)
    if len(ordered) > MOST_SHOWN:
        lines.append(f"  and {len(ordered) - MOST_SHOWN:,} more (--out and --json have them all)")
    return "\n".join(lines)


def recording_data(recording: Recording, versions: Sequence[str]) -> dict[str, Any]:
    """What logs hold as plain data, for JSON."""
    return {
        "logs": recording.files,
        "size_bytes": recording.size_bytes,
        "cudnn": list(versions),
        "first": recording.first,
        "last": recording.last,
        "processes": sorted({process for process, _ in recording.origins}),
        "threads": len(recording.origins),
        "calls": dict(recording.calls.most_common()),
        "incomplete": recording.incomplete,
        "not_held": dict(recording.not_held),
        "statuses": [
            {"call": s.call, "status": s.status, "reason": s.reason or None, "count": n}
            for s, n in recording.statuses.most_common()
        ],
        "notes": recording.notes,
        "problems": [_problem_data(p) for p in recording.problems],
    }


def problem_text(problem: Problem) -> str:
    """The main values, and what differs from the defaults; a long list of lengths by its ends."""
    words = []
    for name, text in problem.given.items():
        if name not in problem.telling | _ALWAYS:
            continue
        shown = text
        if len(text) > _MOST_LENGTHS:
            numbers = text.strip("[]").split(",")
            shown = f"[{','.join(numbers[:3])},…,{numbers[-1]}]"
        words.append(f"{name}={shown}")
    return " ".join(words)


def in_lines(text: str, lead: str) -> list[str]:
    """A text as lines that begin with ``lead``, or as far in and four columns more."""
    return led(text, lead, " " * (len(lead) + 4))


def _problem_data(p: Recorded) -> dict[str, Any]:
    return {
        "order": p.order,
        "count": p.count,
        "problem": dict(p.problem.given),
        "roles": list(p.roles),
        "calls": dict(p.calls),
        "stages": dict(p.stages),
        "disagreements": list(p.disagreements),
        "said": [
            {"call": s.call, "status": s.status, "reason": s.reason or None, "count": n}
            for s, n in p.said.items()
        ],
        "place": p.place,
        "processes": sorted({process for process, _ in p.origins}),
        "threads": len(p.origins),
    }


def _processes(origins: set[tuple[int, int]]) -> str:
    count = len({process for process, _ in origins})
    return f"{count:,} process{'es' if count != 1 else ''}"


def _calls(recording: Recording) -> Iterator[str]:
    rnn = [(name, n) for name, n in recording.calls.most_common() if "RNN" in name]
    if not rnn:
        return
    yield ""
    yield "RNN calls"
    for name, n in rnn:
        yield f"  {n:>12,}  {name}"


def _doubts(recording: Recording) -> Iterator[str]:
    """What of the logs could not be read, and why."""
    told = [f"{n:,} x {what}" for what, n in recording.not_held.items()]
    if recording.incomplete:
        told.append(
            f"{count_text(recording.incomplete, 'RNN call')} whose text is cut, mixed with "
            "another's (a file for each process avoids that: %i in its name), or not as cuDNN 8.5 "
            "to 9.28 writes it"
        )
    told += recording.notes
    if told:
        yield ""
        yield "Not read"
        for what in told:
            yield from in_lines(what, "  ")


def _statuses(recording: Recording) -> Iterator[str]:
    if not recording.statuses:
        return
    yield ""
    yield "Errors and warnings logged"
    shown = recording.statuses.most_common(MOST_SHOWN)
    for said, n in shown:
        reason = f": {said.reason}" if said.reason else ""
        yield from in_lines(f"{n:,} x {said.call} {said.status}{reason}", "  ")
    if len(recording.statuses) > len(shown):
        yield f"  and {len(recording.statuses) - len(shown):,} more (--json has them all)"
    if tensors := sum(n for said, n in recording.statuses.items() if said.call == _SET_TENSOR):
        yield from in_lines(
            f"{count_text(tensors, 'refused call')} of {_SET_TENSOR} counted above and not tried: "
            "a tensor is tried as h or c of a problem",
            "  ",
        )


def _problem_lines(recorded: Recorded) -> Iterator[str]:
    lead = f"  {recorded.count:>12,}  "
    text = problem_text(recorded.problem)
    yield from in_lines(
        f"{text}  [{', '.join(recorded.stages) or ', '.join(recorded.calls)}]", lead
    )
    indent = " " * len(lead)
    for words in recorded.disagreements:
        yield from in_lines(f"disagreement: {words}", indent)
    for said, n in recorded.said.items():
        reason = f": {said.reason}" if said.reason else ""
        yield from in_lines(f"logged {n:,} x {said.call} {said.status}{reason}", indent)
