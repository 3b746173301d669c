"""LinkGraph: the links of a crawl, or any BVGraph files, asked by URL in both directions."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from gossamer.errors import ConfigError
from gossamer.graph import (
    VOTES,
    Coding,
    Direction,
    EdgeOptions,
    GraphComponents,
    GraphInfo,
    GraphOptions,
    HostLinks,
    HostRanking,
    HostTable,
    LinkOptions,
    LinkPath,
    Links,
    MadeGraph,
    OpenedGraph,
    Ranking,
    RankOptions,
    SimilarPages,
    around,
    base_of,
    components,
    draw,
    export,
    from_edges,
    host,
    hosts,
    info,
    like,
    links,
    manifest_of,
    name_lines,
    nearest,
    number_lines,
    opened,
    path,
    rank,
    rank_of_hosts,
    read_kinds,
    read_order,
    reorder,
    save_rank,
    to_networkx,
    to_scipy,
    write_ef,
)

Measure = Literal["pagerank", "harmonic", "hubs", "authorities", "indegree"]
Likeness = Literal["cocitation", "coupling"]
RANKS = "ranks"
"""The file beside a crawl's graph that holds the PageRank of its pages."""


class LinkPicture(Struct, frozen=True, kw_only=True):
    """A URL among those that link to it and those it links to."""

    url: str
    svg: str
    incoming: int
    """How many link to it; the picture shows those that matter most."""
    outgoing: int


