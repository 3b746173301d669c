"""Read a file of records to its end, whatever lies in between: bad stretches are named and skipped.

Behind a record that cannot be read the search goes on for the next gzip member which inflates to
the header of a WARC record. A page may itself be a WARC file, whose members would look the same; so
the record's id must have the stem that all ids of our file have, 60 random bits that nobody outside
knows (`RecordIds`). It is learnt from the records before the first bad one, or else from the other
files of the set; where all of these are bad, too, any record will do.

Memory is bounded: of a block only the beginning is kept, the rest is hashed.
"""

import os
import re
from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha1
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from isal import isal_zlib
from msgspec import Struct

from gossamer.store.far import ArchiveFile, bytes_at, open_archive
from gossamer.store.layout import KINDS, ArchiveName
from gossamer.store.records import NOT_GZIP, Record, head_end, record_of, warc_fields
from gossamer.store.warc import END, digest_texts

MAGIC = b"\x1f\x8b\x08"
KEPT_BYTES = 256 << 20
"""Of a longer block, only so much is handed out."""
_CHUNK_BYTES = 128 << 10
_PIECE_BYTES = 1 << 20
"""How much is inflated at a time."""
_MEMBER_BYTES = 32 << 10
"""Most members are no longer: what is read beyond a member's end is copied once per member, so no
more is shown to the inflater at first."""
_SEARCHED_BYTES = 1 << 20
_PACKED_HEAD_BYTES = 64 << 10
_STEP_BYTES = 256
"""A header is read in such steps: what follows it may be damaged."""
_GZIP_HEADER_BYTES = 10
_HEAD_BYTES = 256 << 10
"""The header of a record is not longer, nor that of an HTTP response."""
_RESERVED_FLAGS = 0xE0
_FEW = 64
"""So many records in a row may fail before a search begins where the last one stopped, not one byte
behind its beginning: what is read in vain stays proportional to the length of the file."""
ENDS_INSIDE = "the file ends inside it"
"""What is wrong with a record that a kill has cut off."""
_STEM = re.compile(r"<urn:uuid:([0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3})-8000-([0-9a-f]{12})>")

Digests: TypeAlias = Literal["none", "block", "all"]
"""Which digests are compared: none, that of the block, or that of the payload, too."""


class BadRecord(Struct, frozen=True, kw_only=True):
    """A stretch of an archive file that cannot be read: one record, or several."""

    file: str
    offset: int
    """Its first byte."""
    end: int
    """The first byte behind it."""
    url: str = ""
    """The URL of the record, as far as it can be told from its header; "" if it cannot."""
    found: str
    """What is wrong with it."""

    def line(self) -> str:
        """Return all this in one line."""
        what = f" ({self.url})" if self.url else ""
        return f"{self.file}: bytes {self.offset} to {self.end}{what}: {self.found}"


def undecodable(file: str, record: Record, error: Exception) -> BadRecord:
    """Return what is to be said of a record whose block is not what its kind promises."""
    return BadRecord(
        file=file,
        offset=record.offset,
        end=record.offset + record.length,
        url=record.headers.get("warc-target-uri", ""),
        found=str(error),
    )


OnBad: TypeAlias = Callable[[BadRecord], None]


def readable_records(
    path: Path, start: int = 0, end: int | None = None, on_bad: OnBad | None = None
) -> Iterator[Record]:
    """Yield the records of a file that can be read, from a record boundary on."""
    for found in scan_records(path, start, end):
        if isinstance(found, Record):
            yield found
        elif on_bad is not None:
            on_bad(found)


def scan_records(
    path: Path,
    start: int = 0,
    end: int | None = None,
    *,
    digests: Digests = "none",
    kept_bytes: int = KEPT_BYTES,
) -> Iterator[Record | BadRecord]:
    """Yield every record of a file from a record boundary up to another, and every bad stretch.

    Every byte between them belongs to exactly one of what is yielded.
    """
    with open_archive(path) as file:
        size = file.seek(0, os.SEEK_END)
        scanner = _Scanner(file, path, size if end is None else end, digests, kept_bytes)
        if start < scanner.end:
            yield from scanner.scan(start)


def next_boundary(path: Path, at: int, end: int) -> int:
    """Return where the first record begins from a byte on that need not be a boundary."""
    with open_archive(path) as file:
        scanner = _Scanner(file, path, end, "none", 0)
        scanner.learn_stem()
        return scanner.next_record(at)


