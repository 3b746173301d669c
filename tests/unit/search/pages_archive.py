"""A crawl's archive without a crawl: texts and links that are written page by page."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import tantivy
import xxhash
from msgspec.structs import replace

from gossamer.search.manifest import image_folders, index_folder, read_manifest, shard_folders
from gossamer.search.page import ImageFacts, Shown
from gossamer.search.shard.schema import open_index
from gossamer.store import CrawlFolder, LinksRecord
from gossamer.store.entry import encode_links
from gossamer.store.warc import RecordIds, header, pack


@dataclass(frozen=True)
class Turn:
    """A links record, and the text of its page; None if the page has no text record."""

    record: LinksRecord
    text: str | None = None


def page(
    url: str,
    text: str | None = "",
    *links: tuple[str, str],
    at: float = 1.0,
    outcome: str = "fetched",
    content: str = "",
    images: Iterable[tuple[str, str]] = (),
    **more: object,
) -> Turn:
    """Return a page that says something, with links (target and text) and images (URL and alt)."""
    rows = [(target, "a", said, "") for target, said in links]
    rows += [(target, "image", alt, "") for target, alt in images]
    fp = xxhash.xxh3_64_intdigest((content or f"{url} {text}").encode())
    record = LinksRecord(url=url, outcome=outcome, at=at, links=rows, fp=fp, media_type="text/html")
    return Turn(replace(record, **more), text)


@dataclass
class PagesArchive:
    """Text and links files, appended to in groups as a crawl does."""

    root: Path
    ids: RecordIds = field(default_factory=lambda: RecordIds(random.Random(1)))

    def write(
        self, turns: Iterable[Turn], *, shard: int = 0, epoch: int = 1, number: int = 0
    ) -> None:
        """Append a group: all texts, then all links."""
        texts, links = [], []
        for turn in turns:
            page_id = self.ids.next() if turn.record.outcome == "fetched" else ""
            if turn.text:
                refers = f"WARC-Refers-To: {page_id}\r\n"
                texts.append(self._member("conversion", turn.text.encode(), refers))
            block = encode_links(replace(turn.record, page=page_id))
            links.append(self._member("metadata", block))
        stem = f"{shard:02d}-{epoch:04d}-{number:05d}"
        self._append(f"text-{stem}.warc.wet.gz", texts)
        self._append(f"links-{stem}.warc.gz", links)

    def append_text(self, text: str, *, shard: int = 0, epoch: int = 1) -> None:
        """Append a text that belongs to no page that counts."""
        member = self._member("conversion", text.encode(), f"WARC-Refers-To: {self.ids.next()}\r\n")
        self._append(f"text-{shard:02d}-{epoch:04d}-00000.warc.wet.gz", [member])

    def _append(self, name: str, members: list[bytes]) -> None:
        folder = CrawlFolder(self.root).archive
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("ab") as file:
            if not file.tell():
                file.write(self._member("warcinfo", b"software: none\r\n"))
            file.write(b"".join(members))

    def _member(self, kind: str, block: bytes, lines: str = "") -> bytes:
        opening = header(kind, self.ids.next(), "2026-01-01T00:00:00Z", lines, len(block))
        return pack(opening, block)


def shards_of(root: Path) -> list[tantivy.Index]:
    """Return all shards of an index, of both tiers."""
    index = index_folder(root)
    manifest = read_manifest(index)
    assert manifest is not None
    folders = shard_folders(index, manifest, "high")
    folders += shard_folders(index, manifest, "low") if manifest.high_share else []
    return [open_index(folder) for folder in folders]


def urls_in(shard: tantivy.Index, query: tantivy.Query | None = None) -> list[str]:
    """Return the URLs of the pages of a shard, or of those that a query finds."""
    searcher = shard.searcher()
    most = max(searcher.num_docs, 1)
    hits = searcher.search(query or tantivy.Query.all_query(), most).hits
    return [searcher.doc(place)["url"][0] for _, place in hits]


def index_urls(root: Path) -> list[str]:
    """Return the URLs of all pages of an index, sorted; one that is in it twice comes twice.

    Images that are stored count as pages, those that are only shown do not.
    """
    pages = [url for shard in shards_of(root) for url in urls_in(shard)]
    return sorted([*pages, *(url for url, facts in images_in(root) if facts.is_stored)])


def images_in(root: Path) -> list[tuple[str, ImageFacts]]:
    """Return the images of an index by URL, sorted; one that is in it twice comes twice."""
    index = index_folder(root)
    manifest = read_manifest(index)
    assert manifest is not None
    found: list[tuple[str, ImageFacts]] = []
    for folder in image_folders(index, manifest) if manifest.images else []:
        searcher = open_index(folder).searcher()
        hits = searcher.search(tantivy.Query.all_query(), max(searcher.num_docs, 1)).hits
        for document in (searcher.doc(place) for _, place in hits):
            shown = msgspec.msgpack.decode(document["shown"][0], type=Shown)
            assert shown.image is not None
            found.append((document["url"][0], shown.image))
    assert len(found) == manifest.images
    return sorted(found, key=lambda row: row[0])


def having(root: Path, field: str, word: str) -> list[str]:
    """Return the URLs of the pages that have a term in a field."""
    return sorted(
        url
        for shard in shards_of(root)
        for url in urls_in(shard, tantivy.Query.term_query(shard.schema, field, word))
    )
