"""Plain data as one JSON document, the same way everywhere."""

from __future__ import annotations

import json
from typing import Any


def dumps(data: Any) -> str:
    """Indented JSON; NaN and infinity are refused, unknown values are null."""
    return json.dumps(data, indent=2, allow_nan=False)