def records_of(path: Path, page_id: str) -> Iterator[Record]:
    """Yield the readable records of a links or text file, from somewhat before those of a page on.

    The records of a file have ids that count up, and what belongs to a page has ids behind that of
    the page, so the place is found by bisection: 2 of 200 MB are read.
    """
    wanted = count_of(page_id)
    with open_archive(path) as file:
        low, high = 0, file.seek(0, os.SEEK_END)
        scanner = _Scanner(file, path, high, "none", 0)
        scanner.learn_stem()
        while wanted and high - low > _SEARCHED_BYTES:
            middle = (low + high) // 2
            found = scanner.next_record(middle)
            if (
                found < high
                and count_of(_header_at(file, found).get("warc-record-id", "")) < wanted
            ):
                low = found
            else:
                high = middle
    yield from readable_records(path, low)


class _Failure(NamedTuple):
    """Why no record could be read at some place, and how far it was tried."""

    found: str
    url: str
    taken: int


class _Scanner:
    """One walk through one file."""

    def __init__(
        self, file: ArchiveFile, path: Path, end: int, digests: Digests, kept_bytes: int
    ) -> None:
        self._file = file
        self._path = path
        self.end = end
        self._digests: Digests = digests
        self._kept_bytes = kept_bytes
        self._stem = ""
        self._window = b""
        """Bytes of the file that were read."""
        self._window_at = 0
        """Where they lie in it."""

    def scan(self, at: int) -> Iterator[Record | BadRecord]:
        failures, is_first = 0, True
        while at < self.end:
            read = self._read(at)
            if isinstance(read, Record) and is_first and self._is_of_a_page(at, read):
                read = _Failure("a record of another archive, in what is left of a page", "", 0)
            if isinstance(read, Record):
                failures = 0
                self._stem = stem_of(read.record_id) if is_first else self._stem
                is_first = False
                at += read.length
                yield read
                continue
            self._stem = _stem_beside(self._path) if is_first else self._stem
            failures, is_first = failures + 1, False
            behind = at + 1 if failures < _FEW else at + max(read.taken, 1)
            resumed = self.next_record(behind)
            url = read.url or _url_in(_header_at(self._file, at))
            yield BadRecord(file=self._path.name, offset=at, end=resumed, url=url, found=read.found)
            at = resumed

    def _read(self, at: int) -> Record | _Failure:
        """Return the record that begins at a byte, if there is one."""
        skip = at - self._window_at
        if not 0 <= skip < len(self._window) - len(MAGIC):
            self._file.seek(at)
            self._window, self._window_at, skip = self._file.read(_CHUNK_BYTES), at, 0
        if self._digests == "none":
            found = self._read_at_once(at, skip)
            if found is not None:
                return found
        chunk = self._window[skip:]
        if not chunk:
            return _Failure("the file ends before it", "", 0)
        if not _is_member(chunk):
            return _Failure("not a gzip member", "", 0)
        self._file.seek(at + len(chunk))
        return self._inflated(at, chunk)

    def _read_at_once(self, at: int, skip: int) -> Record | None:
        """Return a record that is small and has nothing wrong; None if it must be looked at."""
        inflate = isal_zlib.decompressobj(31)
        packed = memoryview(self._window)[skip : skip + _MEMBER_BYTES]
        try:
            content = inflate.decompress(packed, _PIECE_BYTES)
        except NOT_GZIP:
            return None
        length = len(packed) - len(inflate.unused_data)
        if not inflate.eof or len(content) > self._kept_bytes or at + length > self.end:
            return None
        return record_of(at, length, content)

    def _inflated(self, at: int, chunk: bytes) -> Record | _Failure:
        inflate = isal_zlib.decompressobj(31)
        record = _Assembly(self._digests, self._kept_bytes)
        taken, found = 0, ""
        while chunk:
            taken += len(chunk)
            try:
                found = record.take(inflate.decompress(chunk, _PIECE_BYTES))
                while not (found or inflate.eof) and inflate.unconsumed_tail:
                    piece = inflate.decompress(inflate.unconsumed_tail, _PIECE_BYTES)
                    found = record.take(piece)
            except NOT_GZIP as error:
                found = f"it cannot be inflated: {error}"
            if found or inflate.eof:
                break
            chunk = self._file.read(_CHUNK_BYTES)
        found = found or ("" if inflate.eof else ENDS_INSIDE)
        rest = inflate.unused_data if inflate.eof else b""
        found = found or record.flaw()
        if not found and at + taken - len(rest) > self.end:
            found = "it does not end where the next record begins"
        if found:
            return _Failure(found, _url_in(record.headers), taken - len(rest))
        self._window, self._window_at = rest, at + taken - len(rest)
        return Record(
            offset=at, length=taken - len(rest), headers=record.headers, block=record.block()
        )

    def _is_of_a_page(self, at: int, first: Record) -> bool:
        """Return True if what a file begins with is a record of a page that is an archive itself.

        The beginning of that page is lost then: another file of the set has another stem, which
        records behind have, too.
        """
        stem = _stem_beside(self._path)
        if not stem or stem == stem_of(first.record_id):
            return False
        self._stem = stem
        return self.next_record(at + 1) < self.end

    def learn_stem(self) -> None:
        """Learn the stem of the file from its first record, or from another file of its set."""
        first = _header_at(self._file, 0).get("warc-record-id", "")
        self._stem = stem_of(first) or _stem_beside(self._path)

    def next_record(self, at: int) -> int:
        """Return where the next record begins, from a byte on; the end if there is none."""
        while at < self.end:
            window = bytes_at(self._file, _SEARCHED_BYTES, at)
            place = window.find(MAGIC)
            while place >= 0 and at + place < self.end:
                if self._is_record(at + place):
                    return at + place
                place = window.find(MAGIC, place + 1)
            if len(window) < len(MAGIC):
                break
            at += len(window) - len(MAGIC) + 1
        return self.end

    def _is_record(self, at: int) -> bool:
        """Return True if a record of this file begins at a byte: its header can be read."""
        if not _is_member(bytes_at(self._file, len(MAGIC) + 1, at)):
            return False
        headers = _header_at(self._file, at)
        return bool(headers) and self._stem in {"", stem_of(headers.get("warc-record-id", ""))}


