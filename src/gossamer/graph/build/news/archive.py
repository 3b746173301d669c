"""Records of the links archive from where the last build stopped to what counts now.

What counts is in the shards' states: the committed lengths of their files. While a crawl runs, and
after it was killed, a file may be longer; that part may vanish again, so it is not read. A folder
without any state (an archive alone) is read as far as it is whole.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.store import ROW_PREFIX, CrawlFolder, LinkRow, Records, State, read_file_row

Lengths: TypeAlias = dict[str, int]
"""How much of each links file, by name, was read or counts."""

ATTEMPTS = 5
"""Opening the state of a running crawl fails if a file is replaced at that moment."""


class PageRecord(Struct, frozen=True):
    """What the graph wants to know of a links record."""

    url: str
    outcome: str
    at: float = 0.0
    robots: tuple[str, ...] = ()
    links: list[LinkRow] = []  # msgspec copies it


_decode = msgspec.json.Decoder(PageRecord).decode


def counted_lengths(folder: CrawlFolder) -> Lengths:
    """Return how many bytes of each links file count at this moment."""
    sizes = {
        name.file_name: folder.archive_path(name.file_name).stat().st_size
        for name in folder.archive_names(kind="links")
    }
    states = [path for path in sorted((folder.root / "state").glob("[0-9]*")) if State.exists(path)]
    if not states:
        return sizes
    committed: Lengths = {}
    for path in states:
        committed |= _committed(path)
    return {name: min(size, committed.get(name, 0)) for name, size in sizes.items()}


def has_shrunk(covered: Mapping[str, int], counted: Mapping[str, int]) -> bool:
    """Tell whether something that was read does not count any more."""
    return any(counted.get(name, 0) < length for name, length in covered.items())


class NewRecords:
    """Iterate over the records between two points; `covered` then says how far that was."""

    def __init__(self, folder: CrawlFolder, covered: Lengths, counted: Lengths) -> None:
        self._folder = folder
        self.covered = dict(covered)
        self._counted = counted
        self.torn: Lengths = {}
        """Where files stop to be readable although more of them counts."""

    @property
    def bytes_left(self) -> int:
        """Return how much is still to be read."""
        return sum(
            max(length - self.covered.get(name, 0), 0) for name, length in self._counted.items()
        )

    def __iter__(self) -> Iterator[PageRecord]:
        for name in self._folder.archive_names(kind="links"):
            end = self._counted.get(name.file_name, 0)
            start = self.covered.get(name.file_name, 0)
            if start < end:
                yield from self._of_file(name.file_name, start, end)

    def _of_file(self, name: str, start: int, end: int) -> Iterator[PageRecord]:
        path = self._folder.archive_path(name)
        records = Records(path, start)
        for record in records:
            until = record.offset + record.length
            if until > end:
                return
            if record.headers.get("warc-type") == "metadata":
                try:
                    yield _decode(record.block)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise CorruptFile(path, record.offset, str(error)) from error
            self.covered[name] = until
        if records.found:
            self.torn[name] = records.whole_until


def _committed(path: Path) -> Lengths:
    """Return the committed lengths of a shard's files."""
    for attempt in range(ATTEMPTS):
        try:
            state = State.open(path, is_read_only=True)
        except CannotGoOn:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        try:
            rows = [read_file_row(key, value) for key, value in state.scan(ROW_PREFIX)]
        finally:
            state.close()
        return {name: row.length for name, row in rows}
    return {}
