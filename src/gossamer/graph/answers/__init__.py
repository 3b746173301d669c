"""WHAT DOES THE GRAPH SAY AS A WHOLE? Ranks, hosts, components, paths, and pages like a page.

All take graphs as `Adjacency`: `out` has the links of each node, `inward` (the transpose) the links
into each. `kinds` and `universe` choose which links and which nodes count; None means all nodes.
Results are arrays by node number, or node numbers: whoever asks knows the URLs.

    ranks = pagerank(inward, RankPlan(kinds=VOTES), universe=universe_of(inward, pages, VOTES),
                     tell=lambda sweep, error: ...)        # ranks.scores, .sweeps, .error
    hits(out), harmonic(inward), indegrees(inward)
    hosts = host_graph(out, names, first_nodes)            # names.UrlMap.hosts()
    rank_hosts(hosts).scores
    strong_components(out).sizes, weak_components(out).labels, bow_tie(out).core
    shortest_path(out, inward, start, end).nodes
    Likeness(out, inward, first_nodes).cocited(node, Random(0)), .coupled(...)
    save_ranks(path, urls, scores, universe)               # others read it: `ranks.RankFile`
"""

from gossamer.graph.answers.alike import Alike, AlikePlan, Likeness
from gossamer.graph.answers.centrality import (
    HitsPlan,
    HitsScores,
    Nearness,
    NearnessPlan,
    harmonic,
    hits,
    indegrees,
)
from gossamer.graph.answers.components import (
    BowTie,
    Components,
    bow_tie,
    strong_components,
    weak_components,
)
from gossamer.graph.answers.hosts import (
    HostGraph,
    arcs_of,
    host_graph,
    hosts_of,
    rank_hosts,
    summed,
)
from gossamer.graph.answers.paths import Path, shortest_path
from gossamer.graph.answers.picked import Mask, loaded, transposed, universe_of
from gossamer.graph.answers.rank import RankPlan, Ranks, pagerank
from gossamer.graph.answers.saving import save_ranks
