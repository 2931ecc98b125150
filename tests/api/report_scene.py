"""Result folders made by hand, for reports: a few rows whose numbers a test knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.schema import write_rows

GPU = {"name": "A card", "compute_capability": "9.0", "memory_bytes": 1 << 34}
# Texts that would break a page that does not escape them.
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "a | b ` c \\ d",
    "\u2028 & < > \" '",
)


def folder(
    path: Path,
    kind: str,
    release: str = "9.13.0.50+cu12",
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    **more: Any,
) -> Path:
    """A folder with a run.json and these tables; a column that a row lacks is null."""
    path.mkdir(parents=True, exist_ok=True)
    run = {
        "kind": kind,
        "schema_version": SCHEMA_VERSION,
        "tool_version": "0.1.0",
        "state": "complete",
        "release": {"asked": release, "name": release},
        "space": {"name": "smoke"},
        "device": {**GPU, "driver_version": 12080, "emulated": False},
        "host": {"cpu": "A processor", "cores": 2, "system": "Linux", "python": "3.11.2"},
        "environment": {"CUDNN_LOGDEST_DBG": "stderr"},
        "results": {},
        "argv": ["/usr/bin/pyharness", kind, "--cudnn", release],
        **more,
    }
    (path / "run.json").write_text(json.dumps(run), "utf-8")
    for table, rows in (tables or {}).items():
        write_rows(path / f"{table}.parquet", table, rows)
    return path


def shared(release: str, name: str, **own: Any) -> dict[str, Any]:
    """What every row of a device has."""
    return {
        "release": release,
        "device": GPU["name"],
        "name": name,
        "problem": f"cell_mode=lstm {name}",
        "cell_mode": "lstm",
        "algo": "standard",
        "max_seq_length": 4,
        "provenance": "observed",
        "outcome": "passed",
        **own,
    }


def timings(release: str, medians: Mapping[str, float]) -> list[dict[str, Any]]:
    """Rows of the table, each median within 1 %."""
    return [
        shared(
            release,
            name,
            **{"pass": "forward_inference", "mode": "hot", "n": 30},
            median_s=median,
            median_low_s=median * 0.99,
            median_high_s=median * 1.01,
            flops=1_000_000,
        )
        for name, median in medians.items()
    ]


def accuracy(release: str, errors: Sequence[float]) -> list[dict[str, Any]]:
    """Rows of the table, one for each error; those above the limit of 1e-3 are beyond it."""
    return [
        shared(
            release,
            f"hidden_size={place + 1}",
            **{"pass": "forward_training", "buffer": "y", "data_type": "half"},
            max_rel=error,
            rms_rel=error / 4,
            threshold=1e-3,
            max_ulps=place,
            nan=0,
            inf=0,
            hidden_size=place + 1,
            verdict="beyond" if error > 1e-3 else "within",
        )
        for place, error in enumerate(errors)
    ]


def repeatability(release: str, verdicts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows of one problem, a condition each."""
    return [
        shared(
            release,
            "hidden_size=8",
            condition=condition,
            buffer="y",
            runs=5,
            verdict=verdict,
            **(
                {"differing": 2, "share": 0.5, "most_ulps": 3, "most_abs": 1e-7, "distinct": 3,
                 "first_run": 1, "first_element": 0}
                if verdict == "not_repeatable"
                else {}
            ),
        )
        for condition, verdict in verdicts.items()
    ]  # fmt: skip


def memory(release: str, totals: Mapping[str, int]) -> list[dict[str, Any]]:
    """Rows of one mode; all of it is workspace."""
    parts = ("weight_space", "reserve_space", "tensor", "dropout_states")
    return [
        shared(
            release,
            name,
            order=place,
            forward_mode="inference",
            workspace_bytes=total,
            total_bytes=total,
            **{f"{part}_bytes": 0 for part in parts},
        )
        for place, (name, total) in enumerate(totals.items())
    ]


def upgrade_json(word: str = "failed") -> dict[str, Any]:
    """A verdict with one finding for the worse, whose texts are hostile."""
    finding = {
        "change": "newly_refused",
        "for_worse": True,
        "call": "cudnnSetRNNDescriptor_v8",
        "problems": 12,
        "times": 0,
        "problem": None,
        "before": "SUCCESS",
        "after": f"BAD_PARAM: {HOSTILE[0]}",
        "conditions": [HOSTILE[2], "algo=standard"],
    }
    evidence = {
        "scope": "space",
        "what": "host",
        "word": "worse",
        "compared": 1000,
        "unanswered": 0,
        "counts": {"newly_refused": 12},
        "findings": [finding],
        "commands": ["pyharness diff 9.12.0.46 9.13.0.50 --preset host"],
        "notes": [],
    }
    nothing = {"word": "not_measured", "why": "no GPU here", "evidence": []}
    requirement = {"key": "validity.newly_refused", "scope": "any", "found": 12, "why": ""}
    return {
        "release_a": "9.12.0.46+cu12",
        "release_b": "9.13.0.50+cu12",
        "gate": {
            "source": "the default",
            "word": word,
            "requirements": [{**requirement, "word": word}],
        },
        "questions": [
            {"question": "validity", "word": "worse", "why": "", "commands": [],
             "evidence": [evidence]},
            *(
                {"question": q, "commands": [f"pyharness {q}"], **nothing}
                for q in ("time", "memory", "repeatability", "accuracy")
            ),
        ],
    }  # fmt: skip


def upgrade(path: Path, word: str = "failed") -> Path:
    """The folder of an upgrade that has that verdict."""
    folder(path, "upgrade")
    (path / "upgrade.json").write_text(json.dumps(upgrade_json(word)), "utf-8")
    return path
