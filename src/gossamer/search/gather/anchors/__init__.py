"""WHAT DO OTHERS SAY OF IT? The texts of links, by where they lead.

Neighbours: `build` fills a spool and writes the table in a full build, and asks it for each page.
"""

from gossamer.search.gather.anchors.spool import AnchorSpool, Skip
from gossamer.search.gather.anchors.table import FILE, AnchorTable, write_anchors
