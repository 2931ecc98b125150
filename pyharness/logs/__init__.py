"""API logs of cuDNN: which RNN problems a program ran, how often, and what the library said."""

from pyharness.logs.reading import read_logs
from pyharness.spec.recording import Recorded, Recording, Said

__all__ = ["Recorded", "Recording", "Said", "read_logs"]
