"""WHO SAYS IT AGAIN? Near-duplicates of a running crawl: after the commit, and off the loop.

`desk` gathers what was committed and has it judged in a thread; `follow` reads from the archive
what a death left unjudged; `opening` makes the desk of a shard. The labels go out with a later
commit, together with the mark up to which everything is judged: killed at any instant, no page is
forgotten.

Neighbours: `dedupe` judges; `ledger` commits; `cluster` carries sketches to other shards.
"""

from gossamer.crawl.copies.desk import PARCEL_ROW, CopyDesk, NoCopies
from gossamer.crawl.copies.follow import MARK_ROW, Mark, follow
from gossamer.crawl.copies.opening import (
    About,
    crawl_seed,
    ensure_whole,
    near_folder,
    open_desk,
    reset_near,
)

__all__ = [
    "MARK_ROW",
    "PARCEL_ROW",
    "About",
    "CopyDesk",
    "Mark",
    "NoCopies",
    "crawl_seed",
    "ensure_whole",
    "follow",
    "near_folder",
    "open_desk",
    "reset_near",
]
