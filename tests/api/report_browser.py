"""A report's page in a headless Chromium, where there is one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOUND = os.environ.get("PYHARNESS_CHROMIUM") or next(
    filter(None, map(shutil.which, BROWSERS)), None
)


class Opened:
    """A page that is open, and what it did that it should not."""

    def __init__(self, browser: Any, path: Path, **context: Any) -> None:
        self.path = path
        self.faults: list[str] = []
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **context}
        )
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.faults.append(f"{m.type}: {m.text}"))
        self.page.on("pageerror", lambda e: self.faults.append(str(e)))
        self.page.on("request", self._asked)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-drawn]", state="attached", timeout=30_000)

    def _asked(self, request: Any) -> None:
        if request.url.partition("#")[0] != self.path.as_uri() and not request.url.startswith(
            "data:"
        ):
            self.faults.append(f"asked for {request.url}")
