"""Maps of the fake library made in this process or in one that can be hurt, and read back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pyharness.space.grid import Space
from pyharness.space.presets import build_space

Table = list[dict[str, Any]]
DESCRIPTOR = "cudnnSetRNNDescriptor_v8"
# What a map of descriptors needs so that every rule has its say.
RULES = [
    "algo=all",
    "cell_mode=lstm,gru",
    "data_type=float,double",
    "hidden_size=-1,0,1,2,7,64",
    "proj_size=same,half,over,3",
    "num_layers=0,1,2",
    "aux_flags=0..2",
]

_PROGRAM = """
import sys
from pathlib import Path
from pyharness.api.mapping import MapOptions, map_release
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.space.presets import build_space

library, out, reasons, walkers, *axes = sys.argv[1:]
def progress(step, done, total):
    pass
{extra}
options = MapOptions(walkers=int(walkers), reasons=reasons, timeout_s=600)
try:
    map_release(
        Release("9.13.0.50", 12, Path(library), "path"),
        build_space(None, "cudnnSetRNNDescriptor_v8", axes),
        Path(out), options, progress,
    )
except HarnessError as error:
    print(f"error: {{error}}")
    sys.exit(error.exit_code)
except KeyboardInterrupt:
    sys.exit(130)
"""


def space_of(*axes: str, call: str | None = DESCRIPTOR) -> Space:
    """A space of one call."""
    return build_space(None, call, axes)


def start_map(
    library: Path,
    out: Path,
    axes: Iterable[str],
    *,
    reasons: str = "none",
    walkers: int = 1,
    extra: str = "",
    **settings: object,
) -> subprocess.Popen[str]:
    """A map in a process of its own. ``extra``: Python that runs before it, and may define
    ``progress``; ``settings``: of the library, FAKE_CUDNN_ left out."""
    env = {**os.environ, **{f"FAKE_CUDNN_{k}": str(v) for k, v in settings.items()}}
    command = [sys.executable, "-c", _PROGRAM.format(extra=extra)]
    command += [str(library), str(out), reasons, str(walkers), *axes]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env)


def run_map(*args: Any, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """start_map, waited for."""
    with start_map(*args, **kwargs) as process:
        out, err = process.communicate(timeout=240)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def table(folder: Path, name: str = "validity") -> Table:
    """A table as plain rows."""
    return pq.read_table(folder / f"{name}.parquet").to_pylist()


def counted(rows: Iterable[Mapping[str, Any]], *columns: str) -> Counter[tuple[Any, ...]]:
    """How many rows have each combination of these columns."""
    return Counter(tuple(r[c] for c in columns) for r in rows)


def calls_in(log: Path) -> list[tuple[int, str]]:
    """(process, arguments) of every call that the library has counted."""
    lines = (line.split(" ", 2) for line in log.read_text().splitlines())
    return [(int(process), arguments) for process, _, arguments in lines]
