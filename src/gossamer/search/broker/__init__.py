"""ALL OF THE PAGES: one answer out of those of many shards, scored as one index would.

Neighbours: `shard` and `remote` have the pages, `ranking` reranks what is found here. Not for:
words, languages, ranks of pages.
"""

from gossamer.search.broker.broker import REFRESH_S, Broker, BrokerOptions
from gossamer.search.broker.opening import Place, open_images, open_reader
from gossamer.search.broker.places import Tiers
from gossamer.search.broker.statistics import StatisticsFacts
from gossamer.search.broker.tiers import TierRule
