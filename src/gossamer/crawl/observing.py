"""What is noted of every turn beside its record: how long fetches and commits take, and the log."""

import time

from msgspec import Struct, field

from gossamer.crawl.fetch_log import NO_LOG, FetchLog, LogOptions
from gossamer.model import Document, Histogram, Turn, UrlRecord


class Timings(Struct):
    """How long things took in this run of a shard."""

    fetches: Histogram = field(default_factory=Histogram)
    """From sending a request to the last byte of its answer."""
    commits: Histogram = field(default_factory=Histogram)


class TurnObserver:
    """Told of every turn when it is recorded, and of every commit."""

    def __init__(self, log: FetchLog | None = None) -> None:
        self.timings = Timings()
        self._log = log
        self._began_at = 0.0

    def note(self, turn: Turn, record: UrlRecord, document: Document | None, at: float) -> None:
        """Note a turn that was recorded."""
        if document is not None:
            self.timings.fetches.add(document.latency_s)
        if self._log is not None:
            self._log.note(turn, record, document, at)

    def begin_commit(self) -> None:
        """Note that a commit begins."""
        self._began_at = time.perf_counter()

    def committed(self) -> None:
        """Note that it has happened."""
        self.timings.commits.add(time.perf_counter() - self._began_at)
        if self._log is not None:
            self._log.committed()


def observer_of(options: LogOptions, shard: int) -> TurnObserver:
    """Return what observes the turns of a shard."""
    return TurnObserver(FetchLog(options, shard) if options != NO_LOG else None)
