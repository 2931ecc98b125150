"""Logs that are cut, torn, mixed, packed or long: what is whole is kept, nothing is made up."""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.logs import collecting, read_logs, reading
from pyharness.logs.reading import SUSPECT
from pyharness.releases import Release, resolve
from pyharness.spec.recording import Recording
from tests.logs.items import expected, found_in, random_item, record

ENTRY = re.compile(rb"\n?[IEW]! CuDNN .*?StreamId=[^\n]*\.", re.DOTALL)
Cudnn = Callable[[str], Release]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], bytes]:
    """Real log text of so many random problems."""
    folder = tmp_path_factory.mktemp("logs")

    def text(count: int, seed: int) -> bytes:
        log = folder / f"{count}-{seed}.log"
        if not log.exists():
            rng = random.Random(seed)
            record(resolve("9.28.0.42"), [random_item(rng) for _ in range(count)], log)
        return log.read_bytes()

    return text


def read(text: bytes, folder: Path, **options: int) -> Recording:
    log = folder / "api.log"
    log.write_bytes(text)
    return read_logs([log], **options)


def forward_calls(text: bytes) -> list[bytes]:
    return [e for e in ENTRY.findall(text) if b"I! " in e[:4] and b"RNNForward()" in e]


def told(recording: Recording) -> dict[str, Any]:
    """All that does not depend on where the problems stand in a file."""
    data: dict[str, Any] = {f.name: getattr(recording, f.name) for f in fields(recording)}
    data["problems"] = [
        (p.problem.given, p.disagreements, p.roles, p.calls, p.stages, p.origins, p.said)
        for p in recording.problems
    ]
    del data["size_bytes"], data["files"]
    return data


def test_cut_at_every_byte(real: Callable[[int, int], bytes]) -> None:
    entries = [m.group() for m in ENTRY.finditer(real(1, 3))]
    kept = [e for e in entries if re.search(rb"SetRNNDesc|RNNForward", e)][:3]
    text = b"\n\n".join(kept) + b"\n\n\n"
    ends = [m.end() for m in ENTRY.finditer(text)]
    assert len(ends) == 3
    whole = [told(read_text(text[:end])) for end in (0, *ends)]
    assert len(whole[-1]["problems"]) == 1
    for cut in range(len(text)):
        found = told(read_text(text[:cut]))
        due = whole[sum(end <= cut for end in ends)]
        # The head of the entry that is cut may be there already: it is counted, and said to be cut.
        assert found.pop("incomplete") in (0, 1)
        found.pop("calls"), found.pop("versions")
        assert found == {k: v for k, v in due.items() if k in found}, cut
    starts = [m.start() for m in ENTRY.finditer(text)]
    after = [told(read_text(text[start:])) for start in (*starts, len(text))]
    for cut in range(len(text)):
        found = told(read_text(text[cut:]))
        # An entry of which only the line's end before it is gone is whole.
        due = after[sum(start + (text[start : start + 1] == b"\n") < cut for start in starts)]
        assert found == due, cut


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_lines_of_two_logs_mixed(real: Callable[[int, int], bytes], seed: int) -> None:
    rng = random.Random(seed)
    one, other = (real(4, s).splitlines(keepends=True) for s in (1, 2))
    mixed: list[bytes] = []
    while one or other:
        source = (one or other) if not (one and other) else rng.choice((one, other))
        count = rng.choice((1, 2, 3, 5, 40, 200))
        mixed += source[:count]
        del source[:count]
    true = {**found_in(read_text(real(4, 1))), **found_in(read_text(real(4, 2)))}
    for key, calls in found_in(read_text(b"".join(mixed))).items():
        if "cudnnRNNForward" in calls:
            assert calls <= true[key]
        else:
            texts = dict(key[0])
            texts.pop("vector_size", None)
            assert any(texts.items() <= dict(whole).items() for whole, _ in true)


def read_text(text: bytes) -> Recording:
    """Reads a log from standard input."""
    given = io.BufferedReader(io.BytesIO(text))  # type: ignore[type-var]
    before, sys.stdin = sys.stdin, io.TextIOWrapper(given)
    try:
        return read_logs(["-"])
    finally:
        sys.stdin = before


