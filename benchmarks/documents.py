"""Pages of the local real web as the fetcher would hand them over, without a network."""

import io
from dataclasses import dataclass
from typing import BinaryIO

from gossamer.config import UrlConfig
from gossamer.model import Document
from gossamer.urls import parse

RULES = UrlConfig()


@dataclass(frozen=True, slots=True)
class Plain:
    """A body in memory that needs no decoding."""

    data: bytes
    is_spooled: bool = False
    decode_note: str = ""

    @property
    def sent_bytes(self) -> int:
        """Return the body's length."""
        return len(self.data)

    def open_sent(self) -> BinaryIO:
        """Return a reader at the beginning."""
        return io.BytesIO(self.data)

    def sent(self) -> bytes:
        """Return all of it."""
        return self.data

    def decoded(self) -> bytes:
        """Return all of it."""
        return self.data

    def release(self) -> None:
        """Keep it."""

    def close(self) -> None:
        """Keep it."""


def document(url: str, body: bytes) -> Document:
    """Return a page as the fetcher would hand it over."""
    where = parse(url, RULES)
    assert where is not None
    return Document(
        url=where,
        status=200,
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        headers=(("content-type", "text/html"),),
        body=Plain(body),
        request=b"",
        address="127.0.0.1",
        fetched_at=0.0,
        latency_s=0.0,
        media_type="text/html",
    )
