"""StoredLinkGraph: the link graph of a crawl's store, a part for each shard."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from gossamer.api.arguments import let_pass
from gossamer.api.caching import cache_room
from gossamer.graph import (
    VOTES,
    Direction,
    GraphOptions,
    HostLinks,
    HostRanking,
    HostTable,
    LinkOptions,
    Links,
    Ranking,
    RankOptions,
    ShardFacts,
    StoredGraph,
    StoredGraphFacts,
    build_stored_graph,
    has_stored_graph,
    rank_file_of,
    rank_stored,
    ranks_of_store,
    read_kinds,
    stored_host,
    stored_hosts,
    stored_hosts_ranked,
)
from gossamer.ranks import RankFile

if TYPE_CHECKING:
    from gossamer.model import BuildProgress

Wait = Callable[[float], None]


class StoredLinkGraph:
    """The link graph of a crawl's store: a URL is asked of the shard that owns it.

    It is that of the last build. Only the parts that are asked are fetched, into the cache.
    """

    def __init__(self, url: str) -> None:
        self._graph = StoredGraph(url, cache_room())

    @classmethod
    def find(cls, url: str) -> Self | None:
        """Return the graph of a crawl's store; None if none was built there."""
        return cls(url) if has_stored_graph(url, cache_room()) else None

    @staticmethod
    def build(
        url: str,
        *,
        shards: Sequence[int] = (),
        options: GraphOptions | None = None,
        on_progress: "BuildProgress | None" = None,
        wait: Wait | None = None,
    ) -> StoredGraphFacts:
        """Build the graph of a crawl's store, or bring it up to date: a part for each shard.

        Several machines that do so at once share out the shards. `shards`: only these.
        """
        return build_stored_graph(
            url,
            cache_room(),
            options or GraphOptions(),
            wait or let_pass,
            shards=shards,
            tell=on_progress,
        )

    @property
    def nodes(self) -> int:
        """The number of URLs."""
        return self._graph.whole.nodes

    @property
    def arcs(self) -> int:
        """The number of links, each pair of URLs once."""
        return self._graph.whole.arcs

    @property
    def pages(self) -> int:
        """The number of URLs that were fetched."""
        return self._graph.whole.pages

    def parts(self) -> list[ShardFacts]:
        """Return what the shards have, and the memory that their builders took."""
        return self._graph.parts()

    def has_newer_pages(self) -> bool:
        """Return True if the store has pages that the graph does not know."""
        return self._graph.has_newer_pages()

    def links(
        self,
        url: str,
        *,
        direction: Direction | None = None,
        kinds: Sequence[str] = (),
        limit: int | None = None,
        after: str = "",
    ) -> Links | None:
        """Return the links to and from a URL; None if it is not in the graph.

        The arguments are those of `LinkGraph.links`.
        """
        options = LinkOptions(
            direction=direction, kinds=read_kinds(kinds), limit=limit, after=after
        )
        return self._graph.links(url, options)

    def nearest(self, url: str) -> str | None:
        """Return the URL in the graph that is most likely meant by one that is not."""
        return self._graph.nearest(url)

    def rank(
        self,
        by: str = "pagerank",
        *,
        kinds: Sequence[str] = (),
        top: int = 20,
        not_fetched: bool = False,
        on_sweep: Callable[[int, float], None] | None = None,
        wait: Wait | None = None,
    ) -> Ranking:
        """Return the best pages by PageRank, which is kept in the store.

        Several machines that ask at once share out the shards. The arguments are those of
        `LinkGraph.rank`.
        """
        votes = read_kinds(kinds) if kinds else VOTES
        options = RankOptions(by=by, kinds=votes, top=top, is_all=not_fetched)
        return rank_stored(self._graph, options, wait or let_pass, on_sweep)

    def hosts(self, top: int | None = 20) -> HostTable:
        """Return the hosts, those with the highest rank first; None: all of them."""
        return stored_hosts(self._graph, top)

    def host(self, name: str, top: int | None = 20) -> HostLinks | None:
        """Return which hosts link to one and to which it links; None if it is not in the graph.

        The arguments are those of `LinkGraph.host`.
        """
        return stored_host(self._graph, name, top)

    def rank_hosts(
        self, by: str = "pagerank", *, kinds: Sequence[str] = (), top: int = 20
    ) -> HostRanking:
        """Return the best hosts by PageRank: each has one vote per host that it links to."""
        votes = read_kinds(kinds) if kinds else VOTES
        return stored_hosts_ranked(self._graph, RankOptions(by=by, kinds=votes, top=top))


def ranks_of_shards(url: str) -> Callable[[int], RankFile | None] | None:
    """Return who gives the PageRank of each shard of a store; None if nobody has computed it."""
    room = cache_room()
    if not has_stored_graph(url, room):
        return None
    graph = StoredGraph(url, room)
    if ranks_of_store(graph, VOTES) is None:
        return None
    return lambda shard: rank_file_of(graph, VOTES, shard)


def bring_ranks_of(url: str, shard: int, path: Path) -> bool:
    """Write the PageRank of a shard's URLs to a file; return False if nobody has computed it."""
    find = ranks_of_shards(url)
    found = find(shard) if find is not None else None
    if found is None:
        return False
    found.write_part(path, lambda keys: np.ones(len(keys), np.bool_))
    return True
