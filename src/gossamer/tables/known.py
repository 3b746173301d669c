"""Rows of `urls` and `hosts`, and the columns that are joined: what the state knows at the moment.

A join reads what it needs when it is made. A folder without a state has nothing to join: its rows
stay as the archive has them.
"""

from collections.abc import Iterator

from msgspec.structs import astuple

from gossamer.ranks import crawl_ranks
from gossamer.report import (
    CopyNames,
    Snapshot,
    UrlStandings,
    dropped_of,
    host_table,
    url_table,
)
from gossamer.store import CrawlFolder, State
from gossamer.tables.rows import Batch, Reading, batches_of
from gossamer.tables.schema import HOSTS, URLS
from gossamer.urls import read_canonical


def url_batches(folder: CrawlFolder) -> Iterator[Batch]:
    """Yield the rows of `urls`."""
    dropped = dropped_of(folder)
    found = (row for row in url_table(folder.root) if not dropped.has(row.url))
    return batches_of(URLS, map(astuple, found))


def host_batches(folder: CrawlFolder) -> Iterator[Batch]:
    """Yield the rows of `hosts`."""
    dropped = dropped_of(folder)
    found = (row for row in host_table(folder.root) if not dropped.has_host(row.host))
    return batches_of(HOSTS, map(astuple, found))


def has_state(folder: CrawlFolder) -> bool:
    """Return True if a folder has a state; an archive alone has none."""
    return State.exists(folder.state(0)) and folder.config_path.exists()


def join_targets(folder: CrawlFolder) -> Reading:
    """Return what fills in state and HTTP status of the targets of links."""
    if not has_state(folder):
        return lambda batch: batch
    with Snapshot.open(folder.root) as snapshot:
        standings = UrlStandings(snapshot)

    def read(batch: Batch) -> Batch:
        states, statuses = standings.of_links(batch.columns["target"], batch.columns["kind"])
        batch = batch.with_column("target_state", states)
        return batch.with_column("target_status", statuses)

    return read


def join_ranks(folder: CrawlFolder) -> Reading:
    """Return what fills in the ranks of pages; none if the graph has none."""
    ranks = crawl_ranks(folder.root)
    if ranks is None:
        return lambda batch: batch

    def read(batch: Batch) -> Batch:
        keys = [read_canonical(url).key for url in batch.columns["url"]]
        found = ranks.of_all(keys).tolist()
        return batch.with_column("rank", [score or None for score in found])

    return read


def join_copies(folder: CrawlFolder) -> Reading:
    """Return what fills in of which page a page is a near-duplicate; exact copies stay."""
    if not has_state(folder):
        return lambda batch: batch
    with Snapshot.open(folder.root) as snapshot:
        copies = CopyNames(snapshot)

    def read(batch: Batch) -> Batch:
        near, known = copies.of(batch.columns["url"]), batch.columns["copy_of"]
        return batch.with_column(
            "copy_of", [exact or found for exact, found in zip(known, near, strict=True)]
        )

    return read
