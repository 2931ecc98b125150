"""Calls of the emulated libcudnn that break a rule, or that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_size_t, c_void_p
from dataclasses import dataclass, replace

import numpy as np

from tests.emulator import direct
from tests.emulator.direct import INFERENCE, Case, Session
from tests.emulator.networks import LSTM, TANH, Net
from tests.emulator.scenarios import PLAIN, opened, report


@dataclass(frozen=True)
class Answer:
    """What a call that broke a rule, or was refused, came to."""

    status: str
    reason: str
    last_error: str
    reported: list[str]


def answers(names: list[str]) -> dict[str, Answer]:
    """Each rule's broken call in a session of its own, and a good step before it."""
    cudnn, found = opened(), {}
    for name in names:
        case, break_it = RULES[name]
        before = len(report())
        session = Session(cudnn, case)
        status = break_it(session)
        reason = cudnn.reason
        last = cudnn.last_error()
        session.cuda.sync(session.stream)
        found[name] = Answer(status, reason, last, report()[before:])
    return found


def _other_lengths(session: Session) -> str:
    assert session.forward() == "SUCCESS"
    net = session.case.net
    session.case = replace(session.case, net=replace(net, lengths=(4, 4, 3)))
    session.set_data()
    session.ask_sizes()
    return session.backward_data()


def _other_input(session: Session) -> str:
    assert session.forward() == "SUCCESS"
    assert session.backward_data() == "SUCCESS"
    session.cuda.sync(session.stream)
    session.put("x", np.ones((4, 3, 3)))
    return session.backward_weights()


def _not_sized(session: Session) -> str:
    session.set_data(steps=6)
    return session.forward()


def _wrong_h(session: Session) -> str:
    session.set_tensor(session.tensors["h"], (2, 3, 5))
    return session.forward()


def _short_h(session: Session) -> str:
    session.set_tensor(session.tensors["h"], (1, 3, 4))  # with the right strides
    return session.forward()


def _restored(session: Session) -> str:
    assert session.forward() == "SUCCESS"
    before = session.raw("reserve")
    assert session.backward_data() == "SUCCESS"
    session.cuda.sync(session.stream)
    session.cuda.write(session.at["reserve"], before)
    return session.backward_data()


def _destroyed_data(session: Session) -> str:
    session.cudnn.good("cudnnDestroyRNNDataDescriptor", session.data["x"])
    return session.forward()


def _destroyed_twice(session: Session) -> str:
    session.cudnn.good("cudnnDestroy", session.handle)
    return session.cudnn.call("cudnnDestroy", session.handle)


def _twice(session: Session) -> str:
    assert session.forward() == "SUCCESS"
    assert session.backward_data() == "SUCCESS"
    return session.backward_data()


def _after_sync(session: Session) -> str:
    assert session.forward() == "SUCCESS"
    assert session.backward_data() == "SUCCESS"
    session.cuda.sync(session.stream)
    return session.backward_data()


def _weights_first(session: Session) -> str:
    assert session.forward() == "SUCCESS"
    return session.backward_weights()


def _after_inference(session: Session) -> str:
    assert session.forward(INFERENCE) == "SUCCESS"
    return session.backward_data()


def _other_batch(session: Session) -> str:
    session.cudnn.good("cudnnBuildRNNDynamic", session.handle, session.rnn, 7)
    return session.forward()


def _short(session: Session, name: str) -> str:
    session.alloc(name, session.bytes[name] - 1)
    return session.forward()


def _no_stream(session: Session) -> str:
    other = session.cuda.stream()
    session.cudnn.good("cudnnSetStream", session.handle, other)
    session.cuda.good("cuStreamDestroy_v2", other)
    return session.forward()


def _small_states(session: Session) -> str:
    session.alloc("few", 1000)
    return session.cudnn.call(
        "cudnnSetDropoutDescriptor", session.dropout, session.handle, 0.5, session.at["few"],
        1000, 1,
    )  # fmt: skip


def _spoilt_states(session: Session) -> str:
    session.cuda.sync(session.stream)
    session.cuda.memset(session.at["states"], 0, 8, session.stream)
    return session.forward()


def _freed(session: Session) -> str:
    status = session.forward()
    session.cuda.good("cuMemFree_v2", session.at["x"])
    return status


def _spoilt_reserve(session: Session) -> str:
    assert session.forward() == "SUCCESS"
    session.cuda.memset(session.at["reserve"], 0, 256, session.stream)
    return session.backward_data()


def _weight_params(session: Session, weight_bytes: int) -> str:
    matrix, bias = (session.cudnn.made("cudnnCreateTensorDescriptor") for _ in range(2))
    return session.cudnn.call(
        "cudnnGetRNNWeightParams", session.handle, session.rnn, 0, weight_bytes,
        session.at["weights"], 0, matrix, byref(c_void_p()), bias, byref(c_void_p()),
    )  # fmt: skip


def _wide_x(session: Session) -> str:
    session.set_data(x_width=5)
    return session.forward()


def _build(session: Session) -> str:
    return session.cudnn.call("cudnnBuildRNNDynamic", session.handle, session.rnn, 3)


def _null_lengths(session: Session) -> str:
    return session.forward()


def _wrong_lengths(session: Session) -> str:
    session.alloc("lengths", 12)
    session.cuda.write(session.at["lengths"], np.array([4, 4, 3], np.int32).tobytes())
    return session.forward()


