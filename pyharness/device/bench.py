"""What is done with the results of an open plan: reading, writing, keeping, comparing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from pyharness.device.comparing import Copies, Copy, parts
from pyharness.spec import messages as m
from pyharness.spec.enums import DATA_TYPE

if TYPE_CHECKING:
    from pyharness.device import _core

_NO_NUMBERS = ("workspace", "reserve_space", "dev_seq_lengths", "l2_flush", "dropout_states")


class Bench:
    """What is kept of plans, whatever becomes of the plans: one copy a key.

    ``receive``  gives the frame behind a message.
    ``copies``   makes what is kept.
    """

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive = receive
        self.copies = Copies()
        self._kept: dict[str, dict[str, Copy]] = {}

    def answers(
        self, request: m.Message, plan: _core.Plan | None, data_type: int
    ) -> Iterator[m.Message | bytes]:
        """What is answered to a request about the open plan, whose numbers are of this type.

        Raises  ValueError for what is not there; RuntimeError of the plan.
        """
        # The frame behind a request is taken, whatever comes then.
        frame = self._receive() if isinstance(request, m.WriteBuffer) else b""
        if isinstance(request, m.ForgetBuffers):
            self._kept.pop(request.key, None)
            self.copies.give_back()
            yield m.Done()
        elif plan is None:
            yield m.Refused("request", f"{request.kind} is not for a runner, or not now")
        else:
            yield from self._of_plan(request, plan, DATA_TYPE.label(data_type), frame)

    def _of_plan(
        self, request: m.Message, plan: _core.Plan, data_type: str, frame: bytes
    ) -> Iterator[m.Message | bytes]:
        match request:
            case m.DescribePlan():
                weights = plan.weights()
                yield m.PlanDescribed(
                    plan.names(), [[name, rows, cols, at] for name, *_, rows, cols, at in weights]
                )
            case m.ReadBuffer(name):
                read = plan.read(name)
                yield m.BufferRead(len(read))
                yield read
            case m.WriteBuffer(name):
                plan.write(name, frame)
                yield m.Done()
            case m.PoisonBuffers(names, byte):
                for name in names:
                    plan.poison(name, byte)
                yield m.Done()
            case m.Reseed():
                plan.reseed()
                yield m.Done()
            case m.KeepBuffers(key, names):
                self._kept.pop(key, None)  # before the new copy is there: never two of one key
                made = {n: self.copies.copy(plan, n, data_type) for n in _numbers(names)}
                self._kept[key] = {name: copy for name, (copy, _) in made.items()}
                yield m.BuffersKept({name: why for name, (_, why) in made.items() if why})
            case m.CompareBuffers(key, names):
                yield m.Compared(
                    {
                        name: asdict(self._found(key, name).compare(plan, name, data_type))
                        for name in _numbers(names)
                    }
                )
            case m.DigestBuffers(names):
                yield m.Digested({name: _digest(plan, name) for name in names})
            case _:
                yield m.Refused("request", f"{request.kind} is not for a runner")

    def _found(self, key: str, name: str) -> Copy:
        kept = self._kept.get(key, {})
        if name not in kept:
            raise ValueError(f"nothing of {name} is kept under {key!r}")
        return kept[name]


def _digest(plan: _core.Plan, name: str) -> str:
    """SHA-256 of a buffer, in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts(plan, name):
        digest.update(part)
    return digest.hexdigest()


def _numbers(names: Sequence[str]) -> Sequence[str]:
    """The same names.

    Raises  ValueError for a buffer that holds no numbers of the problem's type.
    """
    for name in names:
        if name in _NO_NUMBERS:
            raise ValueError(f"{name} holds no numbers to compare: its digest can be compared")
    return names
