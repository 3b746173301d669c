"""WHO SAYS IT AGAIN? Near-duplicates of a running crawl: after the commit, and off the loop.

`labeller` gathers what was committed and finds its copies in a thread; `unlabelled` reads from the
archive what a death left without labels. The labels go out with a later commit, together with the
mark up to which everything is labelled: killed at any instant, no page is forgotten.

Neighbours: `dedupe` judges; `ledger` commits; `cluster` carries sketches to other shards.
"""

from gossamer.crawl.copies.labeller import (
    PARCEL_ROW,
    About,
    CopyLabeller,
    NoCopies,
    crawl_seed,
    ensure_whole,
    near_folder,
    open_labeller,
    reset_near,
)
from gossamer.crawl.copies.unlabelled import MARK_ROW, Mark, follow

__all__ = [
    "MARK_ROW",
    "PARCEL_ROW",
    "About",
    "CopyLabeller",
    "Mark",
    "NoCopies",
    "crawl_seed",
    "ensure_whole",
    "follow",
    "near_folder",
    "open_labeller",
    "reset_near",
]
