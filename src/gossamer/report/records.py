"""The rows that tell what became of each URL, and the totals. Pure."""

from collections.abc import Iterable

import msgspec

from gossamer.model import Counters, UrlRecord, UserErrors

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
                setattr(total, name, max(old, new) if name == "seconds" else old + new)
    return total
