"""What the commands do, from Python: the place where engine, store and analysis are joined."""

from __future__ import annotations

from pyharness.api.public import diff, map, try_problem  # noqa: A004 - the verb of the domain

__all__ = ["diff", "map", "try_problem"]
