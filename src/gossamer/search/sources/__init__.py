"""WHERE DO PAGES COME FROM? The archive of a crawl, or files that others wrote.

`ArchiveNews` reads what counts of an archive and was not read; `RecordPlan` finds out which record
of each URL holds, and `RecordSpool` keeps the records meanwhile; `TextPlaces` finds texts again;
`anchor_*` are the texts of links that lead to a page; `foreign_*` read WET, WARC and JSONL files in
bounded memory, and tell what cannot be read.

Neighbours: reads `store`, is read by `build`. Not for: deciding into which shard a page goes.
"""

from gossamer.search.sources.anchor_spool import AnchorSpool, Skip
from gossamer.search.sources.anchor_table import FILE, AnchorTable, write_anchors
from gossamer.search.sources.archive import (
    NOINDEX,
    PROBATION,
    ArchiveNews,
    GatheredPage,
    HeldProbations,
    PageFacts,
    page_of,
)
from gossamer.search.sources.foreign_pages import ForeignPages, Found, SkippedPages
from gossamer.search.sources.images import (
    GatheredImage,
    ImageSpool,
    StoredImage,
    images_of,
    is_image,
    stored_image,
)
from gossamer.search.sources.parts import ArchivePart, WholeArchive
from gossamer.search.sources.places import TextPlaces, read_text
from gossamer.search.sources.plan import LiveRecords, RecordPlan
from gossamer.search.sources.record_spool import RecordSpool, put_record, records_in
from gossamer.search.sources.spans import KINDS
from gossamer.search.sources.waiting import read_waiting, write_waiting
from gossamer.store import Bad
