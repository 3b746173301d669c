"""A shard that watches: all pages that it has, on a watchlist beside its frontier."""

from collections.abc import Iterator

from gossamer.crawl.wiring import Shard
from gossamer.model import UrlRecord
from gossamer.report import URL, decode_record


def begin_watch(shard: Shard, share: float = 1.0) -> None:
    """Put a watcher beside the frontier of an open shard, with its share of the budget."""
    from gossamer.crawl.watch.watcher import Watcher  # noqa: PLC0415 - numpy is for a watch only

    looker = shard.worker.looker
    watcher = Watcher(
        config=shard.wheel.config,
        frontier=shard.core.frontier,
        counters=shard.ledger.counters,
        read=looker.record_of,
        now=shard.wheel.time.now(),
        share=share,
    )

    def records() -> Iterator[tuple[int, UrlRecord]]:
        for key, value in shard.core.state.scan(URL):
            yield int.from_bytes(key[1:], "big"), decode_record(value)

    watcher.load(records())
    looker.on_look, looker.on_page = watcher.looked, watcher.found
    shard.wheel.watch = watcher
