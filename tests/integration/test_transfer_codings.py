"""Transfer codings besides chunked, chunks in chunks, and blank lines between answers."""

import gzip
import socketserver
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gossamer
from gossamer.config import Config, FetchConfig, LimitsConfig, PolitenessConfig
from gossamer.model import Failed, FailureKind, Fetched
from gossamer.store import decoded
from tests.integration.raw import LOOPBACK, ask_once, fetching, says, serve

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
TEXT = b"A page of several words. " * 20


def chunked(data: bytes, size: int = 100) -> bytes:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def answer(field: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + field + b"\r\n\r\n" + body


BESIDES = "Transfer-Encoding with a coding besides chunked"
TWICE = "Transfer-Encoding is chunked twice"
HANDLED = {
    "gzip": (b"gzip, chunked", chunked(gzip.compress(TEXT)), BESIDES),
    "as written by others": (b"X-GZip ,\tChunked", chunked(gzip.compress(TEXT)), BESIDES),
    "deflate in gzip": (
        b"deflate, gzip, chunked",
        chunked(gzip.compress(zlib.compress(TEXT))),
        BESIDES,
    ),
    "identity": (b"identity, chunked", chunked(TEXT), BESIDES),
    "in two fields": (
        b"gzip\r\nTransfer-Encoding: chunked",
        chunked(gzip.compress(TEXT)),
        BESIDES,
    ),
    "chunks in chunks": (b"chunked, chunked", chunked(chunked(TEXT)), TWICE),
    "named twice, chunked once": (b"chunked\r\nTransfer-Encoding: chunked", chunked(TEXT), TWICE),
    "an empty element": (b"chunked,", chunked(TEXT), ""),
    "gzip until the end": (
        b"gzip",
        gzip.compress(TEXT),
        "Transfer-Encoding does not end with chunked",
    ),
}


@pytest.mark.parametrize("name", HANDLED)
async def test_what_was_coded_for_its_way_is_read_and_marked(name: str) -> None:
    field, body, mark = HANDLED[name]
    outcome = await ask_once(says(answer(field, body)), total_s=5.0)
    assert isinstance(outcome, Fetched)
    document = outcome.document
    assert document.body.decoded() == TEXT
    assert document.oddities == ((mark,) if mark else ())
    assert document.body.sent() == body


@pytest.mark.parametrize("name", [name for name in HANDLED if name != "gzip until the end"])
async def test_it_ends_with_its_last_chunk_though_the_connection_stays_open(name: str) -> None:
    field, body, _ = HANDLED[name]
    talk = says(OK, answer(field, body), then_close=False)
    async with serve(talk) as server, fetching(total_s=10.0) as fetcher:
        await fetcher.fetch(server.url("/1"), LOOPBACK)
        outcome = await fetcher.fetch(server.url("/2"), LOOPBACK)
    assert isinstance(outcome, Fetched)
    assert outcome.document.body.decoded() == TEXT
    assert not outcome.document.truncated


@pytest.mark.parametrize("name", HANDLED)
def test_the_archive_reads_it_alike(name: str) -> None:
    field, body, _ = HANDLED[name]
    transfer = field.lower().decode().replace("\r\ntransfer-encoding:", ",")
    assert decoded(body, transfer=transfer, codings="", max_bytes=10**6) == TEXT


async def test_content_codings_lie_inside_of_transfer_codings() -> None:
    body = chunked(gzip.compress(zlib.compress(TEXT)))
    field = b"gzip, chunked\r\nContent-Encoding: deflate"
    outcome = await ask_once(says(answer(field, body)), total_s=5.0)
    assert isinstance(outcome, Fetched)
    assert outcome.document.body.decoded() == TEXT


async def test_chunked_three_times_is_refused() -> None:
    body = chunked(chunked(chunked(TEXT)))
    outcome = await ask_once(says(answer(b"chunked, chunked, chunked", body)), total_s=5.0)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.detail) == (
        FailureKind.BAD_HTTP,
        "Transfer-Encoding is chunked 3 times",
    )


async def test_an_unknown_transfer_coding_is_marked() -> None:
    outcome = await ask_once(says(answer(b"rot13, chunked", chunked(TEXT))), total_s=5.0)
    assert isinstance(outcome, Fetched)
    assert outcome.document.oddities == (BESIDES,)
    assert outcome.document.body.decode_note == "unknown coding rot13"


async def test_many_chunks_in_chunks_are_left_as_they_are() -> None:
    inner = chunked(TEXT * 3, size=1)
    outcome = await ask_once(says(answer(b"chunked, chunked", chunked(inner))), total_s=5.0)
    assert isinstance(outcome, Fetched)
    assert outcome.document.oddities == (TWICE,)
    assert outcome.document.body.decoded() == inner


async def test_chunks_of_http_1_0_are_marked() -> None:
    raw = answer(b"chunked", chunked(TEXT)).replace(b"1.1", b"1.0", 1)
    outcome = await ask_once(says(raw), total_s=5.0)
    assert isinstance(outcome, Fetched)
    assert outcome.document.oddities == ("Transfer-Encoding in an HTTP/1.0 answer",)


@pytest.mark.parametrize("blank", [b"\r\n", b"\n", b"\r\n\r\n"])
async def test_an_answer_after_a_blank_line_on_a_kept_connection_costs_no_try(blank: bytes) -> None:
    async with serve(says(OK, blank + OK)) as server, fetching() as fetcher:
        outcomes = [await fetcher.fetch(server.url(f"/{n}"), LOOPBACK) for n in range(3)]
        assert server.connections == 2
    first, second, third = outcomes
    assert isinstance(first, Fetched)
    assert isinstance(second, Failed)
    assert second.kind is FailureKind.STALE_CONNECTION
    assert isinstance(third, Fetched)


class BlankLines(socketserver.StreamRequestHandler):
    """A site whose every answer, but a connection's first, comes after a blank line."""

    def handle(self) -> None:
        links = b"".join(b"<a href=/%d>x</a>" % n for n in range(12))
        before = b""
        while line := self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            is_page = b"robots.txt" not in line
            kind = b"text/html" if is_page else b"text/plain"
            body = b"<title>" + line.split()[1] + b"</title>" + links if is_page else b""
            head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
            self.wfile.write(before + head % (kind, len(body)) + body)
            before = b"\r\n"


@contextmanager
def blank_lines() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), BlankLines) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


def test_no_page_is_lost_to_blank_lines_between_answers(tmp_path: Path) -> None:
    with blank_lines() as port:
        config = Config(
            fetch=FetchConfig(allow_net=("127.0.0.0/8",)),
            politeness=PolitenessConfig(delay_s=0.0),
            limits=LimitsConfig(max_time_s=60.0),
        )
        ending = gossamer.Crawl(tmp_path, [f"http://127.0.0.1:{port}/"], config).run()
    assert ending.reason == "finished"
    assert gossamer.status(tmp_path).pages >= 13
    for n in range(12):
        assert gossamer.why(tmp_path, f"http://127.0.0.1:{port}/{n}").state == "archived"
