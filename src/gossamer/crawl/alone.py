"""Reading a suspect alone: everything that is done with a page's content, in a helper process.

What the crawl's own process does with any page (undo its codings, find out its type, compare it,
read it with every processor) is done here from the bytes as sent, so that nothing of a page that
may have killed the crawl is touched there before. The results are the same.
"""

import sys

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.dedupe import content_fingerprint, words_fingerprint
from gossamer.fetch import PackedBody, pack_body
from gossamer.model import Document, Extraction, Url
from gossamer.process import Registry, is_gate, label_of, serve

ALONE_COMMAND = (sys.executable, "-P", "-c", "from gossamer.crawl.alone import main; main()")
"""Starts a helper that reads suspects. (-P: as for other helpers.)"""


class AloneRequest(Struct, frozen=True, kw_only=True):
    """A document on its way to the helper, whole."""

    url: Url
    status: int
    head: bytes
    headers: tuple[tuple[str, str], ...]
    body: PackedBody
    request: bytes
    address: str
    fetched_at: float
    latency_s: float
    media_type: str
    charset: str
    truncated: str
    oddities: tuple[str, ...]

    def document(self) -> Document:
        """Return the document."""
        return Document(
            url=self.url,
            status=self.status,
            head=self.head,
            headers=self.headers,
            body=self.body.unpacked(),
            request=self.request,
            address=self.address,
            fetched_at=self.fetched_at,
            latency_s=self.latency_s,
            media_type=self.media_type,
            charset=self.charset,
            truncated=self.truncated,
            oddities=self.oddities,
        )


class AloneReading(Struct, frozen=True, kw_only=True):
    """What was found in a document that was read alone."""

    media_type: str
    fingerprint: int | None
    found: Extraction
    words: int | None
    label: str
    decode_note: str
    is_gate: bool


def alone_request(document: Document) -> AloneRequest:
    """Return what a helper is sent of a document: all of it, bytes as sent."""
    return AloneRequest(
        url=document.url,
        status=document.status,
        head=document.head,
        headers=document.headers,
        body=pack_body(document.body),
        request=document.request,
        address=document.address,
        fetched_at=document.fetched_at,
        latency_s=document.latency_s,
        media_type=document.media_type,
        charset=document.charset,
        truncated=document.truncated,
        oddities=document.oddities,
    )


def read_alone(document: Document, registry: Registry) -> AloneReading:
    """Return everything that is to be known of a document's content."""
    media_type = registry.media_type(document)
    found = registry.read(document, media_type)
    return AloneReading(
        media_type=media_type,
        fingerprint=content_fingerprint(document),
        found=found,
        words=words_fingerprint(found),
        label=label_of(found),
        decode_note=document.body.decode_note,
        is_gate=is_gate(document.status, document.body.decoded()),
    )


def with_found(reading: AloneReading, found: Extraction) -> AloneReading:
    """Return what is to be known of a document in which more was found."""
    return replace(reading, found=found, words=words_fingerprint(found), label=label_of(found))


def main() -> None:
    """Be the helper process that reads suspects."""

    def answer(message: bytes, registry: Registry) -> bytes:
        document = msgspec.msgpack.decode(message, type=AloneRequest).document()
        return msgspec.msgpack.encode(read_alone(document, registry), enc_hook=list)

    serve(answer)
