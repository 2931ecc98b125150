"""Modules and layers of frameworks, as text, as the problems that they hand to cuDNN."""

from __future__ import annotations

from pyharness.spec.call_text import FrameworkProblem
from pyharness.spec.keras_text import keras_problem
from pyharness.spec.torch_text import torch_problem

__all__ = ["FrameworkProblem", "keras_problem", "torch_problem"]
