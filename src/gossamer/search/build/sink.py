"""Where prepared pages go: into one of several shards."""

from collections import Counter
from pathlib import Path
from typing import Protocol

from gossamer.ranks import RankFile
from gossamer.search.fields import SURE_SPAM
from gossamer.search.manifest import Manifest, shard_folders
from gossamer.search.page import Prepared
from gossamer.search.shard import ShardWriter
from gossamer.urls import fingerprint_of

URL_MASK = (1 << 40) - 1
"""The part of a key that is spread evenly; the rest is its domain's."""
LEAST_HEAP_BYTES = 16_000_000
"""The engine takes no less."""


class PageSink(Protocol):
    """Takes pages in. A page replaces one with the same URL; a commit is for good."""

    def add(self, page: Prepared) -> None:
        """Put a page in, in place of an older one with its URL."""

    def delete(self, url: str) -> None:
        """Take a page out, if it is in."""

    def commit(self) -> None:
        """Make everything so far count."""

    def pages(self) -> int:
        """Return how many pages count."""

    def languages(self) -> dict[str, int]:
        """Return how many pages of each language count, the most frequent first."""

    def close(self) -> None:
        """Commit, and let go."""


class DocumentSink:
    """The shards of an index that is split by documents, in one tier or two."""

    def __init__(
        self, index: Path, manifest: Manifest, memory_bytes: int, *, ranks: RankFile | None = None
    ) -> None:
        self._manifest = manifest
        self._ranks = ranks
        is_new = manifest.generation == 0
        tiers = [shard_folders(index, manifest, "high")]
        if manifest.high_share:
            tiers.append(shard_folders(index, manifest, "low"))
        folders = [folder for tier in tiers for folder in tier]
        heap_bytes = max(memory_bytes // len(folders), LEAST_HEAP_BYTES)
        self._shards = [_Lazy(folder, heap_bytes, is_new=is_new) for folder in folders]
        self._is_new = is_new
        """All shards are empty, and no URL comes twice."""
        self._turn = manifest.pages

    def add(self, page: Prepared) -> None:
        """Put a page in, in place of an older one with its URL, wherever that is."""
        self._turn += 1
        numbers = {"url": page.key & URL_MASK, "host": page.host, "turn": self._turn}
        place = numbers[self._manifest.partition] % self._manifest.shards
        if self._is_low(page):
            place += self._manifest.shards
        if not self._is_new:
            for other in self._others(place):
                self._shards[other].delete(page.url)
        self._shards[place].add(page)

    def delete(self, url: str) -> None:
        """Take a page out, if it is in."""
        shards = range(len(self._shards))
        if self._manifest.partition == "url":
            number = (fingerprint_of(url) & URL_MASK) % self._manifest.shards
            shards = shards[number :: self._manifest.shards]
        for place in shards:
            self._shards[place].delete(url)

    def commit(self) -> None:
        """Make everything so far count, shard by shard."""
        for shard in self._shards:
            shard.commit()

    def pages(self) -> int:
        """Return how many pages count."""
        return sum(shard.pages() for shard in self._shards)

    def languages(self) -> dict[str, int]:
        """Return how many pages of each language count, the most frequent first."""
        total: Counter[str] = Counter()
        for shard in self._shards:
            total.update(shard.languages())
        return dict(total.most_common())

    def close(self) -> None:
        """Commit, and wait until the files are in order."""
        for shard in self._shards:
            shard.close()

    def _others(self, place: int) -> list[int]:
        """Return in which other shards an older page with the same URL may be."""
        shards = self._manifest.shards
        if self._manifest.partition == "turn":
            return [other for other in range(len(self._shards)) if other != place]
        if self._manifest.high_share:
            return [(place + shards) % (2 * shards)]
        return []

    def _is_low(self, page: Prepared) -> bool:
        if not self._manifest.high_share:
            return False
        rank = self._ranks.of(page.key) if self._ranks is not None else None
        return rank is None or rank < self._manifest.high_from or page.spam >= SURE_SPAM


class _Lazy:
    """A shard that is opened when something is to be written; a new one at once."""

    def __init__(self, folder: Path, heap_bytes: int, *, is_new: bool) -> None:
        self._folder = folder
        self._heap_bytes = heap_bytes
        self._is_new = is_new
        self._opened: ShardWriter | None = self._open() if is_new else None
        self._is_changed = is_new
        self._pages: int | None = None
        self._languages: dict[str, int] | None = None

    def add(self, page: Prepared) -> None:
        self._changing().add(page)

    def delete(self, url: str) -> None:
        self._changing().delete(url)

    def commit(self) -> None:
        if self._is_changed:
            self._writer().commit()
            self._is_changed, self._pages, self._languages = False, None, None

    def pages(self) -> int:
        if self._pages is None:
            self._pages = self._writer().pages()
        return self._pages

    def languages(self) -> dict[str, int]:
        if self._languages is None:
            self._languages = self._writer().languages()
        return self._languages

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._is_changed, self._pages, self._languages = False, None, None

    def _changing(self) -> ShardWriter:
        self._is_changed = True
        return self._writer()

    def _writer(self) -> ShardWriter:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> ShardWriter:
        return ShardWriter(self._folder, heap_bytes=self._heap_bytes, is_new=self._is_new)
