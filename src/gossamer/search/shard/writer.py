"""ShardWriter: puts prepared pages into a shard. Idempotent by URL; a commit is all or nothing."""

from pathlib import Path

import msgspec
import tantivy

from gossamer.search.fields import FAST_FIELDS, TEXT_FIELDS
from gossamer.search.page import LABEL, Prepared
from gossamer.search.shard.damage import guarded
from gossamer.search.shard.schema import length_column, make_index
from gossamer.search.shard.snapshot import languages_of

HEAP_BYTES = 128_000_000


class ShardWriter:
    """Writes one shard. There is one at a time for each folder."""

    def __init__(self, path: Path, *, heap_bytes: int = HEAP_BYTES, is_new: bool = False) -> None:
        self._path = path
        with guarded(path, "written"):
            self._index = make_index(path)
            self._writer = self._index.writer(heap_bytes, 1)
        self._is_new = is_new
        """Nothing was there before, and no URL comes twice: nothing needs to be deleted."""

    def add(self, page: Prepared) -> None:
        """Put a page in, in place of an older one with its URL."""
        if not self._is_new:
            self.delete(page.url)
        document = tantivy.Document()
        for name, words in zip(TEXT_FIELDS, page.words, strict=True):
            if words:
                document.add_text(name, words)
                document.add_unsigned(length_column(name), words.count(" ") + 1)
        document.add_text("url", page.url)
        for site in page.sites:
            document.add_text("site", site)
        for name in page.types:
            document.add_text("type", name)
        for label in page.labels:
            document.add_text("type", LABEL + label)
        for mark in page.marks:
            document.add_text("mark", mark)
        document.add_text("language", page.language)
        for name in FAST_FIELDS:
            document.add_unsigned(name, getattr(page, name))
        document.add_bytes("shown", msgspec.msgpack.encode(page.shown))
        with guarded(self._path, "written"):
            self._writer.add_document(document)

    def delete(self, url: str) -> None:
        """Take a page out, if it is in."""
        self._writer.delete_documents_by_term("url", url)

    def pages(self) -> int:
        """Return how many pages are in it, as far as they count."""
        self._index.reload()
        return self._index.searcher().num_docs

    def languages(self) -> dict[str, int]:
        """Return how many pages of each language are in it, as far as they count."""
        self._index.reload()
        with guarded(self._path):
            return languages_of(self._index.searcher())

    def commit(self) -> None:
        """Make everything so far count, for good and for readers."""
        with guarded(self._path, "written"):
            self._writer.commit()

    def close(self) -> None:
        """Commit, and wait until the files are in order."""
        with guarded(self._path, "written"):
            self._writer.commit()
            self._writer.wait_merging_threads()
