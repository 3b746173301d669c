"""The URL of a crawl's store where a folder is expected: what is read of it, and from where."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.api.caching import cache_room
from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError

if TYPE_CHECKING:
    from gossamer.api.relays import CoordinatorRelay
    from gossamer.report import Page, Status, Why
    from gossamer.store import Mirror

FRESH_S = 30.0
"""So long a mirror is not looked after again."""


class LocalCrawl:
    """A crawl in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def close(self) -> None:
        """Do nothing: no file is kept open."""

    def folder(self) -> Path:
        """Return the folder."""
        return self._folder

    own_folder = steered_folder = folder

    def status(self) -> "Status":
        """Return the totals."""
        from gossamer.report import status

        return status(self._folder)

    def is_running(self) -> bool:
        """Return True if a process is crawling in the folder."""
        from gossamer.report import is_running

        return is_running(self._folder)

    def why(self, url: str) -> "Why":
        """Return everything known and decided about one URL."""
        from gossamer.report import why

        return why(self._folder, url)

    def brief_page(self, url: str) -> "Page | None":
        """Return the stored page of a URL, as of its last visit."""
        from gossamer.report import brief_page

        return brief_page(self._folder, url)


class StoredCrawl:
    """A crawl that is read by the URL of its store. Any other thread must wait."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opened: Mirror | None = None
        self._folder: Path | None = None
        self._relay: CoordinatorRelay | None = None
        self._looked_at = 0.0
        self._clock = SystemClock()

    def close(self) -> None:
        """Let the cache go."""
        if self._opened is not None:
            self._opened.close()
        if self._relay is not None:
            self._relay.close()
        self._folder = self._relay = None

    @property
    def _mirror(self) -> "Mirror":
        from gossamer.store import Mirror

        if self._opened is None:
            self._opened = Mirror(self.url, cache_room())
        return self._opened

    def status(self) -> "Status":
        """Return the totals: of a crawl that our cluster runs those of now, else as shipped."""
        from gossamer.report import store_status

        told = store_status(self.url, self._clock)
        if told.store is None or not told.store.is_running or not told.store.coordinator:
            return told
        from gossamer.api.relays import live_status

        return live_status(self.url, told)

    def is_running(self) -> bool:
        """Return True if its owner shows signs of life."""
        return self.status().running

    def own_folder(self) -> Path:
        """Refuse to change what is in a store."""
        raise ConfigError(
            f"{self.url} is a store, and only read: `gossamer crawl --into DIR --store {self.url}` "
            "goes on with the crawl in a folder, which can be changed"
        )

    def steered_folder(self) -> Path:
        """Return a folder through which the coordinator of a cluster is asked."""
        from gossamer.api.relays import CoordinatorRelay

        if self._relay is None:
            self._relay = CoordinatorRelay(self.url)
        return self._relay.root

    def folder(self) -> Path:
        """Return a folder with everything that the newest checkpoint has."""
        if self._folder is None or self._clock.steady() - self._looked_at > FRESH_S:
            self._folder = self._mirror.whole()
            self._looked_at = self._clock.steady()
        return self._folder

    def why(self, url: str) -> "Why":
        """Return everything known and decided about one URL; of ranks, what shards take up."""
        from gossamer.report import why
        from gossamer.settings import load_crawl_config

        told = why(self.folder(), url)
        order = load_crawl_config(self.folder()).frontier.order
        if told.rank is not None or not told.fingerprint or order not in {"best", "opic"}:
            return told
        from gossamer.api.storedgraph import ranks_of_shards

        find = ranks_of_shards(self.url)
        ranks = find(told.shard) if find is not None else None
        if ranks is None:
            return told
        return replace(told, rank=ranks.of(int(told.fingerprint, 16)))

    def brief_page(self, url: str) -> "Page | None":
        """Return the stored page of a URL, and fetch little more than it."""
        from gossamer.report import page, page_of_part

        if self._folder is None:
            try:
                return page_of_part(self._mirror.part(), url)
            except CannotGoOn:
                self._folder = None
        return page(self.folder(), url)


def is_store_url(place: Path | str) -> bool:
    """Return True if a place is the URL of an object store."""
    if not isinstance(place, str) or "://" not in place:
        return False
    from gossamer.store import is_store

    return is_store(place)


def is_crawl_store(place: Path | str) -> bool:
    """Return True if a place is the URL of an object store that a crawl is kept in."""
    if not isinstance(place, str) or not is_store_url(place):
        return False
    from gossamer.store import CrawlStore, Objects

    try:
        return bool(CrawlStore(Objects(place)).charters.numbers())
    except (CannotGoOn, ConfigError):
        return False  # whoever opens it says what is wrong


def place_of(place: Path | str) -> LocalCrawl | StoredCrawl:
    """Return where a crawl is: in a folder, or in an object store."""
    return StoredCrawl(str(place)) if is_store_url(place) else LocalCrawl(Path(place))
