"""Labels: which page says what an older one says, and how surely. What index and people read.

    n + URL key → Label

A label lies in the state of the shard that owns the page's host, beside its URL record.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, msgpack

from gossamer.dedupe.kernels.sketching import BINS
from gossamer.dedupe.sketch import Level

LABEL_ROW = b"n"
MOST_HOPS = 16
"""Steps from copy to original that are followed: a later find may have made that a copy too."""


class Label(Struct, frozen=True, gc=False, array_like=True):
    """What a page is to an older one."""

    level: Level
    original: int
    """URL key of the original: for a similar page, the oldest one that it is near to."""
    bins: int = BINS
    """Bins of 64 that are equal."""
    at: int = 0
    """Microsecond at which the page was fetched: a later version has another label."""
    original_at: int = 0
    host: int = 0
    """32 bits of the host's hash."""
    title: int = 0
    """Hash of the title; 0 if there is none."""

    def is_better_than(self, other: "Label") -> bool:
        """Tell whether this label counts, and not the other: of a later version, or stronger."""
        mine = (self.at, self.level, -self.original_at, -self.original)
        return mine > (other.at, other.level, -other.original_at, -other.original)


_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(Label).decode


def label_key(key: int) -> bytes:
    """Return the key of a page's label."""
    return LABEL_ROW + key.to_bytes(8, "big")


def encode_label(label: Label) -> bytes:
    """Return the value of a label's row."""
    return _encode(label)


def decode_label(value: bytes) -> Label:
    """Return the label that a value holds."""
    return _decode(value)


def read_labels(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[int, Label]]:
    """Give URL key and label of the rows with prefix `n`."""
    for key, value in rows:
        yield int.from_bytes(key[len(LABEL_ROW) :], "big"), _decode(value)


def root_of(key: int, find: Callable[[int], Label | None]) -> int:
    """Return the page that stands for a copy in the end: one that is nobody's copy itself."""
    for _ in range(MOST_HOPS):
        label = find(key)
        if label is None or label.level < Level.DUPLICATE:
            return key
        key = label.original
    return key
