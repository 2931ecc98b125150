"""How wide text may be."""

from __future__ import annotations

import shutil

NARROWEST, WIDEST = 80, 110  # below, tables are unreadable; above, sentences are


def screen_width() -> int:
    """Columns to lay text out for: the terminal's, within reason; few where there is none."""
    return min(max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST), WIDEST)
