"""SHARDS ON OTHER MACHINES: asked, and offered to be asked.

Neighbours: `web` offers the shards of an index, `opening` finds them. Not for: merging answers.
"""

from gossamer.search.broker.far.remote import RemoteShard, SilentShard
from gossamer.search.broker.far.shard_server import ShardServer
from gossamer.search.broker.far.wire import MOST_REQUEST_BYTES, BadMessage, Offer, answer_shard
