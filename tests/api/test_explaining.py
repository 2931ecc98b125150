"""Explanations on real releases, and of what a broken library does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyharness.analyze.explanation import Blame, Explanation, Refusal
from pyharness.api import history as past
from pyharness.api.explaining import explain
from pyharness.api.trying import try_calls
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.spec.problem import parse_problem

Explain = Callable[..., Explanation]


@pytest.fixture
def why(cudnn: Callable[[str], Release]) -> Explain:
    """Explains key=value words on a release."""
    return lambda version, *words: explain(cudnn(version), parse_problem(words))


def by_role(found: Explanation) -> dict[str, Refusal]:
    return {r.result.role: r for r in found.refusals}


def blamed(refusal: Refusal) -> dict[str, tuple[str, str, bool]]:
    return {b.argument: (b.value, b.allowed, b.alone) for b in refusal.blames}


def test_what_is_accepted_needs_no_search(why: Explain) -> None:
    found = why("9.28.0.42", "data_type=bfloat16")
    assert found.accepted
    assert (found.refusals, found.suggestions, found.searched) == ((), (), 0)


def test_a_persistent_algo_with_double(why: Explain) -> None:
    found = why("9.28.0.42", "algo=persist_static", "data_type=double", "math_prec=double")
    assert list(by_role(found)) == ["descriptor"]
    said = by_role(found)["descriptor"]
    assert said.result.status == "NOT_SUPPORTED"
    assert blamed(said) == {"algo": ("persist_static", "standard, persist_dynamic", True)}
    first, second = found.suggestions
    assert first.problem.given["algo"] == "standard"
    assert [c.changes for c in first.changes] == [{"algo": "standard"}]
    # Giving up double takes both types, and comes later.
    assert {n: t for c in second.changes for n, t in c.changes.items()} == {
        "data_type": "float",
        "math_prec": "float",
    }


def test_rows_of_a_packed_batch(why: Explain) -> None:
    words = ("seq_lengths=[5,7,0,3]", "max_seq_length=7", "layout=seq_major_packed")
    found = why("9.28.0.42", *words)
    assert list(by_role(found)) == ["x", "y"]
    lengths, layout = by_role(found)["x"].blames
    assert (lengths.argument, lengths.alone) == ("seqLengthArray", True)
    allowed = "1 to max_seq_length=7, the longest 7, none longer than the one before"
    assert lengths.allowed == allowed
    assert [(a.kind, a.rows) for a in lengths.rows] == [("empty", (2,)), ("unsorted", (1, 3))]
    assert (layout.argument, layout.allowed) == (
        "layout",
        "seq_major_unpacked, batch_major_unpacked",
    )
    batches = [s.problem.given for s in found.suggestions]
    assert (batches[0]["seq_lengths"], batches[0]["batch_size"]) == ("[7,5,3]", "3")
    assert batches[1]["seq_lengths"] == "[7,5,3,1]"
    assert batches[2]["layout"] == "seq_major_unpacked"
    assert [a.kind for a in found.advice] == ["empty", "unsorted"]


def test_the_same_lengths_before_the_layout_was_checked(why: Explain) -> None:
    words = ("seq_lengths=[7,5,0,3]", "max_seq_length=7", "layout=seq_major_packed")
    found = why("8.9.7.29", *words)
    assert found.accepted
    # Later calls and releases refuse it, so the rows are told all the same.
    assert [(a.kind, a.rows) for a in found.advice] == [("empty", (2,)), ("unsorted", (3,))]


def test_only_what_this_release_refuses_of_the_lengths_is_blamed(why: Explain) -> None:
    found = why("9.28.0.42", "seq_lengths=[3,9,0,5]", "max_seq_length=5")
    (lengths, steps) = by_role(found)["x"].blames
    assert lengths.allowed == "0 to max_seq_length=5, in any order"
    assert [(a.kind, a.rows) for a in lengths.rows] == [("over_max", (1,))]
    assert (steps.argument, steps.allowed) == ("maxSeqLength", "9 to 65,535")


def test_more_steps_than_there_may_be(why: Explain) -> None:
    found = why("9.28.0.42", "max_seq_length=200000", "seq_lengths=[200000,9]")
    (steps,) = by_role(found)["x"].blames
    assert (steps.argument, steps.value, steps.allowed) == ("maxSeqLength", "200000", "1 to 65,535")
    assert [(a.kind, a.rows) for a in steps.rows] == [("too_many_steps", (0,))]
    first = found.suggestions[0]
    assert first.problem.given["max_seq_length"] == "65535"
    assert first.problem.given["seq_lengths"] == "[65535,9]"
    assert first.changes[0].words.startswith("cut time into 4 calls of at most 65,535 steps")
    assert why("8.5.0.96", "max_seq_length=200000").accepted


def test_two_faults_of_one_call_are_told_apart_from_two_choices(why: Explain) -> None:
    both = by_role(why("9.28.0.42", "hidden_size=-5", "aux_flags=7"))["descriptor"]
    assert blamed(both) == {
        "hiddenSize": ("-5", "1 and more", False),
        "auxFlags": ("7", "padded_io_disabled, padded_io_enabled", False),
    }
    either = by_role(why("9.28.0.42", "proj_size=300", "hidden_size=100"))["descriptor"]
    assert blamed(either) == {
        "projSize": ("300", "1 to 100", True),
        "hiddenSize": ("100", "300 and more", True),
    }


def test_faults_of_several_calls_are_mended_together(why: Explain) -> None:
    found = why("9.28.0.42", "hidden_size=-5", "aux_flags=7", "max_seq_length=0")
    assert list(by_role(found)) == ["descriptor", "x", "y", "h", "c"]
    changes = {n: t for c in found.suggestions[0].changes for n, t in c.changes.items()}
    assert changes == {
        "hidden_size": "1",
        "aux_flags": "padded_io_enabled",
        "max_seq_length": "1",
    }


def test_what_we_cannot_hand_over_is_explained_too(why: Explain) -> None:
    found = why("9.28.0.42", "hidden_size=2147483647", "direction_mode=bidirectional")
    assert by_role(found)["y"].result.outcome == "skipped"
    assert blamed(by_role(found)["y"])["vectorSize"][1] in ("unidirectional", "1 to 1,073,741,823")
    sizes = [b.allowed for b in by_role(found)["y"].blames if b.axis == "hidden_size"]
    assert sizes == [f"1 to {2**30 - 1:,}"]


@pytest.mark.parametrize(
    "words",
    [
        "cell_mode=gru proj_size=half",
        "clip_mode=minmax lclip=2.0 rclip=1.0",
        "clip_mode=minmax lclip=nan cell_mode=gru",
        "data_type=half math_prec=double algo=persist_static aux_flags=9",
        "strides=negative nb_dims=9",
        "batch_size=0",
        "seq_lengths=[0,0]",
        "seq_lengths=all_zero layout=seq_major_packed",
        "vector_size=0",
    ],
)
def test_every_suggestion_is_accepted_when_it_is_tried(
    why: Explain, cudnn: Callable[[str], Release], words: str
) -> None:
    found = why("9.12.0.46", *words.split())
    assert found.suggestions or found.accepted
    for suggestion in found.suggestions[:2]:
        results = try_calls(cudnn("9.12.0.46"), suggestion.problem)
        assert {r.outcome for r in results} == {"passed"}, suggestion.problem.command


def test_a_worker_that_dies_is_no_refusal(fake_release: Release) -> None:
    """Hidden size 666 ends the fake library: nothing near it is tried."""
    found = explain(fake_release, parse_problem(["hidden_size=666"]))
    said = by_role(found)["descriptor"]
    assert (said.result.outcome, said.blames) == ("failed", ())
    assert (found.suggestions, found.searched) == ((), 0)
    assert "a defect of the library" in found.notes[0]


def test_a_library_that_dies_during_the_search_is_a_note(
    fake_release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So few descriptors can be set in one process that no chunk of the search ends well."""
    monkeypatch.setenv("FAKE_CUDNN_LIFE", "1")
    found = explain(fake_release, parse_problem(["hidden_size=0"]))
    assert found.notes[0].startswith("the search was given up: ")
    assert found.suggestions == ()
    assert [r.blames for r in found.refusals] == [()] * len(found.refusals)


