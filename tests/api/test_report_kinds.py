"""A report has a section of every kind of folder, with its numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.api.atlas import make_atlas
from pyharness.api.report_sources import KINDS
from pyharness.api.reporting import write_report
from pyharness.releases import Release
from pyharness.space.presets import build_space
from tests.api import report_scene as scene

OLD, NEW = "9.12.0.46+cu12", "9.13.0.50+cu12"
PASS = {"pass": "forward_training", "buffer": "y"}


def row(**own: Any) -> dict[str, Any]:
    return scene.shared(NEW, "x", **own)


def pair(**own: Any) -> dict[str, Any]:
    sides = {"release_a": OLD, "release_b": NEW, "outcome_a": "passed", "outcome_b": "passed"}
    return {**row(), **sides, **own}


TIMED = {
    "mode": "hot",
    "margin": 0.02,
    "median_a_s": 1e-3,
    "median_b_s": 1.05e-3,
    "ratio": 1.05,
    "ratio_low": 1.04,
    "ratio_high": 1.06,
}
# Kind, its tables, where it is told, and what is said there.
MADE: list[tuple[str, dict[str, list[dict[str, Any]]], str, str]] = [
    (
        "time",
        {
            "time_changes": [
                pair(
                    **{**TIMED, "pass": "backward_data"},
                    verdict="slower",
                    visible=0.0123,
                ),
                pair(**{**TIMED, "pass": "forward_training"}, verdict="same", visible=0.01),
            ]
        },
        "time",
        "2 cases in paired fresh processes: 1 slower, 1 same. "
        "The smallest change that every case would have shown: 1.23%.",
    ),
    (
        "drift",
        {"drift": [pair(**PASS, verdict="drifted", share=0.25, most_ulps=2, elements=8)]},
        "drift",
        f"{OLD} → {NEW}: 1 buffer compared bit by bit: 1 drifted.",
    ),
    (
        "equivalences",
        {"equivalences": [row(check="packed", buffer="y", verdict="violated", error=0.5)]},
        "checks",
        f"{NEW}: 1 comparisons, 1 violated.",
    ),
    (
        "stages",
        {
            "stages": [
                row(stage="sizes", status="SUCCESS"),
                row(stage="forward_training", outcome="failed", reason=scene.HOSTILE[0]),
            ]
        },
        "stages",
        f"{NEW}: 2 stages, 1 passed, 1 failed.",
    ),
    (
        "replay",
        {
            "recorded": [{"order": 0, "count": 7, "calls": "cudnnRNNForward 7", "problem": "x=1"}],
            "validity": [
                {**row(), "call": "cudnnSetRNNDescriptor_v8", "outcome": "unsupported",
                 "status": "BAD_PARAM", "reason": scene.HOSTILE[2]}
            ],
        },
        "log",
        "app.log: 7 RNN calls of 1 problem.",
    ),
    ("soak", {"soak": [row(cycle=1, time_s=2.0)]}, "soak", f"{NEW}: leak after 9 cycles in 2.0 s."),
]  # fmt: skip
SOAKED = {"verdict": "leak", "cycles": 9, "walk_s": 2.0, "trends": {}}


@pytest.mark.parametrize(("kind", "tables", "where", "said"), MADE, ids=[m[0] for m in MADE])
def test_a_kind_is_told(
    tmp_path: Path, kind: str, tables: dict[str, list[dict[str, Any]]], where: str, said: str
) -> None:
    results = SOAKED if kind == "soak" else {}
    folder = scene.folder(tmp_path / "a", kind, NEW, tables, results=results, logs=["app.log"])
    page, markdown, data = write_report([folder], tmp_path / "out")
    told = json.loads(data.read_text("utf-8"))
    (section,) = [s for s in told["sections"] if s["id"] == where]
    assert section["lead"][0] == said
    assert f'id="{where}"' in page.read_text("utf-8")
    assert f"### {section['title']}" in markdown.read_text("utf-8")
    machine = told["sections"][-1]
    assert machine["commands"] == [f"pyharness {kind} --cudnn {NEW}"]
    assert machine["tables"][1]["rows"][0]["driver"] == "12.8"
    assert machine["tables"][1]["rows"][0]["python"] == "3.11.2"


def test_a_paired_time_has_its_interval_and_its_command(tmp_path: Path) -> None:
    folder = scene.folder(tmp_path / "a", "time", NEW, MADE[0][1])
    told = json.loads(write_report([folder], tmp_path / "out")[2].read_text("utf-8"))
    first = told["sections"][0]["tables"][0]["rows"][0]
    assert (first["verdict"], first["ratio_low"], first["ratio_high"]) == ("slower", 1.04, 1.06)
    assert first["repeat"] == f"pyharness time {OLD} {NEW} cell_mode=lstm x"


def test_an_atlas_lets_any_two_releases_be_compared(
    tmp_path: Path, cudnn: Callable[[str], Release]
) -> None:
    space = build_space("clip", None, [])
    made = make_atlas([cudnn(OLD).name, cudnn(NEW).name], tmp_path / "atlas", space)
    told = json.loads(write_report([tmp_path / "atlas"], tmp_path / "out")[2].read_text("utf-8"))
    (validity,) = [s for s in told["sections"] if s["id"] == "validity"]
    for cube in validity["data"]["cubes"]:
        assert [name for name, _ in cube["releases"]] == [OLD, NEW]
    counts = {(r["release"], r["call"]): r["accepted"] for r in validity["tables"][0]["rows"]}
    assert counts == {key: f.counts().get("SUCCESS", 0) for key, f in made.atlas.folds.items()}


def test_every_kind_is_tried() -> None:
    elsewhere = {"map", "diff", "upgrade", "bench", "memory", "repeatability", "accuracy"}
    committed = {"atlas", "audit"}  # the audit of the repository, below
    assert {m[0] for m in MADE} | elsewhere | committed == set(KINDS)


def test_the_audit_of_the_repository(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "results" / "audit"
    page, _, data = write_report([folder], tmp_path / "out")
    told = json.loads(data.read_text("utf-8"))
    (audit,) = [s for s in told["sections"] if s["id"] == "audit"]
    assert audit["lead"][0].startswith(f"{len(audit['tables'][0]['rows']):,} rules: ")
    assert audit["tables"][0]["title"] in page.read_text("utf-8")
