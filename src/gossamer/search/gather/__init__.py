"""WHERE DO PAGES COME FROM? The archive of a crawl, or files that others wrote.

`ArchiveNews` reads what counts of an archive and was not read; `Plan` finds out which record of
each URL holds; `TextPlaces` finds texts again; `anchors` are the texts of links that lead to a
page; `foreign` are WET, WARC and JSONL files.

Neighbours: reads `store`, is read by `build`. Not for: deciding into which shard a page goes.
"""

from gossamer.search.gather.anchors import AnchorSpool, AnchorTable, Skip, write_anchors
from gossamer.search.gather.archive import (
    PROBATION,
    ArchiveNews,
    Doubts,
    Gathered,
    PageFacts,
    page_of,
)
from gossamer.search.gather.places import TextPlaces, read_text
from gossamer.search.gather.plan import Plan, Settled
from gossamer.search.gather.waiting import read_waiting, write_waiting
