"""Bad stretches of an archive file, and which URLs their records were of.

Record ids count up in the order of writing, so the ids before and behind a bad stretch say which
pages it has held; where the other files of the set know those pages, they have their URLs. So has
the index of a pages file, by offset.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from msgspec.structs import replace

from gossamer.store.scanning import BadRecord
from gossamer.store.warc import read_cdxj


@dataclass(slots=True)
class _Stretch:
    """A bad stretch, and the counts of the records before and behind it."""

    bad: BadRecord
    after: float
    before: float = inf
    urls: list[str] = field(default_factory=list)

    def end_before(self, count: int) -> None:
        self.before = count

    @property
    def is_missed(self) -> bool:
        """A file that nobody misses is not missing."""
        return bool(self.urls) or self.bad.end > 0


class BadStretches:
    """All bad stretches of one file, in order."""

    def __init__(self) -> None:
        self._all: list[_Stretch] = []
        self._last = 0

    def __bool__(self) -> bool:
        return any(stretch.is_missed for stretch in self._all)

    def add(self, bad: BadRecord) -> None:
        """Note the next bad stretch."""
        self._all.append(_Stretch(bad, self._last))

    def pass_over(self, count: int) -> None:
        """Note a good record between the stretches, by the count in its id."""
        self._last = count
        for stretch in reversed(self._all):
            if stretch.before != inf:
                break
            stretch.end_before(count)

    def note_url(self, count: int, url: str) -> bool:
        """Name a page, by the count in its id, in the stretch where it must have been, if any."""
        found = [stretch for stretch in self._all if stretch.after < count < stretch.before]
        for stretch in found:
            stretch.urls.append(url)
        return bool(found)

    def note_index(self, index: Path, file_name: str) -> None:
        """Name the pages that the index has in these bytes."""
        for _, _, line in read_cdxj(index) if self._all and index.exists() else ():
            if line is None or line.filename != file_name:
                continue
            for stretch in self._all:
                if stretch.bad.offset <= int(line.offset) < stretch.bad.end:
                    stretch.urls.append(line.url)

    def named(self) -> Iterator[BadRecord]:
        """Give each stretch, once for every URL in it."""
        for stretch in self._all:
            if stretch.is_missed:
                for url in dict.fromkeys(stretch.urls or [stretch.bad.url]):
                    yield replace(stretch.bad, url=url)
