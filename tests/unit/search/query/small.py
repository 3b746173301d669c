"""Small indexes to ask."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.search.analysis import Analyser
from gossamer.search.broker import Broker, Tiers
from gossamer.search.page import IndexPage
from gossamer.search.shard import LocalShard, ShardWriter


def index_of(path: Path, pages: Sequence[IndexPage]) -> Broker:
    """Write pages and return their index."""
    analyser, writer = Analyser(), ShardWriter(path)
    for page in pages:
        writer.add(analyser.prepare(page))
    writer.close()
    return Broker(Tiers([LocalShard(path)]))
