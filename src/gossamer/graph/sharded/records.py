"""The records of one shard: its own pages with all their links, others' with those to its pages."""

from collections.abc import Iterator

from gossamer.graph.build import NewRecords, PageRecord, without_dropped
from gossamer.report import dropped_of
from gossamer.store import (
    BadRecord,
    CrawlFolder,
    Lengths,
    LinkExchange,
    ReceivedLinks,
    UrlOwners,
)

_SENT = "from-{:04d}"
"""How much was read of what a shard has sent is told beside the lengths of files."""


class ShardLinks:
    """What the graph of one shard is made of."""

    def __init__(
        self,
        folder: CrawlFolder,
        shard: int,
        owners: UrlOwners,
        exchange: LinkExchange,
        *,
        lengths: Lengths,
        batches: dict[int, int],
    ) -> None:
        self._folder = folder
        self._shard = shard
        self._owners = owners
        self._exchange = exchange
        self._batches = {other: n for other, n in batches.items() if other != shard}
        self.counted = {**lengths, **{_SENT.format(one): n for one, n in self._batches.items()}}
        self.dropped = dropped_of(folder).digest

    def since(self, covered: Lengths) -> "ShardReading":
        """Return the records that come after a point."""
        position = {
            one: covered[name] for one in self._batches if (name := _SENT.format(one)) in covered
        }
        received = ReceivedLinks(self._exchange, self._shard, position, self._batches)
        own = NewRecords(self._folder, covered, self.counted)
        return ShardReading(own, received, self._owners, self._shard)


class ShardReading:
    """Iterate over the records of a shard between two points; `covered` says how far that was."""

    def __init__(
        self, own: NewRecords, received: ReceivedLinks, owners: UrlOwners, shard: int
    ) -> None:
        self._own = own
        self._received = received
        self._owners = owners
        self._shard = shard
        self.bad: list[BadRecord] = own.bad
        self.covered = own.covered

    @property
    def bytes_left(self) -> int:
        """Return how much of the shard's own archive is still to be read."""
        return self._own.bytes_left

    def __iter__(self) -> Iterator[PageRecord]:
        for record in self._own:
            if self._owners.of(record.url) == self._shard:
                yield record
        for row in self._received:
            if not self._own.dropped.has(row.url):
                record = PageRecord(row.url, row.outcome, row.at, row.robots, row.links)
                yield without_dropped(record, self._own.dropped)
        for other, count in self._received.position.items():
            self.covered[_SENT.format(other)] = count
