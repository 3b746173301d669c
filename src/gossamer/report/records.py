"""The rows that tell what became of each URL, and the totals. Pure."""

import msgspec

from gossamer.model import Counters, UrlRecord

URL, COUNTERS = b"u", b"c"

_encoder = msgspec.msgpack.Encoder()
_record_decoder = msgspec.msgpack.Decoder(UrlRecord)
_counters_decoder = msgspec.msgpack.Decoder(Counters)


def url_row_key(key: int) -> bytes:
    """Return the key of a URL's record."""
    return URL + key.to_bytes(8, "big")


def encode_record(record: UrlRecord) -> bytes:
    """Return the value of a URL's record."""
    return _encoder.encode(record)


def decode_record(value: bytes) -> UrlRecord:
    """Return the URL record that a value holds."""
    return _record_decoder.decode(value)


def encode_counters(counters: Counters) -> bytes:
    """Return the value of the counters' row."""
    return _encoder.encode(counters)


def decode_counters(value: bytes | None) -> Counters:
    """Return the counters that a value holds, or new ones."""
    return _counters_decoder.decode(value) if value is not None else Counters()
