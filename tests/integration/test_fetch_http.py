"""Http against raw servers on loopback: what goes over the wire, and what comes of it."""

import asyncio
import gzip
import socket
import struct
from itertools import repeat

import pytest
from msgspec.structs import replace

from gossamer.config import Config, FetchConfig, HostConfig, UrlConfig
from gossamer.fetch import Validators, host_rules
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
    Url,
)
from gossamer.urls import parse
from tests.integration.raw import LOOPBACK, Talk, ask_once, fetching, says, serve

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\nContent-Length: 5\r\n\r\nhello"


def document_of(outcome: FetchOutcome) -> Document:
    assert isinstance(outcome, Fetched | Redirected | Failed), outcome
    assert outcome.document is not None
    return outcome.document


def kind_of(outcome: FetchOutcome) -> FailureKind:
    assert isinstance(outcome, Failed), outcome
    return outcome.kind


async def test_a_page_comes_with_everything_the_server_said() -> None:
    outcome = await ask_once(says(OK))
    assert isinstance(outcome, Fetched)
    document = outcome.document
    assert document.status == 200
    assert document.head + document.body.sent() == OK
    assert document.headers == (
        ("content-type", "text/html; charset=UTF-8"),
        ("content-length", "5"),
    )
    assert (document.media_type, document.charset) == ("text/html", "utf-8")
    assert (document.truncated, document.oddities) == ("", ())
    assert document.address == "127.0.0.1"
    assert document.latency_s > 0


async def test_the_archived_request_is_byte_for_byte_what_the_server_received() -> None:
    received = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)

    validators = Validators(etag='"v1"', last_modified="Tue, 15 Nov 1994 08:12:31 GMT")
    outcome = await ask_once(talk, "/p/../a%20b?q=1&r=|", validators, contact="mailto:me@a.test")
    assert document_of(outcome).request == received[0]
    assert b"(+mailto:me@a.test)\r\n" in received[0]
    assert b'If-None-Match: "v1"\r\n' in received[0]


async def test_secret_headers_are_sent_and_archived_as_stars() -> None:
    received = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)

    fetch = FetchConfig(
        headers=("X-Key: s3cret", "Accept: text/plain"),
        header_everywhere=True,
    )
    async with serve(talk) as server:
        config = Config(fetch=replace(fetch, auth={server.url().origin: "u:p"}))
        async with fetching(host_rules(config, [], {})) as fetcher:
            document = document_of(await fetcher.fetch(server.url(), LOOPBACK))
    assert b"X-Key: s3cret\r\n" in received[0]
    assert b"Authorization: Basic dTpw\r\n" in received[0]
    assert received[0].count(b"Accept: ") == 1
    stars = received[0].replace(b"s3cret", b"***").replace(b"Basic dTpw", b"***")
    assert document.request == stars
    assert document.redacted == "X-Key,Authorization"


async def test_credentials_go_to_their_own_host_only() -> None:
    received = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)

    async with serve(talk) as server:
        rules = host_rules(Config(host={"a.test": HostConfig(auth="u:p")}), [server.url()], {})
        async with fetching(rules) as fetcher:
            for host in ("a.test", "b.a.test", "www.a.test"):
                await fetcher.fetch(server.url(host=host), LOOPBACK)
    assert [b"Authorization" in request for request in received] == [True, False, True]


async def test_a_url_with_line_breaks_cannot_add_headers() -> None:
    received = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)

    async with serve(talk) as server, fetching() as fetcher:
        origin = f"http://a.test:{server.port}"
        url = Url(f"{origin}/a\r\nX-Evil: 1\r\n b\0é", "a.test", origin, 0)
        outcome = await fetcher.fetch(url, LOOPBACK)
    assert received[0].startswith(b"GET /a%0D%0AX-Evil:%201%0D%0A%20b%00%C3%A9 HTTP/1.1\r\n")
    assert document_of(outcome).request == received[0]


async def test_one_connection_serves_many_pages() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    async with serve(says(OK, chunked, OK, then_close=False)) as server, fetching() as fetcher:
        for path in ("/1", "/2", "/3"):
            outcome = await fetcher.fetch(server.url(path), LOOPBACK)
            assert document_of(outcome).body.decoded() == b"hello"
    assert server.connections == 1


async def test_chunked_bodies_are_kept_as_sent() -> None:
    body = b"5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    document = document_of(await ask_once(says(head + body)))
    assert document.body.sent() == body
    assert document.body.decoded() == b"hello world"
    assert document.head == head


