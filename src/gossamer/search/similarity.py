"""THE STORY OF "LIKE THIS": a text, a page or an image in, pages or images like it out."""

from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.config import UrlConfig
from gossamer.errors import ConfigError
from gossamer.search.analysis import COPY_BITS, Analyser
from gossamer.search.answer import MOST_PER_PAGE, Answer, Hit, LikeThis, SearchOptions
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import ShardQuery, Term
from gossamer.search.query import parse_query
from gossamer.search.query.analysed import AnalysedQuery, analyse_query
from gossamer.search.ranking.candidates import MOST
from gossamer.search.ranking.layout import Layout, Place
from gossamer.search.ranking.ranker import Ranked, in_order
from gossamer.search.ranking.similar import LikeText, SimilarFinder
from gossamer.search.searcher import hit_of
from gossamer.search.snippets import Snippets
from gossamer.urls import parse

ALIKE_BITS = 12
"""Images are alike whose perceptual hashes differ in so many bits at most (ADR 71)."""
SAME_BITS = 4
"""Those of the same image in another size or coding differ in so many, as a rule."""
HASH_BITS = 64
FIRST = 100
_FEW_TERMS = 5


class LikeImage(Struct, frozen=True, kw_only=True):
    """What images shall look like."""

    hash: int
    key: int | None = None
    """If it is an image of the index: it is not like itself."""


Given: TypeAlias = LikeText | LikeImage


class LikeSearcher:
    """Answers what is like something. Any thread may ask."""

    def __init__(self, reader: IndexReader, *, clock: Clock | None = None) -> None:
        self._reader = reader
        self._analyser = Analyser()
        self._similar = SimilarFinder(reader, self._analyser)
        self._clock = clock or SystemClock()

    def known(self, url: str) -> Given:
        """Return what a page or an image of the index is; raise `ConfigError` if it is neither."""
        parsed = parse(url, UrlConfig())
        url = parsed.text if parsed is not None else url
        key = parsed.key if parsed is not None else 0
        images = self._reader.images()
        image = images.page(key) if images is not None else None
        if image is not None and image.image is not None and image.image.hash:
            return LikeImage(hash=image.image.hash, key=key)
        page = self._reader.page(key)
        if page is None:
            raise ConfigError(
                f"{url} is not in the index, or is an image that is not stored; expected the URL "
                "of a page or a stored image of the crawl, or a file"
            )
        return LikeText(text=page.text, title=page.title, language=page.language, key=key)

    def search(self, given: Given, query: str, options: SearchOptions | None = None) -> Answer:
        """Return a page of results like something, of those that fit a query: filters, words."""
        reader = self._reader.images() if isinstance(given, LikeImage) else None
        with (reader or self._reader).noting() as notes:
            answer = self._answer(given, query, options)
        return replace(
            answer,
            is_partial=answer.is_partial or bool(notes.missing),
            missing=list(notes.missing.values()),
            tiers=list(notes.tiers),
        )

    def _answer(self, given: Given, query: str, options: SearchOptions | None) -> Answer:
        began = self._clock.steady()
        options = options or SearchOptions()
        per_page = min(max(options.per_page, 1), MOST_PER_PAGE)
        page = min(max(options.page, 1), MOST // per_page)
        parsed = parse_query(query)
        among = analyse_query(parsed.query, self._analyser, self._reader)
        top = min(MOST, max(FIRST, page * per_page + 1))
        if isinstance(given, LikeImage):
            found, same_bits = self._images(given, among, top), None
        else:
            found = self._texts(given, among, top)
            same_bits = COPY_BITS if options.switches.copies else None
        layout = Layout(per_page, same_bits=same_bits, per_host=None)
        layout.add(found.ranked)
        return Answer(
            query=query,
            total=found.total,
            with_all_words=found.total,
            page=page,
            per_page=per_page,
            has_more=len(layout.places) > page * per_page,
            hits=self._hits(layout.page(page), found),
            suggestion="",
            hints=[*parsed.hints, *found.hints],
            is_partial=found.is_partial,
            took_ms=round((self._clock.steady() - began) * 1000, 3),
            like=LikeThis(
                of="image" if isinstance(given, LikeImage) else "text", terms=list(found.terms)
            ),
        )

    def _texts(self, given: LikeText, among: AnalysedQuery, top: int) -> "_Found":
        found = self._similar.find(given, among, top=top)
        hint = "the text has few words that pages of the index have"
        return _Found(
            reader=self._reader,
            total=found.total,
            ranked=found.ranked,
            near_copies=found.near_copies,
            terms=found.terms,
            is_partial=found.is_partial,
            hints=(hint,) if len(found.terms) < _FEW_TERMS else (),
        )

    def _images(self, given: LikeImage, among: AnalysedQuery, top: int) -> "_Found":
        reader = self._reader.images()
        if reader is None:
            return _Found(reader=self._reader, hints=("the index has no images",))
        words = tuple(tuple((term,) for term in group) for group in among.groups)
        found = reader.find(
            ShardQuery(
                phrases=(*among.phrases, *among.quoted, *words),
                without=among.without,
                filters=among.filters,
                top=top,
                hash=given.hash,
                hash_bits=ALIKE_BITS,
            )
        )
        alike = [one for one in found.candidates if one.key != given.key]
        bits = {one.key: (one.sketch ^ given.hash).bit_count() for one in alike}
        return _Found(
            reader=reader,
            total=found.total - (len(alike) < len(found.candidates)),
            ranked=in_order([Ranked(1 - bits[one.key] / HASH_BITS, one) for one in alike]),
            near_copies=frozenset(key for key, other in bits.items() if other <= SAME_BITS),
            is_partial=found.missing > 0,
        )

    def _hits(self, places: list[Place], found: "_Found") -> list[Hit]:
        snippets = Snippets(self._analyser, [(term,) for term in found.terms])
        stored = found.reader.stored([place.ranked.candidate for place in places])
        page_of = {one.key: one for one in stored}
        return [
            replace(hit_of(place, page_of[key], 0, snippets), is_near_copy=key in found.near_copies)
            for place in places
            if (key := place.ranked.candidate.key) in page_of
        ]


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What is like something, the best first, and who has it."""

    reader: IndexReader
    total: int = 0
    ranked: list[Ranked] = field(default_factory=list)
    near_copies: frozenset[int] = frozenset()
    terms: tuple[Term, ...] = ()
    is_partial: bool = False
    hints: tuple[str, ...] = ()
