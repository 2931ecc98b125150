"""Commands that need a GPU say that there is no driver before they fetch anything."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from pyharness.cli.main import app
from pyharness.errors import UsageError
from pyharness.releases import locate


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "--cudnn", "9.28.0.42"],
        ["accuracy", "--cudnn", "9.28.0.42"],
        ["check", "--cudnn", "9.28.0.42"],
        ["determinism", "--cudnn", "9.28.0.42"],
        ["drift", "9.13.0.50", "9.28.0.42"],
        ["soak", "--cudnn", "9.28.0.42"],
    ],
    ids=lambda words: words[0],
)
def test_nothing_is_fetched(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any, **__: Any) -> None:
        pytest.fail("a release was asked for")

    monkeypatch.setattr(locate, "resolve", resolve)
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    error = CliRunner().invoke(app, [*words, "--preset", "smoke"]).exception
    assert isinstance(error, UsageError)
    assert error.message == "there is no CUDA driver: /nowhere/libcuda.so.1 is not found"
    assert "pyharness doctor" in error.hint