@pytest.mark.parametrize(
    "extra",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEvil", b"Evil", b"\r\n"],
)
@pytest.mark.parametrize("is_late", [False, True])
async def test_extra_bytes_never_become_the_next_body(extra: bytes, is_late: bool) -> None:  # noqa: FBT001 - pytest passes parameters so
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n"
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
    for answer in (plain, chunked):

        async def talk(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes = answer
        ) -> None:
            while (request := await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /1 "):
                writer.write(answer if is_late else answer + extra)
                await writer.drain()
                if is_late:
                    await asyncio.sleep(0.02)
                    writer.write(extra)
            assert request
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond")

        async with serve(talk) as server, fetching() as fetcher:
            first = document_of(await fetcher.fetch(server.url("/1"), LOOPBACK))
            await asyncio.sleep(0.05)
            second = document_of(await fetcher.fetch(server.url("/2"), LOOPBACK))
        assert first.body.decoded() == b"first"
        assert extra not in first.body.sent() or extra == b"\r\n"
        assert second.body.decoded() == b"second"


async def test_interim_answers_are_split_off() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    document = document_of(await ask_once(says(early + OK)))
    assert document.head + document.body.sent() == OK


async def test_a_gzip_body_is_kept_and_decoded() -> None:
    sent = gzip.compress(b"hello" * 100)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(sent)
    document = document_of(await ask_once(says(head + sent)))
    assert document.body.sent() == sent
    assert document.body.decoded() == b"hello" * 100


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, FailureKind.NOT_FOUND),
        (410, FailureKind.GONE),
        (401, FailureKind.UNAUTHORIZED),
        (403, FailureKind.HTTP_4XX),
        (429, FailureKind.THROTTLED),
        (503, FailureKind.HTTP_5XX),
        (500, FailureKind.HTTP_5XX),
        (304, FailureKind.BAD_REDIRECT),
        (302, FailureKind.BAD_REDIRECT),
    ],
)
async def test_an_error_answer_is_a_failure_with_its_document(
    status: int, kind: FailureKind
) -> None:
    answer = b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status
    outcome = await ask_once(says(answer))
    assert kind_of(outcome) is kind
    assert document_of(outcome).status == status


async def test_not_modified_is_an_answer_to_a_conditional_request() -> None:
    answer = b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'
    outcome = await ask_once(says(answer), validators=Validators(etag='"v1"'))
    assert isinstance(outcome, Fetched)
    assert outcome.document.status == 304


async def test_retry_after_is_read_in_both_forms() -> None:
    for value, low, high in ((b"30", 30, 30), (b"Fri, 31 Dec 2100 23:59:59 GMT", 1e9, 1e10)):
        answer = b"HTTP/1.1 503 X\r\nRetry-After: %b\r\nContent-Length: 0\r\n\r\n" % value
        outcome = await ask_once(says(answer))
        assert isinstance(outcome, Failed)
        assert outcome.retry_after_s is not None
        assert low <= outcome.retry_after_s <= high


async def test_a_redirect_is_reported_and_not_followed() -> None:
    location = "http://b.test/é".encode()
    answer = b"HTTP/1.1 301 Moved\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % location
    async with serve(says(answer)) as server, fetching() as fetcher:
        outcome = await fetcher.fetch(server.url(), LOOPBACK)
    assert isinstance(outcome, Redirected)
    assert outcome.target == "http://b.test/é"
    assert server.connections == 1


async def test_an_endless_body_is_cut_at_the_cap() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for piece in repeat(bytes(65536)):
            writer.write(piece)
            await writer.drain()

    outcome = await ask_once(talk, max_body_bytes=200_000, body_memory_bytes=100_000)
    assert isinstance(outcome, Fetched)
    assert outcome.document.truncated == "length"
    assert outcome.document.body.sent_bytes == 200_000
    assert outcome.document.body.is_spooled
    assert outcome.document.body.sent() == bytes(200_000)
    outcome.document.body.close()


