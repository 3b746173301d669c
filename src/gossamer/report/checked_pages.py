"""CheckedPages: where the pages of an archive file lie, and what index and state must say."""

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import xxhash
from msgspec import Struct

from gossamer.model import StoreRef
from gossamer.store import ENDS_INSIDE, BadRecord, Record, RecordIdSet, cdxj_line

ZERO_BYTES = 64
NO_ORIGINAL = "it is a revisit, and the record with its payload cannot be read"


@dataclass(slots=True)
class CheckedPages:
    """The page records of a file that are sound, in order."""

    offsets: "array[int]" = field(default_factory=lambda: array("Q"))
    lengths: "array[int]" = field(default_factory=lambda: array("Q"))
    urls: "array[int]" = field(default_factory=lambda: array("Q"))
    lines: "array[int]" = field(default_factory=lambda: array("Q"))
    """Hashes of what the index must say of them."""
    bad: list[BadRecord] = field(default_factory=list)
    bare: set[int] = field(default_factory=set)
    """Offsets of revisits of which the record with their payload is not there."""
    dated_back: int = 0
    """Pages that are marked: their date is before that of others that were stored earlier."""

    def add(self, record: Record, file_name: str) -> None:
        """Take in the next page record of the file."""
        self.offsets.append(record.offset)
        self.lengths.append(record.length)
        self.urls.append(hash_text(record.headers.get("warc-target-uri", "")))
        self.lines.append(hash_bytes(cdxj_line(record, file_name) + b"\n"))
        self.dated_back += "warc-clock-set-back-from" in record.headers

    def at(self, offset: int) -> int:
        """Return which page begins at an offset; -1 if none does."""
        place = bisect_left(self.offsets, offset)
        return place if place < len(self.offsets) and self.offsets[place] == offset else -1

    def is_bad_at(self, offset: int) -> bool:
        """Return True if what lies at an offset cannot be read."""
        return any(bad.offset <= offset < bad.end for bad in self.bad)

    def whole_urls(self) -> Iterator[int]:
        """Yield the hashes of the URLs of which a page and its payload can be read."""
        pairs = zip(self.offsets, self.urls, strict=True)
        return (url for offset, url in pairs if offset not in self.bare)

    def flaw(self, ref: StoreRef, url: str) -> str:
        """Return what is wrong with a reference to a page, or ""."""
        place = self.at(ref.offset)
        if place < 0:
            is_bad = self.is_bad_at(ref.offset)
            return "the record there cannot be read" if is_bad else "no record begins there"
        if self.lengths[place] != ref.length:
            return f"the record there has {self.lengths[place]} bytes, not {ref.length}"
        if self.urls[place] != hash_text(url):
            return "the record there is of another URL"
        return NO_ORIGINAL if ref.offset in self.bare else ""


def hash_text(text: str) -> int:
    """Return the hash by which URLs are compared."""
    return hash_bytes(text.encode("utf-8", "replace"))


def hash_bytes(data: bytes) -> int:
    """Return the hash by which lines of an index are compared."""
    return xxhash.xxh3_64_intdigest(data)


class RevisitRecord(Struct, frozen=True, gc=False):
    """A revisit record, and the id of the one that has its payload."""

    file: str
    offset: int
    url: str
    original: str

    @property
    def told(self) -> str:
        """Return what is to be said if the original is lost."""
        return f"{NO_ORIGINAL}: {self.original}"


class Originals:
    """Which records have a payload, and which revisits need one of them."""

    def __init__(self) -> None:
        self._known = RecordIdSet()
        self._revisits: list[RevisitRecord] = []

    def add(self, record: Record, file: str) -> None:
        """Note a page record."""
        said = record.headers
        if said.get("warc-type") != "revisit":
            self._known.update([record.record_id])
        elif (original := said.get("warc-refers-to", "")) and original not in self._known:
            url = said.get("warc-target-uri", "")
            self._revisits.append(RevisitRecord(file, record.offset, url, original))

    def bare(self) -> Iterator[RevisitRecord]:
        """Yield the revisits whose original was not met."""
        return (one for one in self._revisits if one.original not in self._known)


def is_garbage(found: Record | BadRecord, path: Path) -> bool:
    """Return True if the end of a file is neither a record nor what a kill leaves of one.

    Zeros at its end are what a power loss leaves.
    """
    if isinstance(found, Record) or found.found == ENDS_INSIDE:
        return False
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - ZERO_BYTES, 0))
        return any(file.read())
