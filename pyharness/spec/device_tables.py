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

_DEVICE = Column("device", TEXT, "", "name of the GPU, or of the machine's processor for a peer")
_NAME = Column("name", TEXT, "", "the preset's name of the problem")
_GROUP = Column("group", TEXT, "", "part of the preset that it belongs to")
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
        _DEVICE,
        _NAME,
        _GROUP,
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
        _DEVICE,
        _NAME,
        _GROUP,
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
    "repeatability": (
        RELEASE,
        _DEVICE,
        _NAME,
        Column("problem", TEXT, "", "as `pyharness determinism` takes it"),
        *AXIS_COLUMNS,
        *RUN_COLUMNS,
        Column(
            "buffer", TEXT, "", "y, hy, cy, dx, dhx, dcx or dw; null: all, where none was tried"
        ),
        Column("condition", TEXT, "", "what was other than in the first run, see the README"),
        Column("runs", INT32, "", "compared with the first one, which is not counted"),
        Column("distinct", INT32, "", "different results, the first included; by SHA-256"),
        Column("first_run", INT32, "", "the first that differs, from 1; null if none does"),
        Column("first_element", INT64, "", "its first element that differs, from 0, as stored"),
        Column("variant", TEXT, "", "how that run was made, where the condition has several ways"),
        Column("most_ulps", INT64, "ulp", "largest distance from the first run"),
        Column("most_abs", FLOAT, "", "the same as a difference; null where infinite"),
        Column("share", FLOAT, "", "of elements that differ, in the run where most do"),
        Column("verdict", TEXT, "", "repeatable, not_repeatable or not_tried (see reason)"),
        Column(
            "failure_rate_bound",
            FLOAT,
            "",
            "of repeatable: rate of runs that differ which clean runs rule out at 95 % confidence",
        ),
        Column("reason", TEXT, "", "why it was not tried, or not to the end"),
        PROVENANCE,
    ),
    "accuracy": (
        RELEASE,
        _DEVICE,
        _NAME,
        _GROUP,
        Column("problem", TEXT, "", "as `pyharness accuracy` takes it"),
        Column(
            "pass", TEXT, "", "that wrote the buffer; or the stage that did not end well, or close"
        ),
        Column("buffer", TEXT, "", "y, hy, cy, dx, dhx, dcx or dw (all weights); null without one"),
        *AXIS_COLUMNS,
        *RUN_COLUMNS,
        Column("n", INT64, "elements", "those behind a sequence's end are left out"),
        Column("nan", INT64, "elements", "NaN where the truth is none"),
        Column("inf", INT64, "elements", "infinite where the truth, in the tensor's type, is not"),
        Column("max_abs", FLOAT, "", "largest difference from the truth of finite elements"),
        Column("rms_abs", FLOAT, "", "root of the mean square of the differences"),
        Column("scale", FLOAT, "", "largest true number of all outputs, gradients or dw alike"),
        Column("max_rel", FLOAT, "", "max_abs over scale: what the threshold is for"),
        Column("rms_rel", FLOAT, "", "rms_abs over scale"),
        Column("max_ulps", INT64, "", "most numbers of the type from an element to its truth"),
        Column("cosine", FLOAT, "", "of the angle to the truth, all elements as one vector"),
        Column("worst", TEXT, "", "where: [step, sequence, element], [layer and direction, …]"),
        Column("first_steps_rel", FLOAT, "", "rms_rel of the first quarter of the steps"),
        Column("last_steps_rel", FLOAT, "", "rms_rel of the last quarter; null below four steps"),
        Column("first_layer_rel", FLOAT, "", "rms_rel of the first layer"),
        Column("last_layer_rel", FLOAT, "", "rms_rel of the last; null of one layer, and of y, dx"),
        Column(
            "underflow",
            FLOAT,
            "",
            "of a gradient in half or bfloat16: share of the true numbers but 0 that lie below the "
            "normal ones and came out as 0",
        ),
        Column("overflow", FLOAT, "", "of the same: share that came out infinite"),
        Column(
            "loss_scale_log2_low",
            INT32,
            "",
            "of the same: exponent of the least power of two to multiply it with so that at most "
            "1 in 1,000 of its numbers rounds to 0",
        ),
        Column(
            "loss_scale_log2_high",
            INT32,
            "",
            "exponent of the largest so that none rounds to infinity; both null if that is less",
        ),
        Column("threshold", FLOAT, "", "the largest max_rel that rounding explains"),
        Column(
            "verdict",
            TEXT,
            "",
            "within or beyond the threshold (a NaN or infinity too many is beyond), or not_told: "
            "see reason",
        ),
        STATUS,
        CODE,
        Column("outcome", TEXT, "", "passed, unsupported, skipped, failed or out_of_memory"),
        CALL,
        Column("reason", TEXT, "", "why there is no verdict, or no result"),
        PROVENANCE,
    ),
    "drift": (
        Column("release_a", TEXT, "", "the older side"),
        Column("release_b", TEXT, "", "the newer side"),
        _DEVICE,
        _NAME,
        Column("problem", TEXT, "", "as `pyharness drift` takes it"),
        *AXIS_COLUMNS,
        *RUN_COLUMNS,
        Column("buffer", TEXT, "", "y, hy, cy, dx, dhx, dcx or dw; null where none is compared"),
        Column(
            "pass", TEXT, "", "that wrote the buffer; or the stage that did not end well, or close"
        ),
        Column("verdict", TEXT, "", "same (bit by bit), drifted, or not_compared: see reason"),
        Column("elements", INT64, "", "numbers of the buffer, padding included"),
        Column("differing", INT64, "elements", "whose bits are not the same"),
        Column("share", FLOAT, "", "differing over elements"),
        Column("first_element", INT64, "", "first that differs, from 0, as stored"),
        Column("most_ulps", INT64, "ulp", "largest distance of two numbers"),
        Column("most_abs", FLOAT, "", "the same as a difference; null where infinite"),
        Column("status_a", TEXT, "", "of the older side; null where it gave none"),
        Column("status_b", TEXT, "", "of the newer side"),
        Column("outcome_a", TEXT, "", "passed, unsupported, skipped, failed or out_of_memory"),
        Column("outcome_b", TEXT, "", "of the newer side"),
        REASON,
        PROVENANCE,
    ),
}
