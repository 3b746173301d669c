"""WHICH PAGES SAY THIS? The text archive as an index, asked in words.

    searcher = open_searcher(Path("mycrawl"))
    answer = searcher.search('"web crawler" site:example.org')

Neighbours: `store` keeps the archive, `web` and `cli` ask. Not for: who links to whom (`graph`).
"""

from gossamer.search.ask import Answer, Hit, Searcher, SearchWish, Segment, Switches
from gossamer.search.ask.opening import has_index, open_index, open_searcher, ranks_of
from gossamer.search.broker import (
    MOST_REQUEST_BYTES,
    BadMessage,
    Broker,
    BrokerOptions,
    Published,
    ShardServer,
    open_finder,
    publish,
)
from gossamer.search.build import (
    IndexFacts,
    IndexOptions,
    build_foreign,
    build_index,
    check_index,
    follow,
)
from gossamer.search.finder import Finder
from gossamer.search.manifest import Manifest, index_folder, read_manifest
