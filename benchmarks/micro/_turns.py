"""Finished fetches of the local real web, as the ledger gets them: gzip bodies, links and text."""

import gzip
import io
from dataclasses import dataclass
from typing import BinaryIO

import xxhash
from realweb import bring_up, sample_pages

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document, Fetched, LinkKind, Task, Turn
from gossamer.process import Registry, Tools
from gossamer.urls import parse

RULES = UrlConfig()
BEGAN_AT = 1_700_000_000.25
REQUEST = (
    b"GET %b HTTP/1.1\r\nHost: %b\r\nUser-Agent: gossamer/0.1\r\nAccept: text/html,*/*;q=0.5\r\n"
    b"Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)
HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sun, 15 Nov 2026 13:29:07 GMT\r\n"
    b"Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n"
    b'Last-Modified: Sun, 13 Sep 2020 12:26:40 GMT\r\nETag: "5f5e1000-118"\r\n\r\n'
)


@dataclass(slots=True)
class Zipped:
    """A body that came as gzip, in memory."""

    packed: bytes
    whole: bytes
    is_spooled: bool = False
    decode_note: str = ""

    @property
    def sent_bytes(self) -> int:
        """Return how many bytes came."""
        return len(self.packed)

    def open_sent(self) -> BinaryIO:
        """Return a reader at the beginning."""
        return io.BytesIO(self.packed)

    def sent(self) -> bytes:
        """Return the bytes as sent."""
        return self.packed

    def decoded(self) -> bytes:
        """Return the page."""
        return self.whole

    def release(self) -> None:
        """Keep it."""

    def close(self) -> None:
        """Keep it."""


def turns(count: int) -> list[Turn]:
    """Return so many turns of pages from all over the web; always the same ones."""
    bring_up()
    registry = Registry.load(Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer"))
    found = [
        _turn(document_of(url, body, number), registry)
        for number, (url, body) in enumerate(sample_pages(count))
    ]
    assert len(found) == count
    return found


def document_of(url: str, body: bytes, number: int) -> Document:
    """Return a page as the fetcher hands it over."""
    where = parse(url, RULES)
    assert where is not None
    packed = gzip.compress(body, 6, mtime=0)
    head = HEAD % len(packed)
    fields = [line.split(": ", 1) for line in head.decode("ascii").splitlines()[1:-1]]
    return Document(
        url=where,
        status=200,
        head=head,
        headers=tuple((name.lower(), value) for name, value in fields),
        body=Zipped(packed, body),
        request=REQUEST % (where.target.encode(), where.host.encode()),
        address="127.0.0.1",
        fetched_at=BEGAN_AT + number / 300,
        latency_s=0.001,
        media_type="text/html",
    )


def _turn(document: Document, registry: Registry) -> Turn:
    found = registry.read(document, "text/html")
    assert not found.errors, (document.url.text, found.errors)
    task = Task(url=document.url, depth=2, via="http://hub.test:8100/", kind=LinkKind.ANCHOR)
    return Turn(
        task=task,
        outcome=Fetched(document=document),
        at=document.fetched_at + 0.002,
        found=found,
        fingerprint=xxhash.xxh3_64_intdigest(document.body.decoded()),
    )
