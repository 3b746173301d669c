"""FROM PAGES TO AN INDEX: built anew, kept up to date, following a crawl.

`build_index` brings a crawl's index up to date, `follow` does so again and again while it runs.
`PageSink` is what pages are written to: the shards of one organisation or the other.

Neighbours: takes pages from `gather`, words from `analysis`, writes `shard`. Not for: answering.
"""

from gossamer.search.build.builder import build_index
from gossamer.search.build.checking import check_index
from gossamer.search.build.following import follow
from gossamer.search.build.foreign import build_foreign
from gossamer.search.build.options import IndexFacts, IndexOptions
from gossamer.search.build.sink import DocumentSink, PageSink
from gossamer.search.build.stored import ShardIndex, StoredIndexes, follow_stored
