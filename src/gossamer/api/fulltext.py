"""SearchIndex: full-text search over an index, wherever it lies, always as it is now."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Self

from gossamer.errors import ConfigError
from gossamer.model import BuildProgress
from gossamer.ranks import ranks_path
from gossamer.search import (
    Answer,
    Finder,
    IndexFacts,
    IndexOptions,
    Searcher,
    SearchWish,
    Switches,
    build_foreign,
    has_index,
    index_folder,
    open_index,
    ranks_of,
)

_Stamp = tuple[int, int, int]


class SearchIndex:
    """An index that can be searched; what is built meanwhile is taken up. Any thread may ask."""

    def __init__(self, places: Sequence[Path | str]) -> None:
        self._places = [_place(one) for one in places]
        only = self._places[0] if len(self._places) == 1 else None
        self._folder = only if isinstance(only, Path) else None
        self._lock = Lock()
        self._finder: Finder | None = None
        self._searcher: Searcher | None = None
        self._inode = 0
        self._seen: tuple[_Stamp | None, _Stamp | None] = (None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(
        self,
        query: str,
        *,
        page: int = 1,
        per_page: int = 10,
        exact: bool = False,
        without: Sequence[str] = (),
    ) -> Answer:
        """Return a page of results, the best first. Any text is a query.

        Words, "a phrase", -word, one OR other, site:, lang:, type:, label:, inurl:, after:,
        before:.
        `exact`: scores as of one index, however many shards there are. `without`: rank without
        fields, anchors, static, proximity, copies or hosts.
        """
        try:
            switches = Switches.without(list(without))
        except ValueError as error:
            raise ConfigError(f"without: {error}") from error
        wish = SearchWish(page=page, per_page=per_page, is_exact=exact, switches=switches)
        return self._newest().search(query, wish)

    def close(self) -> None:
        """Close its files; it opens them again if it is searched again."""
        with self._lock:
            if self._finder is not None:
                self._finder.close()
            self._finder = self._searcher = None
            self._seen = (None, None)

    def _newest(self) -> Searcher:
        """Return a searcher of the index and the ranks as they are now."""
        with self._lock:
            if self._folder is None:
                if self._searcher is None:
                    self._finder = open_index(self._places)
                    self._searcher = Searcher(self._finder)
                return self._searcher
            index = _stamp(index_folder(self._folder) / "manifest.json")
            ranks = _stamp(ranks_path(self._folder))
            if self._searcher is not None and (index, ranks) == self._seen:
                return self._searcher
            finder = self._renewed(self._folder)
            if self._searcher is None or finder is not self._finder or ranks != self._seen[1]:
                self._searcher = Searcher(finder, ranks_of(self._folder))
            self._finder, self._seen = finder, (index, ranks)
            return self._searcher

    def _renewed(self, folder: Path) -> Finder:
        if not has_index(folder):
            self._finder = self._searcher = None
            raise ConfigError(f"{folder} has no index: run `gossamer build {folder} index`")
        inode = index_folder(folder).stat().st_ino
        if self._finder is not None and inode == self._inode:
            self._finder.renew()
            return self._finder
        found = open_index(folder)
        self._inode = inode  # a full build puts a new folder in place of the old one
        return found


def open_search(*places: Path | str) -> SearchIndex:
    """Return an index that can be searched; several places are searched as one.

    A place is a folder (of a crawl, or made by `index_files`), the URL where an index was published
    (s3://BUCKET/PREFIX, file:///FOLDER), or that of a `gossamer serve --shard` (http://HOST:PORT).
    """
    if not places:
        raise ConfigError("expected the folder or URL of an index, found none")
    return SearchIndex(places)


def index_files(
    files: Sequence[Path | str],
    into: Path | str,
    options: IndexOptions | None = None,
    *,
    on_progress: BuildProgress | None = None,
    on_bad: Callable[[str], None] | None = None,
) -> IndexFacts:
    """Index WET, WARC or JSONL files that were not crawled here; the index is INTO/index.

    `on_bad` is told what cannot be read. A page replaces an older one with the same URL.
    """
    return build_foreign([str(one) for one in files], Path(into), options, on_progress, on_bad)


def _place(place: Path | str) -> Path | str:
    return place if isinstance(place, str) and "://" in place else Path(place)


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
