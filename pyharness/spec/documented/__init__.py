"""What documents say of cuDNN's RNN API: rules with their source, and how good that is."""

from pyharness.spec.documented.predictions import Prediction, predictions, check_call
from pyharness.spec.documented.rules import Contradiction, Framework, Rule

__all__ = ["Contradiction", "Framework", "Prediction", "Rule", "predictions", "check_call"]
