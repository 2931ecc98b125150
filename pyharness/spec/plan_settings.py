"""What a plan on a device is made from: a problem as plain numbers, for csrc/rnn."""

from __future__ import annotations

from typing import Any

from pyharness.errors import UsageError
from pyharness.spec.axes import INT_MAX, INT_MIN, RealAxis, resolve_proj_size
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import RUN_AXES, problem_axes
from pyharness.spec.seq_lengths import resolve_seq_lengths

_NUMBERS = (
    "algo",
    "cell_mode",
    "bias_mode",
    "direction_mode",
    "input_mode",
    "data_type",
    "math_prec",
    "math_type",
    "input_size",
    "hidden_size",
    "num_layers",
    "dropout",
    "aux_flags",
    "layout",
    "max_seq_length",
    "batch_size",
    "padding_fill",
)
_CLIPPING = ("clip_mode", "clip_nan_opt", "lclip", "rclip")
# A plan describes whole, packed states; these axes are for asking the host call alone.
_OF_THE_HOST = {"strides": "packed", "nb_dims": "3"}


def plan_settings(problem: Problem) -> dict[str, Any]:
    """The settings of ``_core.Plan`` for a problem.

    Returns  by axis name: enumerators, sizes and choices as integers, proj_size resolved, lclip,
             rclip and dropout_rate as floats; seq_lengths, one a sequence; clip, whether clipping
             is set at all, and what it is set to only then; x_vector_size, if x is described
             otherwise than input_size wide.
    Raises   UsageError for a problem that no run has: a state of odd strides, one state alone, a
             list of lengths beside another batch size, a width that fits no argument.
    """
    _check(problem)
    settings: dict[str, Any] = {name: problem.value(name) for name in _NUMBERS}
    settings["proj_size"] = resolve_proj_size(problem.value("proj_size"), settings["hidden_size"])
    settings["seq_lengths"] = list(
        resolve_seq_lengths(
            problem.value("seq_lengths"), settings["max_seq_length"], settings["batch_size"]
        )
    )
    settings["clip"] = problem.clips
    axes = problem_axes()
    for name in (*(_CLIPPING if problem.clips else ()), *(axis.name for axis in RUN_AXES)):
        axis, value = axes[name], problem.value(name)
        settings[name] = axis.number(value) if isinstance(axis, RealAxis) else value
    if "vector_size" in problem.given:
        settings["x_vector_size"] = problem.value("vector_size")
    _check_lengths(settings)
    return settings


def drops(problem: Problem) -> bool:
    """Whether training drops anything of a problem.

    Raises  UsageError as plan_settings does.
    Source  cuDNN's manual, cudnnSetRNNDescriptor_v8: dropout is applied between layers, so that a
            network of one has none.
    """
    of = plan_settings(problem)
    return bool(of["dropout"]) and of["dropout_rate"] > 0 and of["num_layers"] > 1


def _check(problem: Problem) -> None:
    for name, only in _OF_THE_HOST.items():
        if problem.given.get(name, only) != only:
            raise UsageError(
                f"{name}={problem.given[name]} cannot be run: the states of a run have "
                f"{name}={only}",
                "`pyharness try` puts it to the host call",
            )
    if "tensor" in problem.given:
        raise UsageError(
            f"tensor={problem.given['tensor']} is one state alone, a run has all of its cell",
            "leave tensor out",
        )
    for side, width in zip(("x", "y"), problem.widths, strict=True):
        if not INT_MIN <= width <= INT_MAX:
            raise UsageError(
                f"{side} would be {width} wide, which does not fit a 32-bit vector_size",
                "choose smaller sizes",
            )


def _check_lengths(settings: dict[str, Any]) -> None:
    count, batch = len(settings["seq_lengths"]), settings["batch_size"]
    if count != max(batch, 1):
        raise UsageError(
            f"seq_lengths has a list of {count} entries, batch_size is {batch}",
            f"the list needs one entry per sequence: add batch_size={count}, or use a pattern",
        )
