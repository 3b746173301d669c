"""Small documents and turns for the store's tests."""

import gzip
import io
import random
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from gossamer.config import StoreConfig
from gossamer.model import Document, Extraction, Fetched, Link, LinkKind, StoreRef, Task, Turn, Url
from gossamer.store import Archive, ArchiveEntry, CrawlFolder, State, TurnWriter
from gossamer.store.archive import _release

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # FastWARC warns of its own old names when imported
    from fastwarc.warc import ArchiveIterator as FastIterator

__all__ = ["FastIterator"]

AT = 1700000000.25
REQUEST = b"GET /a HTTP/1.1\r\nHost: one.test\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


@dataclass
class Sent:
    """A body in memory that can claim to be spooled."""

    data: bytes
    is_spooled: bool = False
    reads: list[int] = field(default_factory=list)

    @property
    def sent_bytes(self) -> int:
        return len(self.data)

    def open_sent(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def sent(self) -> bytes:
        assert not self.is_spooled, "a spooled body must be streamed"
        return self.data

    def decoded(self) -> bytes:
        return self.data

    def close(self) -> None:
        return


def url(text: str = "http://one.test/a") -> Url:
    scheme, _, rest = text.partition("://")
    host = rest.partition("/")[0]
    return Url(text, host, f"{scheme}://{host}", 7)


def document(
    payload: bytes = b"<p>Hello", *, at: str = "http://one.test/a", **more: Any
) -> Document:
    facts = {
        "url": url(at),
        "status": 200,
        "head": HEAD,
        "headers": (("content-type", "text/html"),),
        "body": Sent(payload, more.pop("is_spooled", False)),
        "request": REQUEST,
        "address": "127.0.0.1",
        "fetched_at": AT,
        "latency_s": 0.1,
        "media_type": "text/html",
    }
    return Document(**(facts | more))


def gzipped(payload: bytes, **more: Any) -> Document:
    return document(
        gzip.compress(payload),
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n",
        headers=(("content-type", "text/html"), ("content-encoding", "gzip")),
        **more,
    )


def turn(answer: Document | None = None, **more: Any) -> Turn:
    answer = answer or document()
    facts = {
        "task": Task(answer.url, depth=2, via="http://one.test/"),
        "outcome": Fetched(document=answer),
        "at": AT + 1,
        "found": Extraction(
            title="Hello",
            text="Hello",
            language="en",
            media_type="text/html",
            links=[Link(url("http://two.test/b"), LinkKind.ANCHOR, "two", "nofollow")],
        ),
    }
    return Turn(**(facts | more))


def writer() -> TurnWriter:
    return TurnWriter(software="gossamer/test", rng=random.Random(1))


def pages(count: int, first: int = 0) -> list[Turn]:
    return [
        turn(document(f"<p>Page {n} ".encode() * 40, at=f"http://one.test/{n}"))
        for n in range(first, first + count)
    ]


class Shard:
    """An archive and its state, committed as the ledger does it."""

    def __init__(self, root: Path, epoch: int = 1, **config: Any) -> None:
        self.folder = CrawlFolder(root)
        self.state = State.open(self.folder.state())
        self.writer = TurnWriter(software="gossamer/test", rng=random.Random(epoch))
        self.archive = Archive.open(
            self.folder,
            0,
            epoch,
            StoreConfig(**config),
            lambda name: self.writer.warcinfo(name, AT),
        )

    def append(self, turns: list[Turn]) -> list[StoreRef | None]:
        entries = [self.writer.entry(turn) for turn in turns]
        if endings := [entry.ending for entry in entries if entry.ending is not None]:
            entries.append(ArchiveEntry(links=self.writer.endings(endings)))
        return self.archive.append(entries)[: len(turns)]

    def commit(self, turns: list[Turn]) -> list[StoreRef | None]:
        refs = self.append(turns)
        self.state.write(self.archive.rows_to_commit())
        return refs

    def die(self) -> list[tuple[bytes, bytes]]:
        """Let go of everything without closing anything; return the commit table."""
        for file in (*self.archive._open.values(), *self.archive._retired):
            _release(file)
        self.archive._close_spent()
        rows = list(self.state.scan(b"a"))
        self.state.close()
        return rows


def warcio_check(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Run warcio's own checker over files."""
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