def test_two_entries_spliced_at_every_line(real: Callable[[int, int], bytes]) -> None:
    entries = {e for seed in (1, 2) for e in forward_calls(real(8, seed))}
    pairs = [(a, b) for a in entries for b in entries if a.count(b"\n") == b.count(b"\n")]
    a, b = (
        e.splitlines(keepends=True)
        for e in next(pair for pair in pairs if len(found_in(read_text(b"\n\n".join(pair)))) == 2)
    )
    true = {k for e in (a, b) for k in found_in(read_text(b"".join(e)))}
    for i in range(2, len(a)):
        for j in (i, i // 2, min(i + 3, len(b) - 1)):
            for between in ([], [b"\n", *a]):
                text = b"".join((*a[:i], *b[:j], *a[i:], b"\n", *between, b"\n", *b[j:]))
                assert set(found_in(read_text(text))) <= true, (i, j)
    # The same lines look like one entry; only what came before tells that they are of two.
    looks_whole = b"".join((*b[:20], *a[20:]))
    assert not set(found_in(read_text(looks_whole))) <= true


def test_a_line_that_is_missing_or_there_twice(real: Callable[[int, int], bytes]) -> None:
    lines = forward_calls(real(4, 1))[0].splitlines(keepends=True)
    assert found_in(read_text(b"".join(lines)))
    for i in range(1, len(lines)):
        if not lines[i].startswith((b"I!", b"\n")):
            if re.search(rb" (seed|dropout|nstates|clipNanOpt): ", lines[i]):
                continue  # no part of a problem
            assert not found_in(read_text(b"".join((*lines[:i], *lines[i + 1 :])))), lines[i]
            if b"Process=" not in lines[i]:
                assert not found_in(
                    read_text(b"".join((*lines[:i], *lines[i : i + 1], *lines[i:])))
                )


def test_an_error_is_not_told_of_a_call_before_a_torn_one(
    real: Callable[[int, int], bytes],
) -> None:
    text = real(4, 1)
    good, other, *_ = forward_calls(text)
    error = next(e for e in ENTRY.findall(text) if b"E! " in e[:4] and b"RNNForward()" in e)
    (problem,) = read_text(b"\n\n".join((good, error))).problems
    assert problem.said.total() == 1
    between = [good[:500], *([other] * SUSPECT)]
    (problem,) = read_text(b"\n\n".join((good, *between, error))).problems
    assert problem.calls == {"cudnnRNNForward": 1}
    assert problem.said == {}


def test_entries_that_are_too_long_are_left_out(
    real: Callable[[int, int], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = real(2, 1)
    monkeypatch.setattr(reading, "MOST_ENTRY", 2000)
    recording = read(text, tmp_path, block=500)
    assert recording.incomplete
    assert recording.calls["cudnnSetRNNDescriptor_v8"] == 2
    made = {call for problem in recording.problems for call in problem.calls}
    assert made
    assert not {"cudnnRNNForward", "cudnnRNNBackwardData_v8"} & made


def test_what_is_forgotten_is_parsed_again(
    real: Callable[[int, int], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = told(read(real(8, 1), tmp_path))
    monkeypatch.setattr(collecting, "_MOST_MET", 3)
    assert told(read(real(8, 1), tmp_path)) == due


def test_what_follows_a_torn_entry_is_believed_again(real: Callable[[int, int], bytes]) -> None:
    entries = forward_calls(real(4, 1))
    torn = entries[0][: len(entries[0]) // 2]
    text = b"\n".join([torn, *([entries[1]] * (SUSPECT + 3))])
    recording = read_text(text)
    assert recording.incomplete == 1 + SUSPECT
    (problem,) = recording.problems
    assert problem.calls == {"cudnnRNNForward": 3}


def test_text_of_the_program_between_entries(
    real: Callable[[int, int], bytes], tmp_path: Path
) -> None:
    text = real(4, 1)
    mixed = re.sub(rb"\n\n\n", b"\n\nepoch 3 loss 0.25\nW! something CuDNN (v9)\n\n", text)
    assert mixed != text
    assert told(read(mixed, tmp_path)) == told(read(text, tmp_path))


@pytest.mark.parametrize("block", [1, 2, 13, 997, 4096, 65_536])
def test_the_size_of_a_block_does_not_matter(
    real: Callable[[int, int], bytes], tmp_path: Path, block: int
) -> None:
    text = b"I! CuDNN (v1" + real(2, 7) + real(2, 8)[5000:-7000] + b"\n! CuDNN (v\n" + real(1, 9)
    assert read(text, tmp_path, block=block) == read(text, tmp_path)


def test_rotated_and_packed_logs(real: Callable[[int, int], bytes], tmp_path: Path) -> None:
    text = real(6, 1)
    half = text.index(b"\n\n\n", len(text) // 2)
    (tmp_path / "api.log").write_bytes(text[half:])
    with gzip.open(tmp_path / "api.log.1.gz", "wb") as packed:
        packed.write(text[:half])
    logs = [tmp_path / "api.log.1.gz", tmp_path / "api.log"]
    assert found_in(read_logs(logs)) == found_in(read_text(text))
    packed = logs[0].read_bytes()
    logs[0].write_bytes(packed[: len(packed) // 2])
    recording = read_logs(logs[:1])
    assert [note.partition(": ")[0] for note in recording.notes] == [f"{logs[0]} ends early"]
    assert recording.problems
    assert set(recording.calls) <= set(read_text(text).calls)


def test_packed_logs_from_a_pipe(real: Callable[[int, int], bytes], tmp_path: Path) -> None:
    text = real(2, 1)
    due = told(read_text(text))
    assert told(read_text(gzip.compress(text))) == due
    for name in ("packed", "plain.gz"):  # the name says nothing
        pipe = tmp_path / name
        os.mkfifo(pipe)
        given = gzip.compress(text) if name == "packed" else text
        writer = threading.Thread(target=pipe.write_bytes, args=(given,))
        writer.start()
        assert told(read_logs([pipe])) == due
        writer.join()


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input is closed"):
        read_logs(["-"])


def test_a_file_that_is_named_again_is_read_once(
    real: Callable[[int, int], bytes], tmp_path: Path
) -> None:
    due = read(real(2, 1), tmp_path)
    log, same = tmp_path / "api.log", tmp_path / "same.log"
    same.symlink_to(log)
    recording = read_logs([log, same, log])
    assert (recording.calls, recording.files) == (due.calls, [str(log)])
    assert recording.notes == [
        f"{name} again: the same file as {log}, read once" for name in (same, log)
    ]
    other = tmp_path / "other.log"
    other.write_bytes(log.read_bytes())  # alike, and another
    assert read_logs([log, other]).calls == due.calls + due.calls


@pytest.mark.parametrize("where", ["start", "later"])
def test_line_ends_that_are_not_cudnns(
    real: Callable[[int, int], bytes], tmp_path: Path, where: str
) -> None:
    text = real(2, 1) if where == "later" else b""
    text += real(2, 1).replace(b"\n", b"\r\n")
    with pytest.raises(UsageError, match=r"api\.log has carriage returns") as error:
        read(text, tmp_path)
    assert "tr -d '\\r'" in error.value.hint
    # Those of the program beside it do no harm.
    mixed = real(2, 1).replace(b"\n\n\n", b"\n\n50%\r100%\r\n\n")
    assert told(read(mixed, tmp_path)) == told(read(real(2, 1), tmp_path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_log_in_another_encoding(
    real: Callable[[int, int], bytes], tmp_path: Path, encoding: str
) -> None:
    with pytest.raises(UsageError, match=r"api\.log is UTF-16") as error:
        read(real(2, 1).decode().encode(encoding), tmp_path)
    assert "iconv -f UTF-16" in error.value.hint


def test_long_text_is_searched_a_few_times_only(
    real: Callable[[int, int], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []
    take = reading._Reader._take
    monkeypatch.setattr(
        reading._Reader,
        "_take",
        lambda self, text: searched.append(len(text)) or take(self, text),
    )
    entry = forward_calls(real(2, 1))[0]
    long = re.sub(rb"(val=\[)(\d+),", rb"\g<1>" + b"9," * 200_000 + rb"\2,", entry, count=1)
    assert len(long) > 400_000
    text = b"".join((entry, b"\n", b"loss 0.25\n" * 50_000, entry, b"\n", long, b"\n", entry))
    recording = read(text, tmp_path, block=1000)
    assert recording.calls == {"cudnnRNNForward": 4}
    assert (recording.problems[0].count, recording.incomplete) == (2, 2)  # the last comes too soon
    assert sum(searched) < 4 * len(text)


def test_lengths_that_are_not_all_shown(real: Callable[[int, int], bytes]) -> None:
    text = next(e for e in forward_calls(real(6, 1)) if re.search(rb"Array: .*\[\d+,", e))
    short = re.sub(rb"(seqLengthArray: type=int; val=\[\d+,)[^\]]*\]", rb"\1...]", text)
    assert short != text
    recording = read_text(short)
    assert recording.problems == []
    assert recording.not_held == {"cudnnRNNForward: seqLengthArray is cut short": 1}


def test_memory_does_not_grow_with_the_log(
    real: Callable[[int, int], bytes], tmp_path: Path
) -> None:
    peaks = []
    text = real(6, 1)
    for repeats in (40, 200):
        (tmp_path / "api.log").write_bytes(text * repeats)
        tracemalloc.start()
        try:
            recording = read_logs([tmp_path / "api.log"], block=1 << 18)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        once = expected([random_item(rng) for rng in [random.Random(1)] for _ in range(6)], 9)
        due = {k: Counter({n: c * repeats for n, c in calls.items()}) for k, calls in once.items()}
        assert found_in(recording) == due
    assert (len(text) * 200) > 20e6
    assert peaks[1] < 1.1 * peaks[0] < 5e6


@pytest.mark.parametrize("name", ["missing.log", "."])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_logs([tmp_path / name])
