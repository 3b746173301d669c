"""libcurl has one error for several failures; its message tells them apart.

`fetch.http` reads these messages. A release of libcurl that words them otherwise must fail here,
not in somebody's crawl.
"""

import asyncio

import pycurl
import pytest

from gossamer.clock import SystemClock
from gossamer.config import FetchConfig
from gossamer.fetch import AddressGuard
from gossamer.fetch.curl import CurlHandle, CurlLoop, TransferEnd
from gossamer.fetch.http import http_options
from gossamer.model import Failed, FailureKind
from tests.integration.raw import Talk, ask_once, says, serve

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MANY_HEADERS = OK + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(400)) + b"\r\n"
LONG_CHUNK_SIZE = CHUNKED + b"f" * 20 + b"\r\nx"
CUT_CHUNK = CHUNKED + b"50\r\nx"
CUT_BODY = OK + b"Content-Length: 50\r\n\r\nx"


async def end_of(talk: Talk, scheme: str = "http", **knobs: float) -> TransferEnd:
    """Return how libcurl says that a transfer ended."""
    clock = SystemClock()
    config = FetchConfig(allow_net=("127.0.0.0/8",), **knobs)  # type: ignore[arg-type] -- times only
    curl = CurlLoop(clock, ends_idle=True)
    handle = CurlHandle(config, AddressGuard(config), http_options(config, []))
    handle.begin(1 << 20, clock.steady())
    try:
        async with serve(talk) as server:
            handle.curl.setopt(pycurl.URL, f"{scheme}://127.0.0.1:{server.port}/")
            return await curl.start(handle)
    finally:
        curl.leave(handle)
        handle.close()
        curl.close()


@pytest.mark.parametrize(
    ("answer", "word", "kind"),
    [
        (MANY_HEADERS, "header", FailureKind.HEADER_TOO_LARGE),
        (LONG_CHUNK_SIZE, "chunk", FailureKind.BAD_HTTP),
    ],
)
async def test_what_hides_behind_a_receive_error_is_named_by_its_message(
    answer: bytes, word: str, kind: FailureKind
) -> None:
    ended = await end_of(says(answer))
    assert ended.code == pycurl.E_RECV_ERROR, (ended, pycurl.version)
    assert word in ended.message, (ended, pycurl.version)
    outcome = await ask_once(says(answer))
    assert isinstance(outcome, Failed)
    assert outcome.kind is kind


@pytest.mark.parametrize("answer", [b"", CUT_BODY, CUT_CHUNK])
async def test_a_broken_connection_has_none_of_these_words(answer: bytes) -> None:
    ended = await end_of(says(answer))
    assert ended.code, (ended, pycurl.version)
    assert not any(word in ended.message for word in ("header", "chunk")), (ended, pycurl.version)
    outcome = await ask_once(says(answer))
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.DISCONNECTED


async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


async def test_a_total_timeout_begins_with_operation_and_a_connect_timeout_does_not() -> None:
    total = await end_of(silent, total_s=0.2)
    connecting = await end_of(silent, scheme="https", connect_s=0.2)
    assert {total.code, connecting.code} == {pycurl.E_OPERATION_TIMEDOUT}
    assert total.message.startswith("Operation"), (total, pycurl.version)
    assert not connecting.message.startswith("Operation"), (connecting, pycurl.version)
    assert (total.overdue, connecting.overdue) == ("", "")
