"""What the product reads in the files of a golden crawl folder, as plain values; and one WARC
record of each kind, written with fixed ids and times.

`make.py` keeps both beside the folder; tests compare. Whoever renames what is imported here
changes the imports only: the values stay.
"""

import gzip
import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gossamer.cluster import read_charter
from gossamer.graph import BVGraph
from gossamer.graph.build.manifest import read_manifest as read_graph_manifest
from gossamer.graph.bv import KindsFile
from gossamer.graph.names import UrlMap
from gossamer.model import (
    CopyOf,
    Failed,
    FailureKind,
    LinkKind,
    RefusalKind,
    Refused,
    RevisitResult,
    Task,
)
from gossamer.ranks import RankFile, write_ranks
from gossamer.search.manifest import read_manifest as read_index_manifest
from gossamer.seen.runs import checked_chunks
from gossamer.settings import load_config
from gossamer.store import (
    ArchiveEntry,
    CrawlFolder,
    LostReading,
    ReadingMark,
    Records,
    TurnWriter,
    iter_links,
)
from tests.unit.store.store_samples import document, turn

AT = 1700000000.25
GRAPHS = ("web", "web-t")
SOFTWARE = "gossamer/golden"


def crawl_toml(folder: Path) -> Any:
    """Return all knobs."""
    return msgspec.to_builtins(load_config(folder / "crawl.toml"))


def charter(folder: Path) -> Any:
    """Return how the state is split."""
    return msgspec.to_builtins(read_charter(CrawlFolder(folder).charter_path))


def seen_runs(folder: Path) -> Any:
    """Return the keys of every seen run."""
    paths = sorted(folder.glob("state/*/seen/*.keys"))
    return {
        str(path.relative_to(folder)): np.concatenate(list(checked_chunks(path))).tolist()
        for path in paths
    }


def index_manifest(folder: Path) -> Any:
    """Return the index manifest."""
    return msgspec.to_builtins(read_index_manifest(folder / "index"))


def graph_manifest(folder: Path) -> Any:
    """Return the graph manifest."""
    return msgspec.to_builtins(read_graph_manifest(folder / "graph"))


def graph_rows(folder: Path) -> Any:
    """Return every row of the graph and of its transpose: targets and kinds, by node.

    Read one by one, which takes offsets (or starts), properties, kinds and their starts.
    """
    found = {}
    for name in GRAPHS:
        graph = BVGraph.open(folder / "graph" / name)
        kinds = KindsFile(folder / "graph" / name, graph.nodes)
        rows = []
        for node in range(graph.nodes):
            targets = graph.successors(node).tolist()
            rows.append([targets, kinds.of(node, len(targets)).tolist()])
        found[name] = rows
    return found


def graph_properties(folder: Path) -> Any:
    """Return what the properties files say."""
    opened = {name: BVGraph.open(folder / "graph" / name) for name in GRAPHS}
    return {
        name: [graph.nodes, graph.arcs, graph.properties.window, graph.properties.zeta_k]
        for name, graph in opened.items()
    }


def url_map(folder: Path) -> Any:
    """Return the URLs of all nodes in order."""
    names = UrlMap.open(folder / "graph" / "web.urls")
    return [names.url(node) for node in range(len(names))]


def links_records(folder: Path) -> Any:
    """Return every twentieth record of the links archive."""
    records = [record for _, record in iter_links(CrawlFolder(folder))]
    return [msgspec.to_builtins(record) for record in records[::20]]


def archive_records(folder: Path) -> Any:
    """Return headers and content, by its hash, of the first record of each kind in each file."""
    found = {}
    for path in sorted((folder / "archive").glob("*.gz")):
        for record in Records(path):
            name = f"{path.name} {record.headers['warc-type']}"
            digest = hashlib.sha256(record.block).hexdigest()
            found.setdefault(name, [record.offset, record.length, record.headers, digest])
    return found


READERS: dict[str, Callable[[Path], Any]] = {
    reader.__name__: reader
    for reader in (
        *(crawl_toml, charter, seen_runs, index_manifest, graph_manifest, graph_properties),
        *(graph_rows, url_map, links_records, archive_records),
    )
}
"""What reads each kind of file. None of them changes the folder."""


RANKS = {7: 0.5, 3: 2.25, 1 << 63: 0.0, (1 << 64) - 1: 1.25}


def write_golden_ranks(path: Path) -> None:
    """Write a file of ranks: those of four keys."""
    write_ranks(path, np.array(list(RANKS), np.uint64), np.array(list(RANKS.values())))


def read_golden_ranks(path: Path) -> dict[int, float | None]:
    """Return the ranks of the same keys, and of one that has none."""
    table = RankFile.open(path)
    return {key: table.of(key) for key in (*RANKS, 12345)}


def lost_readings(folder: Path, copy_to: Path) -> list[LostReading | None]:
    """Return what the marks of all shards say; opening one changes it, so it is copied first."""
    found = []
    for mark in sorted(folder.glob("state/*/flight")):
        copy = copy_to / f"flight-{mark.parent.name}"
        copy.write_bytes(mark.read_bytes())
        opened = ReadingMark(copy)
        found.append(opened.lost)
        opened.close()
    return found


def _ending(writer: TurnWriter, entry: ArchiveEntry) -> bytes:
    """Return the member of a URL of which no document is kept, if it is alone in its commit."""
    assert entry.ending is not None
    return writer.endings([entry.ending])


def made_records() -> dict[str, bytes]:
    """Return WARC records of every kind, unpacked, as a shard writes them."""
    writer = TurnWriter(software=SOFTWARE, rng=random.Random(1))
    warcinfo = writer.warcinfo("pages-00-0001-00000.warc.gz", AT)
    page = writer.entry(turn(document(b"<p>Golden page", latency_s=0.0)))  # no `took_ms` then
    original = CopyOf("http://one.test/a", page.record_id, page.payload_digest, AT)
    copy = document(b"<p>Golden page", at="http://one.test/b", fetched_at=AT + 9)
    revisit = writer.entry(turn(copy, copy_of=original))
    same = document(b"", status=304, head=b"HTTP/1.1 304 Not Modified\r\n\r\n", fetched_at=AT + 60)
    unmodified = writer.entry(turn(same, copy_of=original, revisit=RevisitResult.UNCHANGED))
    cut = writer.entry(turn(document(b"<p>Golden pa", truncated="length")))
    plain = document(b"plain", head=b"", headers=(), request=b"", address="", media_type="")
    resource = writer.entry(turn(plain))
    task = Task(document(at="http://one.test/c").url, kind=LinkKind.ANCHOR)
    failed = writer.entry(
        turn(task=task, outcome=Failed(kind=FailureKind.NOT_FOUND, detail="404"), found=None)
    )
    refusal = Refused(kind=RefusalKind.ROBOTS_DISALLOWED, detail="/private/")
    refused = writer.entry(turn(task=task, outcome=refusal, found=None))
    members = {
        "warcinfo": warcinfo,
        "request": page.pages[: page.page_offset],
        "response": page.pages[page.page_offset :],
        "conversion": page.text,
        "metadata": page.links,
        "revisit": revisit.pages[revisit.page_offset :],
        "revisit-not-modified": unmodified.pages[unmodified.page_offset :],
        "response-truncated": cut.pages[cut.page_offset :],
        "resource": resource.pages,
        "metadata-failed": _ending(writer, failed),
        "metadata-refused": _ending(writer, refused),
        "metadata-seed": writer.seed_record("http://one.test/", "golden", AT),
    }
    return {name: gzip.decompress(member) for name, member in members.items()}
