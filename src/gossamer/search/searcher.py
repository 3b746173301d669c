"""THE STORY OF A QUESTION: read, find, rank, lay out, show."""

from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.ranks import RankFile
from gossamer.search.analysis import Analyser
from gossamer.search.answer import (
    MOST_PER_PAGE,
    Answer,
    Facets,
    Hit,
    HitImage,
    SearchOptions,
    Segment,
)
from gossamer.search.facets import chosen_facets, merged_counts
from gossamer.search.fields import Weights
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import Stored
from gossamer.search.page import ImageFacts
from gossamer.search.query import Query, parse_query
from gossamer.search.query.analysed import AnalysedQuery, analyse_query
from gossamer.search.query.spelling import Speller
from gossamer.search.ranking.candidates import MOST, CandidateBlocks, CandidateFinder
from gossamer.search.ranking.copies import highest_ranked, shown_copy
from gossamer.search.ranking.layout import Layout, Place
from gossamer.search.ranking.ranker import Ranked, Ranker, RankingParameters
from gossamer.search.ranking.rerank import Reranker, Reranking
from gossamer.search.ranking.ties import preferred_languages, with_ties_by_language
from gossamer.search.snippets import Snippets

CLEARLY_MORE = 10
"""Other spelling is offered if more than so many times as many pages have all its words."""
LONG = 5
"""Words of a query of which hardly any page has all, however they are spelled."""
MOST_SPELLED = 8
"""Words of a query for which others are looked for: each takes a few hundredths of a second."""

IMAGE_PARAMETERS = RankingParameters(weights=Weights(path=1.0), per_host=100)
"""The name of an image often says all there is; those of one site may fill a page of results."""


