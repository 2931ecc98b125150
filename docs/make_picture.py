"""The README's picture: what a release accepts beside the one before it, from two maps.

    python docs/make_picture.py MAP_A MAP_B docs/validity.svg

Each cell is one algo and cell under one data type and math precision; its shade is the share of the
other settings (bias, direction, input mode, math type, sizes, …) that cudnnSetRNNDescriptor_v8
accepts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm, SymLogNorm

from pyharness.store.manifest import read_manifest
from pyharness.store.reading import read_frame

CALL = "cudnnSetRNNDescriptor_v8"
ROWS, COLUMNS = ["data_type", "math_prec"], ["algo", "cell_mode"]
TYPES = ["float", "double", "half", "bfloat16"]
ALGOS = ["standard", "persist_static", "persist_dynamic", "persist_static_small_h"]
CELLS = ["rnn_relu", "rnn_tanh", "lstm", "gru"]
ACCEPTS = LinearSegmentedColormap.from_list("accepts", ["#f1f1ee", "#1d5b8f"])
CHANGE = LinearSegmentedColormap.from_list("change", ["#c4640a", "#f1f1ee", "#1d5b8f"])


def share(folder: Path) -> pd.DataFrame:
    frame = read_frame(folder)
    frame = frame[frame["call"] == CALL]
    passed = frame.assign(passed=(frame["outcome"] == "passed").astype(float))
    table = passed.pivot_table(
        index=ROWS, columns=COLUMNS, values="passed", aggfunc="mean", observed=True
    )
    rows = pd.MultiIndex.from_product([TYPES, TYPES], names=ROWS)
    columns = pd.MultiIndex.from_product([ALGOS, CELLS], names=COLUMNS)
    return table.reindex(index=rows, columns=columns)


def panel(
    axes: plt.Axes,
    values: np.ndarray,
    title: str,
    colours: mpl.colors.Colormap,
    scale: Normalize,
) -> mpl.image.AxesImage:
    image = axes.imshow(values, cmap=colours, norm=scale, aspect="auto")
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xticks(
        range(len(ALGOS) * len(CELLS)), [c for _ in ALGOS for c in CELLS], rotation=90, fontsize=7.5
    )
    for i, algo in enumerate(ALGOS):
        axes.text(
            i * len(CELLS) + 1.5,
            18.7,
            algo.replace("persist_", "persist_\n", 1),
            ha="center",
            va="top",
            fontsize=8,
        )
    for edge in range(1, 4):
        axes.axhline(edge * 4 - 0.5, color="white", linewidth=2)
        axes.axvline(edge * 4 - 0.5, color="white", linewidth=2)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def main() -> None:
    a, b, out = (Path(p) for p in sys.argv[1:4])
    before, after = share(a).to_numpy(), share(b).to_numpy()
    names = [read_manifest(f).release["version"] for f in (a, b)]
    mpl.rcParams.update({"font.family": "DejaVu Sans", "svg.hashsalt": "pyharness"})
    figure, grids = plt.subplots(1, 3, figsize=(12.5, 5.1), sharey=True, layout="constrained")
    # A small share is still a yes: the scales spread what lies near 0.
    shares = PowerNorm(0.5, 0, 1)
    steps = SymLogNorm(0.05, vmin=-1, vmax=1)
    image = panel(grids[0], before, f"cuDNN {names[0]} accepts", ACCEPTS, shares)
    panel(grids[1], after, f"cuDNN {names[1]} accepts", ACCEPTS, shares)
    change = panel(
        grids[2], after - before, "newly accepted (blue), newly refused (orange)", CHANGE, steps
    )
    grids[0].set_yticks(
        range(16), [f"{d} data, {m} math" for d in TYPES for m in TYPES], fontsize=8
    )
    bar = figure.colorbar(image, ax=grids[1], shrink=0.75, pad=0.02)
    bar.set_label("share of the other settings")
    bar.set_ticks([0, 0.1, 0.25, 0.5, 1])
    bar = figure.colorbar(change, ax=grids[2], shrink=0.75, pad=0.02)
    bar.set_label("change of that share")
    bar.set_ticks([-1, -0.3, -0.1, 0, 0.1, 0.3, 1])
    bar.ax.yaxis.set_major_formatter("{x:g}")
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