@pytest.mark.parametrize(
    ("start", "line"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X-%d: " + b"x" * 1000 + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X: %d\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"%d" + b"x" * 1000),
        (b"", b"HTTP/1.1 103 Early Hints\r\nX: %d\r\n\r\n"),
    ],
    ids=["many long lines", "many short lines", "one endless line", "endless interim answers"],
)
async def test_an_endless_header_is_cut(start: bytes, line: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(start)
        sent = 0
        while sent < 20_000_000:
            piece = b"".join(line % n for n in range(200))
            writer.write(piece)
            sent += len(piece)
            await writer.drain()

    assert kind_of(await ask_once(talk, total_s=20.0)) is FailureKind.HEADER_TOO_LARGE


async def test_too_many_header_lines_are_refused() -> None:
    lines = b"".join(b"X-%d: 1\r\n" % n for n in range(1001))
    answer = b"HTTP/1.1 200 OK\r\n" + lines + b"Content-Length: 0\r\n\r\n"
    assert kind_of(await ask_once(says(answer))) is FailureKind.HEADER_TOO_LARGE


async def test_silence_ends_at_the_first_byte_deadline() -> None:
    outcome = await ask_once(says(then_close=False), first_byte_s=0.1)
    assert kind_of(outcome) is FailureKind.FIRST_BYTE_TIMEOUT


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def test_a_drip_is_a_stall_and_keeps_what_came() -> None:
    outcome = await ask_once(drip, stall_s=0.5)
    assert kind_of(outcome) is FailureKind.STALLED
    document = document_of(outcome)
    assert document.truncated == "time"
    assert set(document.body.sent()) == {ord("x")}


async def test_the_total_deadline_ends_a_body_under_way() -> None:
    outcome = await ask_once(drip, total_s=0.3)
    assert kind_of(outcome) is FailureKind.TOTAL_TIMEOUT
    assert document_of(outcome).truncated == "time"


async def test_a_reset_in_the_body_keeps_what_came() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npartial")
        await writer.drain()
        await asyncio.sleep(0.05)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    outcome = await ask_once(talk)
    assert kind_of(outcome) is FailureKind.DISCONNECTED
    document = document_of(outcome)
    assert (document.truncated, document.body.sent()) == ("disconnect", b"partial")


def ends_at_second_request(*, with_reset: bool) -> Talk:
    """Return a talk that answers one request of a connection and hangs up on the next."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")
        if with_reset:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return talk


@pytest.mark.parametrize("with_reset", [True, False])
async def test_a_request_is_not_sent_again_when_a_kept_connection_breaks(with_reset: bool) -> None:  # noqa: FBT001 -- a parameter
    async with (
        serve(ends_at_second_request(with_reset=with_reset)) as server,
        fetching() as fetcher,
    ):
        kinds, connections = [], []
        for _ in range(4):
            outcome = await fetcher.fetch(server.url(), LOOPBACK)
            kinds.append(outcome.kind if isinstance(outcome, Failed) else None)
            connections.append(server.connections)
    assert kinds == [None, FailureKind.STALE_CONNECTION] * 2
    assert connections == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "header", [b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: x"]
)
async def test_contradicting_lengths_are_refused(header: bytes) -> None:
    outcome = await ask_once(says(b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\nhello"))
    assert kind_of(outcome) is FailureKind.BAD_HTTP


async def test_whoever_asks_is_told_when_each_request_goes_out_and_of_none_that_does_not() -> None:
    told = list[int]()

    def tell() -> bool:
        told.append(1)
        return True

    talk = says(OK, OK, OK, then_close=False)
    async with serve(talk) as server, fetching() as fetcher:
        for _ in range(2):
            await fetcher.fetch(server.url(), LOOPBACK, on_sending=tell)
        assert len(told) == 2
        assert server.connections == 1
        await fetcher.fetch(server.url(), LOOPBACK)
        assert len(told) == 2
    async with fetching() as fetcher:
        closed = server.url()
        await fetcher.fetch(closed, LOOPBACK, on_sending=tell)
    assert len(told) == 2


async def test_a_request_that_is_forbidden_when_its_connection_stands_does_not_go_out() -> None:
    came: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            came.append(line)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)

    async with serve(talk) as server, fetching() as fetcher:
        for _ in range(2):
            outcome = await fetcher.fetch(server.url(), LOOPBACK, on_sending=lambda: False)
            assert isinstance(outcome, Failed)
        assert came == []
        outcome = await fetcher.fetch(server.url(), LOOPBACK, on_sending=lambda: True)
        assert isinstance(outcome, Fetched)
        outcome = await fetcher.fetch(server.url(), LOOPBACK, on_sending=lambda: False)
        assert isinstance(outcome, Failed)  # over the connection that is kept
        assert len(came) == 1


async def test_a_closed_port_is_a_failed_connection() -> None:
    async with serve(says(OK)) as server:
        url = server.url()
    async with fetching() as fetcher:
        assert kind_of(await fetcher.fetch(url, LOOPBACK)) is FailureKind.CONNECT_FAILED


async def test_private_addresses_are_refused_by_default() -> None:
    async with serve(says(OK)) as server, fetching(allow_net=()) as fetcher:
        outcome = await fetcher.fetch(server.url(), LOOPBACK)
    assert outcome == Refused(
        kind=RefusalKind.PRIVATE_ADDRESS, detail="127.0.0.1 is loopback (127.0.0.0/8)"
    )
    assert server.connections == 0


async def test_the_address_connected_to_is_checked_whatever_was_resolved() -> None:
    async with serve(says(OK)) as server, fetching(allow_net=("127.0.0.9/32",)) as fetcher:
        fetcher._guard._known["localhost"] = None  # as if the check before had been fooled
        outcome = await fetcher.fetch(server.url(), ("localhost",))
    assert isinstance(outcome, Refused)
    assert outcome.kind is RefusalKind.PRIVATE_ADDRESS
    assert server.connections == 0


async def test_bad_ports_and_unknown_schemes_are_refused() -> None:
    async with fetching() as fetcher:
        redis = Url("http://a.test:6379/", "a.test", "http://a.test:6379", 0)
        gopher = Url("gopher://a.test/", "a.test", "gopher://a.test", 0)
        assert await fetcher.fetch(redis, LOOPBACK) == Refused(
            kind=RefusalKind.BAD_PORT, detail="port 6379"
        )
        assert await fetcher.fetch(gopher, LOOPBACK) == Refused(
            kind=RefusalKind.UNSUPPORTED_SCHEME, detail="gopher"
        )


async def test_tls_on_a_plain_port_is_a_tls_failure() -> None:
    async with serve(says(OK)) as server, fetching(connect_s=2.0) as fetcher:
        origin = f"https://a.test:{server.port}"
        outcome = await fetcher.fetch(Url(origin + "/", "a.test", origin, 0), LOOPBACK)
    assert kind_of(outcome) in {FailureKind.TLS_FAILED, FailureKind.CONNECT_TIMEOUT}


async def test_a_server_that_never_shakes_hands_ends_at_the_connect_deadline() -> None:
    async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serve(talk) as server, fetching(connect_s=0.2) as fetcher:
        origin = f"https://a.test:{server.port}"
        outcome = await fetcher.fetch(Url(origin + "/", "a.test", origin, 0), LOOPBACK)
    assert kind_of(outcome) is FailureKind.CONNECT_TIMEOUT


async def test_a_cancelled_fetch_leaves_the_fetcher_usable() -> None:
    async with (
        serve(says(then_close=False)) as silent,
        serve(says(OK)) as server,
        fetching() as fetcher,
    ):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await fetcher.fetch(silent.url(), LOOPBACK)
        assert isinstance(await fetcher.fetch(server.url(), LOOPBACK), Fetched)


async def test_cookies_are_off_by_default_and_stay_with_their_host() -> None:
    received = []
    answer = OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: k=v; Domain=test; Path=/\r\n\r\n")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)

    for is_on in (False, True):
        received.clear()
        async with serve(talk) as server, fetching(cookies=is_on) as fetcher:
            for host in ("a.test", "a.test", "b.test"):
                outcome = await fetcher.fetch(server.url(host=host), LOOPBACK)
                assert b"k=v" not in document_of(outcome).request
        assert [b"Cookie: k=v\r\n" in request for request in received] == [False, is_on, False]


@pytest.mark.parametrize("age", [b"--1", b"\xb2"])
async def test_a_cookie_with_nonsense_for_an_age_does_not_lose_the_page(age: bytes) -> None:
    answer = OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: k=v; Max-Age=" + age + b"\r\n\r\n")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with serve(talk) as server, fetching(cookies=True) as fetcher:
        assert isinstance(await fetcher.fetch(server.url(), LOOPBACK), Fetched)


async def test_many_fetches_run_side_by_side() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.05)
        writer.write(OK)

    async with serve(talk) as server, fetching() as fetcher:
        urls = [server.url(f"/{n}", host=f"h{n}.test") for n in range(100)]
        outcomes = await asyncio.gather(*(fetcher.fetch(url, LOOPBACK) for url in urls))
    assert all(isinstance(outcome, Fetched) for outcome in outcomes)
    assert [document_of(outcome).url for outcome in outcomes] == urls


@pytest.mark.parametrize("record", [b"\x15\x03\x03\x00\x02\x02\x46", b"\x16\x03\x01\x00\x01x"])
async def test_tls_in_answer_to_plain_http_is_called_so(record: bytes) -> None:
    outcome = await ask_once(says(record))
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.detail) == (FailureKind.BAD_HTTP, "this is TLS, not HTTP/1")


async def test_a_server_that_says_nothing_to_tls_is_told_from_one_that_is_not_there() -> None:
    async def is_silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass

    async with serve(is_silent) as server, fetching(connect_s=0.5) as fetcher:
        url = parse(f"https://a.test:{server.port}/", UrlConfig())
        assert url is not None
        outcome = await fetcher.fetch(url, LOOPBACK)
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CONNECT_TIMEOUT
    assert outcome.detail == "the TLS handshake was not answered"
