"""The README's picture: what a release accepts beside the one before it, from two maps.

    python docs/make_picture.py MAP_A MAP_B docs/validity.svg

Each cell is one algo and cell under one data type and math precision; its shade is the share of the
other settings (bias, direction, input mode, math type, sizes, …) that cudnnSetRNNDescriptor_v8
accepts.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyharness.api.accepted import COLUMNS, ROWS, cells_of, map_grids
from pyharness.present.charts.files import pictures
from pyharness.present.charts.validity import validity_chart
from pyharness.store.files import replacing
from pyharness.store.manifest import read_manifest

CALL = "cudnnSetRNNDescriptor_v8"


def main() -> None:
    *maps, out = (Path(p) for p in sys.argv[1:])
    sides = [grid for folder in maps for grid in map_grids(folder) if grid.grid.call.name == CALL]
    names = [f"cuDNN {read_manifest(folder).release['version']}" for folder in maps]
    chart = validity_chart(cells_of(sides), names, rows=ROWS[CALL], columns=COLUMNS[CALL], title="")
    with replacing(out) as scratch:
        scratch.write_bytes(pictures(chart)[out.suffix[1:]])


if __name__ == "__main__":
    main()
