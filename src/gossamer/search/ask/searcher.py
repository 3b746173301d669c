"""THE STORY OF A QUESTION: read, find, rank, lay out, show."""

from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.ranks import RankFile
from gossamer.search.analysis import Analyser
from gossamer.search.ask.answer import MOST_PER_PAGE, Answer, Hit, SearchWish, Segment
from gossamer.search.ask.intent import Intent, intent_of
from gossamer.search.ask.layout import Layout, Place
from gossamer.search.ask.ranking import Ranker, Taste
from gossamer.search.ask.reading import Question, read_question
from gossamer.search.ask.scout import MOST, Finding, Scout
from gossamer.search.ask.spelling import Speller
from gossamer.search.finder import Finder
from gossamer.search.messages import Stored
from gossamer.search.shown import Snippets

CLEARLY_MORE = 10
"""Other spelling is offered if more than so many times as many pages have all its words."""
MOST_SPELLED = 8
"""Words of a question for which others are looked for: each takes a few hundredths of a second."""


class Searcher:
    """Answers questions from an index, and from the ranks of its pages if there are any."""

    def __init__(
        self,
        finder: Finder,
        ranks: RankFile | None = None,
        *,
        taste: Taste | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._finder = finder
        self._taste = taste or Taste()
        self._scout = Scout(finder, self._taste)
        self._ranker = Ranker(finder, ranks, self._taste)
        self._analyser = Analyser()
        self._speller = Speller(finder, self._analyser)
        self._clock = clock or SystemClock()

    def search(self, text: str, wish: SearchWish | None = None) -> Answer:
        """Return a page of results. Any text is a question."""
        began = self._clock.steady()
        wish = _sensible(wish or SearchWish())
        reading = read_question(text)
        intent = self._intent(reading.question)
        finding, layout = self._laid_out(intent, wish)
        suggestion = ""
        if intent.groups and finding.firm < self._taste.few:
            suggestion = self._suggestion(reading.question, finding.firm)
        return Answer(
            query=text,
            total=finding.total,
            page=wish.page,
            per_page=wish.per_page,
            has_more=len(layout.places) > wish.page * wish.per_page,
            hits=self._shown(layout, wish.page, intent),
            suggestion=suggestion,
            hints=[*reading.hints, *finding.hints],
            is_partial=finding.is_partial,
            took_ms=round((self._clock.steady() - began) * 1000, 3),
        )

    def order(self, text: str, wish: SearchWish | None = None) -> list[int]:
        """Return the keys of the results, the best first, at least up to a page: for judges."""
        intent = self._intent(read_question(text).question)
        _, layout = self._laid_out(intent, _sensible(wish or SearchWish()))
        return [place.ranked.candidate.key for place in layout.places]

    def _intent(self, question: Question) -> Intent:
        return intent_of(question, self._analyser, self._finder)

    def _laid_out(self, intent: Intent, wish: SearchWish) -> tuple[Finding, Layout]:
        """Find, rank and lay out as much as the page needs and a result more."""
        finding = self._scout.find(intent, wish, is_deep=False)
        layout = self._layout(finding, intent, wish)
        if len(layout.places) <= wish.page * wish.per_page and not finding.is_all:
            finding = self._scout.find(intent, wish, is_deep=True)
            layout = self._layout(finding, intent, wish)
        return finding, layout

    def _layout(self, finding: Finding, intent: Intent, wish: SearchWish) -> Layout:
        taste, switches = self._taste, wish.switches
        layout = Layout(
            wish.per_page,
            same_bits=taste.same_bits if switches.copies else None,
            per_host=taste.per_host if switches.hosts and not intent.filters.sites else None,
        )
        for block in finding.blocks:
            layout.add(self._ranker.block(block, intent, switches))
        return layout

    def _suggestion(self, question: Question, firm: int) -> str:
        """Return the question with other words, if far more pages fit that."""
        alone = [choice[0] for choice in question.words if len(choice) == 1][:MOST_SPELLED]
        better = {word: self._speller.better(word) or word for word in alone}
        words = tuple(
            (better.get(choice[0], choice[0]),) if len(choice) == 1 else choice
            for choice in question.words
        )
        if words == question.words or len(set(words)) < len(words):
            return ""
        other = replace(question, words=words)
        ask = self._intent(other).ask(SearchWish().switches, self._taste.weights)
        found = self._finder.find(replace(ask, top=1))
        return other.text() if found.total > CLEARLY_MORE * firm else ""

    def _shown(self, layout: Layout, page: int, intent: Intent) -> list[Hit]:
        """Return the results of a page, with what each of them says of the question."""
        places = layout.page(page)
        more = layout.more_from_hosts(page)
        stored = self._finder.stored([place.ranked.candidate for place in places])
        page_of = {one.key: one for one in stored}
        snippets = Snippets(self._analyser, intent.groups, intent.phrases)
        return [
            _hit(place, page_of[key], more[place.ranked.candidate.host], snippets)
            for place in places
            if (key := place.ranked.candidate.key) in page_of
        ]


def _hit(place: Place, page: Stored, more: int, snippets: Snippets) -> Hit:
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
    )


def _sensible(wish: SearchWish) -> SearchWish:
    """Return a wish that can be granted."""
    per_page = min(max(wish.per_page, 1), MOST_PER_PAGE)
    return replace(wish, per_page=per_page, page=min(max(wish.page, 1), MOST // per_page))
