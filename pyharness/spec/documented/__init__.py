"""What documents say of cuDNN's RNN API: rules with their source, and how good that is."""

from pyharness.spec.documented.predictions import Prediction, check_call, predictions
from pyharness.spec.documented.rules import GRADES, Contradiction, Framework, Rule

__all__ = [
    "GRADES",
    "Contradiction",
    "Framework",
    "Prediction",
    "Rule",
    "check_call",
    "predictions",
]
