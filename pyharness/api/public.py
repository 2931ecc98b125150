"""The Python API: map, diff, try_problem, explain and since, with the words of the commands."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pyharness.api.changes import write_changes
from pyharness.api.diffing import DEFAULT_MAPS, diff_maps, open_side, row_reasons
from pyharness.api.drift_joining import join_drift
from pyharness.api.explaining import explain as explain_problem
from pyharness.api.history import since_when
from pyharness.api.mapping import MapOptions, Reasons, map_release
from pyharness.api.onward import DeviceChoice
from pyharness.api.reading import Sources, read_problem
from pyharness.api.trying import try_calls
from pyharness.errors import UsageError
from pyharness.releases.cache import list_cached
from pyharness.releases.locate import resolve
from pyharness.space.presets import build_space
from pyharness.spec.problem import CallResult, parse_problem
from pyharness.store.reading import read_frame

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from pyharness.analyze.explanation import Explanation, Span
    from pyharness.analyze.map_diff import MapDiff


def default_walkers() -> int:
    """Walkers at once where none are asked for: one for each core that we may use, at most 8."""
    return min(8, len(os.sched_getaffinity(0)))


def axis_texts(axes: Mapping[str, Any]) -> list[str]:
    """Axis name to values as ``name=v1,v2`` texts."""
    return [f"{name}={_joined(name, values)}" for name, values in axes.items()]


def _joined(name: str, values: Any) -> str:
    """The text of an axis; a sequence of lengths is one value of seq_lengths, not several."""
    if not isinstance(values, (list, tuple, range)):
        return str(values)
    if name == "seq_lengths" and all(isinstance(v, int) for v in values):
        return f"[{','.join(str(v) for v in values)}]"
    return ",".join(_joined(name, v) for v in values)


def map(  # noqa: A001 - the verb of the domain
    cudnn: str,
    preset: str | None = None,
    *,
    call: str | None = None,
    axes: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    reasons: Reasons = "distinct",
    walkers: int | None = None,
) -> pd.DataFrame:
    """The validity of every problem of a space on a release.

    ``cudnn``  a version, VERSION+cuNN, a path, installed, or latest.
    ``axes``   axis name to a value, a list of values, or text such as "1..1024:8".
    ``out``    folder to keep the tables in; without one they are kept nowhere.
    Returns    one row a problem and call; columns as in results/README.md.
    Raises     UsageError for anything that the command would refuse.
    """
    space = build_space(preset, call, axis_texts(axes or {}))
    release = resolve(cudnn)
    options = MapOptions(walkers=walkers or default_walkers(), reasons=reasons)
    if out is not None:
        map_release(release, space, Path(out), options)
        return read_frame(Path(out))
    with tempfile.TemporaryDirectory(prefix="pyharness-") as scratch:
        map_release(release, space, Path(scratch) / "map", options)
        return read_frame(Path(scratch) / "map")


def diff(
    a: str | Path,
    b: str | Path,
    preset: str | None = None,
    *,
    call: str | None = None,
    axes: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    maps: str | Path = DEFAULT_MAPS,
    reasons: Reasons | None = None,
    drift: str | Path | None = None,
) -> MapDiff:
    """What changed from one release, or result folder, to another.

    ``maps``  folder of the maps that are made on the way, and found again.
    ``out``   folder for changes.parquet; without one it is not written.
    ``reasons``  all, distinct or none; by default all up to 5 million problems, distinct above.
    ``drift``  folder of a drift of the same releases, which joins the changes.
    Returns   the changes, each described exactly.
    Raises    UsageError for anything that the command would refuse.
    """
    space = build_space(preset, call, axis_texts(axes or {}))
    options = MapOptions(walkers=default_walkers(), reasons=reasons or row_reasons(space))
    old, new = (open_side(str(side), space, Path(maps), options) for side in (a, b))
    result = diff_maps(old, new)
    if drift is not None:
        join_drift(result, Path(drift))
    if out is not None:
        write_changes(result, Path(out))
    return result


def try_problem(cudnn: str, problem: Mapping[str, Any] | Sequence[str]) -> list[CallResult]:
    """One problem through every host call of a release.

    ``problem``  axis name to value, or ``key=value`` words.
    Returns      one result a call, with cuDNN's own reason.
    Raises       UsageError for an unknown key or value.
    """
    return try_calls(resolve(cudnn), parse_problem(words_of(problem)))


def explain(
    cudnn: str,
    problem: Mapping[str, Any] | Sequence[str] = (),
    *,
    lengths: Sequence[int] | None = None,
    mask: NDArray[Any] | Sequence[Sequence[Any]] | str | None = None,
    time_major: bool | None = None,
    torch: str | None = None,
    keras: str | None = None,
    input_shape: Sequence[int] | None = None,
    device: DeviceChoice = "first",
) -> Explanation:
    """Which argument of which call is refused, what is allowed, and what is accepted nearby.

    ``problem``      axis name to value, or ``key=value`` words; they win over the rest.
    ``lengths``      one a sequence.
    ``mask``         [batch, time] or [time, batch], True where a step counts; or its file.
    ``torch``, ``keras``  a layer as it is written, ``LSTM(256, 512)``; it is not evaluated.
    ``input_shape``  of the layer's input, in the framework's order.
    ``device``       number of the GPU to go on to; first: the first, where there is one; none.
    Returns          the calls' results, the arguments to blame, and accepted problems.
    Raises           UsageError for what cannot be read, and for a mask that no lengths express.
    """
    shape = None if input_shape is None else "x".join(str(n) for n in input_shape)
    array = mask if mask is None or isinstance(mask, str) else np.asarray(mask)
    given = None if lengths is None else f"[{','.join(str(n) for n in lengths)}]"
    sources = Sources(
        lengths=given, mask=array, time_major=time_major, torch=torch, keras=keras, shape=shape
    )
    reading = read_problem(words_of(problem), sources)
    if reading.mask is not None and reading.mask.lengths is None:
        raise UsageError(
            f"the mask has no lengths: {'; '.join(reading.mask.summary)}",
            "each row must be steps that count followed by padding",
        )
    return explain_problem(resolve(cudnn), reading.problem, device=device)


def since(problem: Mapping[str, Any] | Sequence[str]) -> list[Span]:
    """How every release answers a problem, as ranges of versions, oldest first.

    From the atlas that ships with the package; where that has not this very problem, the cached
    releases are asked, and for the others what is around it stands for it, or nothing.

    ``problem``  axis name to value, or ``key=value`` words.
    Returns      ranges; ``basis`` says what one rests on: mapped, asked, derived or unknown.
    Raises       UsageError for an unknown key or value.
    """
    releases = [entry.release() for entry in list_cached()]
    return since_when(parse_problem(words_of(problem)), releases).spans


def words_of(problem: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """A problem as ``key=value`` words; one text may hold several."""
    if isinstance(problem, str):
        return problem.split()
    return axis_texts(problem) if isinstance(problem, Mapping) else list(problem)
