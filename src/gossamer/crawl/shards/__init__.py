"""SEVERAL SHARDS AS ONE CRAWL: what each is told, where it sits, and how all of them end.

`running` is what a shard that runs can be asked (alone or not), `watching` how it keeps its pages
fresh, `table` its seat among others, `member` its process, `fleet` all of them with their
supervisor.

Neighbours: `cluster` has the ring, the mail and the supervisor; `wiring` opens a shard.
Not for: moving data between shards of a stopped crawl (that is `mend.resplit`).
"""

from gossamer.crawl.shards.fleet import Fleet
from gossamer.crawl.shards.running import (
    Progress,
    answer,
    first_cause,
    live_status,
    quiet_collector,
    with_seeds,
)
from gossamer.crawl.shards.watching import begin_watch

__all__ = [
    "Fleet",
    "Progress",
    "answer",
    "begin_watch",
    "first_cause",
    "live_status",
    "quiet_collector",
    "with_seeds",
]