def _net(**changes: object) -> Net:
    return replace(PLAIN.net, **changes)  # type: ignore[arg-type]


def _case(net: Net | None = None, **changes: object) -> Case:
    return replace(PLAIN, net=net or PLAIN.net, **changes)  # type: ignore[arg-type]


def _sized(cell: int, hidden_size: int) -> Case:
    return _case(Net(cell, 1, (1,), hidden_size=hidden_size), algo=direct.SMALL_H)


def _backward(session: Session) -> str:
    assert session.forward() == "SUCCESS", session.cudnn.reason
    return session.backward_data()


RULES: dict[str, tuple[Case, Callable[[Session], str]]] = {
    # What must never be done.
    "x ends early": (PLAIN, lambda s: _short(s, "x")),
    "workspace ends early": (PLAIN, lambda s: _short(s, "workspace")),
    "reserve ends early": (PLAIN, lambda s: _short(s, "reserve")),
    "hy ends early": (PLAIN, lambda s: _short(s, "hy")),
    "y nowhere": (PLAIN, lambda s: s.forward(y=0x1000)),
    "x null": (PLAIN, lambda s: s.forward(x=None)),
    "x misaligned": (PLAIN, lambda s: s.forward(x=s.at["weights"] + 4)),
    "small workspace": (PLAIN, lambda s: s.forward(workspace_bytes=s.workspace_bytes[1] - 1)),
    "small reserve": (PLAIN, lambda s: s.forward(reserve_bytes=s.reserve_bytes - 1)),
    "large weight space": (PLAIN, lambda s: s.forward(weight_bytes=s.weight_bytes + 256)),
    "overlap": (PLAIN, lambda s: s.forward(hy=s.at["cy"])),
    "backward alone": (PLAIN, Session.backward_data),
    "backward after inference": (PLAIN, _after_inference),
    "backward twice": (PLAIN, _twice),
    "backward twice, run": (PLAIN, _after_sync),
    "weights first": (PLAIN, _weights_first),
    "other lengths": (PLAIN, _other_lengths),
    "other input": (PLAIN, _other_input),
    "not sized": (PLAIN, _not_sized),
    "wrong h": (PLAIN, _wrong_h),
    "short h": (PLAIN, _short_h),
    "destroyed data": (PLAIN, _destroyed_data),
    "destroyed twice": (PLAIN, _destroyed_twice),
    "no stream": (PLAIN, _no_stream),
    "other batch built": (_case(algo=direct.DYNAMIC), _other_batch),
    "small states": (PLAIN, _small_states),
    "spoilt states": (_case(rate=0.5), _spoilt_states),
    "freed": (PLAIN, _freed),
    "spoilt reserve": (PLAIN, _spoilt_reserve),
    "weight space of other size": (PLAIN, lambda s: _weight_params(s, s.weight_bytes - 256)),
    "wrong device lengths": (PLAIN, _wrong_lengths),
    # What looks like it and is allowed.
    "restored reserve": (PLAIN, _restored),
    # What cuDNN refuses.
    "wide x": (PLAIN, _wide_x),
    "null device lengths": (PLAIN, _null_lengths),
    "null handle": (PLAIN, lambda s: s.forward(handle=None)),
    "null x descriptor": (PLAIN, lambda s: s.forward(x_desc=None)),
    "all empty": (_case(_net(lengths=(0, 0, 0))), Session.forward),
    "one empty, forward": (_case(_net(lengths=(4, 4, 0))), Session.forward),
    "one empty, backward": (_case(_net(lengths=(4, 4, 0))), _backward),
    "padded io off": (_case(_net(lengths=(4, 4, 3)), padded_io=False), Session.forward),
    "padded io off, equal": (_case(padded_io=False), Session.forward),
    "static unequal": (_case(_net(lengths=(4, 4, 3)), algo=direct.STATIC, data_type=0),
                       Session.forward),
    "static 1024": (_case(Net(TANH, 1, (1,), hidden_size=1024), algo=direct.STATIC, data_type=0),
                    Session.forward),
    "static 1025": (_case(Net(TANH, 1, (1,), hidden_size=1025), algo=direct.STATIC, data_type=0),
                    Session.forward),
    "persistent in two directions": (_case(_net(directions=2), algo=direct.STATIC, data_type=0),
                                     Session.forward),
    "build for standard": (PLAIN, _build),
    "set mode": (PLAIN, lambda s: s.backward_weights(mode=1)),
    **{f"small_h {name} {size} {pass_name}": (
            replace(_sized(cell, size), data_type=0),
            Session.forward if pass_name == "forward" else _backward)
       for name, cell, limits in (("tanh", TANH, (384, 256)), ("lstm", LSTM, (192, 128)))
       for limit, pass_name in zip(limits, ("forward", "backward"), strict=True)
       for size in (limit, limit + 1)},
}  # fmt: skip


def skip_input() -> Answer:
    """The size of a weight space that cannot be: skip_input into another width."""
    cudnn = opened()
    session = Session(cudnn, PLAIN)
    session.case = _case(_net(skip_input=True))
    session.set_rnn()
    status = cudnn.call(
        "cudnnGetRNNWeightSpaceSize", session.handle, session.rnn, byref(c_size_t())
    )
    return Answer(status, cudnn.reason, "", report())
