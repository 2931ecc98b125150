"""run.json: what a result folder holds, how it was made, and whether it is finished.

Written when a run begins, and again when it ends; a reader trusts a folder only if it is complete.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyharness import __version__
from pyharness.errors import UsageError
from pyharness.spec.calls import CALLS
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.files import write_json

NAME = "run.json"
OUT_OF_TIME = "out_of_time"
_PREFIXES = ("CUDNN_", "CUBLAS_", "CUDA_", "NVIDIA_", "PYHARNESS_")
_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD")

# What readers take for granted, see check_shape.
_NUMBER, _MAYBE_TEXT = (int, float), (str, type(None))
_VERSIONS = {"schema_version": int, "tool_version": str}
_SHAPE = {
    "kind": str,
    "reasons": str,
    "state": str,
    "started": str,
    "ended": _MAYBE_TEXT,
    "timeout_s": _NUMBER,
    "release": {
        "asked": str,
        "name": str,
        "version": _MAYBE_TEXT,
        "cuda_major": (int, type(None)),
        "path": str,
        "stamp": _MAYBE_TEXT,
        "origin": str,
    },
    "space": {"name": str, "fingerprint": str, "grids": [{"call": str, "axes": dict}]},
    "host": {"name": str, "cpu": str},
    "environment": dict,
    "absent_calls": [str],
    "results": dict,
    "notes": [str],
    "device?": dict,
}
_RESULTS = {  # of a run that is complete
    "rows": int,
    "statuses": dict,
    "walk_s": _NUMBER,
    "failures": [{"call": str, "problem": str, "cause": str, "output": str}],
    "reasons?": [{"call": str, "asked": int, "cells": int, "agreed": bool}],
    "spot_check?": [{"rows": int, "changed": int, "unkept": int}],
}


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def describe_host() -> dict[str, Any]:
    """The machine: what a number measured here may depend on."""
    return {
        "name": socket.gethostname(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def describe_environment() -> dict[str, str]:
    """The environment variables that can change what the library does."""
    return {
        k: v for k, v in sorted(os.environ.items()) if k.startswith(_PREFIXES) or k in _VARIABLES
    }


def now() -> str:
    """The time, in UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(slots=True)
class Manifest:
    """One run.

    ``release``   asked, name, version, cuda_major, path, origin, loaded (cudnnGetVersion), and
                  stamp: what tells an unversioned file from another.
    ``space``     name, fingerprint, and the grids with the labels of each axis.
    ``state``     running, complete, interrupted, out_of_time (the time that it was given ended), or
                  stopped (no worker survived; see notes).
    ``results``   filled at the end: rows by outcome, checks, seconds spent.
    ``device``    the GPU, as spec.device_facts has it; empty where only the host was asked.
    """

    kind: str
    release: dict[str, Any]
    space: dict[str, Any]
    reasons: str
    timeout_s: float
    state: str = "running"
    schema_version: int = SCHEMA_VERSION
    tool_version: str = __version__
    argv: list[str] = field(default_factory=lambda: list(sys.argv))
    host: dict[str, Any] = field(default_factory=describe_host)
    environment: dict[str, str] = field(default_factory=describe_environment)
    started: str = field(default_factory=now)
    ended: str | None = None
    absent_calls: list[str] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    device: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes two runs the same: kind, library, problems, device, what is collected."""
        return (
            self.kind,
            self.release["asked"],
            self.release["stamp"],
            self.space["fingerprint"],
            self.reasons,
            self.device.get("name"),
        )

    @property
    def circumstances(self) -> tuple[Any, ...]:
        """What a failed call may be due to, beside the library: environment and time limit."""
        return (self.environment, self.timeout_s)

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        return asdict(self)

    def write(self, folder: Path) -> None:
        """Writes run.json, whole or not at all."""
        write_json(folder / NAME, self.as_data())


def check_shape(value: Any, shape: Any, name: str) -> None:
    """Compares data with what its reader will take from it; more may be there.

    ``shape``  a type or a tuple of types; a dict of what a dict must have, keys with ``?`` only if
               they are there; a list of one: what each entry of a list must be.
    Raises     ValueError that names the first difference.
    """
    if isinstance(shape, dict):
        check_shape(value, dict, name)
        for key, inner in shape.items():
            if key.rstrip("?") in value:
                check_shape(value[key.rstrip("?")], inner, f"{name}: {key.rstrip('?')}")
            elif not key.endswith("?"):
                raise ValueError(f"{name} has no {key}")
    elif isinstance(shape, list):
        check_shape(value, list, name)
        for entry in value:
            check_shape(entry, shape[0], name)
    elif not isinstance(value, shape) or isinstance(value, bool) is not (shape is bool):
        raise ValueError(f"{name} is {json.dumps(value)[:60]}")


def _check_axes(grids: list[dict[str, Any]]) -> None:
    """Checks that each grid has values for all axes of its call, as from_labels needs them.

    Raises  ValueError that names what is missing.
    """
    axes = {call.name: [axis.name for axis in call.axes] for call in CALLS}
    for grid in grids:
        for axis in axes.get(grid["call"], ()):
            check_shape(grid["axes"], {axis: [str]}, f"the grid of {grid['call']}")
            if not grid["axes"][axis]:
                raise ValueError(f"the grid of {grid['call']} has no value of {axis}")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a result folder.

    Raises  UsageError if there is none, it cannot be read, or it is of a newer schema.
    """
    path = folder / NAME
    if not path.is_file():
        raise UsageError(
            f"{folder} is no result folder: it has no {NAME}",
            "give a folder that `pyharness map --out` has written, or a release",
        )
    try:
        data = json.loads(path.read_text("utf-8"))
        check_shape(data, _VERSIONS, NAME)
        if data["schema_version"] > SCHEMA_VERSION:
            raise UsageError(
                f"{folder} was written by a newer pyharness ({data['tool_version']})",
                f"this one reads up to schema {SCHEMA_VERSION}: upgrade it",
            )
        check_shape(data, _SHAPE, NAME)
        _check_axes(data["space"]["grids"])
        if data["state"] == "complete":
            check_shape(data["results"], _RESULTS, "results")
        return Manifest(**data)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", "the folder is damaged: map it again elsewhere"
        ) from error
