"""What every `Body` does, whether it lies in memory, in a file, or came through a pipe."""

import pytest

from gossamer.fetch.body import PLAIN, BodySpool, SpooledBody
from gossamer.fetch.decoding import Caps
from gossamer.model import Body
from gossamer.process.helper import CarriedBody

CONTENT = b"<p>one</p>" * 1000


def spooled(memory_bytes: int) -> SpooledBody:
    spool = BodySpool(memory_bytes)
    for start in range(0, len(CONTENT), 1000):
        spool.add(CONTENT[start : start + 1000])
    return SpooledBody(spool.contents(), len(CONTENT), PLAIN, Caps(1 << 20, 200))


BODIES = {
    "in memory": lambda: spooled(1 << 20),
    "in a file": lambda: spooled(100),
    "through a pipe": lambda: CarriedBody(CONTENT),
}


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest) -> Body:
    return BODIES[request.param]()


def test_every_reader_starts_at_the_beginning(body: Body) -> None:
    with body.open_sent() as first:
        first.read(10)
        with body.open_sent() as second:
            assert second.read() == CONTENT
        assert first.read(5) == CONTENT[10:15]
    assert body.sent() == body.sent() == CONTENT
    body.close()


def test_its_size_is_that_of_what_was_sent(body: Body) -> None:
    assert body.sent_bytes == len(body.sent())
    body.close()


def test_a_plain_body_is_decoded_to_itself_without_a_note(body: Body) -> None:
    assert body.decoded() == CONTENT
    assert body.decode_note == ""
    body.close()


def test_what_was_released_is_made_again(body: Body) -> None:
    assert body.decoded() == CONTENT
    body.release()
    body.release()
    assert body.decoded() == CONTENT
    body.close()


def test_closing_twice_does_no_harm(body: Body) -> None:
    body.close()
    body.close()
    assert body.decoded() == b""
