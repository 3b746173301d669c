"""SearchIndex: full-text search over an index, wherever it lies, always as it is now."""

import re
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Self, TypedDict, Unpack

from msgspec.structs import replace

from gossamer.api.mirrors import is_crawl_store, is_store_url
from gossamer.api.ranks import rank_state
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.ranks import RankState, ranks_path
from gossamer.search import (
    Answer,
    Given,
    IndexReader,
    LikeImage,
    LikeSearcher,
    LikeText,
    MissingShard,
    Reranker,
    Searcher,
    SearchOptions,
    Switches,
    has_index,
    index_folder,
    named_reranker,
    open_index,
    ranks_of,
    read_manifest,
)
from gossamer.store import ContentStamp, CrawlFolder, stamp_of

_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_COMMA = re.compile(r",(?=[a-z][a-z0-9+.-]*://)", re.IGNORECASE)

_DROPS_ARE_DUE = (
    "what was dropped or taken back since the index was built is not in this answer: "
    "`gossamer build {} index` brings it up to date"
)


class SearchKeywords(TypedDict, total=False):
    """What `search` takes beside the query."""

    page: int
    """Which page of results, from 1."""
    per_page: int
    """Results on it: 10, unless told otherwise."""
    exact: bool
    """Scores as of one index, however many shards there are; so it is by the URL of a store."""
    without: Sequence[str]
    """Rank without fields, anchors, static, proximity, spam, copies or hosts."""
    facets: bool
    """Count how the pages with all the words divide by site, language, type and year."""
    verbatim: bool
    """Without results of a corrected query, when this one has none."""
    languages: Sequence[str]
    """Languages that you read, the preferred one first: among results that fit nearly equally well
    they come first, after those in the language of the query."""
    rerank: Reranker | str
    """Your own function, or "module:function", that scores the best 100 pages anew: it is called
    with the query and a list of `RerankPage`, and returns a number for each."""


