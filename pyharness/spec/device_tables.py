"""The tables of what is run on a device, column by column."""

from __future__ import annotations

from pyharness.spec.columns import (
    AXIS_COLUMNS,
    CALL,
    CODE,
    FLOAT,
    INT32,
    INT64,
    PROVENANCE,
    REASON,
    RELEASE,
    RUN_COLUMNS,
    STATUS,
    TEXT,
    Column,
)

DEVICE = Column("device", TEXT, "", "name of the GPU, or of the machine's processor for a peer")
NAME = Column("name", TEXT, "", "the preset's name of the problem")
GROUP = Column("group", TEXT, "", "part of the preset that it belongs to")
_PROBLEM = Column("problem", TEXT, "", "as `pyharness bench` takes it")
_PASS = Column(
    "pass",
    TEXT,
    "",
    "forward_inference, forward_training, backward_data, backward_weights, training_step (these "
    "three), backward (both of them, where a peer cannot tell them apart), or close (giving back "
    "what a problem held; a row only where that failed)",
)
_MODE = Column("mode", TEXT, "", "hot, cold, graph or enqueue; null of close")
_MEMORY_PARTS = ("weight_space", "workspace", "reserve_space", "tensor", "dropout_states")

DEVICE_TABLES: dict[str, tuple[Column, ...]] = {
    "stages": (
        RELEASE,
        Column("device", TEXT, "", "name of the GPU; null where only the host was asked"),
        Column("problem", TEXT, "", "as `pyharness map --stages all --axis` takes its words"),
        Column(
            "stage",
            TEXT,
            "",
            "part of an RNN's life, or close (giving back what a problem held; a row only where "
            "that failed)",
        ),
        Column("call", TEXT, "", "C name of the function that decided the stage"),
        *AXIS_COLUMNS,
        *RUN_COLUMNS,
        STATUS,
        CODE,
        Column(
            "outcome",
            TEXT,
            "",
            "passed, unsupported (cuDNN refused), failed (a defect: crash, hang, a buffer "
            "overwritten, a status that is no refusal), out_of_memory, or skipped (see reason)",
        ),
        Column(
            "reason",
            TEXT,
            "",
            "cuDNN's own condition, verbatim; what happened, or why it was not tried",
        ),
        Column("weight_space_bytes", INT64, "B", "of one weight space; null if not told"),
        Column("workspace_bytes", INT64, "B", "of this pass; null elsewhere"),
        Column("reserve_space_bytes", INT64, "B", "of a pass of training; null elsewhere"),
        Column("asked_bytes", INT64, "B", "of a stage out_of_memory: what could not be had"),
        Column("free_bytes", INT64, "B", "of a stage out_of_memory: what the device had"),
        PROVENANCE,
    ),
    "samples": (
        RELEASE,
        DEVICE,
        NAME,
        GROUP,
        _PROBLEM,
        _PASS,
        _MODE,
        Column("order", INT32, "", "place among the samples of this pass and mode, from 0"),
        Column("chunk", INT32, "", "samples of one chunk were taken back to back, from 0"),
        Column("time_s", FLOAT, "s", "of one execution; of enqueue the host's time of the call"),
        Column("throttled", TEXT, "", "yes if the card was held down: it does not count"),
        PROVENANCE,
    ),
    "timings": (
        RELEASE,
        DEVICE,
        NAME,
        GROUP,
        _PROBLEM,
        _PASS,
        _MODE,
        *AXIS_COLUMNS,
        *RUN_COLUMNS,
        Column(
            "algo_chosen",
            TEXT,
            "",
            "algo that a peer chose, as cuDNN's log has it or by the peer's rule; else null",
        ),
        Column("n", INT32, "samples", "that count"),
        Column("throttled", INT32, "samples", "left out because the card was held down"),
        Column("throttle_reasons", TEXT, "", "what held it down"),
        Column("stop", TEXT, "", "why sampling ended: precise, time limit or sample limit"),
        Column("median_s", FLOAT, "s", "of one execution"),
        Column("median_low_s", FLOAT, "s", "95 % confidence interval of the median"),
        Column("median_high_s", FLOAT, "s", "its other end"),
        Column("median_relative_error", FLOAT, "", "standard error of the median over the median"),
        Column("mean_s", FLOAT, "s", "of one execution"),
        Column("mean_low_s", FLOAT, "s", "95 % confidence interval of the mean"),
        Column("mean_high_s", FLOAT, "s", "its other end"),
        Column("min_s", FLOAT, "s", "least sample"),
        *(
            Column(f"p{share}_s", FLOAT, "s", f"{int(share)} % of the samples are less")
            for share in ("05", "25", "75", "95")
        ),
        Column("trend", TEXT, "", "steady, drifting (slower or faster with time) or too few"),
        Column("trend_change", FLOAT, "", "from the first to the last sample, over the median"),
        Column("elapsed_s", FLOAT, "s", "host time for these samples, preparation included"),
        Column("flops", INT64, "", "of one execution by the model in spec/flops.py"),
        Column("traffic_bytes", INT64, "B", "that it must move at least, by the same model"),
        Column("flop_per_s", FLOAT, "1/s", "flops over the median"),
        Column("bytes_per_s", FLOAT, "B/s", "traffic_bytes over the median"),
        Column("peak_flop_per_s", FLOAT, "1/s", "best GEMM of these types on this card, this run"),
        Column("peak_bytes_per_s", FLOAT, "B/s", "best copy on this card, this run"),
        Column("of_peak_flop", FLOAT, "", "flop_per_s over the card's own peak"),
        Column("of_peak_bytes", FLOAT, "", "bytes_per_s over the card's own peak"),
        Column("sm_clock_hz", FLOAT, "Hz", "median of the readings around the samples"),
        Column("sm_clock_min_hz", FLOAT, "Hz", "least of these readings"),
        Column("memory_clock_hz", FLOAT, "Hz", "median of the readings around the samples"),
        Column("temperature_c", FLOAT, "°C", "median of the readings around the samples"),
        Column("power_w", FLOAT, "W", "median of the readings around the samples"),
        Column(
            "status",
            TEXT,
            "",
            "SUCCESS; NOT_CAPTURABLE where there is no CUDA graph of the pass; else cuDNN's word "
            "for why it was not timed",
        ),
        CODE,
        Column(
            "outcome",
            TEXT,
            "",
            "passed, unsupported, failed, out_of_memory or skipped; timed only if passed",
        ),
        CALL,
        REASON,
        Column("notes", TEXT, "", "what a peer does otherwise than the problem says"),
        PROVENANCE,
    ),
    "memory": (
        RELEASE,
        Column("device", TEXT, "", "name of the GPU that was asked; null without one"),
        Column("order", INT32, "", "place of the problem in what was asked, from 0"),
        Column("name", TEXT, "", "the preset's name of the problem; null without one"),
        Column("problem", TEXT, "", "as `pyharness try` takes it"),
        *AXIS_COLUMNS,
        *RUN_COLUMNS,
        Column("forward_mode", TEXT, "", "inference or training"),
        Column("weight_space_bytes", INT64, "B", "of one weight space"),
        Column("workspace_bytes", INT64, "B", "of this forward mode"),
        Column("reserve_space_bytes", INT64, "B", "0 in inference"),
        Column(
            "tensor_bytes", INT64, "B", "x, y and the states; in training their gradients, and dw"
        ),
        Column("dropout_states_bytes", INT64, "B", "0 where nothing is dropped"),
        Column("total_bytes", INT64, "B", "all of these, which a run needs at the same time"),
        *(
            column
            for part in (*_MEMORY_PARTS, "total")
            for column in (
                Column(f"predicted_{part}_bytes", INT64, "B", "the same by formula"),
                Column(
                    f"{part}_error",
                    FLOAT,
                    "",
                    "(predicted - observed) / observed; null where that is 0 bytes or not known",
                ),
            )
        ),
        Column(
            "outcome",
            TEXT,
            "",
            "passed, unsupported (cuDNN refused), failed, out_of_memory (more than the device has) "
            "or skipped (it describes nothing that could run)",
        ),
        CALL,
        STATUS,
        REASON,
        Column("asked_bytes", INT64, "B", "of a row out_of_memory: what it would need"),
        Column("free_bytes", INT64, "B", "what was free for it on the device; null if unknown"),
        Column("provenance", TEXT, "", "observed or emulated: asked; predicted: by formula"),
    ),
}