class Searcher:
    """Answers queries from an index, and from the ranks of its pages if there are any."""

    def __init__(
        self,
        reader: IndexReader,
        ranks: RankFile | None = None,
        *,
        parameters: RankingParameters | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._reader = reader
        self._parameters = parameters or RankingParameters()
        self._candidate_finder = CandidateFinder(reader, self._parameters)
        self._ranker = Ranker(reader, ranks, self._parameters)
        self._analyser = Analyser()
        self._speller = Speller(reader, self._analyser)
        self._clock = clock or SystemClock()
        self._image_searcher: Searcher | None = None

    def close(self) -> None:
        """Close the index."""
        self._reader.close()

    def search(
        self, text: str, options: SearchOptions | None = None, rerank: Reranker | None = None
    ) -> Answer:
        """Return a page of results. Any text is a query. `rerank` scores the best of them anew."""
        with self._reader.noting() as notes:
            answer = self._corrected(text, options, rerank)
        return replace(
            answer,
            is_partial=answer.is_partial or bool(notes.missing),
            missing=list(dict.fromkeys((*answer.missing, *notes.missing.values()))),
            tiers=list(dict.fromkeys((*answer.tiers, *notes.tiers))),
        )

    def _corrected(
        self, text: str, options: SearchOptions | None, rerank: Reranker | None
    ) -> Answer:
        """Return the answer to a query, or to its correction if it has none."""
        began = self._clock.steady()
        options = _granted(options or SearchOptions())
        found = self._searched(text, options, rerank)
        if not found.total and found.suggestion and not options.is_verbatim:
            other = self._searched(found.suggestion, options, rerank)
            hints = list(dict.fromkeys((*found.hints, *other.hints)))
            found = replace(
                other, query=text, corrected=found.suggestion, suggestion="", hints=hints
            )
        return replace(found, took_ms=round((self._clock.steady() - began) * 1000, 3))

    def _searched(self, text: str, options: SearchOptions, rerank: Reranker | None) -> Answer:
        reading = parse_query(text)
        if reading.query.is_about_images and (images := self._images()) is not None:
            return images.search(text, options, rerank)
        analysed = self._analysed(reading.query)
        reranking = Reranking(self._reader, rerank, text) if rerank else None
        finding, layout = self._laid_out(analysed, options, reranking)
        suggestion = ""
        if analysed.groups and finding.firm < self._parameters.few:
            suggestion = self._suggestion(reading.query, finding.firm)
        return Answer(
            query=text,
            total=finding.total,
            page=options.page,
            per_page=options.per_page,
            has_more=len(layout.places) > options.page * options.per_page,
            hits=self._shown(layout, options, analysed, is_ours=reranking is None),
            suggestion=suggestion,
            hints=[*reading.hints, *finding.hints, *(reranking.hints[:1] if reranking else ())],
            is_partial=finding.is_partial,
            took_ms=0.0,
            with_all_words=finding.firm,
            facets=self._facets(finding) if options.facets else None,
        )

    def order(self, text: str, options: SearchOptions | None = None) -> list[int]:
        """Return the keys of the results, the best first, at least up to a page: for judges."""
        options = _granted(options or SearchOptions())
        analysed = self._analysed(parse_query(text).query)
        _, layout = self._laid_out(analysed, options)
        tied = [place for place in layout.places if len(self._likely(place, options)) > 1]
        shown = {id(place): page.key for place, page in self._pages_of(tied, analysed, options)}
        return [
            shown.get(id(place)) or self._likely(place, options)[0].candidate.key
            for place in layout.places
        ]

    def _images(self) -> "Searcher | None":
        """Return who answers about images; None if there are none."""
        reader = self._reader.images()
        if reader is None:
            return None
        known = self._image_searcher
        if known is None or known._reader is not reader:  # noqa: SLF001 - one of its own kind
            known = Searcher(reader, parameters=IMAGE_PARAMETERS, clock=self._clock)
            self._image_searcher = known
        return known

    def _analysed(self, query: Query) -> AnalysedQuery:
        return analyse_query(query, self._analyser, self._reader)

    def _laid_out(
        self,
        analysed: AnalysedQuery,
        options: SearchOptions,
        reranking: Reranking | None = None,
    ) -> tuple[CandidateBlocks, Layout]:
        """Find, rank and lay out as much as the page needs and a result more."""
        finding = self._candidate_finder.find(analysed, options, is_deep=False)
        layout = self._layout(finding, analysed, options, reranking)
        if len(layout.places) <= options.page * options.per_page and not finding.is_all:
            finding = self._candidate_finder.find(analysed, options, is_deep=True)
            layout = self._layout(finding, analysed, options, reranking)
        return finding, layout

    def _layout(
        self,
        finding: CandidateBlocks,
        analysed: AnalysedQuery,
        options: SearchOptions,
        reranking: Reranking | None,
    ) -> Layout:
        parameters, switches = self._parameters, options.switches
        layout = Layout(
            options.per_page,
            same_bits=parameters.same_bits if switches.copies else None,
            per_host=parameters.per_host if switches.hosts and not analysed.filters.sites else None,
        )
        for number, block in enumerate(finding.blocks):
            ranked = self._ranker.block(block, analysed, switches, finding.complete)
            layout.add(ranked if number or reranking is None else reranking.reranked(ranked))
        return layout

    def _suggestion(self, query: Query, firm: int) -> str:
        """Return the query with other words, if far more pages fit that."""
        alone = [choice[0] for choice in query.words if len(choice) == 1][:MOST_SPELLED]
        better = self._speller.better(alone)
        words = tuple(
            (better.get(choice[0], choice[0]),) if len(choice) == 1 else choice
            for choice in query.words
        )
        if words == query.words:
            return ""
        other = replace(query, words=words)
        found = self._candidate_finder.find(self._analysed(other), SearchOptions(), is_deep=False)
        is_clear = found.firm > CLEARLY_MORE * firm or (not firm and len(words) >= LONG)
        return other.text() if is_clear and found.total else ""

    def _facets(self, finding: CandidateBlocks) -> Facets:
        """Return how the matches divide, those that come on other pages or as copies included."""
        if finding.counted is None:
            return chosen_facets(merged_counts([]))
        asked = finding.counted
        counts = self._reader.facets(asked, is_low_asked=finding.is_low_asked)
        is_of_all = asked.needed >= len(asked.groups)
        return replace(chosen_facets(counts, asked.filters), has_all_words=is_of_all)

    def _shown(
        self, layout: Layout, options: SearchOptions, analysed: AnalysedQuery, *, is_ours: bool
    ) -> list[Hit]:
        """Return the results of a page, with what each of them says of the query.

        Where the order `is_ours` and by words, languages break ties.
        """
        more = layout.more_from_hosts(options.page)
        snippets = Snippets(self._analyser, analysed.groups, analysed.phrases)
        shown = list(self._pages_of(layout.page(options.page), analysed, options))
        if is_ours and analysed.groups:
            scores = [place.ranked.score for place, _ in shown]
            languages = [page.language for _, page in shown]
            order = with_ties_by_language(scores, languages, _preferred(analysed, options))
            shown = [shown[n] for n in order]
        return [
            hit_of(place, page, more[place.ranked.candidate.host], snippets)
            for place, page in shown
        ]

    def _pages_of(
        self, places: Sequence[Place], analysed: AnalysedQuery, options: SearchOptions
    ) -> Iterator[tuple[Place, Stored]]:
        """Yield the page that is shown at each place: of copies the one that `copies` prefers."""
        likely = [self._likely(place, options) for place in places]
        preferred = _preferred(analysed, options)
        stored = self._reader.stored([one.candidate for some in likely for one in some])
        page_of = {one.key: one for one in stored}
        for place, some in zip(places, likely, strict=True):
            found = [page_of[key] for one in some if (key := one.candidate.key) in page_of]
            if found:
                yield place, shown_copy(found, preferred)

    def _likely(self, place: Place, options: SearchOptions) -> list[Ranked]:
        """Return the copies at a place of which one is shown."""
        if not place.others:
            return [place.ranked]
        copies = [place.ranked, *place.others]
        ranks = self._ranker.ranks(copies) if options.switches.static else [0.0] * len(copies)
        return highest_ranked(copies, ranks)


def hit_of(place: Place, page: Stored, more: int, snippets: Snippets) -> Hit:
    """Return a result as it is shown."""
    segments = [Segment(text, is_hit) for text, is_hit in snippets.snippet(page)]
    return Hit(
        url=page.url,
        title=page.title,
        snippet="".join(segment.text for segment in segments),
        score=round(place.ranked.score, 4),
        host=page.url.partition("://")[2].partition("/")[0],
        language=page.language,
        type=page.media_type,
        at=page.at,
        copies=place.copies,
        more_from_host=more,
        segments=segments,
        title_segments=[Segment(text, is_hit) for text, is_hit in snippets.title(page)],
        image=_hit_image(page.url, page.image) if page.image is not None else None,
    )


def _hit_image(url: str, image: ImageFacts) -> HitImage:
    return HitImage(
        page=image.page,
        page_title=image.page_title,
        pages=image.pages,
        alt=image.alt,
        caption=image.caption,
        file_name=unquote(url.partition("?")[0].rpartition("/")[2], errors="replace"),
        width=image.width or None,
        height=image.height or None,
        bytes=image.bytes or None,
        hash=f"{image.hash:016x}" if image.hash else "",
        is_stored=image.is_stored,
    )


def _preferred(analysed: AnalysedQuery, options: SearchOptions) -> tuple[str, ...]:
    """Return the languages of results that come first among equals."""
    return preferred_languages(analysed.asked_in, options.languages, analysed.languages)


def _granted(options: SearchOptions) -> SearchOptions:
    """Return a options that can be granted."""
    per_page = min(max(options.per_page, 1), MOST_PER_PAGE)
    return replace(options, per_page=per_page, page=min(max(options.page, 1), MOST // per_page))
