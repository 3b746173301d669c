"""What is left out of everything made of an archive: what the crawl has dropped.

The archive keeps the pages; graph, index and tables are made without them, and without links that
lead to them. Each remembers the patterns by their digest: other ones make a full build due.
"""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType
from xxhash import xxh3_64_hexdigest

from gossamer.settings import load_crawl_config
from gossamer.store import CrawlFolder, LinkRow
from gossamer.urls import Patterns

DROPPED = "dropped"
"""What readers of the archive make of the outcome of a URL that is dropped."""


class DroppedUrls:
    """The URLs that patterns name."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = Patterns(patterns)
        self._is_any = bool(patterns)
        self.digest: str | UnsetType = UNSET
        """The same for the same patterns; UNSET without any."""
        if patterns:
            self.digest = xxh3_64_hexdigest("\n".join(sorted(set(patterns))).encode())

    def __bool__(self) -> bool:
        """Return True if there are any patterns."""
        return self._is_any

    def has(self, url: str) -> bool:
        """Return True if a URL in canonical form is dropped."""
        return self._is_any and bool(self._patterns.match(url))

    def has_host(self, host: str) -> bool:
        """Return True if all of a host is dropped."""
        return self._is_any and bool(self._patterns.match_host(host))

    def among(self, links: Sequence[LinkRow]) -> list[int]:
        """Return the places of links that lead to what is dropped."""
        if not self._is_any:
            return []
        return [place for place, row in enumerate(links) if self._patterns.match(row[0])]


def dropped_of(folder: CrawlFolder) -> DroppedUrls:
    """Return what a crawl has dropped, by its crawl.toml; an archive without one drops nothing."""
    if not folder.config_path.exists():
        return DroppedUrls()
    return DroppedUrls(load_crawl_config(folder.root).filter.drop)
