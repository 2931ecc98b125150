"""The tables of time compared between two releases, column by column."""

from __future__ import annotations

from pyharness.spec.columns import (
    AXIS_COLUMNS,
    CALL,
    CODE,
    FLOAT,
    INT32,
    PROVENANCE,
    RELEASE,
    RUN_COLUMNS,
    STATUS,
    TEXT,
    Column,
)
from pyharness.spec.device_tables import DEVICE, GROUP, NAME

_PROBLEM = Column("problem", TEXT, "", "as `pyharness time` takes it")
_PASS = Column(
    "pass",
    TEXT,
    "",
    "forward_inference, forward_training, backward_data, backward_weights or training_step (these "
    "three)",
)
_MODE = Column("mode", TEXT, "", "hot, cold, graph or enqueue, as `pyharness bench` has them")
_SIDE_OUTCOME = (
    "passed, unsupported, skipped, failed or out_of_memory: the first that is not passed"
)

TIME_TABLES: dict[str, tuple[Column, ...]] = {
    "time_changes": (
        Column("release_a", TEXT, "", "the older side"),
        Column("release_b", TEXT, "", "the newer side"),
        DEVICE,
        NAME,
        GROUP,
        _PROBLEM,
        _PASS,
        _MODE,
        *AXIS_COLUMNS,
        *RUN_COLUMNS,
        Column(
            "verdict",
            TEXT,
            "",
            "slower or faster (than the older side, and not known to be within the margin), same "
            "(within the margin, tested as such), inconclusive, not_compared (a side does not time "
            "it) or not_timed",
        ),
        Column(
            "reason",
            TEXT,
            "",
            "of inconclusive: noise (readings too far apart), clock (cycles do not say what "
            "seconds say) or few (blocks); of not_timed: budget or end (the run ended before); of "
            "not_compared what the sides say",
        ),
        Column("pairs", INT32, "", "of neighbouring processes, A and B, in blocks that are whole"),
        Column("median_a_s", FLOAT, "s", "median of the medians of the older side's processes"),
        Column("median_b_s", FLOAT, "s", "of the newer side's"),
        Column("ratio", FLOAT, "", "newer over older, by the pairs"),
        Column("ratio_low", FLOAT, "", "95 % confidence interval of it, by Student's t"),
        Column("ratio_high", FLOAT, "", "its other end"),
        Column("cycles_ratio", FLOAT, "", "of times multiplied by clocks; null where not told"),
        Column("cycles_ratio_low", FLOAT, "", "95 % confidence interval of it"),
        Column("cycles_ratio_high", FLOAT, "", "its other end"),
        Column("p_change", FLOAT, "", "chance of a ratio so far from 1 if nothing changed"),
        Column("q_change", FLOAT, "", "the same adjusted for all cases (Benjamini-Hochberg)"),
        Column("p_same", FLOAT, "", "chance of a ratio so near to 1 if it were at the margin"),
        Column("q_same", FLOAT, "", "the same adjusted for all cases"),
        Column("visible", FLOAT, "", "least change up that 95 % of such runs would have shown"),
        Column("margin", FLOAT, "", "share that a change must exceed to matter"),
        Column("level", FLOAT, "", "share of wrong findings that is allowed"),
        Column("step_s", FLOAT, "s", "of the timer; it counts against every verdict"),
        Column("clock_a_hz", FLOAT, "Hz", "median of the card's clock in the older's processes"),
        Column("clock_b_hz", FLOAT, "Hz", "in the newer's"),
        Column("processes_a", INT32, "", "of the older side with a time"),
        Column("processes_b", INT32, "", "of the newer side"),
        Column("outcome_a", TEXT, "", _SIDE_OUTCOME),
        Column("outcome_b", TEXT, "", "of the newer side"),
        Column("status_a", TEXT, "", "with outcome_a; null where none was given"),
        Column("status_b", TEXT, "", "of the newer side"),
        PROVENANCE,
    ),
    "time_readings": (
        RELEASE,
        Column("side", TEXT, "", "a (older) or b (newer)"),
        DEVICE,
        NAME,
        GROUP,
        _PROBLEM,
        _PASS,
        _MODE,
        Column("order", INT32, "", "place of the process among all, from 0; they run a b b a …"),
        Column("median_s", FLOAT, "s", "of the samples that count; null without one"),
        Column("samples", INT32, "samples", "that count"),
        Column("throttled", INT32, "samples", "left out because the card was held down"),
        Column("throttle_reasons", TEXT, "", "what held it down"),
        Column("clock_hz", FLOAT, "Hz", "median of the card's clock while nothing held it down"),
        Column("step_s", FLOAT, "s", "of the timer, as the samples show it; null: one reading"),
        STATUS,
        CODE,
        Column("outcome", TEXT, "", "passed, unsupported, skipped, failed or out_of_memory"),
        CALL,
        Column("reason", TEXT, "", "why it was not timed"),
        PROVENANCE,
    ),
}
