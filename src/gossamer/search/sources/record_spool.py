"""RecordSpool: records of the archive between two passes over them, so that it is read once.

The first pass finds out which record of each URL holds and what links say; the second writes pages.
Of the links of a page only what they say, each text once, and the images are kept for it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from gossamer.model import LinkKind
from gossamer.search.sources.archive import PageFacts, link_texts_of
from gossamer.store import ArchiveName

LENGTH_BYTES = 4
NOTHING = PageFacts(url="", outcome="")
"""In place of a record that no page is made of: what is counted are records."""
_BUFFER_BYTES = 1 << 20

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PageFacts).decode


class RecordSpool:
    """Takes the records of one file after the other; gives them back, file by file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self.names: list[ArchiveName] = []
        """The files whose records it has, in order."""

    def add(self, name: ArchiveName, facts: PageFacts) -> None:
        """Take the next record of a file."""
        if self._file is None or name != self.names[-1]:
            self.close()
            self._file = self._path(name).open("wb", buffering=_BUFFER_BYTES)
            self.names.append(name)
        if facts.page or facts.standing == "page":
            put_record(self._file, thinned(facts))
        else:
            self._file.write(bytes(LENGTH_BYTES))

    def close(self) -> None:
        """Have everything on disk."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def take(self, name: ArchiveName) -> Iterator[PageFacts]:
        """Yield the records of a file in their order, once."""
        path = self._path(name)
        with path.open("rb", buffering=_BUFFER_BYTES) as file:
            yield from records_in(file)
        path.unlink()

    def _path(self, name: ArchiveName) -> Path:
        return self._folder / f"records-{name.file_name}"


def thinned(facts: PageFacts) -> PageFacts:
    """Return a record with only those of its links that its page needs."""
    if not facts.links:
        return facts
    images = [row for row in facts.links if row[1] == LinkKind.IMAGE]
    return replace(facts, links=images, link_texts=link_texts_of(facts))


def put_record(file: BinaryIO, facts: PageFacts) -> None:
    """Write a record to a file."""
    block = _encode(facts)
    file.write(len(block).to_bytes(LENGTH_BYTES, "little") + block)


def records_in(file: BinaryIO) -> Iterator[PageFacts]:
    """Yield the records of a file, from where it is."""
    while head := file.read(LENGTH_BYTES):
        length = int.from_bytes(head, "little")
        yield _decode(file.read(length)) if length else NOTHING
