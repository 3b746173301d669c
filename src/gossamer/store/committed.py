"""What counts of the archive, and the records of it that were not read before.

What counts is in the shards' states: the committed lengths of their files. While a crawl runs, and
after it was killed, a file may be longer; that part may vanish again, so it is not read. A folder
without any state (an archive alone) is read as far as it is whole.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from gossamer.errors import CannotGoOn
from gossamer.store.archive import ROW_PREFIX, read_file_row
from gossamer.store.layout import ArchiveKind, CrawlFolder
from gossamer.store.reader import Record, Records
from gossamer.store.state import State

Lengths: TypeAlias = dict[str, int]
"""How much of each archive file, by name, was read or counts."""

ATTEMPTS = 5
"""Opening the state of a running crawl fails if a file is replaced at that moment."""


def counted_lengths(folder: CrawlFolder, *kinds: ArchiveKind) -> Lengths:
    """Return how many bytes of each file of some kinds count at this moment.

    Those of one shard are of one commit: texts and links fit together.
    """
    sizes = {
        name.file_name: folder.archive_path(name.file_name).stat().st_size
        for name in folder.archive_names()
        if name.kind in kinds
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


def has_more(covered: Mapping[str, int], counted: Mapping[str, int]) -> bool:
    """Tell whether something counts that was not read."""
    return any(end > covered.get(name, 0) for name, end in counted.items())


class Stretch:
    """Iterate over the whole records of a file from one place to another.

    `reached` is the end of the last record that was dealt with: the next one was asked for.
    """

    def __init__(self, path: Path, start: int, end: int) -> None:
        self._records = Records(path, start)
        self._end = end
        self.reached = start
        self.is_torn = False
        """It stopped to be readable although more of it counts."""

    def __iter__(self) -> Iterator[Record]:
        for record in self._records if self.reached < self._end else ():
            until = record.offset + record.length
            if until > self._end:
                return
            yield record
            self.reached = until
        self.is_torn = bool(self._records.found)


def is_locked(folder: CrawlFolder) -> bool:
    """Tell whether a process crawls in a folder, without asking it anything."""
    try:
        lock = os.open(folder.lock_path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


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
