"""What is planted in the emulated libcudnn, and who must find it: three problems, so that every
condition and every check has one that it says something of.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.problem import parse_problem
from pyharness.spec.repeatability import CONDITIONS
from pyharness.spec.stages import PASSES

ALL = frozenset(("y", "hy", "cy", "dx", "dhx", "dcx", "dw"))
FORWARD = frozenset(("y", "hy", "cy"))
Y, WITHOUT_DW = frozenset("y"), ALL - {"dw"}
Found = dict[tuple[str, str], frozenset[str]]  # problem, and what found it: in which tensors

SHARED = (
    "hidden_size=8 input_size=5 batch_size=3 max_seq_length=5 num_layers=2 cell_mode=lstm "
    "math_type=fma_math aux_flags=padded_io_enabled padding_fill=given"
)
PROBLEMS = {
    "padded": "seq_lengths=[5,3,2] direction_mode=bidirectional",
    "packed": "seq_lengths=[5,3,2] layout=seq_major_packed",
    "dropped": "dropout=present dropout_rate=0.5",
}
DROPOUT = {"dropout_reseeded", "dropout_continued"}
PADDING = {"padding_garbage", "longer_padding"}
TRIED = {
    "padded": set(CONDITIONS) - DROPOUT,
    "packed": set(CONDITIONS) - DROPOUT - PADDING,
    "dropped": set(CONDITIONS) - PADDING - {"batch"},
}
IN_A_PROCESS_OF_THEIR_OWN = {"fresh_process", "cublas_workspace"}


def everywhere(*names: str) -> set[tuple[str, str]]:
    """All problems that each condition is tried with."""
    return {(p, name) for name in names for p in PROBLEMS if name in TRIED[p]}


def at(problems: Iterable[str], names: Iterable[str], tensors: Iterable[str] = ALL) -> Found:
    return {(p, name): frozenset(tensors) for p in problems for name in names}


# By fault. What is found beside the condition or check that has its name:
# - a key of the padding is one of its bits, so that the check that asks for bits finds it, too;
# - who begins in the padding reads it, begins elsewhere in longer padding, and has none where the
#   batch is packed, or where the direction is a network of its own; layers in turn have padding of
#   their own each;
# - a packed batch's first sequence is right: it matters which one is the first, who reads y as the
#   next layer does, and where a sequence is cut;
# - of a batch whose sequences end at different steps the later chunks have fewer.
REPEATS: dict[str, Found] = {
    **{
        f"order_{key}": dict.fromkeys(everywhere(condition), ALL)
        for key, condition in {
            "process": "fresh_process",
            "alignment": "alignment",
            "load": "load",
            "stream": "other_stream",
            "workspace": "poisoned",
            "graph": "graph",
            "handle": "fresh_handle",
            "cublas": "cublas_workspace",
            "padding": "padding_garbage",
        }.items()
    },
    "order_batch": dict.fromkeys(everywhere("batch"), WITHOUT_DW),
    "stale_dropout": at(["dropped"], ["dropout_reseeded"]),
    "padding_read": at(["padded"], ["padding_garbage"]),
    "reverse_from_padding": at(["padded"], PADDING),
    "packed": at(["packed"], ["batch"], Y),
    "batch_parts": dict.fromkeys(everywhere("batch"), WITHOUT_DW),
}
ORDERS = [name for name in REPEATS if name.startswith("order_")]
# What cannot be told because something else is enough to make a difference, and what that is.
UNTOLD = {
    "order_process": {"cublas_workspace": "fresh_process"},
    "order_stream": {"fresh_handle": "other_stream"},
    "order_run": {
        condition: "same_objects"
        for condition in CONDITIONS
        # Each process counts its runs from 1; what differs by design does so all the same.
        if condition not in ("same_objects", "fresh_process", "dropout_continued")
    },
}
UNTOLD["every_order"] = {**UNTOLD["order_process"], **UNTOLD["order_stream"]}
REPEATS["every_order"] = {
    (problem, condition): tensors
    for name in ORDERS
    for (problem, condition), tensors in REPEATS[name].items()
    if condition not in UNTOLD["every_order"]
}
REPEATS["order_run"] = dict.fromkeys(everywhere("same_objects"), ALL)
BEYOND: dict[str, Found] = {
    "padding_read": at(["padded"], PASSES),
    "reverse_from_padding": at(["padded"], PASSES),
    "packed": at(["packed"], PASSES[:2], Y),
    "inference": at(PROBLEMS, PASSES[:1], FORWARD),
    # What training drops is not known: inference alone is compared with the truth there.
    **{
        name: {**at(["padded", "packed"], PASSES), **at(["dropped"], PASSES[:1])}
        for name in ("projection_off", "second_layer", "batch_parts", "carried_state")
    },
}
TRAINS = ("padded", "packed")
VIOLATED: dict[str, Found] = {
    "order_padding": at(["padded"], ["padding_ignored"]),
    "every_order": at(["padded"], ["padding_ignored"]),
    "padding_read": at(["padded"], ["padding_ignored"]),
    "padding_unwritten": at(["padded"], ["padding_filled"], Y),
    "reverse_from_padding": at(
        ["padded"],
        [
            *("reverse_starts_at_end", "padding_ignored", "packed_is_padded"),
            *("layers_in_turn", "chunks_are_whole"),
        ],
    ),
    "packed": {
        **at(PROBLEMS, ["packed_is_padded"], Y),
        **at(["packed"], ["batch_is_parts", "chunks_are_whole"], Y),
        **at(["packed"], ["layers_in_turn"]),
    },
    "inference": at(TRAINS, ["inference_is_training"], FORWARD),
    **{
        name: {**at(TRAINS, [check]), **at(["dropped"], [check], FORWARD)}
        for name, check in {
            "projection_off": "projection_off",
            "second_layer": "layers_in_turn",
        }.items()
    },
    "batch_parts": {
        **at(TRAINS, ["batch_is_parts", "chunks_are_whole"]),
        **at(["dropped"], ["batch_is_parts"], FORWARD),
    },
    "carried_state": {
        **at(TRAINS, ["chunks_are_whole"]),
        **at(["dropped"], ["chunks_are_whole"], FORWARD),
    },
}
DRIFTED: dict[str, Found] = {
    # Another order of addition is another release.
    **{
        name: at(PROBLEMS, PASSES)
        for name in (
            *(*ORDERS, "every_order", "order_run"),
            *("projection_off", "second_layer", "batch_parts", "carried_state"),
        )
    },
    "one_ulp": at(PROBLEMS, PASSES[:2], FORWARD),
    "padding_read": at(["padded"], PASSES),
    "padding_unwritten": at(["padded"], PASSES[:2], Y),
    "reverse_from_padding": at(["padded"], PASSES),
    "packed": at(["packed"], PASSES[:2], Y),
    "inference": at(PROBLEMS, PASSES[:1], FORWARD),
}
LEAKS = {
    kind: f"{kind}:4096@cudnnRNNBackwardWeights_v8:*"
    for kind in ("leak_device", "leak_host", "fragment")
}
FAULTS = (*sorted({*REPEATS, *BEYOND, *VIOLATED, *DRIFTED}), "leaks")
# Those that no condition finds: one after the other takes long, as conditions start processes.
NO_CONDITIONS = ",".join(f for f in FAULTS if f not in REPEATS and f != "leaks")


def chosen(*names: str) -> ProblemSet:
    made = {}
    for name in names:
        words = dict(word.split("=", 1) for word in f"{SHARED} {PROBLEMS[name]}".split())
        problem = parse_problem([f"{key}={value}" for key, value in words.items()])
        made[name] = NamedProblem(name, "g", problem, PASSES)
    return ProblemSet("planted", "", tuple(made.values()))


def meant(expected: Found, passes: Iterable[str]) -> Found:
    """What each pass writes of the tensors that are expected of it."""
    written = {
        "forward_inference": FORWARD,
        "forward_training": FORWARD,
        "backward_data": {"dx", "dhx", "dcx"},
        "backward_weights": {"dw"},
    }
    return {(p, by): tensors & written[by] for (p, by), tensors in expected.items() if by in passes}


def planted(fault: str | None) -> dict[str, Any]:
    if fault == "leaks":
        return {"fault": list(LEAKS.values())}
    if fault is None:
        return {}
    return {"wrong": ",".join(ORDERS) if fault == "every_order" else fault}
