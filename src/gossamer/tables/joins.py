"""Joins: columns whose values change after a row was written are filled in when it is read.

A join is made once for a reading, from the state and the files of that moment, and is handed batch
after batch. `JOINS` has those of each table; one more column is one more entry.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from gossamer.model import add_labels
from gossamer.store import CrawlFolder
from gossamer.tables.editions import Editions, Living
from gossamer.tables.known import join_copies, join_ranks, join_targets
from gossamer.tables.rows import NUMBER, Batch, Reading
from gossamer.tables.schema import TableName

MakeJoin: TypeAlias = Callable[[CrawlFolder], Reading]

JOINS: Mapping[TableName, Sequence[MakeJoin]] = {
    "pages": (join_ranks, join_copies),
    "links": (join_targets,),
}


def joined(table: TableName | None, folder: CrawlFolder) -> Reading:
    """Return what fills in the columns of a table that change; None: of no table."""
    joins = [make(folder) for make in JOINS.get(table, ())] if table is not None else []

    def read(batch: Batch) -> Batch:
        for join in joins:
            batch = join(batch)
        return batch

    return read


def living_rows(table: TableName, editions: Editions, living: Living) -> Reading:
    """Return what leaves out the rows that do not hold, and fills in seeds and their labels."""
    is_alive = living.pages if table == "pages" else living.links

    def read(batch: Batch) -> Batch:
        numbers = np.asarray(batch.columns[NUMBER], np.int64)
        holds = is_alive[numbers]
        if not holds.all():
            batch, numbers = batch.kept(holds.tolist()), numbers[holds]
        if table == "pages":
            batch = _with_seeds(batch, editions, living.seeds[numbers].tolist())
        return batch.without(NUMBER)

    return read


def _with_seeds(batch: Batch, editions: Editions, seeds: Sequence[int]) -> Batch:
    roots = editions.roots
    batch = batch.with_column("seed", [roots.get(number, "") for number in seeds])
    if not editions.labels:
        return batch
    late = editions.labels
    pairs = zip(batch.columns["url"], batch.columns["seed_label"], strict=True)
    labels = [add_labels(label, late[url]) if url in late else label for url, label in pairs]
    return batch.with_column("seed_label", labels)
