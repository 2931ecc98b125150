"""One problem run in many ways that change no number: what they come to, as bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tests.emulator.direct import INFERENCE, Array, Case, Session
from tests.emulator.scenarios import OUTPUTS, opened, report

Inputs = dict[str, Array]
Outputs = dict[str, bytes]
Way = Callable[[Session, Inputs], Outputs]


def ways(case: Case, inputs: Inputs) -> dict[str, Outputs]:
    """A step in each way, by name; "first" is one like any other."""
    session = Session(opened(), case)
    _put(session, inputs)
    made = {name: way(session, inputs) for name, way in _WAYS.items()}
    assert report() == []
    return made


def alone(case: Case, inputs: Inputs, parts: list[tuple[Case, Inputs]]) -> list[dict[str, Array]]:
    """y, hy, cy, dx, dhx and dcx of a batch, then those of each of its parts."""
    cudnn, found = opened(), []
    for one, of_one in [(case, inputs), *parts]:
        session = Session(cudnn, one)
        _put(session, of_one)
        _step(session)
        found.append({name: session.get(name) for name in OUTPUTS if name != "dweights"})
        session.close()
    return found


def seeded(case: Case, inputs: Inputs) -> list[bytes]:
    """y of a step; of the next one; of one after the states of dropout were set anew; and of a
    descriptor of its own."""
    cudnn, found = opened(), []
    for steps in (3, 1):
        session = Session(cudnn, case)
        _put(session, inputs)
        for step in range(steps):
            if step == 2:
                session.cudnn.good(
                    "cudnnSetDropoutDescriptor", session.dropout, session.handle, case.rate,
                    session.at["states"], session.bytes["states"], case.seed,
                )  # fmt: skip
            found.append(_step(session)["y"])
        session.close()
    assert report() == []
    return found


def _put(session: Session, inputs: Inputs) -> None:
    for name, values in inputs.items():
        session.put(name, values)
    # Full of one byte it would be a key.
    session.cuda.write(session.at["workspace"], os.urandom(session.bytes["workspace"]))


def _step(session: Session, handle: int | None = None, stream: int | None = None) -> Outputs:
    """Inference and a step of training; all that they write."""
    changes: dict[str, Any] = {"handle": handle or session.handle}
    session.cuda.write(session.at["dweights"], bytes(session.bytes["dweights"]))
    assert session.forward(INFERENCE, **changes) == "SUCCESS", session.cudnn.reason
    session.cuda.sync(stream or session.stream)
    inference = session.raw("y")
    for run in (session.forward, session.backward_data, session.backward_weights):
        assert run(**changes) == "SUCCESS", session.cudnn.reason
    session.cuda.sync(stream or session.stream)
    return {"inference": inference, **{name: session.raw(name) for name in OUTPUTS}}


def _first(session: Session, _: Inputs) -> Outputs:
    return _step(session)


def _stream(session: Session, _: Inputs) -> Outputs:
    session.cudnn.good("cudnnSetStream", session.handle, other := session.cuda.stream())
    found = _step(session, stream=other)
    session.cudnn.good("cudnnSetStream", session.handle, session.stream)
    return found


def _handle(session: Session, _: Inputs) -> Outputs:
    handle = session.cudnn.made("cudnnCreate")
    session.cudnn.good("cudnnSetStream", handle, session.stream)
    return _step(session, handle)


def _busy(session: Session, inputs: Inputs) -> Outputs:
    beside = Session(session.cudnn, session.case)
    _put(beside, inputs)
    assert beside.forward() == "SUCCESS"
    found = _step(session)
    beside.cuda.sync(beside.stream)
    return found


def _filled(session: Session, _: Inputs) -> Outputs:
    found: Outputs = {}
    fill = bytes([0x5A]) * session.bytes["workspace"]
    session.cuda.write(session.at["dweights"], bytes(session.bytes["dweights"]))
    runs: list[tuple[Callable[[], str], tuple[str, ...]]] = [
        (lambda: session.forward(INFERENCE), ("inference",)),
        (session.forward, ("y", "hy", "cy")),
        (session.backward_data, ("dx", "dhx", "dcx")),
        (session.backward_weights, ("dweights",)),
    ]
    for run, written in runs:
        session.cuda.write(session.at["workspace"], fill)
        assert run() == "SUCCESS", session.cudnn.reason
        for name in written:
            found[name] = session.raw("y" if name == "inference" else name)
    return found


def _graph(session: Session, _: Inputs) -> Outputs:
    training: list[Callable[[], str]] = [
        session.forward,
        session.backward_data,
        session.backward_weights,
    ]
    _replayed(session, [lambda: session.forward(INFERENCE)])
    inference = session.raw("y")
    _replayed(session, training)
    return {"inference": inference, **{name: session.raw(name) for name in OUTPUTS}}


def _replayed(session: Session, passes: list[Callable[[], str]]) -> None:
    cuda = session.cuda
    cuda.write(session.at["dweights"], bytes(session.bytes["dweights"]))
    cuda.good("cuStreamBeginCapture_v2", session.stream, 1)
    for run in passes:
        assert run() == "SUCCESS", session.cudnn.reason
    _, graph = cuda.end_capture(session.stream)
    launcher = cuda.made("cuGraphInstantiateWithFlags", graph, 0)
    cuda.good("cuGraphLaunch", launcher, session.stream)


def _aligned(session: Session, inputs: Inputs) -> Outputs:
    behind = Session(session.cudnn, session.case, margin=16)
    _put(behind, inputs)
    return _step(behind, session.handle, session.stream)


def _cublas(session: Session, _: Inputs) -> Outputs:
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"
    try:
        return _step(session)
    finally:
        del os.environ["CUBLAS_WORKSPACE_CONFIG"]


def _padding(session: Session, inputs: Inputs) -> Outputs:
    x = inputs["x"].copy()
    x[~session.case.net.inside] += 1
    session.put("x", x)
    found = _step(session)
    session.put("x", inputs["x"])
    return found


_WAYS: dict[str, Way] = {
    "first": _first,
    "again": _first,
    "stream": _stream,
    "handle": _handle,
    "busy": _busy,
    "filled": _filled,
    "graph": _graph,
    "aligned": _aligned,
    "cublas": _cublas,
    "padding": _padding,
}
