"""The fields that predicates speak of, and what a problem says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyharness.spec.axes import EnumAxis, RealAxis, resolve_proj_size
from pyharness.spec.calls import CALLS, all_axes
from pyharness.spec.enums import CLIP_MODE, DIRECTION_MODE
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.seq_lengths import resolve_seq_lengths

HOST_CALLS = frozenset(c.name for c in CALLS)

# Only a program that runs can say these, or a problem that gives the run axis of _OF_RUN.
BEYOND: Mapping[str, str] = {
    "add_grad": "what backward weights does with the gradient buffer: add or set",
    "backward_data_called": "whether backward data ran before backward weights",
    "backward_repeated": "whether backward data runs again on one forward's reserve space",
    "built_batch": "batch size that cudnnBuildRNNDynamic was given; 0: it was not called",
    "compute_capability": "of the GPU, 10 * major + minor",
    "cublas_workspace_config": "the environment variable CUBLAS_WORKSPACE_CONFIG",
    "cuda_version": "of the runtime, 1000 * major + 10 * minor",
    "cx_null": "whether cx is NULL",
    "dev_seq_lengths": "the lengths that lie on the device",
    "dev_seq_lengths_null": "whether devSeqLengths is NULL",
    "dhx_null": "whether dhx is NULL",
    "dhy_null": "whether dhy is NULL",
    "dropout_rate": "of the dropout descriptor",
    "eager": "whether TensorFlow runs as of version 2",
    "forward_algo": "the algo that the forward pass ran with",
    "fwd_mode": "inference or training",
    "h_desc_null": "whether the descriptor of h is NULL",
    "hx_null": "whether hx is NULL",
    "keras_activation": "the Keras argument activation",
    "keras_recurrent_activation": "the Keras argument recurrent_activation",
    "lin_layer_id": "number of a matrix in a layer",
    "mask_right_padded": "whether a mask has its false entries at the end of each row only",
    "multiprocessors": "of the GPU",
    "os": "operating system",
    "pseudo_layer": "layer times directions, plus direction",
    "recurrent_dropout": "the Keras argument",
    "required_reserve_size": "bytes that cudnnGetRNNTempSpaceSizes asked for",
    "required_weight_size": "bytes that cudnnGetRNNWeightSpaceSize asked for",
    "required_work_size": "bytes that cudnnGetRNNTempSpaceSizes asked for",
    "reserve_size": "bytes of the reserve space",
    "reset_after": "the Keras argument of a GRU",
    "sized_fwd_mode": "the forward mode that the spaces were sized for",
    "states_fit": "whether h and c are described as layers and directions x batch x width",
    "tf32_allowed": "whether the framework lets float use TF32",
    "unroll": "the Keras argument",
    "use_bias": "the Keras argument",
    "weight_size": "bytes of the weight space",
    "work_size": "bytes of the workspace",
    "x_data_type": "of the data descriptor of x",
    "x_layout": "of the data descriptor of x",
    "x_seq_lengths": "of the data descriptor of x",
    "x_vector_size": "of the data descriptor of x",
    "y_data_type": "of the data descriptor of y",
    "y_layout": "of the data descriptor of y",
    "y_seq_lengths": "of the data descriptor of y",
    "y_vector_size": "of the data descriptor of y",
}
# What follows from axes: field to the axes that it needs.
_DERIVED: Mapping[str, tuple[str, ...]] = {
    "proj_size": ("proj_size", "hidden_size"),
    "seq_lengths": ("seq_lengths", "max_seq_length", "batch_size"),
    "directions": ("direction_mode",),
}
# What a run axis says, where a problem gives it: field to the axis.
_OF_RUN: Mapping[str, str] = {
    "cx_null": "initial_states",
    "dev_seq_lengths": "dev_seq_lengths",
    "dev_seq_lengths_null": "dev_seq_lengths",
    "dropout_rate": "dropout_rate",
    "hx_null": "initial_states",
}
# A pattern means the same for a longer batch: no predicate counts the sequences.
_MOST_SEQUENCES = 4096


def axes_of(field: str) -> tuple[str, ...]:
    """The axes that a field of a host call follows from; itself where it is one."""
    return _DERIVED.get(field, (field,))


def sources_of(field: str) -> tuple[str, ...]:
    """The axes that any field follows from, those of x and y included; none for what a run says."""
    side, underscore, rest = field.partition("_")
    if field == "x_vector_size":
        return ("vector_size", "input_size")
    if field == "y_vector_size":
        return ("hidden_size", "proj_size", "direction_mode")
    if underscore and side in ("x", "y"):
        return axes_of(rest)
    if field in _OF_RUN:
        return (_OF_RUN[field],)
    return () if field in BEYOND else axes_of(field)


def field_value(field: str, at: Mapping[str, int]) -> Any:
    """The value of a field, from the axis values that it needs.

    Returns  a word for an enumeration or a choice, a number, or a tuple of lengths.
    """
    if field == "proj_size":
        return resolve_proj_size(at["proj_size"], at["hidden_size"])
    if field == "seq_lengths":
        batch = min(at["batch_size"], _MOST_SEQUENCES)
        return resolve_seq_lengths(at["seq_lengths"], at["max_seq_length"], batch)
    if field == "directions":
        return 2 if at["direction_mode"] == DIRECTION_MODE.parse("bidirectional") else 1
    axis = all_axes()[field]
    if isinstance(axis, RealAxis):
        return axis.number(at[field])
    if isinstance(axis, EnumAxis) or not axis.numeric:
        return axis.label(at[field])
    return at[field]


def facts_of(problem: Problem) -> dict[str, Any]:
    """Everything that a problem says: axes, what follows from them, and its two data descriptors.

    Returns  field to value; what only a running program has is left out.
    """
    at = {name: problem.value(name) for name in all_axes()}
    if not problem.clips:
        at["clip_mode"] = CLIP_MODE.parse("none")
    facts = {name: field_value(name, at) for name in (*all_axes(), "directions")}
    for side, width in zip(("x", "y"), problem.widths, strict=True):
        facts[f"{side}_vector_size"] = width
        facts[f"{side}_data_type"] = facts["data_type"]
        facts[f"{side}_layout"] = facts["layout"]
        facts[f"{side}_seq_lengths"] = facts["seq_lengths"]
    if "vector_size" in problem.given:
        facts["x_vector_size"] = at["vector_size"]
    return {**facts, **_facts_of_run(problem, facts)}


def _facts_of_run(problem: Problem, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the run axes say that are given: nobody else knows what a program will do."""
    axes = problem_axes()
    said = {n: axes[n].label(problem.value(n)) for n in problem.given if n in _OF_RUN.values()}
    told: dict[str, Any] = {}
    if facts["dropout"] == "null":
        told["dropout_rate"] = 0.0
    elif "dropout_rate" in said:
        told["dropout_rate"] = float(said["dropout_rate"])
    if "initial_states" in said:
        told["hx_null"] = told["cx_null"] = said["initial_states"] == "null"
    if said.get("dev_seq_lengths", "rule") != "rule":  # the rule differs between releases
        told["dev_seq_lengths_null"] = said["dev_seq_lengths"] == "null"
    if said.get("dev_seq_lengths") == "given":
        told["dev_seq_lengths"] = facts["seq_lengths"]
    return told
