"""TermShard: some of the terms of an index, with all the pages that have them."""

from typing import assert_never

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.search.fields import K1, TEXT_FIELDS
from gossamer.search.terms.layout import Opened, TermSet
from gossamer.search.terms.lengths import discounts
from gossamer.search.terms.loads import load_of, no_pages, tally_of
from gossamer.search.terms.read_kernels import FIELD_SHIFT, MOST_FIELDS, PAGE_SHIFT
from gossamer.search.terms.sets import Tally, common, joined, packed, unpacked
from gossamer.search.terms.wire import (
    BROKER,
    Act,
    EndCondition,
    Hop,
    MatchAll,
    PhraseEnd,
    PhraseStep,
    ScoreTerm,
    TermAnswer,
    TravellingQuery,
    decode_ask_counts,
    decode_ask_words,
    decode_parcel,
    encode,
)
from gossamer.search.terms.words import Pages, Scale, Words


class TermShard:
    """A term shard. Bytes in, bytes out: it may be on another machine."""

    def __init__(self, files: Opened, known: TermSet, number: int) -> None:
        name = f"{number:02}"
        fields = len(known.tokens)
        self._pages = known.pages
        self._words = Words(files, name, known.pages)
        self._norms = files.array(f"{name}/norms", np.uint8, fields * known.pages)
        self._moments = files.array(f"{name}/moments", np.uint64, known.pages)
        self._discounts = discounts(known.tokens, known.pages)

    def carry(self, message: bytes) -> tuple[int, bytes]:
        """Do one hop of a question; return for whom what is left of it is, and that."""
        parcel = decode_parcel(message)
        work = Work(self._words, self._scale(parcel.weights), parcel, self._pages)
        for act in parcel.hops[0].acts:
            work.do(act)
        rest = parcel.hops[1:]
        if rest and (len(work.tally.pages) or not all(map(_is_within, rest))):
            return rest[0].shard, encode(work.parcel(parcel, rest))
        return BROKER, encode(self._answer(parcel, work.tally))

    def counts(self, message: bytes) -> bytes:
        """Return how many pages have each of some terms, by field."""
        return encode([self._words.having(term) for term in decode_ask_counts(message).terms])

    def words(self, message: bytes) -> bytes:
        """Return terms that begin in some way."""
        ask = decode_ask_words(message)
        return encode(self._words.beginning(ask.prefix, ask.most))

    def _answer(self, parcel: TravellingQuery, tally: Tally) -> TermAnswer:
        """Return the best of the pages that are left."""
        pages, scores = tally.pages, tally.scores
        if parcel.after is not None or parcel.before is not None:
            moments = self._moments[pages]
            is_in = moments >= np.uint64(max(parcel.after or 0, 1))
            if parcel.before is not None:
                is_in &= moments < np.uint64(max(parcel.before, 0))
            pages, scores = pages[is_in], scores[is_in]
        best = _best(scores, parcel.top or len(scores))
        return TermAnswer(len(pages), pages[best].tolist(), scores[best].tolist())

    def _scale(self, weights: tuple[float, ...]) -> Scale:
        given = np.zeros(len(TEXT_FIELDS), np.float64)
        given[: len(weights)] = np.array(weights[: len(given)]) * (K1 + 1)
        return Scale(self._norms, self._discounts, given)


class Work:
    """One hop of a question: the pages as they came, and what becomes of them here."""

    def __init__(self, words: Words, scale: Scale, parcel: TravellingQuery, pages: int) -> None:
        self._words = words
        self._scale = scale
        self._pages = pages
        self.tally = tally_of(parcel.tally, pages)
        self.hits = tally_of(parcel.hits, pages)
        self.rows = unpacked(parcel.rows, pages << PAGE_SHIFT)

    def do(self, act: Act) -> None:
        """Do one thing."""
        match act:
            case MatchAll():
                self._add(np.arange(self._pages, dtype=np.int64))
            case ScoreTerm():
                self._hit(act)
            case PhraseStep():
                self._row(act)
            case PhraseEnd():
                fields = np.int64(1) << (self.rows >> FIELD_SHIFT & (MOST_FIELDS - 1))
                self._add(_distinct(self.rows[(fields & act.fields) != 0] >> PAGE_SHIFT))
            case EndCondition():
                scores = self.hits.scores + act.bonus
                self.tally = joined(self.tally, self.hits.pages, scores, act.least)
                self.hits = no_pages()
            case _:
                assert_never(act)

    def parcel(self, came: TravellingQuery, hops: list[Hop]) -> TravellingQuery:
        """Return the question with what was done."""
        return msgspec.structs.replace(
            came,
            hops=hops,
            tally=load_of(self.tally),
            hits=load_of(self.hits),
            rows=packed(self.rows),
        )

    def _hit(self, act: ScoreTerm) -> None:
        wanted = self.tally.pages if act.is_within else None
        norms, lengths, weights = self._scale
        scale = Scale(norms, lengths, weights * act.worth)
        pages, scores = self._words.hits(act.term, act.fields, wanted, scale)
        self._add(pages, scores)

    def _row(self, act: PhraseStep) -> None:
        if not act.is_first:
            wanted: Pages | None = _distinct(self.rows >> PAGE_SHIFT)
        else:
            wanted = self.tally.pages if act.is_within else None
        found = self._words.starts(act.term, wanted, act.shift)
        self.rows = found if act.is_first else common(self.rows, found)

    def _add(self, pages: Pages, scores: NDArray[np.float64] | None = None) -> None:
        """Let pages meet the condition."""
        given = np.zeros(len(pages), np.float64) if scores is None else scores
        if len(self.hits.pages):
            self.hits = joined(self.hits, pages, given, 0)
        else:
            self.hits = Tally(pages, given, np.zeros(len(pages), np.uint8))


def _is_within(hop: Hop) -> bool:
    """Return True if a hop finds no page that has not come so far."""
    return not any(
        isinstance(act, MatchAll) or (isinstance(act, ScoreTerm | PhraseStep) and not act.is_within)
        for act in hop.acts
    )


def _distinct(values: Pages) -> Pages:
    """Return ascending numbers, each once."""
    if not len(values):
        return values
    return np.ascontiguousarray(values[np.append(True, values[1:] != values[:-1])])


def _best(scores: NDArray[np.float64], top: int) -> NDArray[np.int64]:
    """Return the places of the best scores, the best first; of equals those that come first."""
    if len(scores) > top:
        bound = np.partition(scores, len(scores) - top)[len(scores) - top]
        above = np.flatnonzero(scores > bound)
        equal = np.flatnonzero(scores == bound)[: top - len(above)]
        chosen = np.sort(np.concatenate((above, equal)))
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")]