class LinkGraph:
    """A compressed graph that can be asked in both directions.

    It is that of one moment: `is_current` says whether a build has replaced its files since.
    """

    SIMILARITIES: ClassVar[tuple[str, ...]] = get_args(Likeness)
    """What `similar` can go by."""

    def __init__(self, place: Path | str) -> None:
        self._graph: OpenedGraph = opened(place)

    @property
    def base(self) -> Path:
        """The common part of the names of its files."""
        return self._graph.base

    @property
    def nodes(self) -> int:
        """The number of URLs."""
        return self._graph.out.nodes

    @property
    def arcs(self) -> int:
        """The number of links, each pair of URLs once."""
        return self._graph.out.arcs

    @property
    def has_kinds(self) -> bool:
        """Whether links have kinds (link, redirect, ...); those of edge lists have none."""
        return self._graph.has_kinds

    @property
    def newer_pages(self) -> int:
        """Pages that are known to `links`, but too new to count in answers about the whole."""
        return self._graph.crawl.stale if self._graph.crawl is not None else 0

    def is_current(self) -> bool:
        """Return True if its files are still those that were opened."""
        return self._graph.is_current()

    def __contains__(self, url: str) -> bool:
        """Return True if a URL is in the graph."""
        return self._graph.node(url) is not None

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

        `direction`: "in" or "out" alone. `kinds`: only such links; none named means all. `limit`:
        so many of each direction, `after` the last URL of an earlier answer.
        """
        options = LinkOptions(
            direction=direction, kinds=self._kinds(kinds), limit=limit, after=after
        )
        return links(self._graph, url, options)

    def nearest(self, url: str) -> str | None:
        """Return the URL in the graph that is most likely meant by one that is not."""
        return nearest(self._graph, url)

    def rank(
        self,
        by: Measure | str = "pagerank",
        *,
        kinds: Sequence[str] = (),
        top: int = 20,
        not_fetched: bool = False,
        save: bool = False,
        on_sweep: Callable[[int, float], None] | None = None,
    ) -> Ranking:
        """Return the best pages by some measure.

        `kinds`: links that count; none named means links, redirects and canonical links. `top`: so
        many pages, 0 for all. `not_fetched`: list URLs that were never fetched, too. `save`: write
        the PageRank of a crawl's pages beside its graph, where `search` and `gossamer crawl
        --ranks` find it. `on_sweep` is told how it converges.
        """
        votes = self._kinds(kinds) if kinds else VOTES
        options = RankOptions(by=by, kinds=votes, top=top, is_all=not_fetched)
        ranking, scores = rank(self._graph, options, on_sweep)
        if save and by == "pagerank" and self._graph.crawl is not None and not kinds:
            file = self.base.with_name(RANKS)
            save_rank(self._graph, scores, file)
            return replace(ranking, saved=str(file))
        return ranking

    def has_current_ranks(self) -> bool:
        """Return True if the ranks that were saved beside a crawl's graph are those of it."""
        file, manifest = self.base.with_name(RANKS), self.base.with_name("manifest.json")
        return file.exists() and file.stat().st_mtime_ns >= manifest.stat().st_mtime_ns

    def rank_hosts(
        self, by: Measure | str = "pagerank", *, kinds: Sequence[str] = (), top: int = 20
    ) -> HostRanking:
        """Return the best hosts by PageRank: each has one vote per host that it links to."""
        options = RankOptions(by=by, kinds=self._kinds(kinds) if kinds else VOTES, top=top)
        return rank_of_hosts(self._graph, options)

    def hosts(self, top: int | None = 20) -> HostTable:
        """Return the hosts, those with the highest rank first; None: all of them."""
        return hosts(self._graph, top)

    def host(self, name: str, top: int | None = 20) -> HostLinks | None:
        """Return which hosts link to one and to which it links; None if it is not in the graph.

        It may be given with its port or without, which means all its ports, or as any URL of it.
        """
        return host(self._graph, name, top)

    def path(self, start: str, end: str) -> LinkPath | None:
        """Return a shortest path over links; None if one of the URLs is not in the graph."""
        return path(self._graph, start, end)

    def similar(
        self, url: str, by: Likeness | str = "cocitation", top: int = 20
    ) -> SimilarPages | None:
        """Return the pages that share most links with one; None if it is not in the graph.

        cocitation: linked from the same pages; coupling: linking to the same pages.
        """
        return like(self._graph, url, by, top)

    def components(self, *, kinds: Sequence[str] = ()) -> GraphComponents:
        """Return strongly and weakly connected components, and the bow tie."""
        return components(self._graph, self._kinds(kinds))

    def info(self, *, check: bool = False) -> GraphInfo:
        """Return size, coding and degrees.

        `check`: all files are read before; `CorruptFile` says what is damaged.
        """
        return info(self._graph, is_checked=check)

    def picture(self, url: str) -> LinkPicture | None:
        """Return a drawing of a URL and its neighbours; None if it is not in the graph."""
        found = around(self._graph, url)
        if found is None:
            return None
        return LinkPicture(
            url=found.url, svg=draw(found), incoming=found.ins_total, outgoing=found.outs_total
        )

    def edge_lines(self, *, numbers: bool | None = None) -> Iterator[bytes]:
        """Yield the links as lines `source<tab>target`, many at a time.

        `numbers`: nodes as numbers, or by name; None: names if there are any. The numbers of a
        graph that was reordered are the old ones, unless numbers are asked for.
        """
        graph = self._graph
        if numbers is False and graph.names is None:
            raise ConfigError(f"--names: {self.base} has no names: there is no {self.base}.urls")
        if numbers or graph.names is None:
            order = None if numbers else read_order(graph.base, graph.out.nodes)
            return number_lines(graph.out, order)
        return name_lines(graph.out, graph.names)

    def export(self, to: str, file: Path | str) -> int:
        """Write the graph for other programs; return the size of the file in bytes.

        `to` is one of npz (SciPy), numpy, graphml, json (NetworkX), edges, urls.
        """
        export(self._graph.out, self._graph.names, to, Path(file))
        return Path(file).stat().st_size

    def to_scipy(self) -> Any:  # noqa: ANN401 - SciPy has no types
        """Return the graph as `scipy.sparse.csr_array`."""
        return to_scipy(self._graph.out)

    def to_networkx(self) -> Any:  # noqa: ANN401 - NetworkX has no types
        """Return the graph as `networkx.DiGraph`, nodes by name where they have names."""
        return to_networkx(self._graph.out, self._graph.names)

    def reorder(
        self,
        new: Path | str,
        *,
        coding: Coding | None = None,
        seed: int = 1,
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> "LinkGraph":
        """Write the graph with other numbers, so that neighbours stand together; return that."""
        base = base_of(new)
        reorder(self.base, base, coding or Coding(), seed, on_progress)
        return LinkGraph(base)

    def write_ef(self) -> Path:
        """Write BASE.ef, with which the package `webgraph` opens the graph; return its path."""
        write_ef(self.base)
        return self.base.with_name(self.base.name + ".ef")

    def _kinds(self, names: Sequence[str]) -> int:
        if names and not self.has_kinds:
            raise ConfigError(f"--kind: {self.base} does not record the kinds of its links")
        return read_kinds(names)


def last_options(folder: Path) -> GraphOptions:
    """Return how the graph of a crawl was built the last time; the defaults if there is none."""
    found = manifest_of(folder)
    if found is None:
        return GraphOptions()
    return GraphOptions(redirects=found.redirects, canonical=found.canonical, coding=found.coding)


def open_graph(place: Path | str) -> LinkGraph:
    """Return the graph of a crawl's folder, or that of files BASE.graph, .offsets, .properties."""
    return LinkGraph(place)


def graph_from_edges(
    source: Path | str,
    base: Path | str,
    options: EdgeOptions | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> MadeGraph:
    """Make a graph of lines `source target`, numbers or names; `source` is a file, or - for stdin.

    The files are BASE.graph and its companions, BASE-t.graph for links in, BASE.urls for names.
    """
    return from_edges(str(source), base_of(base), options or EdgeOptions(), on_progress)
