"""A shard that watches: all pages that it has, on a watchlist beside its frontier."""

from collections.abc import Iterator

from gossamer.crawl.watch import Budget
from gossamer.crawl.wiring import Shard
from gossamer.model import UrlRecord
from gossamer.report import URL, decode_record


def begin_watch(shard: Shard, share: float = 1.0) -> None:
    """Put a watcher beside the frontier of an open shard, with its share of the budget."""
    from gossamer.crawl.watch.notes import Notes  # noqa: PLC0415 - its numpy is for a watch only
    from gossamer.crawl.watch.watcher import Watcher  # noqa: PLC0415 - as above

    wheel, looker = shard.wheel, shard.worker.looker
    rules, counters, now = wheel.config.watch, shard.ledger.counters, wheel.time.now()
    notes = Notes(rules)
    notes.load(_records(shard), now)
    watcher = Watcher(
        config=wheel.config,
        frontier=shard.core.frontier,
        counters=counters,
        notes=notes,
        budget=Budget(rules.rate_per_s, rules.new_share, now, counters.requests),
        record_of=looker.record_of,
        in_flight=wheel.in_flight,
        has_room=lambda new: wheel.seat.pages_left(counters.pages + new, 1) > 0,
    )
    watcher.give_share(share)
    looker.on_look, looker.on_page = watcher.looked, notes.note_page
    wheel.watch = watcher


def take_share(shard: Shard, part: float) -> None:
    """Take another part of the requests of a watch."""
    if shard.wheel.watch is not None:
        shard.wheel.watch.give_share(part)


def _records(shard: Shard) -> Iterator[tuple[int, UrlRecord]]:
    """Give every URL record with its key."""
    importance_of = shard.worker.looker.importance_of
    for key, value in shard.core.state.scan(URL):
        number, record = int.from_bytes(key[1:], "big"), decode_record(value)
        # Links that were found since its turn may have made it worth more.
        record.importance = max(record.importance, importance_of(number))
        yield number, record