def stem_of(record_id: str) -> str:
    """Return the random bits that all records of one start of a shard share; "" if it has none."""
    match = _STEM.fullmatch(record_id)
    return match[1] if match else ""


def count_of(record_id: str) -> int:
    """Return which record of its shard's start an id is; 0 if it is not one of ours."""
    match = _STEM.fullmatch(record_id)
    return int(match[2], 16) if match else 0


class RecordIdSet:
    """Ids of records, in eight bytes each: those of one start of a shard count up."""

    def __init__(self) -> None:
        self._counts: dict[str, array[int]] = {}
        self._foreign: set[str] = set()

    def update(self, record_ids: Iterable[str]) -> None:
        """Add ids, in any order."""
        for record_id in record_ids:
            match = _STEM.fullmatch(record_id)
            if match is None:
                self._foreign.add(record_id)
                continue
            counts, count = self._counts.setdefault(match[1], array("Q")), int(match[2], 16)
            if not counts or count > counts[-1]:
                counts.append(count)
            else:
                insort(counts, count)

    def __contains__(self, record_id: str) -> bool:
        match = _STEM.fullmatch(record_id)
        if match is None:
            return record_id in self._foreign
        counts, count = self._counts.get(match[1], ()), int(match[2], 16)
        place = bisect_left(counts, count)
        return place < len(counts) and counts[place] == count


def _stem_beside(path: Path) -> str:
    """Return the stem of a file whose own first record is bad: that of another file of its set."""
    name = ArchiveName.parse(path.name)
    if name is None:
        return ""
    for kind in KINDS:
        beside = path.parent / name.sibling(kind).file_name
        if beside != path and beside.exists():
            with open_archive(beside) as file:
                stem = stem_of(_header_at(file, 0).get("warc-record-id", ""))
            if stem:
                return stem
    return ""


def _is_member(data: bytes) -> bool:
    return data.startswith(MAGIC) and len(data) > len(MAGIC) and not data[3] & _RESERVED_FLAGS


