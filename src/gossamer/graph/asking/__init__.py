"""QUESTIONS ABOUT A GRAPH, in URLs; answers are structs.

`opened` finds a graph: a crawl's, or any files BASE.graph, .offsets, .properties. The others take
it and return structs; None means that a URL is not in the graph.

Neighbours: `answers` knows nodes, `connectivity` knows a crawl; `gossamer.LinkGraph` asks here.
Not for: showing (`cli.screen`, `web`), or computing.
"""

from gossamer.graph.asking.host_answers import (
    NO_HOST,
    HostLinks,
    HostRanking,
    HostRow,
    HostTable,
    HostWeight,
    RankedHost,
    expect_pagerank,
    host,
    host_in,
    hosts,
    hosts_in,
    rank_of_hosts,
    ranked_hosts_in,
)
from gossamer.graph.asking.link_answers import (
    LinkList,
    LinkOptions,
    Links,
    around,
    links,
    nearest,
    respelled,
)
from gossamer.graph.asking.opening import (
    Direction,
    OpenedGraph,
    base_of,
    has_graph,
    manifest_of,
    opened,
)
from gossamer.graph.asking.ranking import (
    MEASURES,
    NodeScores,
    RankedPage,
    Ranking,
    RankOptions,
    rank,
    save_rank,
)
from gossamer.graph.asking.shape import (
    BowTieSizes,
    CodingFacts,
    ComponentSizes,
    GraphComponents,
    GraphInfo,
    check,
    components,
    info,
)
from gossamer.graph.asking.walking import LIKENESS, LinkPath, SimilarPage, SimilarPages, like, path
