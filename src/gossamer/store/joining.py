"""Records of a pages or text file, found by the page that they belong to.

They come in the order of the links records of their set, but not every page has one; so a few are
read ahead, and found by the id of the page's record.
"""

from pathlib import Path

from gossamer.store.derived import RecordRange
from gossamer.store.records import Record
from gossamer.store.scanning import KEPT_BYTES, BadRecord

AHEAD = 64
AHEAD_BYTES = 4 << 20


class PageRecords:
    """The records of a file between two offsets, each asked for by its page.

    `field` is the header that names the page. Pages are asked for in the order of the links file.
    """

    def __init__(
        self,
        path: Path,
        start: int,
        end: int,
        bad: list[BadRecord],
        field: str,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._range = RecordRange(path, start, end, bad, kept_bytes)
        self._records = iter(self._range) if start < end else iter(())
        self._field = field
        self._ahead: dict[str, Record] = {}
        self._bytes = 0
        self.file = path.name
        self.reached = start
        """The end of the last record that was handed out."""

    @property
    def is_torn(self) -> bool:
        """The end of the file cannot be read: it is tried again the next time."""
        return self._range.is_torn

    def take(self, page: str) -> Record | None:
        """Return the record of a page; None if it has none."""
        if page not in self._ahead:
            self._read_ahead()
        if page not in self._ahead:
            return None
        while self._ahead:  # those before it belong to no page
            passed = next(iter(self._ahead))
            record = self._ahead.pop(passed)
            self._bytes -= len(record.block)
            self.reached = record.offset + record.length
            if passed == page:
                return record
        return None

    def _read_ahead(self) -> None:
        while len(self._ahead) < AHEAD and self._bytes < AHEAD_BYTES:
            record = next(self._records, None)
            if record is None:
                return
            if page := record.headers.get(self._field):
                self._ahead[page] = record
                self._bytes += len(record.block)
