"""The README's other picture: which release began or stopped accepting what, from the atlas.

    python docs/make_history.py results/atlas docs/history.svg

Each line is a set of problems that every release treats alike, found from the folded answers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyharness.api.atlas_fates import fate_rows
from pyharness.present.charts.files import pictures
from pyharness.present.charts.history import history_chart
from pyharness.store.atlas import read_atlas
from pyharness.store.files import replacing


def main(folder: str, target: str) -> None:
    atlas = read_atlas(Path(folder))
    if atlas is None:
        raise SystemExit(f"{folder} holds no atlas")
    with replacing(Path(target)) as scratch:
        scratch.write_bytes(pictures(history_chart(fate_rows(atlas)))["svg"])


if __name__ == "__main__":
    main(*sys.argv[1:])