def test_since_when(cudnn: Callable[[str], Release]) -> None:
    releases = [cudnn(v) for v in ("9.28.0.42", "8.9.7.29", "9.13.0.50", "9.12.0.46")]
    found = past.history(parse_problem(["data_type=bfloat16"]), releases)
    assert [(s.outcome, s.first, s.last) for s in found.spans] == [
        ("refused", "8.9.7", "9.12.0"),
        ("accepted", "9.13.0", "9.28.0"),
    ]
    assert found.spans[0].call == "cudnnSetRNNDescriptor_v8"
    assert found.notes == []


def test_a_release_that_cannot_be_asked_is_a_note(
    cudnn: Callable[[str], Release], fake_release: Release, build: Callable[..., object]
) -> None:
    from dataclasses import replace
    from pathlib import Path

    broken = replace(fake_release, path=Path(str(build("UNLOADABLE"))), version="9.1.0.1")
    found = past.history(parse_problem(["hidden_size=0"]), [cudnn("9.28.0.42"), broken])
    assert [s.outcome for s in found.spans] == ["refused"]
    assert len(found.notes) == 1
    assert found.notes[0].startswith("9.1.0.1+cu12 could not be asked: ")


def test_every_release_of_the_index(
    cudnn: Callable[[str], Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is cached, and what is fetched besides; what cannot be had is a note."""
    own = cudnn("9.28.0.42")
    monkeypatch.setattr(past, "cached_releases", lambda own: [own])
    monkeypatch.setattr(past, "offered_versions", lambda: ["8.9.7.29", "9.7.7.7", "9.28.0.42"])

    def fetched(version: str) -> Release:
        if version == "9.7.7.7":
            raise HarnessError("the index does not answer")
        return cudnn(version)

    monkeypatch.setattr(past, "resolve", fetched)
    releases, notes = past.every_release(own)
    assert [r.name for r in releases] == ["9.28.0.42+cu12", "8.9.7.29+cu12"]
    assert notes == ["9.7.7.7 could not be fetched: the index does not answer"]


def test_a_release_elsewhere_is_one_of_the_cached(fake_release: Release) -> None:
    assert past.cached_releases(fake_release)[-1] is fake_release


def test_a_blame_is_the_same_for_x_and_y(why: Explain) -> None:
    found = by_role(why("9.28.0.42", "layout=7"))
    assert found["x"].blames == found["y"].blames
    (only,) = found["x"].blames
    assert only == Blame(
        "layout",
        "layout",
        "7",
        "seq_major_unpacked, seq_major_packed, batch_major_unpacked",
        True,
    )
