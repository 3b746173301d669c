"""WHO LINKS TO WHOM? The links archive as a compressed graph that can be asked in both directions.

`bv` are the files, `names` the numbers of URLs, `build` makes them of an archive, `edges` of any
edge list; `reorder` numbers nodes anew; `answers` says what a graph as a whole says, `asking` what
people ask.

Neighbours: reads what `store` keeps; `web` and `cli` ask it. Not for: deciding what is crawled.
What others want to know of it (ranks of pages) they read from a file, not from this room.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.graph.asking import (
        MEASURES,
        BowTieSizes,
        CodingFacts,
        ComponentSizes,
        Direction,
        GraphComponents,
        GraphInfo,
        HostLinks,
        HostRanking,
        HostRow,
        HostTable,
        HostWeight,
        LinkList,
        LinkOptions,
        LinkPath,
        Links,
        NodeScores,
        OpenedGraph,
        RankedHost,
        RankedPage,
        Ranking,
        RankOptions,
        SimilarPage,
        SimilarPages,
        around,
        base_of,
        check,
        components,
        has_graph,
        host,
        hosts,
        info,
        like,
        links,
        manifest_of,
        nearest,
        opened,
        path,
        rank,
        rank_of_hosts,
        save_rank,
    )
    from gossamer.graph.build import GraphFacts, GraphOptions, build_graph, check_graph, follow
    from gossamer.graph.bv import SMALLEST, BVGraph, Coding, write_ef
    from gossamer.graph.connectivity import Connectivity
    from gossamer.graph.edges import (
        EdgeOptions,
        MadeGraph,
        export,
        from_edges,
        name_lines,
        number_lines,
        to_networkx,
        to_scipy,
    )
    from gossamer.graph.kinds import ALL, VOTES, Kind, read_kinds
    from gossamer.graph.picture import Neighbourhood, Spot, draw
    from gossamer.graph.reordering import read_order, reorder
    from gossamer.graph.sharded import (
        RankedParts,
        ShardFacts,
        StoredGraph,
        StoredGraphFacts,
        build_stored_graph,
        has_stored_graph,
        rank_file_of,
        rank_stored,
        ranks_of_store,
        stored_host,
        stored_hosts,
        stored_hosts_ranked,
    )
else:
    __getattr__ = late(
        __name__,
        {
            "asking": (
                "MEASURES BowTieSizes CodingFacts ComponentSizes Direction "
                "GraphComponents GraphInfo HostLinks HostRanking HostRow HostTable HostWeight "
                "LinkList LinkOptions LinkPath Links NodeScores OpenedGraph RankedHost "
                "RankedPage Ranking RankOptions SimilarPage SimilarPages around base_of check "
                "components has_graph host hosts info like links manifest_of nearest opened "
                "path rank rank_of_hosts save_rank"
            ),
            "build": "GraphFacts GraphOptions build_graph check_graph follow",
            "bv": "SMALLEST BVGraph Coding write_ef",
            "connectivity": "Connectivity",
            "edges": (
                "EdgeOptions MadeGraph export from_edges name_lines number_lines to_networkx "
                "to_scipy"
            ),
            "kinds": "ALL VOTES Kind read_kinds",
            "picture": "Neighbourhood Spot draw",
            "reordering": "read_order reorder",
            "sharded": (
                "RankedParts ShardFacts StoredGraph StoredGraphFacts build_stored_graph "
                "has_stored_graph rank_file_of rank_stored ranks_of_store stored_host "
                "stored_hosts stored_hosts_ranked"
            ),
        },
    )
