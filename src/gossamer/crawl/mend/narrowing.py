"""Narrowing: a shard that was split, or made by a split, drops what the other one has.

Both begin with all that the shard had before. Rows of a table that follows the ring are dropped by
ranges, which takes no time; the files that have them shrink when they are next merged. What does
not follow the ring stays with the shard that keeps its number: its archive files and totals, what
it has to tell others, and what is left to label. It may be done again.
"""

from contextlib import closing

from gossamer.cluster import MOVED_ROWS, OUTBOX, PARCELS, taken_points
from gossamer.config import Config
from gossamer.crawl.contents import NEWS
from gossamer.crawl.mend.resplit import BATCH_ROWS, drop_foreign_urls, shrink_seen, with_points
from gossamer.crawl.opening import ShardFolder
from gossamer.dedupe import NEAR_ROWS
from gossamer.model import Row
from gossamer.report import COUNTERS
from gossamer.store import ROW_PREFIX, State

OF_THE_PARENT = (COUNTERS, OUTBOX, PARCELS, NEWS, ROW_PREFIX, NEAR_ROWS)
"""Tables that a shard made by a split does not inherit."""


def narrow_shard(place: ShardFolder, config: Config, *, is_new: bool) -> None:
    """Let a state have what its shard owns; `is_new` if the shard was made by the split."""
    with closing(State.open(place.state)) as state:
        kept = taken_points(state.scan(MOVED_ROWS), place.shard)
        drop_foreign_urls(state, place.shard, place.ring, kept)
        for table in OF_THE_PARENT if is_new else ():
            _drop(state, table)
        shrink_seen(state, with_points(place.ring.spans(place.shard), kept), config)
        state.sync()


def _drop(state: State, table: bytes) -> None:
    """Delete all rows of a table."""
    gone: list[Row] = [(key, None) for key, _ in state.scan(table)]
    for start in range(0, len(gone), BATCH_ROWS):
        state.write(gone[start : start + BATCH_ROWS])
