"""Rows of tables for charts: only what is given is known, every other column is null."""

from __future__ import annotations

from itertools import product
from typing import Any

from pyharness.spec.tables import TABLES

Row = dict[str, Any]


def row(table: str, **cells: Any) -> Row:
    """A row of a table; a cell that is no column of it is an error of the test."""
    empty: Row = {column.name: None for column in TABLES[table]}
    unknown = set(cells) - set(empty)
    assert not unknown, f"{table} has no {unknown}"
    return {**empty, "provenance": "observed", **cells} if "provenance" in empty else empty | cells


def timing(algo: str, size: int, seconds: float, release: str = "9.13.0.50", **cells: Any) -> Row:
    """A row of timings; its interval is 10 % to each side."""
    return row(
        "timings",
        **{
            "release": release,
            "problem": f"algo={algo} hidden_size={size}",
            "algo": algo,
            "hidden_size": size,
            "pass": "forward_inference",
            "mode": "hot",
            "median_s": seconds,
            "median_low_s": seconds * 0.9,
            "median_high_s": seconds * 1.1,
            "flops": size * size,
            **cells,
        },
    )


def time_change(name: str, ratio: float | None, verdict: str, **cells: Any) -> Row:
    """A row of time_changes; its interval is 1 % to each side."""
    bounds = {} if ratio is None else {"ratio_low": ratio - 0.01, "ratio_high": ratio + 0.01}
    return row(
        "time_changes",
        **{
            "release_a": "9.12.0.46",
            "release_b": "9.13.0.50",
            "problem": name,
            "algo": "standard",
            "hidden_size": len(name),
            "pass": "training_step",
            "mode": "hot",
            "verdict": verdict,
            "ratio": ratio,
            "margin": 0.02,
            **bounds,
            **cells,
        },
    )


def sized(batch: int, mode: str = "training", **cells: Any) -> Row:
    """A row of memory: a MiB of weights, and half a MiB of workspace a sequence."""
    return row(
        "memory",
        **{
            "release": "9.13.0.50",
            "problem": f"batch_size={batch}",
            "batch_size": batch,
            "forward_mode": mode,
            "weight_space_bytes": 1 << 20,
            "workspace_bytes": batch << 19,
            "reserve_space_bytes": 0,
            "tensor_bytes": 0,
            "dropout_states_bytes": 0,
            "total_bytes": (1 << 20) + (batch << 19),
            **cells,
        },
    )


def every(count: int = 2) -> dict[str, list[Row]]:
    """Rows of every table that has a picture, of this many problems."""
    problems = [f"hidden_size={i + 1}" for i in range(count)]
    both = list(product(enumerate(problems), ("y", "dw")))
    sizes = [
        {"problem": p, "hidden_size": i + 1, "max_seq_length": 16} for i, p in enumerate(problems)
    ]
    result = {"release": "9.13.0.50", "release_a": "9.12.0.46", "release_b": "9.13.0.50"}

    def of(table: str, **cells: Any) -> Row:
        names = {column.name for column in TABLES[table]}
        return row(table, **{k: v for k, v in {**result, **cells}.items() if k in names})

    return {
        "timings": [
            timing(a, i + 1, 1e-4 * (i + 1))
            for i in range(count)
            for a in ("standard", "persist_static")
        ],
        "time_changes": [
            time_change(p, 1 + i / 100, "same", hidden_size=i + 1) for i, p in enumerate(problems)
        ],
        "trade_offs": [
            of(
                "trade_offs",
                algo=a,
                without_choice=p,
                median_s=1e-4,
                verdict="repeatable",
                **{"pass": "training_step"},
            )
            for p in problems
            for a in ("standard", "persist_static")
        ],
        "memory": [sized(i + 1) for i in range(count)],
        "accuracy": [
            of(
                "accuracy",
                **sizes[i],
                buffer=b,
                max_rel=1e-6 * (i + 1),
                threshold=1e-5,
                verdict="within",
                first_steps_rel=1e-8,
                last_steps_rel=2e-8,
                first_layer_rel=1e-8,
                last_layer_rel=3e-8,
            )
            for (i, _), b in both
        ],
        "stages": [
            of("stages", **s, stage="descriptor", outcome="passed", status="SUCCESS") for s in sizes
        ],
        "repeatability": [
            of("repeatability", **sizes[i], buffer=b, condition="load", verdict="repeatable")
            for (i, _), b in both
        ],
        "equivalences": [
            of("equivalences", **sizes[i], buffer=b, check="batch_is_parts", verdict="holds")
            for (i, _), b in both
        ],
        "drift": [
            of("drift", **sizes[i], buffer=b, verdict="drifted", most_ulps=i, share=0.5)
            for (i, _), b in both
        ],
        "soak": [
            of(
                "soak",
                cycle=i,
                problem=p,
                device_used_bytes=1 << 30,
                host_bytes=(1 << 20) + i,
                largest_free_bytes=None if i % 2 else 1 << 33,
                outcome="passed",
            )
            for i, p in enumerate(problems)
        ],
        "reasons": [
            of(
                "reasons",
                call="cudnnSetRNNDescriptor_v8",
                status="BAD_PARAM",
                reason=f"r{i}",
                rows=i + 1,
            )
            for i in range(count)
        ],
        "costs": [
            of(
                "costs",
                release=f"9.{i}.0",
                call="cudnnSetRNNDescriptor_v8",
                answer=a,
                median_s=1e-7,
                p25_s=0.9e-7,
                p75_s=1.2e-7,
            )
            for i in range(count)
            for a in ("accepted", "refused")
        ],
        "atlas": [
            of(
                "atlas",
                release=f"9.{i}.0",
                call="cudnnSetRNNDescriptor_v8",
                rows=100,
                accepted=10 + i,
            )
            for i in range(count)
        ],
    }
