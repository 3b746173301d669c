"""LinksRecord: the JSON of one record of the links archive. The archive's own memory of a URL."""

from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

LinkRow: TypeAlias = tuple[str, str, str, str]
"""Target URL, kind, anchor text, rel."""


class LinksRecord(Struct, kw_only=True, frozen=True):
    """What became of one URL, how we came to it, what it said and where it points.

    `graph`, `search` and `build state` read nothing else, so every final outcome leaves one.
    Readers ignore fields that they do not know, and fill in those that are missing.
    """

    url: str
    outcome: str
    """One of fetched, redirected, refused, failed, seed; of a later look also unchanged and gone.

    Of several records of a URL the last one holds, but for `unchanged`, which adds nothing.
    """
    reason: str = ""
    """The failure's or refusal's kind; "" otherwise."""
    detail: str = ""
    """What decided: a robots line, an error text, the Location of a redirect."""
    depth: int = 0
    via: str = ""
    kind: str = "seed"
    at: float = 0.0
    attempt: int = 0
    hops: int = 0
    """Redirects that led here one after another."""
    nesting: int = 0
    """Sitemap indexes that led here one after another."""
    status: int = 0
    media_type: str = ""
    html: bool = False
    page: str = ""
    """Id of the page record; "" if no document was stored."""
    copy_of: str = ""
    fp: int | None = None
    """Content fingerprint."""
    words: int | None = None
    """Fingerprint of title, text and links."""
    truncated: str = ""
    oddities: tuple[str, ...] = ()
    title: str = ""
    headings: tuple[str, ...] = ()
    language: str = ""
    canonical: str = ""
    robots: tuple[str, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)
    """What processors note besides: any JSON value."""
    errors: tuple[str, ...] = ()
    links: list[LinkRow] = field(default_factory=list)
    label: str = ""
    """A seed's topic or region."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LinksRecord).decode


def encode_links(record: LinksRecord) -> bytes:
    """Return the record as JSON. What JSON cannot hold (from a plug-in) is replaced by text."""
    try:
        return _encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return _encode(_mend(msgspec.structs.asdict(record)))


def decode_links(block: bytes) -> LinksRecord:
    """Return the record that `encode_links` wrote; raise `msgspec.DecodeError` for another."""
    return _decode(block)


def _mend(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_mend(str(key)): _mend(item) for key, item in value.items()}
        case list() | tuple():
            return [_mend(item) for item in value]
        case bool() | float() | None:
            return value
        case int() if -(2**63) <= value < 2**64:
            return value
        case _:
            return _mend(str(value))
