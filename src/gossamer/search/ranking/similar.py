"""Pages like a text: by the terms that tell most of it, and by sketches of the whole.

The terms are those that occur often in the text and in few pages. Of the best pages those go up
that have words of the text side by side as it has them. Near-copies come first: their sketches
differ in few bits, whatever terms were chosen.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from gossamer.search.analysis import COPY_BITS, Analyser, untitled
from gossamer.search.fields import Weights
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import Candidate, Counts, ShardQuery, Stored, Term
from gossamer.search.page import IndexPage
from gossamer.search.query.analysed import AnalysedQuery
from gossamer.search.ranking.ranker import Ranked, in_order, rounded
from gossamer.search.shard import idf

MOST_CHARS = 200_000
"""Of a text that are looked at."""
MOST_TERMS = 1_500
"""Different terms of it that are looked up, the most frequent first."""
ASKED_AT_ONCE = 500
CHOSEN = 40
"""Terms that pages are found by."""
NEEDED = 0.2
"""The share of them that a page must have."""
COMPARED = 30
"""Pages of which more is looked at: their sketches and the order of their words."""
IN_ORDER = 3.0
"""What a page gains that has all words of the text in its order."""
WEIGHTS = Weights(title=1.0, heads=1.0, main=1.0, rest=0.1, anchors=0.0, path=0.0)
"""A text is like a page's text, not like what others say of it."""
_WORD = re.compile(r"\w+")
_PAIRED_CHARS = 20_000
_NOWHERE = "http://given.invalid/"


class LikeText(Struct, frozen=True, kw_only=True):
    """What pages shall be like."""

    text: str
    title: str = ""
    language: str = ""
    """Two letters; "" if it is not known."""
    key: int | None = None
    """If it is a page of the index: it is not like itself."""


class SimilarityResult(Struct, frozen=True, kw_only=True):
    """Pages like a text, the best first."""

    total: int
    """Pages with enough of its terms."""
    ranked: list[Ranked]
    near_copies: frozenset[int]
    """Keys of those that say nearly the same."""
    terms: tuple[Term, ...]
    """By which they were found, the most telling first."""
    is_partial: bool


class SimilarFinder:
    """Finds pages like a text. Any thread may ask."""

    def __init__(self, reader: IndexReader, analyser: Analyser) -> None:
        self._reader = reader
        self._analyser = analyser
        self._lock = Lock()
        """One at a time reads whole pages."""

    def find(self, given: LikeText, among: AnalysedQuery, *, top: int) -> SimilarityResult:
        """Return pages like a text, those that fit the filters and have the words of a query."""
        terms = self._terms(given)
        if not terms:
            return SimilarityResult(
                total=0, ranked=[], near_copies=frozenset(), terms=(), is_partial=False
            )
        words = tuple(tuple((term,) for term in group) for group in among.groups)
        needed = max(1, round(NEEDED * len(terms)))
        found = self._reader.find(
            ShardQuery(
                groups=tuple((term,) for term in terms),
                needed=needed,
                phrases=(*among.phrases, *among.quoted, *words),
                without=among.without,
                filters=among.filters,
                weights=WEIGHTS,
                top=top,
            ),
            is_exact=True,
        )
        candidates = sorted(
            (replace(one, score=rounded(one.score)) for one in found.candidates), key=_order
        )
        candidates = [one for one in candidates if one.key != given.key]
        best, others = candidates[:COMPARED], candidates[COMPARED:]
        pages = {page.key: page for page in self._reader.stored(best)}
        copies = self._near_copies(given, found.candidates, pages)
        ranked = in_order(_by_order_of_words(given.text, best, pages))
        ranked += in_order([Ranked(one.score, one) for one in others])
        ranked.sort(key=lambda one: one.candidate.key not in copies)
        return SimilarityResult(
            total=found.total - (len(candidates) < len(found.candidates)),
            ranked=ranked,
            near_copies=copies,
            terms=terms,
            is_partial=found.missing > 0,
        )

    def _terms(self, given: LikeText) -> tuple[Term, ...]:
        """Return the terms that tell most of a text, the most telling first."""
        text = f"{given.title}\n{given.text}"[:MOST_CHARS]
        often = Counter(self._analyser.terms(text, given.language))
        some = [term for term, _ in often.most_common(MOST_TERMS)]
        worth: dict[Term, float] = {}
        for start in range(0, len(some), ASKED_AT_ONCE):
            counts = self._reader.counts(some[start : start + ASKED_AT_ONCE])
            worth |= _worth(counts, often)
        return tuple(sorted(worth, key=lambda term: (-worth[term], term))[:CHOSEN])

    def _near_copies(
        self, given: LikeText, candidates: Sequence[Candidate], pages: Mapping[int, Stored]
    ) -> frozenset[int]:
        """Return the keys of pages that say nearly what a text says, under any title."""
        own = [one.sketch for one in candidates if one.key == given.key]
        sketch = untitled(own[0], given.title) if own and own[0] else self._sketch(given)
        if not sketch:
            return frozenset()
        return frozenset(
            one.key
            for one in candidates
            if one.sketch
            and one.key in pages
            and (untitled(one.sketch, pages[one.key].title) ^ sketch).bit_count() <= COPY_BITS
        )

    def _sketch(self, given: LikeText) -> int:
        page = IndexPage(url=_NOWHERE, text=given.text, language=given.language)
        with self._lock:
            return self._analyser.prepare(page).sketch


def _order(one: Candidate) -> tuple[float, int]:
    return -one.score, one.key


def _by_order_of_words(
    text: str, candidates: Sequence[Candidate], pages: Mapping[int, Stored]
) -> list[Ranked]:
    """Return pages with what they gain by having words side by side as a text has them."""
    wanted = _pairs(text)
    ranked: list[Ranked] = []
    for one in candidates:
        shared = wanted & _pairs(pages[one.key].text) if one.key in pages else set()
        share = len(shared) / len(wanted) if wanted else 0.0
        ranked.append(Ranked(rounded(one.score * (1 + IN_ORDER * share)), one))
    return ranked


def _pairs(text: str) -> set[tuple[str, str]]:
    return set(pairwise(_WORD.findall(text[:_PAIRED_CHARS].lower())))


def _worth(counts: Counts, often: Counter[Term]) -> dict[Term, float]:
    """Return what terms that pages have tell of a text in which they occur so often."""
    having = {term: max(fields) for term, fields in counts.having.items()}
    return {
        term: (1 + log(often[term])) * idf(counts.pages, pages)
        for term, pages in having.items()
        if pages
    }
