"""A links archive without a crawl, and what a graph of it must say, by plain dictionaries."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.graph.connectivity import Connectivity, Links
from gossamer.graph.kinds import ALL, Kind, kind_of
from gossamer.store import CrawlFolder, LinksRecord, iter_links
from gossamer.store.entry import encode_links
from gossamer.store.warc import RecordIds, header, pack

LinksOf = dict[str, dict[str, Kind]]


@dataclass
class LinksArchive:
    """Links files that are written record by record."""

    root: Path
    ids: RecordIds = field(default_factory=lambda: RecordIds(random.Random(1)))

    def write(
        self, records: Iterable[LinksRecord], *, shard: int = 0, epoch: int = 1, number: int = 0
    ) -> Path:
        """Append records to one file; return its path."""
        folder = CrawlFolder(self.root).archive
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"links-{shard:02d}-{epoch:04d}-{number:05d}.warc.gz"
        with path.open("ab") as file:
            if not file.tell():
                file.write(self._member("warcinfo", b"software: none\r\n"))
            for record in records:
                file.write(self._member("metadata", encode_links(record)))
        return path

    def _member(self, kind: str, block: bytes) -> bytes:
        opening = header(kind, self.ids.next(), "2026-01-01T00:00:00Z", "", len(block))
        return pack(opening, block)


def page(url: str, *targets: str, at: float = 0.0, outcome: str = "fetched") -> LinksRecord:
    """Return the record of a page with plain links; "nofollow url" and the like tell their kind."""
    links = []
    for target in targets:
        kind, _, where = target.rpartition(" ")
        rel = "nofollow" if kind == "nofollow" else ""
        links.append((where, "a" if kind in ("", "nofollow") else kind, "text", rel))
    return LinksRecord(url=url, outcome=outcome, at=at, links=links)


def links_of(root: Path) -> LinksOf:
    """Return where each page links, as the newest record of each says."""
    pages: LinksOf = {}
    newest: dict[str, float] = {}
    for _, record in iter_links(CrawlFolder(root)):
        if record.outcome not in ("fetched", "redirected", "gone"):
            continue
        if record.at < newest.get(record.url, record.at):
            continue
        newest[record.url] = record.at
        pages.pop(record.url, None)
        if record.outcome != "gone":
            pages[record.url] = row_of(record)
    return pages


def row_of(record: LinksRecord) -> dict[str, Kind]:
    """Return where a record says that its page links, and how."""
    row: dict[str, Kind] = {}
    is_all = "nofollow" in record.robots or "none" in record.robots
    for target, kind, _, rel in record.links:
        found = kind_of(kind, is_nofollow=is_all or "nofollow" in rel.split())
        row[target] = row.get(target, Kind(0)) | found
    return row


def turned(pages: LinksOf) -> LinksOf:
    """Return who links to each URL."""
    back: LinksOf = {}
    for source, row in pages.items():
        for target, kinds in row.items():
            back.setdefault(target, {})[source] = kinds
    return back


def chosen(row: dict[str, Kind], kinds: Kind) -> Links:
    """Return the links of some kinds, sorted."""
    return sorted((url, ways) for url, ways in row.items() if ways & kinds)


def assert_says(root: Path, pages: LinksOf, others: Iterable[str] = ()) -> None:
    """Insist that the graph says just this: of all URLs, out and in, of all kinds and of each."""
    graph = Connectivity.open(root)
    back = turned(pages)
    known = {*pages, *back}
    for url in known:
        for kinds in (ALL, *Kind):
            assert graph.links_out(url, kinds) == chosen(pages.get(url, {}), kinds), url
            assert graph.links_in(url, kinds) == chosen(back.get(url, {}), kinds), url
        assert graph.degree_out(url) == len(pages.get(url, {}))
        assert graph.degree_in(url) == len(back.get(url, {}))
        assert graph.has_page(url) == (url in pages)
    for url in {*others} - known:
        assert graph.links_out(url) is None, url
        assert graph.links_in(url) is None, url
        assert graph.degree_in(url) is None, url
    if not graph.stale:
        assert graph.nodes == len(known)
        assert graph.arcs == sum(map(len, pages.values()))
