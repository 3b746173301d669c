"""MENDING A CRAWL THAT DOES NOT RUN: its state made anew, or shared out among other shards.

`rebuild` reads the archive, which is the source of truth; `relabel` reads it for near-duplicates;
`resplit` moves rows between states.

Neighbours: `assembly` opens shards, `store`, `seen` and `cluster` know their own files.
Not for: what every start mends (that is `store.repair`, called by `assembly`).
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.crawl.mend.purging import (
        Purged,
        finish_interrupted,
        finish_purge,
        prune_locked,
        purge_locked,
    )
    from gossamer.crawl.mend.rebuild import RebuiltState, build_state
    from gossamer.crawl.mend.reindex import expect_stopped, write_indexes
    from gossamer.crawl.mend.relabel import NearTotals, build_near, label_rest_aside
    from gossamer.crawl.mend.resplit import ensure_shards
    from gossamer.crawl.mend.walking import walk_links
else:
    __getattr__ = late(
        __name__,
        {
            "purging": "Purged finish_interrupted finish_purge prune_locked purge_locked",
            "rebuild": "RebuiltState build_state",
            "reindex": "expect_stopped write_indexes",
            "relabel": "NearTotals build_near label_rest_aside",
            "resplit": "ensure_shards",
            "walking": "walk_links",
        },
    )
