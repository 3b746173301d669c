"""CheckedPages: where the pages of an archive file lie, and what index and state must say."""

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field

import xxhash

from gossamer.model import StoreRef
from gossamer.store import BadRecord, Record, cdxj_line


@dataclass(slots=True)
class CheckedPages:
    """The page records of a file that are sound, in order."""

    offsets: "array[int]" = field(default_factory=lambda: array("Q"))
    lengths: "array[int]" = field(default_factory=lambda: array("Q"))
    urls: "array[int]" = field(default_factory=lambda: array("Q"))
    lines: "array[int]" = field(default_factory=lambda: array("Q"))
    """Hashes of what the index must say of them."""
    bad: list[BadRecord] = field(default_factory=list)

    def add(self, record: Record, file_name: str) -> None:
        """Take in the next page record of the file."""
        self.offsets.append(record.offset)
        self.lengths.append(record.length)
        self.urls.append(hash_text(record.headers.get("warc-target-uri", "")))
        self.lines.append(hash_bytes(cdxj_line(record, file_name) + b"\n"))

    def at(self, offset: int) -> int:
        """Return which page begins at an offset; -1 if none does."""
        place = bisect_left(self.offsets, offset)
        return place if place < len(self.offsets) and self.offsets[place] == offset else -1

    def is_bad_at(self, offset: int) -> bool:
        """Return True if what lies at an offset cannot be read."""
        return any(bad.offset <= offset < bad.end for bad in self.bad)

    def flaw(self, ref: StoreRef, url: str) -> str:
        """Return what is wrong with a reference to a page, or ""."""
        place = self.at(ref.offset)
        if place < 0:
            is_bad = self.is_bad_at(ref.offset)
            return "the record there cannot be read" if is_bad else "no record begins there"
        if self.lengths[place] != ref.length:
            return f"the record there has {self.lengths[place]} bytes, not {ref.length}"
        return "" if self.urls[place] == hash_text(url) else "the record there is of another URL"


def hash_text(text: str) -> int:
    """Return the hash by which URLs are compared."""
    return hash_bytes(text.encode("utf-8", "replace"))


def hash_bytes(data: bytes) -> int:
    """Return the hash by which lines of an index are compared."""
    return xxhash.xxh3_64_intdigest(data)
