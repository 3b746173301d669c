"""Exact copies: a fingerprint of each content, and the page that had it first."""

from collections.abc import Callable, Iterable, Iterator

import xxhash
from msgspec import msgpack

from gossamer.model import EMBEDDED, CopyOf, Document, Extraction, LinkKind, Row, Url

CONTENT = b"x"
"""Prefix of a row: fingerprint → the page that had this content first."""

_TEXT = (1 << 40) - 1
"""The bits of a key behind its ring point."""
_ANCHOR = LinkKind.ANCHOR
_PARTS = tuple(EMBEDDED)
"""No set: hashing the member of an enumeration takes longer than the whole comparison."""

_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(CopyOf).decode


def content_fingerprint(document: Document) -> int | None:
    """Return the fingerprint of what the author wrote; None if there is nothing whole to compare.

    It is taken of the decoded body, so one page sent with two codings is one content.
    """
    if document.truncated or not document.body.sent_bytes:
        return None
    return body_fingerprint(document.body.decoded())


def body_fingerprint(decoded: bytes) -> int | None:
    """Return the fingerprint of a whole body without its codings; None if there is nothing."""
    return xxhash.xxh3_64_intdigest(decoded) if decoded else None


def coded_fingerprint(fingerprint: int, payload_digest: str) -> int:
    """Return the fingerprint of a content as it was sent: in a coding other than the first page's.

    A revisit record stands for the bytes as sent, so that each coding has a first page of its own.
    """
    said = fingerprint.to_bytes(8, "big") + payload_digest.encode("ascii", "replace")
    return xxhash.xxh3_64_intdigest(said)


def answer_fingerprint(url: Url, status: int, sent: bytes) -> int:
    """Return the fingerprint of an answer that is no content: a redirect, an error, a part.

    It is that of one URL: such answers are no copies of each other. It begins with the ring point
    of the URL, so that the shard that owns the one owns the other.
    """
    said = xxhash.xxh3_64_intdigest(f"{status} {url.text}\n".encode("utf-8", "replace") + sent)
    return (url.key & ~_TEXT) | (said & _TEXT)


def words_fingerprint(found: Extraction) -> int | None:
    """Return a fingerprint of title, text and the pages linked; None if nothing was read.

    Markup that is new at every serving (a nonce, a comment, the version of a script) leaves it as
    it is. A number that a reader sees does not.
    """
    targets = [
        link.target.text for link in found.links if link.kind is _ANCHOR or link.kind not in _PARTS
    ]
    if not found.text and not found.title and not targets:
        return None
    said = "\n".join((found.title, found.text, *targets))
    return xxhash.xxh3_64_intdigest(said.encode("utf-8", "surrogatepass"))


class ContentSeen:
    """The first page of each content, by fingerprint. Rows in and rows out, like every station.

    `read_row` reads committed rows; what `rows_to_commit` gave out must be readable there before
    the next question.
    """

    def __init__(self, read_row: Callable[[bytes], bytes | None]) -> None:
        self._read_row = read_row
        self._pending: dict[int, CopyOf | None] = {}

    def first_copy(self, fingerprint: int | None) -> CopyOf | None:
        """Return the page that had this content first, those of the open commit group included."""
        if fingerprint is None:
            return None
        if fingerprint in self._pending:
            return self._pending[fingerprint]
        value = self._read_row(_row_key(fingerprint))
        return None if value is None else _decode(value)

    def ask(self, fingerprint: int | None) -> CopyOf | None:
        """Return the page that had this content first; if there is none, the asker stores it."""
        return self.first_copy(fingerprint)

    def poll(self) -> None:
        """Do nothing: no other shard is asked."""

    def release(self, fingerprint: int | None) -> None:
        """Be told that the turn of a page is over that was to store a content."""

    def remember(self, fingerprint: int, original: CopyOf) -> None:
        """Make a page the first of its content; it replaces any page known before."""
        self._pending[fingerprint] = original

    def forget(self, fingerprint: int, url: str) -> None:
        """Drop a content whose first page changed or went; not if another page was first."""
        first = self.first_copy(fingerprint)
        if first is not None and first.url == url:
            self._pending[fingerprint] = None

    @property
    def uncommitted(self) -> int:
        """Return how many rows the next commit has."""
        return len(self._pending)

    def rows_to_commit(self) -> list[Row]:
        """Return what was remembered or forgotten since the last call."""
        rows: list[Row] = [
            (_row_key(fingerprint), None if original is None else _encode(original))
            for fingerprint, original in self._pending.items()
        ]
        self._pending.clear()
        return rows


def content_rows(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[int, CopyOf]]:
    """Give the fingerprint and the first page of each row with the prefix `CONTENT`."""
    for key, value in rows:
        yield int.from_bytes(key[len(CONTENT) :], "big"), _decode(value)


def _row_key(fingerprint: int) -> bytes:
    return CONTENT + fingerprint.to_bytes(8, "big")
