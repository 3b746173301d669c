"""ALL OF THE PAGES: one answer out of those of many shards, ranked as one index would.

Neighbours: `shard` has the pages, `ask` makes questions and reranks what is found here. Not for:
words, languages, ranks of pages.
"""

from gossamer.search.broker.broker import Broker, BrokerOptions, Tiers
from gossamer.search.broker.far import (
    MOST_REQUEST_BYTES,
    BadMessage,
    RemoteShard,
    ShardServer,
    SilentShard,
    answer_shard,
)
from gossamer.search.broker.opening import Place, open_finder
from gossamer.search.broker.statistics import StatisticsFacts
from gossamer.search.broker.stores import Published, publish
from gossamer.search.broker.tiers import TierRule
