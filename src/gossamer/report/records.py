"""The rows that tell what became of each URL, and the totals. Pure."""

import struct
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from gossamer.model import (
    NO_CLAIM,
    ChangeFrequency,
    Counters,
    SitemapClaim,
    UrlRecord,
    UserErrors,
)

URL, COUNTERS, SUSPECT, LATE_LABELS, CLAIM = b"u", b"c", b"k", b"b", b"y"
_CLAIM = struct.Struct(">BQ")
_OLD_SUSPECT_BYTES = 2
"""Rows of so many bytes are of a time when whatever was in flight was blamed: they mean nothing."""


class Suspect(Struct, frozen=True, array_like=True):
    """A URL whose page was being read when the crawl died: the next time, it is read alone."""

    died_at: float
    """When that was, 0.0 if it is not known."""
    until: float
    """It is not asked for before this moment, as long as there is anything else to do."""
    deaths: int = 1
    """How often the crawl died over it."""
    helper_deaths: int = 0
    """How often the helper process that read it alone died, or took too long."""


_encoder = msgspec.msgpack.Encoder()
_record_decoder = msgspec.msgpack.Decoder(UrlRecord)
_counters_decoder = msgspec.msgpack.Decoder(Counters)
_suspect_decoder = msgspec.msgpack.Decoder(Suspect)


def url_row_key(key: int) -> bytes:
    """Return the key of a URL's record."""
    return URL + key.to_bytes(8, "big")


def encode_record(record: UrlRecord) -> bytes:
    """Return the value of a URL's record."""
    return _encoder.encode(record)


def decode_record(value: bytes) -> UrlRecord:
    """Return the URL record that a value holds."""
    return _record_decoder.decode(value)


def late_labels_key(key: int) -> bytes:
    """Return the key of the row with labels that reached a URL after it was queued."""
    return LATE_LABELS + key.to_bytes(8, "big")


def claim_row_key(key: int) -> bytes:
    """Return the key of the row that holds what a sitemap says of a URL."""
    return CLAIM + key.to_bytes(8, "big")


def encode_claim(claim: SitemapClaim) -> bytes | None:
    """Return the value of a claim's row: 9 bytes; None if it says nothing worth keeping."""
    if not claim.changefreq and claim.modified_at is None:
        return None
    return _CLAIM.pack(claim.changefreq, max(0, int(claim.modified_at or 0.0)))


def decode_claim(value: bytes | None) -> SitemapClaim:
    """Return the claim that a row holds; `NO_CLAIM` if there is none, or it cannot be read."""
    if value is None or len(value) != _CLAIM.size:
        return NO_CLAIM
    number, modified_at = _CLAIM.unpack(value)
    known = number <= ChangeFrequency.NEVER
    changefreq = ChangeFrequency(number) if known else ChangeFrequency.NOT_SAID
    return SitemapClaim(changefreq, float(modified_at) or None)


def suspect_row_key(key: int) -> bytes:
    """Return the key of the row that says that a URL is a suspect."""
    return SUSPECT + key.to_bytes(8, "big")


def encode_suspect(suspect: Suspect) -> bytes:
    """Return the value of a suspect's row."""
    return _encoder.encode(suspect)


def decode_suspect(value: bytes | None) -> Suspect | None:
    """Return the suspect that a value holds; None if there is none, or the row is an old one."""
    if value is None or len(value) <= _OLD_SUSPECT_BYTES:
        return None
    return _suspect_decoder.decode(value)


def suspicion(suspect: Suspect) -> str:
    """Return why a URL is a suspect, and what becomes of it, as the end of a sentence."""
    return (
        f"was being read when the crawl died at {moment_text(suspect.died_at)}; "
        "will be read alone in a helper process"
    )


def moment_text(at: float) -> str:
    """Return a moment as a reader of messages sees it, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def encode_counters(counters: Counters) -> bytes:
    """Return the value of the counters' row."""
    return _encoder.encode(counters)


def decode_counters(value: bytes | None) -> Counters:
    """Return the counters that a value holds, or new ones."""
    return _counters_decoder.decode(value) if value is not None else Counters()


def sum_counters(parts: Iterable[Counters]) -> Counters:
    """Return the totals of several shards; their time is that of the longest, not the sum."""
    total = Counters()
    for part in parts:
        for name in Counters.__struct_fields__:
            old, new = getattr(total, name), getattr(part, name)
            if name == "user_errors":
                for function, told in new.items():
                    count = old[function].count if function in old else 0
                    old[function] = UserErrors(count + told.count, told.error)
            elif isinstance(old, dict):
                for reason, count in new.items():
                    old[reason] = old.get(reason, 0) + count
            else:
                setattr(
                    total, name, max(old, new) if name in {"seconds", "latest_at"} else old + new
                )
    return total
