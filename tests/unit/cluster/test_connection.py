import socket

import pytest

from gossamer.cluster import Connection, ControlRequest, GrantPages, Probe, RecallPages
from gossamer.cluster.connection import MAX_MESSAGE_BYTES
from gossamer.cluster.messages import Downward


async def test_messages_arrive_whole_in_order_and_then_the_end() -> None:
    ours, theirs = socket.socketpair()
    sender: Connection[Downward] = await Connection.over(ours, Downward)
    receiver: Connection[Downward] = await Connection.over(theirs, Downward)
    long = ControlRequest(1, {"text": "x" * 300_000})
    sent = [GrantPages(3), RecallPages(), long, Probe(7)]
    for message in sent:
        sender.send(message)
    assert [await receiver.receive() for _ in sent] == sent
    sender.close()
    assert await receiver.receive() is None
    assert await receiver.receive() is None
    receiver.close()


@pytest.mark.parametrize(
    "cut", [b"\0", b"\0\0\0\x05", b"\0\0\0\x05abc", (MAX_MESSAGE_BYTES + 1).to_bytes(4, "big")]
)
async def test_a_message_that_is_cut_off_or_too_long_is_the_end_of_the_line(cut: bytes) -> None:
    ours, theirs = socket.socketpair()
    receiver: Connection[Downward] = await Connection.over(theirs, Downward)
    ours.sendall(cut)
    ours.close()
    assert await receiver.receive() is None
    receiver.close()


async def test_a_broken_line_takes_messages_silently() -> None:
    ours, theirs = socket.socketpair()
    sender: Connection[Downward] = await Connection.over(ours, Downward)
    theirs.close()
    for _ in range(50):
        sender.send(ControlRequest(1, {"text": "x" * 10_000}))
        await sender.flush()
    assert await sender.receive() is None
    sender.close()
    sender.send(GrantPages(1))
