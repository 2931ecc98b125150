"""Where the cache folder is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness.releases import cache_dir


def test_the_cache_is_the_users_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYHARNESS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_dir() == tmp_path / ".cache" / "pyharness"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # its specification: to be ignored
    assert cache_dir() == tmp_path / ".cache" / "pyharness"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "pyharness"
    monkeypatch.setenv("PYHARNESS_CACHE", "~/mine")
    assert cache_dir() == tmp_path / "mine"
