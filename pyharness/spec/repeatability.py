"""The conditions under which a result is asked to repeat itself, and the words for what came."""

from __future__ import annotations

REPEATABLE, NOT_REPEATABLE, NOT_TRIED = "repeatable", "not_repeatable", "not_tried"
VERDICTS = (REPEATABLE, NOT_REPEATABLE, NOT_TRIED)
# In the order in which they are tried: the last ones leave plans of other shapes behind.
CONDITIONS = {
    "same_objects": "the same objects and buffers again",
    "fresh_handle": "fresh descriptors and a fresh handle",
    "fresh_process": "a fresh process for each run",
    "other_stream": "a fresh stream for each run",
    "load": "a second plan at work on a stream of its own",
    "alignment": "buffers that begin 16 to 240 bytes behind a multiple of 256",
    "poisoned": "workspace and reserve space with other bytes in them before each run",
    "graph": "replay of a CUDA graph, against a direct call",
    "cublas_workspace": "CUBLAS_WORKSPACE_CONFIG unset, :16:8 and :4096:2, two processes each",
    "dropout_reseeded": "dropout's states set anew after another run moved them on",
    "dropout_continued": "dropout's states as the run before left them: other bits by design",
    "padding_garbage": "other finite numbers in the padding of x, y, dx and dy",
    "longer_padding": "the same sequences with more padding behind them",
    "batch": "the same sequences in another order, and each alone",
}
UNCHANGED = "same_objects"
# Where runs are compared, if the process that made them both cannot do it.
BETWEEN_PROCESSES = "host: results of two processes"
OF_PARTS = "host: parts of a tensor"
# What a condition leaves out whatever the problem: it shows nothing of what is compared.
LEFT_OUT = frozenset({("batch", "dw")})
# What differs there is what was asked for: no gate counts it.
BY_DESIGN = frozenset({"dropout_continued"})
CUBLAS_VARIABLE = "CUBLAS_WORKSPACE_CONFIG"
CUBLAS_SETTINGS = (None, ":16:8", ":4096:2")  # None: unset
