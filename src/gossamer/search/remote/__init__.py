"""SHARDS ON OTHER MACHINES: asked, and offered to be asked.

Neighbours: `web` offers the shards of an index, `broker` asks them. Not for: merging answers.
"""

from gossamer.search.remote.health import NodeHealth
from gossamer.search.remote.protocol import (
    MOST_REQUEST_BYTES,
    BadMessage,
    OfferedShards,
    answer_shard,
)
from gossamer.search.remote.remote_shard import RemoteShard, SilentShard
from gossamer.search.remote.shard_group import ShardGroup
from gossamer.search.remote.shard_server import ShardServer
