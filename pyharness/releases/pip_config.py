"""pip's index settings, read the way that pip reads them."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_FALSE = {"", "0", "no", "off", "false", "n", "f"}


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Where packages come from.

    ``index_url``   the index to ask instead of the default one; None for the default.
    ``extra_urls``  more indexes to ask.
    ``no_index``    ask none at all.
    ``cert``        a CA bundle to trust instead of the built-in one.
    ``proxy``       a proxy for every request.
    ``timeout_s``   seconds without an answer before giving up.
    """

    index_url: str | None
    extra_urls: tuple[str, ...]
    no_index: bool
    cert: str | None
    proxy: str | None
    timeout_s: float


def read_settings(environ: Mapping[str, str] = os.environ) -> IndexSettings:
    """The index settings of pip, from its configuration files and the environment.

    Returns  IndexSettings; file: indexes are left out, since a wheel is read by byte ranges.
    Source   pip's documentation, "Configuration": global, user and environment files, then
             PIP_CONFIG_FILE, then PIP_* variables; [install] wins over [global] in one file.
    """
    values: dict[str, str] = {}
    for path in _config_files(environ):
        values.update(_read_file(path))
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            values[_normal(name[len("PIP_") :])] = value
    return IndexSettings(
        index_url=values.get("index-url") or None,
        extra_urls=tuple(u for u in values.get("extra-index-url", "").split() if _is_http(u)),
        no_index=values.get("no-index", "").strip().lower() not in _FALSE,
        cert=values.get("cert") or None,
        proxy=values.get("proxy") or None,
        timeout_s=_seconds(values.get("timeout") or values.get("default-timeout")),
    )


def _config_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """The files to read, the weakest first."""
    explicit = environ.get("PIP_CONFIG_FILE")
    if explicit == os.devnull:
        return
    home = Path(environ["HOME"]) if environ.get("HOME") else Path("~").expanduser()
    # of several XDG folders the first listed is the most important one
    xdg = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    for folder in reversed([d for d in xdg if d]):
        yield Path(folder) / "pip" / "pip.conf"
    yield Path("/etc/pip.conf")
    if not (explicit and Path(explicit).exists()):
        yield home / ".pip" / "pip.conf"
        yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    yield Path(sys.prefix) / "pip.conf"
    if explicit:
        yield Path(explicit)


def _read_file(path: Path) -> dict[str, str]:
    """The settings of one file; none for a file that is absent or that cannot be read."""
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return {}
    values: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            values.update({_normal(key): value for key, value in parser.items(section)})
    return values


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _is_http(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _seconds(text: str | None) -> float:
    try:
        return float(text) if text else 15.0
    except ValueError:
        return 15.0
