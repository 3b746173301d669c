"""WHAT LIES ON DISK: the files of a term-partitioned index, and how they are read.

Neighbours: `making` writes them, the shards of `terms` ask them.
"""

from gossamer.search.terms.kept.compiled import natives, term_hash
from gossamer.search.terms.kept.layout import (
    Opened,
    TermSet,
    place_of,
    read_set,
    seal_of,
    shard_of,
    write_set,
)
from gossamer.search.terms.kept.lengths import discounts, norms_of
