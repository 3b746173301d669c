"""WHAT IS NEW? Links records that were not read before, as numbers."""

from gossamer.graph.build.news.archive import NewRecords, PageRecord, without_dropped
from gossamer.graph.build.news.fresh import Arcs, Fresh, number_names, settle
from gossamer.graph.build.news.spool import Hash, Pages, Spool, hash_of
