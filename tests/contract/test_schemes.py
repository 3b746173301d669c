"""What every protocol does: http, ftp, file, and one of a module that was handed over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gossamer.config import UrlConfig
from gossamer.fetch import Exchange, Fetcher, Resource, protocol
from gossamer.model import Document, Failed, FailureKind, Fetched, FetchOutcome, Url
from gossamer.testing import FakeServer, ScriptedWeb
from gossamer.urls import parse
from tests.ftp import serve_ftp
from tests.gopher import serve_gopher
from tests.integration.raw import LOOPBACK, fetching

CONTENT = b"content"


@protocol("lines", port=7000)
async def LINES(exchange: Exchange) -> Resource | Failed:  # noqa: N802 -- a module, once decorated
    """Ask for a path in one line."""
    wire = await exchange.connect()
    await wire.send(exchange.url.target.encode() + b"\r\n")
    found = await wire.rest()
    if found.in_memory().startswith(b"3"):
        return Failed(kind=FailureKind.NOT_FOUND, detail="no")
    return Resource(found, "text/plain")


@pytest.fixture(params=["http", "ftp", "file", "lines"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def served(scheme: str, folder: Path) -> AsyncIterator[str]:
    """Serve a.txt by a scheme; give the URL of its folder."""
    match scheme:
        case "http":
            web = ScriptedWeb()
            web.host("a.test", LOOPBACK[0]).file("/d/a.txt", CONTENT, "text/plain")
            async with FakeServer(web) as server:
                yield f"http://a.test:{server.port}/d"
        case "ftp":
            (folder / "d").mkdir()
            (folder / "d" / "a.txt").write_bytes(CONTENT)
            with serve_ftp(folder) as server:
                yield server.url("/d", "a.test")
        case "lines":
            with serve_gopher({b"/d/a.txt": CONTENT}) as hole:
                yield hole.url("/d", "a.test").replace("gopher:", "lines:")
        case _:
            (folder / "a.txt").write_bytes(CONTENT)
            yield f"file://{folder}"


async def ask(fetcher: Fetcher, text: str, **more: int) -> FetchOutcome:
    return await fetcher.fetch(url_of(text), LOOPBACK, **more)


def url_of(text: str) -> Url:
    url = parse(text, UrlConfig())
    assert url is not None
    return url


def document_of(outcome: FetchOutcome) -> Document:
    assert isinstance(outcome, Fetched), outcome
    return outcome.document


async def test_a_file_is_a_document_with_a_header_only_where_the_protocol_has_one(
    scheme: str, tmp_path: Path
) -> None:
    async with served(scheme, tmp_path) as base, fetching(protocols={"lines": LINES}) as fetcher:
        document = document_of(await ask(fetcher, f"{base}/a.txt"))
    assert document.url == url_of(f"{base}/a.txt")
    assert (document.status, document.media_type) == (200, "text/plain")
    assert document.body.decoded() == document.body.sent() == CONTENT
    assert document.head.startswith(b"HTTP/1.1 200 ") == (scheme == "http")
    assert bool(document.request) == (scheme == "http")
    assert ("content-length", "7") in document.headers
    assert document.truncated == ""
    document.body.close()


async def test_a_document_says_when_it_was_asked_for_and_how_long_that_took(
    scheme: str, tmp_path: Path
) -> None:
    async with served(scheme, tmp_path) as base, fetching(protocols={"lines": LINES}) as fetcher:
        document = document_of(await ask(fetcher, f"{base}/a.txt"))
    assert document.fetched_at > 1_600_000_000
    assert document.latency_s >= 0
    document.body.close()


async def test_what_exceeds_the_cap_is_cut_and_marked(scheme: str, tmp_path: Path) -> None:
    async with served(scheme, tmp_path) as base, fetching(protocols={"lines": LINES}) as fetcher:
        document = document_of(await ask(fetcher, f"{base}/a.txt", max_body_bytes=3))
    assert document.truncated == "length"
    assert document.body.sent() == CONTENT[:3]
    document.body.close()


async def test_what_is_not_there_is_a_value_and_not_an_exception(
    scheme: str, tmp_path: Path
) -> None:
    async with served(scheme, tmp_path) as base, fetching(protocols={"lines": LINES}) as fetcher:
        outcome = await ask(fetcher, f"{base}/none")
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.NOT_FOUND
    if outcome.document is not None:
        outcome.document.body.close()


async def test_several_are_asked_for_at_once(scheme: str, tmp_path: Path) -> None:
    async with served(scheme, tmp_path) as base, fetching(protocols={"lines": LINES}) as fetcher:
        outcomes = await asyncio.gather(*(ask(fetcher, f"{base}/a.txt") for _ in range(5)))
    for document in map(document_of, outcomes):
        assert document.body.sent() == CONTENT
        document.body.close()