class SearchIndex:
    """An index that can be searched; what is built meanwhile is taken up. Any thread may ask."""

    def __init__(self, places: Sequence[Path | str]) -> None:
        found = [_indexes_of(one) for one in places]
        self._is_exact = any(len(some) > 1 for some in found)
        """What is asked of several shards of one crawl is scored as of one index."""
        self._places = [_place(one) for some in found for one in some]
        only = self._places[0] if len(self._places) == 1 else None
        self._folder = only if isinstance(only, Path) else None
        self._lock = Lock()
        self._reader: IndexReader | None = None
        self._searcher: Searcher | None = None
        self._like: tuple[IndexReader, LikeSearcher] | None = None
        self._ranks: RankState | None = None
        self._inode = 0
        self._seen: tuple[object, object] = (None, None)
        self._drops: tuple[tuple[object, object], bool] = ((None, None), False)
        """Whether the crawl has dropped other pages than the index, as of these two files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(self, query: str, **keywords: Unpack[SearchKeywords]) -> Answer:
        """Return a page of results, the best first. Any text is a query.

        Words, "a phrase", -word, one OR other, site:, lang:, type:, label:, inurl:, after:,
        before:.
        """
        options = self._options(keywords)
        rerank = keywords.get("rerank")
        function = named_reranker(rerank) if isinstance(rerank, str) else rerank
        searcher = self._newest()
        answer = searcher.search(query, options, function)
        return replace(answer, ranks=self._ranks, hints=[*answer.hints, *self._hints()])

    def search_like(
        self, like: Path | str | bytes, query: str = "", **keywords: Unpack[SearchKeywords]
    ) -> Answer:
        """Return pages like a text, or images like an image; near-copies first.

        `like`: a Path (of a text, an HTML page, a PDF, or a PNG, JPEG, GIF or WebP), what such a
        file holds as bytes, the URL of a page or stored image of the index, or a text. `query`:
        filters and words that narrow it, such as "site:example.org". Pages are found by the terms
        that tell most of the text, images by their perceptual hashes. Links do not count here
        (`similar` goes by them), and passages need not be the same (`copies_of`).
        """
        searcher = self._newest_like()
        answer = searcher.search(_given(like, searcher), query, self._options(keywords))
        return replace(answer, hints=[*answer.hints, *self._hints()])

    @property
    def places(self) -> list[str]:
        """The folders and URLs that it was opened with."""
        return [str(place) for place in self._places]

    def pages(self) -> int:
        """Return how many pages can be searched, as far as is known by now."""
        return self._opened().counts(()).pages

    def missing(self) -> list[MissingShard]:
        """Ask all shards, and return those that do not answer; raise if none does."""
        reader = self._opened()
        with reader.noting() as notes:
            reader.vocabulary("", 0)
        return list(notes.missing.values())

    def stamp(self) -> ContentStamp | None:
        """Return what changes with the index or the ranks; None if they are not on this machine."""
        if self._folder is None:
            return None
        index = index_folder(self._folder)
        files = (index / "manifest.json", ranks_path(self._folder))
        return ContentStamp(tuple(map(stamp_of, files)))

    def close(self) -> None:
        """Close its files; it opens them again if it is searched again."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
            self._reader = self._searcher = self._like = None
            self._seen = (None, None)

    def _options(self, keywords: SearchKeywords) -> SearchOptions:
        try:
            switches = Switches.without(list(keywords.get("without", ())))
        except ValueError as error:
            raise ConfigError(f"without: {error}") from error
        return SearchOptions(
            page=keywords.get("page", 1),
            per_page=keywords.get("per_page", 10),
            is_exact=keywords.get("exact", self._is_exact),
            switches=switches,
            facets=keywords.get("facets", False),
            is_verbatim=keywords.get("verbatim", False),
            languages=tuple(keywords.get("languages", ())),
        )

    def _hints(self) -> list[str]:
        """Return what is to be said of the index itself: a drop that it does not know of."""
        folder = self._folder
        if folder is None or not (folder / "crawl.toml").is_file():
            return []
        from gossamer.report import dropped_of

        seen = stamp_of(folder / "crawl.toml"), stamp_of(index_folder(folder) / "manifest.json")
        with self._lock:
            if seen != self._drops[0]:
                manifest = read_manifest(index_folder(folder))
                dropped = dropped_of(CrawlFolder(folder)).digest
                self._drops = seen, manifest is not None and manifest.dropped != dropped
            return [_DROPS_ARE_DUE.format(folder)] if self._drops[1] else []

    def _newest_like(self) -> LikeSearcher:
        self._newest()
        with self._lock:
            reader, known = self._reader, self._like
            if reader is None:
                raise ConfigError("the index was closed; search it again")
            if known is None or known[0] is not reader:
                known = self._like = (reader, LikeSearcher(reader))
            return known[1]

    def _newest(self) -> Searcher:
        """Return a searcher of the index and the ranks as they are now."""
        with self._lock:
            if self._folder is None:
                if self._searcher is None:
                    self._reader = open_index(self._places, is_kept_fresh=True)
                    self._searcher = Searcher(self._reader)
                return self._searcher
            index = stamp_of(index_folder(self._folder) / "manifest.json")
            ranks = stamp_of(ranks_path(self._folder))
            if self._searcher is not None and (index, ranks) == self._seen:
                return self._searcher
            reader = self._renewed(self._folder)
            if self._searcher is None or reader is not self._reader or ranks != self._seen[1]:
                self._searcher = Searcher(reader, ranks_of(self._folder))
            self._ranks = rank_state(self._folder)
            self._reader, self._seen = reader, (index, ranks)
            return self._searcher

    def _opened(self) -> IndexReader:
        self._newest()
        reader = self._reader
        if reader is None:
            raise CannotGoOn("the index was closed meanwhile; ask again")
        return reader

    def _renewed(self, folder: Path) -> IndexReader:
        if not has_index(folder):
            self._reader = self._searcher = None
            raise ConfigError(f"{folder} has no index: run `gossamer build {folder} index`")
        inode = index_folder(folder).stat().st_ino
        if self._reader is not None and inode == self._inode:
            self._reader.renew()
            return self._reader
        found = open_index(folder)
        self._inode = inode  # a full build puts a new folder in place of the old one
        return found


def open_search(*places: Path | str) -> SearchIndex:
    """Return an index that can be searched; several places are searched as one.

    A place is a folder (of a crawl, or made by `index_files`), the URL where an index was published
    (s3://BUCKET/PREFIX, file:///FOLDER), or that of a `gossamer serve --shard` (http://HOST:PORT);
    URLs may be given as one text, with commas between them.
    """
    if not places:
        raise ConfigError("expected the folder or URL of an index, found none")
    return SearchIndex([one for place in places for one in _separated(place)])


open_searcher = open_search
"""The same, by the name that `gossamer.search` has for it."""


def _separated(place: Path | str) -> list[Path | str]:
    return [place] if isinstance(place, Path) else [*_COMMA.split(place)]


def _indexes_of(place: Path | str) -> Sequence[Path | str]:
    """Return a place; of the store of a crawl whose shards have indexes, where these are."""
    from gossamer.api.indexes import store_indexes

    if not is_store_url(place):
        return [place]
    found = store_indexes(str(place))
    if not found and is_crawl_store(place):
        raise ConfigError(f"{place} has no index: `gossamer build {place} index` makes one")
    return found or [place]


def _given(like: Path | str | bytes, searcher: LikeSearcher) -> Given:
    """Return what results shall be like."""
    from gossamer.report import plain_text, read_document, read_given

    match like:
        case Path():
            found = read_given(like)
        case bytes():
            found = read_document(like, "the given document")
        case _ if _URL.fullmatch(like.strip()):
            return searcher.known(like.strip())
        case _:
            found = plain_text(like)
    if found.hash:
        return LikeImage(hash=found.hash)
    return LikeText(text=found.text, title=found.title, language=found.language)


def _place(place: Path | str) -> Path | str:
    return place if isinstance(place, str) and "://" in place else Path(place)
