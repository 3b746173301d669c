"""Popular content: what is asked for again and again is answered from memory, up to a bound.

Stored copies and texts of pages, their styles and pictures, and answers to queries with their
snippets. What was found is given again while nothing was committed since, or for some seconds, but
never after something was removed from the crawl. The least recently used goes first.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from starlette.responses import Response

from gossamer import ContentStamp
from gossamer.clock import Clock

Found = TypeVar("Found")
FRESH_S = 5.0
"""Beside a crawl that runs, what is given from memory is at most so old."""
MEMORY_MB = 64
LARGEST_SHARE = 8
"""What takes more than this part of the memory is not kept: it would push out all that is."""
ENTRY_BYTES = 500
"""Of an entry, beside what it holds."""


class SentContent(NamedTuple):
    """An answer of the server, as it is sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @classmethod
    def of(cls, response: Response) -> "SentContent":
        """Return what a response sends."""
        return cls(response.status_code, response.raw_headers, bytes(response.body))

    def response(self) -> Response:
        """Return a response that sends it."""
        made = Response(self.body, self.status)
        made.raw_headers = [*self.headers]
        return made


class MemoryFacts(NamedTuple):
    """What came of it by now."""

    hits: int
    misses: int
    bytes: int
    entries: int


class _Kept(NamedTuple, Generic[Found]):
    found: Found
    size: int
    stamp: ContentStamp
    at: float
    """When it was begun to be found, by the steady clock."""


class PopularContent(Generic[Found]):
    """Kept content of one kind. Any thread may ask."""

    def __init__(self, most_bytes: int, clock: Clock) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._kept: OrderedDict[Hashable, _Kept[Found]] = OrderedDict()
        self._lock = Lock()
        self._bytes = self._hits = self._misses = 0

    def of(
        self,
        key: Hashable,
        stamp: ContentStamp | None,
        find: Callable[[], Found],
        size_of: Callable[[Found], int | None],
    ) -> Found:
        """Return what is kept under a key, or find it; a size of None: it is not to be kept.

        `stamp` is that of the crawl at this moment; None: nothing tells of changes, or of a machine
        that is gone, and nothing is kept.
        """
        if stamp is None:
            return find()
        now = self._clock.steady()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and _is_good(kept, stamp, now):
                self._kept.move_to_end(key)
                self._hits += 1
                return kept.found
            self._misses += 1
        found = find()
        size = size_of(found)
        if size is not None:
            self._keep(key, _Kept(found, size + ENTRY_BYTES, stamp, now))
        return found

    def facts(self) -> MemoryFacts:
        """Return what came of it by now."""
        with self._lock:
            return MemoryFacts(self._hits, self._misses, self._bytes, len(self._kept))

    def _keep(self, key: Hashable, one: _Kept[Found]) -> None:
        with self._lock:
            old = self._kept.pop(key, None)
            self._bytes -= old.size if old is not None else 0
            if one.size > self._most_bytes // LARGEST_SHARE:
                return
            self._kept[key] = one
            self._bytes += one.size
            while self._bytes > self._most_bytes:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.size


def _is_good(kept: _Kept[Found], stamp: ContentStamp, now: float) -> bool:
    is_recent = now - kept.at < FRESH_S
    return kept.stamp == stamp or (is_recent and kept.stamp.removals == stamp.removals)
