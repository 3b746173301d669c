"""Records of the links archive from where the last build stopped to what counts now."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.report import DroppedUrls, dropped_of
from gossamer.store import BadRecord, CrawlFolder, Lengths, LinkRow, RecordRange, undecodable


class PageRecord(Struct, frozen=True):
    """What the graph wants to know of a links record."""

    url: str
    outcome: str
    at: float = 0.0
    robots: tuple[str, ...] = ()
    links: list[LinkRow] = []  # msgspec copies it


_decode = msgspec.json.Decoder(PageRecord).decode


class NewRecords:
    """Iterate over the records between two points; `covered` then says how far that was."""

    def __init__(self, folder: CrawlFolder, covered: Lengths, counted: Lengths) -> None:
        self._folder = folder
        self.covered = dict(covered)
        self._counted = counted
        self.dropped = dropped_of(folder)
        """What is left out, and links to it."""
        self.bad: list[BadRecord] = []
        """What counts and cannot be read."""

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
        stretch = RecordRange(path, start, end, self.bad)
        for record in stretch:
            self.covered[name] = stretch.reached
            if record.headers.get("warc-type") == "metadata":
                try:
                    said = _decode(record.block)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    self.bad.append(undecodable(name, record, error))
                else:
                    if not self.dropped.has(said.url):
                        yield without_dropped(said, self.dropped)
        self.covered[name] = stretch.reached


def without_dropped(said: PageRecord, dropped: DroppedUrls) -> PageRecord:
    """Return a record without its links to what is dropped."""
    gone = set(dropped.among(said.links))
    if not gone:
        return said
    return replace(said, links=[row for n, row in enumerate(said.links) if n not in gone])
