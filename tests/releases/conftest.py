"""A small package index on this machine, with wheels built on the fly and faults on request."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

LIBRARIES = (
    "libcudnn.so.9",
    "libcudnn_adv.so.9",
    "libcudnn_cnn.so.9",
    "libcudnn_graph.so.9",
    "libcudnn_ops.so.9",
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "network: needs the package index")


def content_of(name: str, size: int = 300_000) -> bytes:
    """Bytes that do not compress, the same for the same name."""
    return hashlib.shake_256(name.encode()).digest(size)


def wheel_bytes(stem: str, files: dict[str, bytes], lies: dict[str, bytes] | None = None) -> bytes:
    """A wheel of these files; ``lies`` are packed in place of what RECORD says."""
    lies = lies or {}
    rows = []
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            rows.append(f"{path},sha256={digest.decode()},{len(content)}")
            archive.writestr(path, lies.get(path, content))
        record = f"{stem}.dist-info/RECORD"
        archive.writestr(record, "\n".join([*rows, f"{record},,"]) + "\n")
    return buffer.getvalue()


@dataclass
class Request:
    """One request for a part of a wheel, first and last byte included."""

    filename: str
    start: int
    end: int


@dataclass
class Index:
    """The index: what it serves, what was asked of it, and how it misbehaves.

    ``cut``     given a request, how many bytes to send before the connection closes; None for all.
    ``ranges``  whether byte ranges are served.
    """

    url: str = ""
    projects: dict[str, dict[str, bytes]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    cut: Callable[[Request], int | None] = lambda _request: None
    ranges: bool = True

    def add(
        self,
        project: str,
        version: str,
        files: dict[str, bytes],
        *,
        build: str = "",
        machine: str = platform.machine(),
        lies: dict[str, bytes] | None = None,
    ) -> str:
        """Offer a wheel; returns its file name."""
        stem = f"{project.replace('-', '_')}-{version}"
        filename = f"{stem}{build}-py3-none-manylinux_2_27_{machine}.whl"
        self.projects.setdefault(project, {})[filename] = wheel_bytes(stem, files, lies)
        return filename

    def add_cudnn(self, version: str, cuda: int = 12, **options: object) -> str:
        """Offer a release whose members are named like those of the real one."""
        files = {
            f"nvidia/cudnn/lib/{name}": content_of(f"{version}+cu{cuda}/{name}")
            for name in LIBRARIES
        }
        files["nvidia/cudnn/include/cudnn.h"] = b"#define CUDNN_H\n"
        files["nvidia/cudnn/include/cudnn_v9.h"] = b"#define CUDNN_H\n"
        return self.add(f"nvidia-cudnn-cu{cuda}", version, files, **options)  # type: ignore[arg-type]

    def member_range(self, filename: str, member: str) -> tuple[int, int]:
        """First and last byte of a member inside its wheel, about."""
        data = next(p[filename] for p in self.projects.values() if filename in p)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = archive.getinfo(member)
        return info.header_offset, info.header_offset + info.compress_size

    def asked_for(self, filename: str, member: str) -> int:
        """How many requests began at a member."""
        start, _ = self.member_range(filename, member)
        return sum(1 for r in self.requests if r.filename == filename and r.start == start)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: Index

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        kind, _, name = self.path.strip("/").partition("/")
        if kind == "simple" and name in self.index.projects:
            self.index.pages.append(name)
            links = "".join(f'<a href="/files/{f}">{f}</a>' for f in self.index.projects[name])
            self._answer(200, f"<html><body>{links}</body></html>".encode(), "text/html")
            return
        for files in self.index.projects.values():
            if kind == "files" and name in files:
                self._wheel(name, files[name])
                return
        self._answer(404, b"", "text/plain")

    def _wheel(self, name: str, data: bytes) -> None:
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if match is None or not self.index.ranges:
            self._answer(200, data, "application/zip")
            return
        if match[1]:
            start, end = int(match[1]), min(int(match[2] or len(data)), len(data) - 1)
        else:
            start, end = max(0, len(data) - int(match[2])), len(data) - 1
        request = Request(name, start, end)
        self.index.requests.append(request)
        part = data[start : end + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        cut = self.index.cut(request)
        if cut is not None:
            self.close_connection = True
        self.end_headers()
        self.wfile.write(part[:cut])

    def _answer(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client may hang up in the middle of an answer; anything else is a defect here."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index setting of whoever runs the tests, and no proxy."""
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; returns the folder of its releases."""
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "releases"


@pytest.fixture
def index(no_settings: None, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """A running index that the settings point to, with an empty cache."""
    served = Index()
    handler = type("Handler", (_Handler,), {"index": served})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}/simple/"
    monkeypatch.setenv("PIP_INDEX_URL", served.url)
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def offline(no_settings: None, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that point to a port where nothing listens."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")


@pytest.fixture
def build_library(tmp_path: Path) -> Callable[..., Path]:
    """Compile a shared library: its path, the functions it exports, and linker flags."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "these tests need a C compiler"

    def build(where: str, functions: tuple[str, ...] = (), *flags: str) -> Path:
        target = tmp_path / where
        target.parent.mkdir(parents=True, exist_ok=True)
        source = "".join(f"int {name}(void) {{ return 0; }}\n" for name in functions) or "int x;\n"
        command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(target)]
        command += [f"-Wl,-soname,{target.name}", "-x", "none", *flags]
        subprocess.run(command, input=source.encode(), check=True, capture_output=True)
        return target

    return build
