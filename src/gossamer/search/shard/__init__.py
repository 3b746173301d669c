"""SOME OF THE PAGES: a shard of the index, written and asked.

Neighbours: `build` writes shards, `broker` asks them. Not for: deciding which page is better (the
broker does, from what several shards say), or analysing text (`analysis` does).
"""

from gossamer.search.shard.damage import BadShard
from gossamer.search.shard.lengths import LENGTHS, quantised
from gossamer.search.shard.query_builder import group_idf, idf
from gossamer.search.shard.schema import VERSION
from gossamer.search.shard.shard import IndexShard, LocalShard
from gossamer.search.shard.writer import ShardWriter
