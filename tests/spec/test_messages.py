"""What parent and worker say to each other survives the way."""

from __future__ import annotations

import pytest

from pyharness.spec import messages as m

SAID = [
    m.UseGrid("cudnnSetRNNDataDescriptor", [[1, -(2**63)], [2**63 - 1]], [[3, 2, 1]]),
    m.WalkRange(2**40, 7, True),
    m.WalkRows(False),
    m.TimeRows(31),
    m.NameStatuses([0, -5, 3007]),
    m.AskVersion(),
    m.Opened(["cudnnRNNSetClip_v9"]),
    m.Version(92800),
    m.Done(),
    m.Timed([1e-7, 4.2e-8]),
    m.Named(["CUDNN_STATUS_SUCCESS", ""]),
    m.Refused("load", "„Anführung“\n\0"),
]


def test_every_kind_of_message_is_tried_here() -> None:
    assert {type(message) for message in SAID} == set(m._TYPES.values())


@pytest.mark.parametrize("message", SAID, ids=lambda message: message.kind)
def test_a_message_comes_back_as_it_was(message: m.Message) -> None:
    assert m.decode(m.encode(message)) == message


@pytest.mark.parametrize("frame", [b"{}", b'{"kind": "shout"}', b'{"kind": "Done"}'])
def test_a_frame_of_an_unknown_kind_is_refused(frame: bytes) -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        m.decode(frame)
