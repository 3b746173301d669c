"""FROM ARCHIVE TO GRAPH: read what links records say, sort it, write it down.

`build_graph` brings a crawl's graph up to date, `follow` does so again and again while it runs.
`ArcSorter` turns any arcs into rows. `Base`, `Delta` and `GraphManifest` are what was written.

Neighbours: reads `store`; writes with `bv` and `names`. Not for: answering.
"""

from gossamer.graph.build.builder import GraphFacts, GraphOptions, build_from, build_graph
from gossamer.graph.build.checking import check_graph
from gossamer.graph.build.delta import GONE, UNKNOWN, Delta
from gossamer.graph.build.following import follow
from gossamer.graph.build.manifest import GraphManifest, check_files, read_manifest
from gossamer.graph.build.news import NewRecords, PageRecord, without_dropped
from gossamer.graph.build.place import graph_folder, whole_folder
from gossamer.graph.build.sorting import ArcSorter
from gossamer.graph.build.whole import Base