def _header_at(file: ArchiveFile, at: int) -> dict[str, str]:
    """Return the header fields of the record at a byte; nothing if there is none.

    Neither the rest of the member nor its own header needs to be sound.
    """
    data = bytes_at(file, _STEP_BYTES, at)
    is_ours = not (_is_member(data) and data[3])
    inflate = isal_zlib.decompressobj(-15 if is_ours else 31)
    data = data[_GZIP_HEADER_BYTES:] if is_ours else data
    opening, taken = b"", _STEP_BYTES
    while data and len(opening) <= _HEAD_BYTES:
        try:
            opening += inflate.decompress(data, _HEAD_BYTES)
        except NOT_GZIP:
            return {}
        if not opening.startswith(b"WARC/1."[: len(opening)]):
            return {}
        lines, blank, _ = opening.partition(b"\r\n\r\n")
        if blank:
            return warc_fields(lines)
        if inflate.eof or taken > _PACKED_HEAD_BYTES:
            break
        data = inflate.unconsumed_tail or bytes_at(file, _STEP_BYTES, at + taken)
        taken += 0 if inflate.unconsumed_tail else _STEP_BYTES
    return {}


def _url_in(headers: dict[str, str]) -> str:
    url = headers.get("warc-target-uri", "")
    return url if url.isascii() and url.isprintable() else ""


class _Assembly:
    """A record that is inflated piece by piece."""

    __slots__ = (
        "_block_hash",
        "_digests",
        "_is_in_head",
        "_kept",
        "_kept_bytes",
        "_left",
        "_opening",
        "_payload_hash",
        "_tail",
        "headers",
    )

    def __init__(self, digests: Digests, kept_bytes: int) -> None:
        self._digests: Digests = digests
        self._kept_bytes = kept_bytes
        self.headers: dict[str, str] = {}
        self._opening = b""
        """What has come so far of the WARC header, then of the HTTP header."""
        self._left = -1
        """Bytes of the block that are still to come; -1: its header is not yet there."""
        self._tail = b""
        self._kept: list[bytes] = []
        self._block_hash = sha1(usedforsecurity=False)
        self._payload_hash = sha1(usedforsecurity=False)
        self._is_in_head = False

    def take(self, piece: bytes) -> str:
        """Take the next bytes; return what is wrong with them, or ""."""
        if self._left < 0:
            self._opening += piece
            lines, blank, piece = self._opening.partition(b"\r\n\r\n")
            if not self._opening.startswith(b"WARC/1."[: len(self._opening)]):
                return "not a WARC record"
            if not blank:
                return "not a WARC record" if len(self._opening) > _HEAD_BYTES else ""
            self.headers = warc_fields(lines)
            length = self.headers.get("content-length", "")
            if not (length.isascii() and length.isdecimal()):
                return "its header does not say how long it is"
            self._left = int(length)
            self._opening = b""
            self._is_in_head = self.headers.get("warc-type") == "response"
        part, behind = piece[: self._left], piece[self._left :]
        self._left -= len(part)
        self._tail += behind
        self._take_block(part)
        return "it is longer than its header says" if len(self._tail) > len(END) else ""

    def _take_block(self, part: bytes) -> None:
        if self._kept_bytes > 0 and part:
            self._kept.append(part[: self._kept_bytes])
            self._kept_bytes -= len(part)
        if self._digests == "none":
            return
        self._block_hash.update(part)
        if self._digests != "all":
            return
        if self._is_in_head:
            self._opening += part
            end = head_end(self._opening)
            if end < 0 and len(self._opening) <= _HEAD_BYTES:
                return
            part = self._opening[end:] if end >= 0 else b""
            self._is_in_head, self._opening = False, b""
        self._payload_hash.update(part)

    def flaw(self) -> str:
        """Return what is wrong with the record, now that all of it has come; "" if nothing is."""
        if self._left < 0:
            return "not a WARC record"
        if self._left or self._tail != END:
            return "it is shorter than its header says"
        if self._digests == "none":
            return ""
        block, payload = digest_texts((self._block_hash.digest(), self._payload_hash.digest()))
        if self.headers.get("warc-block-digest", block) != block:
            return "its block does not have the digest that its header names"
        has_payload = self._digests == "all" and self.headers.get("warc-type") != "revisit"
        if has_payload and self.headers.get("warc-payload-digest", payload) != payload:
            return "its payload does not have the digest that its header names"
        return ""

    def block(self) -> bytes:
        """Return as much of the block as is kept."""
        return self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
