"""THE STORY OF A QUESTION: read, find, rank, lay out, show."""

from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.ranks import RankFile
from gossamer.search.analysis import Analyser
from gossamer.search.ask.answer import MOST_PER_PAGE, Answer, Hit, SearchWish, Segment
from gossamer.search.ask.intent import Intent, intent_of
from gossamer.search.ask.layout import Layout, Place
from gossamer.search.ask.query import Question, read_question
from gossamer.search.ask.ranking import Ranker, Taste
from gossamer.search.ask.spelling import better_word, pages_of
from gossamer.search.finder import Finder
from gossamer.search.messages import Ask, Candidate, Stored

BLOCK = 100
"""Candidates that are ranked against each other."""
MOST = 1_000
"""Candidates of a question. Whoever wants more should ask for less."""
MOST_UNASKED = 5_000
"""Candidates of a question without words."""
CLEARLY_MORE = 10
"""Other spelling is offered if so many times as many pages have all its words."""
SNIPPET_CHARS = 200


class _Finding(Struct, frozen=True, kw_only=True):
    """Candidates in blocks, the better blocks first."""

    total: int
    firm: int
    """Pages with all the words."""
    blocks: list[list[Candidate]]
    is_all: bool
    """There are no more."""
    is_partial: bool


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
        self._ranker = Ranker(finder, ranks, self._taste)
        self._analyser = Analyser()
        self._clock = clock or SystemClock()

    def search(self, text: str, wish: SearchWish | None = None) -> Answer:
        """Return a page of results. Any text is a question."""
        began = self._clock.steady()
        wish = _sensible(wish or SearchWish())
        reading = read_question(text)
        hints = list(reading.hints)
        intent = intent_of(reading.question, self._analyser, self._finder.languages())
        finding, layout = self._laid_out(intent, wish, hints)
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
            hints=list(dict.fromkeys(hints)),
            is_partial=finding.is_partial,
            took_ms=round((self._clock.steady() - began) * 1000, 3),
        )

    def order(self, text: str, wish: SearchWish | None = None) -> list[int]:
        """Return the keys of the results, the best first, at least up to a page: for judges."""
        wish = _sensible(wish or SearchWish())
        intent = intent_of(read_question(text).question, self._analyser, self._finder.languages())
        _, layout = self._laid_out(intent, wish, [])
        return [place.ranked.candidate.key for place in layout.places]

    def _laid_out(
        self, intent: Intent, wish: SearchWish, hints: list[str]
    ) -> tuple[_Finding, Layout]:
        """Find, rank and lay out as much as the page needs and a result more."""
        wanted = wish.page * wish.per_page + 1
        depth = BLOCK * ceil(wanted / BLOCK)
        while True:
            told: list[str] = []
            finding = self._found(intent, wish, depth, told)
            layout = self._layout(finding, intent, wish)
            if len(layout.places) >= wanted or finding.is_all:
                break
            depth *= 2
        hints += told
        return finding, layout

    def _layout(self, finding: _Finding, intent: Intent, wish: SearchWish) -> Layout:
        taste, switches = self._taste, wish.switches
        layout = Layout(
            wish.per_page,
            same_bits=taste.same_bits if switches.copies else None,
            per_host=taste.per_host if switches.hosts and not intent.filters.sites else None,
        )
        for block in finding.blocks:
            layout.add(self._ranker.block(block, intent, switches))
        return layout

    def _found(self, intent: Intent, wish: SearchWish, depth: int, told: list[str]) -> _Finding:
        """Return the pages with all the words; if there are few, then those with most, too."""
        ask = intent.ask(wish.switches, self._taste.weights)
        if not intent.groups:
            return self._unasked(replace(ask, top=MOST_UNASKED), wish, told)
        depth = min(depth, MOST)
        known = self._without_unknown(intent, replace(ask, top=depth), told)
        found = self._finder.find(known, is_exact=wish.is_exact)
        firm = found.total if known.needed == ask.needed else 0
        blocks = _blocks(found.candidates)
        if found.total < self._taste.few and known.needed > 1:
            first = found
            some = replace(known, needed=_most_of(known.needed))
            found = self._finder.find(some, is_exact=wish.is_exact)
            if found.total > first.total:
                told.append(_fewer(first.total))
            keys = {one.key for one in first.candidates}
            blocks += _blocks([one for one in found.candidates if one.key not in keys])
        if found.total > MOST and depth >= MOST:
            told.append(f"only the best {MOST:,} results can be turned to")
        return _Finding(
            total=found.total,
            firm=firm,
            blocks=blocks,
            is_all=len(found.candidates) >= min(found.total, MOST),
            is_partial=found.missing > 0,
        )

    def _unasked(self, ask: Ask, wish: SearchWish, told: list[str]) -> _Finding:
        """Return pages by filters alone, or by words that must stand in a row."""
        if ask == Ask(top=ask.top, weights=ask.weights):
            return _Finding(total=0, firm=0, blocks=[], is_all=True, is_partial=False)
        found = self._finder.find(ask, is_exact=wish.is_exact)
        if found.total > len(found.candidates):
            told.append(f"{found.total:,} pages fit; these are the best of some of them")
        return _Finding(
            total=found.total,
            firm=found.total,
            blocks=[found.candidates],
            is_all=True,
            is_partial=found.missing > 0,
        )

    def _without_unknown(self, intent: Intent, ask: Ask, told: list[str]) -> Ask:
        """Do without words that no page has, unless no page has any."""
        counts = self._finder.counts([term for group in ask.groups for term in group])
        pairs = list(zip(intent.names, ask.groups, strict=True))
        known = tuple(group for _, group in pairs if pages_of(group, counts))
        unknown = [name for name, group in pairs if not pages_of(group, counts)]
        if unknown and known:
            told.append(f"no page has {', '.join(dict.fromkeys(unknown))}")
            return replace(ask, groups=known, needed=len(known))
        return ask

    def _suggestion(self, question: Question, firm: int) -> str:
        """Return the question with other words, if far more pages fit that."""
        languages = self._finder.languages()
        words = [
            (better_word(choice[0], self._finder, self._analyser, languages) or choice[0],)
            if len(choice) == 1
            else choice
            for choice in question.words
        ]
        if tuple(words) == question.words:
            return ""
        other = replace(question, words=tuple(words))
        intent = intent_of(other, self._analyser, languages)
        ask = intent.ask(SearchWish().switches, self._taste.weights)
        found = self._finder.find(replace(ask, top=1))
        return other.text() if found.total > CLEARLY_MORE * firm else ""

    def _shown(self, layout: Layout, page: int, intent: Intent) -> list[Hit]:
        del intent
        places = layout.page(page)
        more = layout.more_from_hosts(page)
        stored = self._finder.stored([place.ranked.candidate for place in places])
        page_of = {one.key: one for one in stored}
        return [
            _hit(place, page_of[key], more[place.ranked.candidate.host])
            for place in places
            if (key := place.ranked.candidate.key) in page_of
        ]


def _hit(place: Place, page: Stored, more: int) -> Hit:
    segments = [Segment(page.text[:SNIPPET_CHARS], is_hit=False)]
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
    )


def _sensible(wish: SearchWish) -> SearchWish:
    """Return a wish that can be granted."""
    per_page = min(max(wish.per_page, 1), MOST_PER_PAGE)
    return replace(wish, per_page=per_page, page=min(max(wish.page, 1), MOST // per_page))


def _blocks(candidates: list[Candidate]) -> list[list[Candidate]]:
    return [candidates[n : n + BLOCK] for n in range(0, len(candidates), BLOCK)]


def _most_of(groups: int) -> int:
    """Return how many of the words are most of them: 1 of 2, 2 of 3, 3 of 4, 3 of 5."""
    return max(1, ceil(groups * 0.6))


def _fewer(total: int) -> str:
    if not total:
        return "no page has all the words; these have most of them"
    return "few pages have all the words; those with most of them follow"
