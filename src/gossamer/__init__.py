"""Gossamer: a web crawler that keeps what it finds, survives kill -9, and can say why.

>>> import gossamer
>>> gossamer.run("https://example.org/", into="mycrawl", max_pages=100)   # doctest: +SKIP
>>> crawl = gossamer.open("mycrawl")                                      # doctest: +SKIP

docs/API.md lists everything. Names are imported when they are first asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.api.crawls import (
        BuildProgress,
        NearTotals,
        OpenCrawl,
        RebuiltState,
        run,
        run_async,
    )
    from gossamer.api.crawls import open_crawl as open  # noqa: A004 - read as gossamer.open
    from gossamer.api.fulltext import SearchIndex, index_files, open_search
    from gossamer.api.linkgraph import LinkGraph, LinkPicture, graph_from_edges, open_graph
    from gossamer.api.options import CrawlOptions
    from gossamer.config import Config
    from gossamer.crawl import Crawl, Ending, Seed, build_near, build_state, read_seeds
    from gossamer.errors import Bug, CannotGoOn, ConfigError, CorruptFile, GossamerError
    from gossamer.filter import url_filter
    from gossamer.graph import (
        BowTieSizes,
        Coding,
        CodingFacts,
        ComponentSizes,
        EdgeOptions,
        GraphComponents,
        GraphFacts,
        GraphInfo,
        GraphOptions,
        HostLinks,
        HostRanking,
        HostRow,
        HostTable,
        HostWeight,
        LinkList,
        LinkPath,
        Links,
        MadeGraph,
        RankedHost,
        RankedPage,
        Ranking,
        SimilarPage,
        SimilarPages,
    )
    from gossamer.model import Document, Extraction, Link, TrapNote, UserErrors, as_json
    from gossamer.process import Tools, processor
    from gossamer.report import (
        Added,
        ClusterMember,
        CopyCluster,
        CopyClusters,
        FilterVerdict,
        NearCopy,
        Page,
        PastVisit,
        RecordLocation,
        Revisits,
        RobotsAnswer,
        Status,
        WatchTotals,
        Why,
        add,
        show,
        status,
        why,
    )
    from gossamer.search import (
        Answer,
        BadMessage,
        Hit,
        IndexFacts,
        IndexOptions,
        Published,
        Segment,
        ShardServer,
    )
    from gossamer.store import BuiltElsewhere, LinksRecord
    from gossamer.web import serve

__version__ = "0.1.0"

__all__ = [
    "Added",
    "Answer",
    "BadMessage",
    "BowTieSizes",
    "Bug",
    "BuildProgress",
    "BuiltElsewhere",
    "CannotGoOn",
    "ClusterMember",
    "Coding",
    "CodingFacts",
    "ComponentSizes",
    "Config",
    "ConfigError",
    "CopyCluster",
    "CopyClusters",
    "CorruptFile",
    "Crawl",
    "CrawlOptions",
    "Document",
    "EdgeOptions",
    "Ending",
    "Extraction",
    "FilterVerdict",
    "GossamerError",
    "GraphComponents",
    "GraphFacts",
    "GraphInfo",
    "GraphOptions",
    "Hit",
    "HostLinks",
    "HostRanking",
    "HostRow",
    "HostTable",
    "HostWeight",
    "IndexFacts",
    "IndexOptions",
    "Link",
    "LinkGraph",
    "LinkList",
    "LinkPath",
    "LinkPicture",
    "Links",
    "LinksRecord",
    "MadeGraph",
    "NearCopy",
    "NearTotals",
    "OpenCrawl",
    "Page",
    "PastVisit",
    "Published",
    "RankedHost",
    "RankedPage",
    "Ranking",
    "RebuiltState",
    "RecordLocation",
    "Revisits",
    "RobotsAnswer",
    "SearchIndex",
    "Seed",
    "Segment",
    "ShardServer",
    "SimilarPage",
    "SimilarPages",
    "Status",
    "Tools",
    "TrapNote",
    "UserErrors",
    "WatchTotals",
    "Why",
    "__version__",
    "add",
    "as_json",
    "build_near",
    "build_state",
    "graph_from_edges",
    "index_files",
    "open",
    "open_graph",
    "open_search",
    "processor",
    "read_seeds",
    "run",
    "run_async",
    "serve",
    "show",
    "status",
    "url_filter",
    "why",
]

_HOMES = {
    "api.crawls": "open BuildProgress NearTotals OpenCrawl RebuiltState run run_async",
    "api.fulltext": "SearchIndex index_files open_search",
    "api.linkgraph": "LinkGraph LinkPicture graph_from_edges open_graph",
    "api.options": "CrawlOptions",
    "config": "Config",
    "crawl": "Crawl Ending Seed build_near build_state read_seeds",
    "errors": "Bug CannotGoOn ConfigError CorruptFile GossamerError",
    "filter": "url_filter",
    "graph": (
        "BowTieSizes Coding CodingFacts ComponentSizes EdgeOptions GraphComponents GraphFacts "
        "GraphInfo GraphOptions HostLinks HostRanking HostRow HostTable HostWeight LinkList "
        "LinkPath Links MadeGraph RankedHost RankedPage Ranking SimilarPage SimilarPages"
    ),
    "model": "Document Extraction Link TrapNote UserErrors as_json",
    "process": "Tools processor",
    "report": (
        "Added ClusterMember CopyCluster CopyClusters FilterVerdict NearCopy Page PastVisit "
        "RecordLocation Revisits RobotsAnswer Status WatchTotals Why add show status why"
    ),
    "search": "BadMessage ShardServer Answer Hit IndexFacts IndexOptions Published Segment",
    "store": "BuiltElsewhere LinksRecord",
    "web": "serve",
}
"""Where each name is defined; `open` is `open_crawl` there."""


def __getattr__(name: str) -> object:
    """Import a public name from its home when it is first asked for: `import gossamer` is quick."""
    from importlib import import_module  # noqa: PLC0415 - only when a name is asked for

    for home, names in _HOMES.items():
        if name in names.split():
            named = "open_crawl" if name == "open" else name
            return getattr(import_module(f"gossamer.{home}"), named)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
