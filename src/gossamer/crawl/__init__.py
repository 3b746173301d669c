"""THE CRAWLING ENGINE: carries URLs between the stations and commits what became of them.

`pipeline` is the life of a URL after its fetch, `worker` what happens while its host is ours,
`ledger` the commit, `engine` the loop, `assembly` the construction of a shard, `crawl` the outside.

Neighbours: every station below, `report` for questions; above it only hands (`cli`).
Not for: rules. A rule lives in the station that applies it.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.crawl.cluster_run import ask_cluster, ask_coordinator
    from gossamer.crawl.crawl import Crawl
    from gossamer.crawl.dropping import DropRequest, with_dropped
    from gossamer.crawl.elsewhere import (
        Checkpointed,
        RestoredCrawl,
        checkpoint_crawl,
        restore_crawl,
    )
    from gossamer.crawl.joined_shard import JoiningShard, run_joined
    from gossamer.crawl.mend import (
        NearTotals,
        Purged,
        RebuiltState,
        build_near,
        build_state,
        expect_stopped,
        finish_interrupted,
        write_indexes,
    )
    from gossamer.crawl.removing import prune_editions, purge_urls
    from gossamer.crawl.running import Ending, RoundTotals
    from gossamer.crawl.seeds import Seed, check_seeds, read_seeds
else:
    __getattr__ = late(
        __name__,
        {
            "cluster_run": "ask_cluster ask_coordinator",
            "crawl": "Crawl",
            "dropping": "DropRequest with_dropped",
            "elsewhere": "Checkpointed RestoredCrawl checkpoint_crawl restore_crawl",
            "joined_shard": "JoiningShard run_joined",
            "mend": (
                "NearTotals Purged RebuiltState build_near build_state expect_stopped "
                "finish_interrupted write_indexes"
            ),
            "removing": "prune_editions purge_urls",
            "running": "Ending RoundTotals",
            "seeds": "Seed check_seeds read_seeds",
        },
    )
