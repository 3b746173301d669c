"""The records of an archive file, one gzip member each.

`Records` reads them up to the first bad one; `scanning` goes on behind it.
"""

from collections.abc import Iterator
from pathlib import Path

from isal import isal_zlib
from msgspec import Struct

from gossamer.store.far import ReadableFile, open_archive

CHUNK_BYTES = 128 * 1024
"""Read size: small, because what follows a member in the chunk is copied once per member."""

NOT_GZIP: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub names the class as an instance


_USUAL = (
    "WARC-Type WARC-Record-ID WARC-Date WARC-Target-URI WARC-Refers-To WARC-Block-Digest "
    "WARC-Payload-Digest WARC-Concurrent-To WARC-Warcinfo-ID Content-Type Content-Length"
)
_NAMES = {name: name.lower() for name in _USUAL.split()}
"""Names of fields as most records spell them."""


class Member(Struct, frozen=True, gc=False):
    """One whole gzip member of a file: where it lies, and what it holds."""

    offset: int
    length: int
    content: bytes


class Members:
    """Iterate over the whole members of a file from a boundary on; stop where one is not whole.

    Afterwards `whole_until` is the end of the last whole member, and `found` says what stopped
    the reading ("" at a clean end). A member is whole if it ends and its checksum fits.
    """

    __slots__ = ("_file", "found", "whole_until")

    def __init__(self, file: ReadableFile, start: int = 0) -> None:
        self._file = file
        self.whole_until = start
        self.found = ""

    def __iter__(self) -> Iterator[Member]:
        self._file.seek(self.whole_until)
        chunk = self._file.read(CHUNK_BYTES)
        while chunk:
            whole = self._read_one(chunk)
            if whole is None:
                return
            member, chunk = whole
            self.whole_until += member.length
            yield member
            chunk = chunk or self._file.read(CHUNK_BYTES)

    def _read_one(self, chunk: bytes) -> tuple[Member, bytes] | None:
        """Return the next member and the bytes read beyond it, or None if it is not whole."""
        inflate = isal_zlib.decompressobj(31)
        parts: list[bytes] = []
        taken = 0
        while chunk:
            try:
                parts.append(inflate.decompress(chunk))
            except NOT_GZIP as error:
                self.found = f"not a gzip member: {error}"
                return None
            taken += len(chunk)
            if inflate.eof:
                rest = inflate.unused_data
                length = taken - len(rest)
                return Member(self.whole_until, length, b"".join(parts)), rest
            chunk = self._file.read(CHUNK_BYTES)
        self.found = "the file ends inside a member"
        return None


class Record(Struct, kw_only=True):
    """One WARC record: its position, its header fields (lower-case names) and its block."""

    offset: int
    length: int
    headers: dict[str, str]
    block: bytes

    @property
    def record_id(self) -> str:
        """Return the record's id, in angle brackets."""
        return self.headers.get("warc-record-id", "")


class Records:
    """Iterate over a file's whole records, from a record boundary on.

    Afterwards `whole_until` is where the last whole record ends and `found` says what stopped the
    reading there; "" means that the file ended cleanly.
    """

    __slots__ = ("_path", "found", "whole_until")

    def __init__(self, path: Path, start: int = 0) -> None:
        self._path = path
        self.whole_until = start
        self.found = ""

    def __iter__(self) -> Iterator[Record]:
        with open_archive(self._path) as file:
            members = Members(file, self.whole_until)
            for member in members:
                record = record_of(member.offset, member.length, member.content)
                if record is None:
                    self.found = "not a WARC record"
                    return
                self.whole_until = members.whole_until
                yield record
            self.found = members.found


def record_of(offset: int, length: int, content: bytes) -> Record | None:
    """Return the record that a member of a file holds, or None if it is not one whole record."""
    lines, blank, rest = content.partition(b"\r\n\r\n")
    if not blank or not lines.startswith(b"WARC/1."):
        return None
    headers = warc_fields(lines)
    size = headers.get("content-length", "")
    if not (size.isascii() and size.isdecimal()) or rest[int(size) :] != b"\r\n\r\n":
        return None
    return Record(offset=offset, length=length, headers=headers, block=rest[: int(size)])


def warc_fields(lines: bytes) -> dict[str, str]:
    """Return the fields of a WARC header, names in lower case."""
    fields = {}
    for line in lines.decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        fields[_NAMES.get(name) or name.strip().lower()] = value.strip()
    return fields


def split_head(block: bytes) -> tuple[bytes, bytes]:
    """Return the HTTP header with its blank line, and what follows it."""
    end = head_end(block)
    return (block[:end], block[end:]) if end >= 0 else (block, b"")


def head_end(block: bytes) -> int:
    """Return where an HTTP header ends, its blank line included; -1 if that has not come yet."""
    end, most = -1, len(block)
    for mark in (b"\r\n\r\n", b"\n\n", b"\n\r\n"):
        if (found := block.find(mark, 0, most)) >= 0:
            end = most = found + len(mark)
    return end
