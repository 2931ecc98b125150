"""Explanations on real releases, and of what a broken library does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyharness.analyze.explanation import Blame, Explanation, Refusal
from pyharness.api import history as past
from pyharness.api.explaining import explain, explain_each
from pyharness.api.trying import try_many
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.spec.problem import CallResult, Problem, parse_problem

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
    directions = [b.allowed for b in by_role(found)["y"].blames if b.axis == "direction_mode"]
    assert directions == ["unidirectional"]
    sizes = [b.allowed for b in by_role(found)["y"].blames if b.axis == "hidden_size"]
    assert sizes == [f"1 to {2**30 - 1:,}"]


@pytest.mark.parametrize("version", ["8.9.7.29", "9.1.0.70", "9.12.0.46", "9.28.0.42"])
@pytest.mark.parametrize(
    "words",
    [
        "cell_mode=gru proj_size=half",
        "seq_lengths=[3,0,5] layout=seq_major_packed",
        "seq_lengths=[0] layout=seq_major_packed",
        "seq_lengths=[-1,0]",
        "seq_lengths=[2,2147483647,5,2,5] hidden_size=2147483647",
        "cell_mode=rnn_relu num_layers=16777216",
        "hidden_size=2147483647 cell_mode=rnn_tanh proj_size=half",
        "seq_lengths=[70000,1,0,66000] layout=seq_major_packed",
        "proj_size=0",
        "direction_mode=7",
        "cell_mode=99 clip_mode=minmax",
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
    why: Explain, cudnn: Callable[[str], Release], words: str, version: str
) -> None:
    found = why(version, *words.split())
    assert found.suggestions or found.accepted
    tried = try_many(cudnn(version), [s.problem for s in found.suggestions])
    for suggestion, results in zip(found.suggestions, tried, strict=True):
        assert {r.outcome for r in results} == {"passed"}, suggestion.problem.command


def test_a_suggestion_says_what_followed_from_the_old_lengths(why: Explain) -> None:
    found = why("9.28.0.42", "seq_lengths=[3,0,5]", "layout=seq_major_packed")
    last = found.suggestions[-1]
    assert last.changes[0].changes == {"seq_lengths": "equal"}
    assert (last.problem.given["batch_size"], last.problem.given["max_seq_length"]) == ("3", "5")


def test_too_many_steps_are_refused_whatever_the_lengths_are(why: Explain) -> None:
    found = why("9.28.0.42", "seq_lengths=[5,3]", "max_seq_length=70000", "layout=seq_major_packed")
    (steps,) = by_role(found)["x"].blames
    assert (steps.argument, steps.allowed) == ("maxSeqLength", "5")  # as long as the longest
    assert found.suggestions[0].problem.given["max_seq_length"] == "5"


def test_padding_that_nobody_needs_is_not_cut_but_left_off(why: Explain) -> None:
    words = ("seq_lengths=[100,90]", "max_seq_length=70000", "direction_mode=bidirectional")
    found = why("9.28.0.42", *words)
    (steps,) = by_role(found)["x"].blames
    assert steps.allowed == "100 to 65,535"
    first = found.suggestions[0]
    assert (first.levels, first.problem.given["max_seq_length"]) == ((0,), "100")


def test_the_nearest_of_a_batch_that_is_cut_and_mended(why: Explain) -> None:
    first = why("9.28.0.42", "seq_lengths=[70000,-1]").suggestions[0]
    assert first.problem.given["seq_lengths"] == "[65535,1]"
    assert len(first.levels) == 1


def test_which_arguments_are_to_be_changed_together(why: Explain) -> None:
    words = ("seq_lengths=[70000,1,0,66000]", "layout=seq_major_packed")
    said = by_role(why("9.28.0.42", *words))["x"]
    assert said.together == () or all(len(names) == 2 for names in said.together)
    half = by_role(
        why(
            "9.28.0.42", "data_type=half", "math_prec=half", "proj_size=32", "cell_mode=gru",
            "algo=persist_static", "bias_mode=no_bias",
        )
    )["descriptor"]  # fmt: skip
    assert set(half.together) == {("algo", "projSize"), ("algo", "cellMode")}


def test_what_follows_from_hidden_size_is_no_second_argument(why: Explain) -> None:
    """proj_size=same is as wide as hidden_size: the width of y has one cause."""
    said = by_role(why("9.28.0.42", "hidden_size=0"))
    assert [b.axis for b in said["y"].blames] == ["hidden_size"]
    assert [b.axis for b in said["h"].blames] == ["hidden_size"]


def test_bounds_that_are_no_names_are_only_examples(why: Explain) -> None:
    found = why("9.28.0.42", "clip_mode=minmax", "lclip=2.0", "rclip=1.0")
    allowed = {b.argument: b.allowed for b in by_role(found)["clip"].blames}
    assert allowed["lclip"] == "for example -1.0, 0.0, 1.0"


def test_a_value_that_a_later_call_has_no_meaning_for(why: Explain) -> None:
    found = why("9.28.0.42", "direction_mode=7")
    assert by_role(found)["descriptor"].blames[0].allowed == "unidirectional, bidirectional"
    assert by_role(found)["h"].result.outcome == "skipped"


def test_a_batch_that_is_too_large_for_rows(why: Explain) -> None:
    words = ("batch_size=70000", "seq_lengths=unsorted", "layout=seq_major_packed")
    found = why("9.28.0.42", *words)
    assert found.notes == ("a batch of more than 65,536 sequences is not looked at row by row",)
    assert found.advice == ()
    assert found.suggestions[0].problem.given["layout"] == "seq_major_unpacked"


def test_four_faults_are_mended_together(why: Explain) -> None:
    words = ("hidden_size=-5", "aux_flags=7", "max_seq_length=0", "batch_size=0")
    (only,) = why("9.28.0.42", *words).suggestions
    assert len(only.changes) == 4


def test_one_of_many_that_cannot_be_looked_into(cudnn: Callable[[str], Release]) -> None:
    """A log may hold a batch that is tried nowhere; the rest is explained all the same."""
    release = cudnn("9.28.0.42")
    bad = CallResult("x", "cudnnSetRNNDataDescriptor", "data", "BAD_PARAM", 2000, "unsupported", "")
    problems = [
        (Problem({"batch_size": "2000000", "max_seq_length": "0"}), [bad]),
        (Problem({"max_seq_length": "0"}), [bad]),
    ]
    huge, plain = explain_each(release, problems)
    assert huge.notes[0].startswith("it is not looked into: batch_size: 2000000 cannot be tried")
    assert plain.suggestions


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
