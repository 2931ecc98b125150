"""Since when, from what ships: against the libraries themselves."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from pyharness.analyze.explanation import answer_of
from pyharness.api import history as history_module
from pyharness.api.history import since_when
from pyharness.api.known import known_history
from pyharness.api.trying import try_many
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.spec.calls import call_named
from pyharness.spec.problem import Problem, parse_problem
from pyharness.store.known_answers import read_known

KNOWN = read_known()
OLD, EMPTY, PACKED, NEW = "8.9.7.29+cu12", "9.1.0.70+cu12", "9.12.0.46+cu12", "9.28.0.42+cu12"
ASKED = (OLD, EMPTY, PACKED, "9.13.0.50+cu12", NEW)


def compare(release: Release, problems: Sequence[Problem]) -> dict[str, int]:
    """Sees that no answer of the atlas is wrong; how many rest on what."""
    bases: dict[str, int] = {}
    for problem, results in zip(problems, try_many(release, problems), strict=True):
        known = next(a for a in known_history(problem, KNOWN).answers if a.release == release.name)
        bases[known.basis] = bases.get(known.basis, 0) + 1
        if known.basis != "unknown":
            said = answer_of(release.name, known.version, results)
            assert (known.outcome, known.call, known.status) == (
                said.outcome,
                said.call,
                said.status,
            ), problem.command
    return bases


def drawn(choices: dict[str, Sequence[object]], count: int, seed: int) -> list[Problem]:
    rng = random.Random(seed)
    return [
        parse_problem([f"{n}={rng.choice(values)}" for n, values in choices.items()])
        for _ in range(count)
    ]


def words(call: str, axis: str) -> tuple[str, ...]:
    return call_named(call).axis(axis).names


DESCRIPTOR, DATA = "cudnnSetRNNDescriptor_v8", "cudnnSetRNNDataDescriptor"
WORDS = {
    "algo": words(DESCRIPTOR, "algo"),
    "cell_mode": words(DESCRIPTOR, "cell_mode"),
    "bias_mode": ("double_bias", "double_bias", "no_bias"),
    "direction_mode": words(DESCRIPTOR, "direction_mode"),
    "data_type": ("float", "float", "half", "double", "bfloat16"),
    "math_prec": ("float", "float", "half", "double"),
    "math_type": words(DESCRIPTOR, "math_type"),
    "layout": words(DATA, "layout"),
    "seq_lengths": words(DATA, "seq_lengths"),
}


@pytest.mark.parametrize("version", ASKED)
def test_what_the_atlas_has_is_what_the_library_says(
    cudnn: Callable[[str], Release], version: str
) -> None:
    mapped = {
        **WORDS,
        "proj_size": ("same", "half", "64", "32"),
        "max_seq_length": (1, 2, 16, 65535, 65536),
        "batch_size": (1, 8),
    }
    bases = compare(cudnn(version), drawn(mapped, 60, 1))
    assert bases["mapped"] >= 50, bases


@pytest.mark.parametrize("version", [OLD, EMPTY, NEW])
def test_what_is_derived_is_what_the_library_says(
    cudnn: Callable[[str], Release], version: str
) -> None:
    sizes = {
        "input_size": (1, 7, 300, 70_000),
        "hidden_size": (2, 63, 100, 512, 5_000),
        "proj_size": ("same", "same", "half", "over", 0, 50),
        "num_layers": (1, 2, 3, 9),
        "batch_size": (3, 30, 500),
        "max_seq_length": (3, 100, 65534, 65537),
        "lclip": (-5, -0.5, 2),
        "rclip": (0.5, 3),
    }
    bases = compare(cudnn(version), drawn({**WORDS, **sizes}, 60, 2))
    assert bases["derived"] >= 40, bases
    lists = [
        f"[{','.join(str(n) for n in rng.sample([0, 0, 1, 2, 4, 9, 9, 9], 5))}]"
        for rng in map(random.Random, range(20))
    ]
    given = [
        parse_problem([f"seq_lengths={text}", f"layout={layout}", "max_seq_length=9"])
        for text in lists
        for layout in WORDS["layout"]
    ]
    assert compare(cudnn(version), given)["derived"] >= 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data_type=bfloat16", ["refused 8.5.0 9.12.0", "accepted 9.13.0 "]),
        ("max_seq_length=65536", ["accepted 8.5.0 8.9.0", "refused 8.9.1 "]),
        ("nb_dims=2", ["refused 8.5.0 9.0.0", "accepted 9.1.0 "]),
        (
            "seq_lengths=[16,16,16,16,0,0,0,0] layout=seq_major_packed",
            [
                "accepted 8.5.0 9.0.0",
                "refused 9.1.0 9.1.1",
                "accepted 9.2.0 9.4.0",
                "refused 9.5.0 ",
            ],
        ),
    ],
)
def test_the_steps_that_the_readme_tells_of(text: str, expected: list[str]) -> None:
    known = known_history(parse_problem(text.split()))
    told = [f"{s.outcome} {s.first} {s.last}" for s in known.spans]
    assert told[:-1] == expected[:-1]
    assert told[-1].startswith(expected[-1])
    assert {s.basis for s in known.spans} == {"mapped"}
    assert known.derived == known.missing == []


def test_what_nothing_stands_for_is_unknown() -> None:
    known = known_history(parse_problem(["batch_size=100000"]))
    assert {a.outcome for a in known.answers} == {"unknown"}
    assert any("batch_size=100000 is more than any that was tried" in m for m in known.missing)
    mixed = known_history(parse_problem(["cell_mode=gru", "hidden_size=512", "proj_size=300"]))
    assert {a.outcome for a in mixed.answers} == {"unknown"}  # half is refused, same is not
    assert any("is not answered alike" in m for m in mixed.missing)


def test_a_library_that_is_asked_wins(
    cudnn: Callable[[str], Release], fake_release: Release
) -> None:
    problem = parse_problem(["data_type=bfloat16"])
    calm = since_when(problem, [cudnn(NEW), cudnn(PACKED)])
    assert calm.asked == 0  # the atlas has this very problem of both
    assert [(s.outcome, s.basis) for s in calm.spans] == [
        ("refused", "mapped"),
        ("accepted", "mapped"),
    ]
    rounded = parse_problem(["hidden_size=100"])
    past = since_when(rounded, [cudnn(NEW)])
    assert past.asked == 1
    assert past.wrong == []
    assert any("hidden_size=100 lies between 64 and 1024" in words for words in past.derived)
    # The double refuses sizes that cuDNN takes: what it says stands in place of what was derived.
    odd = since_when(parse_problem(["hidden_size=666"]), [], [fake_release])
    assert odd.wrong == [fake_release.name]
    assert odd.known > 50


def test_damage_is_a_note_and_the_libraries_answer(
    cudnn: Callable[[str], Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(problem: Problem) -> None:
        raise HarnessError("full.json, which ships with pyharness, is damaged", "")

    monkeypatch.setattr(history_module, "known_history", damaged)
    past = since_when(parse_problem(["data_type=bfloat16"]), [cudnn(NEW)])
    assert past.notes == [
        "the atlas is left out: full.json, which ships with pyharness, is damaged"
    ]
    assert [(s.outcome, s.basis) for s in past.spans] == [("accepted", "asked")]
