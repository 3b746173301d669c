"""THE GRAPH OF A CRAWL ON MANY MACHINES: one for each shard, in the crawl's store.

The graph of a shard has the links out of and into the pages that the ring gives to it, so that one
shard answers a question about a URL. `build_stored_graph` makes them, on one machine or several at
once; `StoredGraph` asks them; `StoredRanking` ranks by sweeps over shards that exchange boundary
vectors through the store; `stored_hosts` sums what shards say of their hosts.

Neighbours: builds with `build` from what `store` exchanges; `asking` answers for each shard.
Not for: what needs all links at once (paths, components, similar pages).
"""

from gossamer.graph.sharded.building import StoredGraphFacts, build_stored_graph
from gossamer.graph.sharded.hosts import stored_host, stored_hosts, stored_hosts_ranked
from gossamer.graph.sharded.parts import StoredGraph, has_stored_graph
from gossamer.graph.sharded.ranked import RankedParts
from gossamer.graph.sharded.ranking import rank_file_of, rank_stored, ranks_of_store
from gossamer.graph.sharded.rounds import ShardFacts
