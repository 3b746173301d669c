"""TermShard: some of the terms of an index, with all the pages that have them."""

from typing import assert_never

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.search.fields import K1, TEXT_FIELDS
from gossamer.search.terms.kept import Opened, TermSet, discounts
from gossamer.search.terms.kept.read_kernels import FIELD_SHIFT, PAGE_SHIFT
from gossamer.search.terms.kept.sets import Tally, common, joined, packed, unpacked
from gossamer.search.terms.kept.words import Pages, Scale, Words
from gossamer.search.terms.loads import load_of, no_pages, tally_of
from gossamer.search.terms.wire import (
    BROKER,
    Act,
    Answer,
    Close,
    Everything,
    Hit,
    Leg,
    Parcel,
    Row,
    RowEnd,
    decode_ask_counts,
    decode_ask_words,
    decode_parcel,
    encode,
)


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
        """Do one leg of a question; return for whom what is left of it is, and that."""
        parcel = decode_parcel(message)
        work = Work(self._words, self._scale(parcel.weights), parcel, self._pages)
        for act in parcel.legs[0].acts:
            work.do(act)
        rest = parcel.legs[1:]
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

    def _answer(self, parcel: Parcel, tally: Tally) -> Answer:
        """Return the best of the pages that are left."""
        pages, scores = tally.pages, tally.scores
        if parcel.after is not None or parcel.before is not None:
            moments = self._moments[pages]
            is_in = moments >= np.uint64(max(parcel.after or 0, 1))
            if parcel.before is not None:
                is_in &= moments < np.uint64(max(parcel.before, 0))
            pages, scores = pages[is_in], scores[is_in]
        best = _best(scores, parcel.top or len(scores))
        return Answer(len(pages), pages[best].tolist(), scores[best].tolist())

    def _scale(self, weights: tuple[float, ...]) -> Scale:
        given = np.zeros(len(TEXT_FIELDS), np.float64)
        given[: len(weights)] = np.array(weights[: len(given)]) * (K1 + 1)
        return Scale(self._norms, self._discounts, given)


class Work:
    """One leg of a question: the pages as they came, and what becomes of them here."""

    def __init__(self, words: Words, scale: Scale, parcel: Parcel, pages: int) -> None:
        self._words = words
        self._scale = scale
        self._pages = pages
        self.tally = tally_of(parcel.tally, pages)
        self.hits = tally_of(parcel.hits, pages)
        self.rows = unpacked(parcel.rows, pages << PAGE_SHIFT)

    def do(self, act: Act) -> None:
        """Do one thing."""
        match act:
            case Everything():
                self._add(np.arange(self._pages, dtype=np.int64))
            case Hit():
                self._hit(act)
            case Row():
                self._row(act)
            case RowEnd():
                fields = np.int64(1) << (self.rows >> FIELD_SHIFT & 7)
                self._add(_distinct(self.rows[(fields & act.fields) != 0] >> PAGE_SHIFT))
            case Close():
                scores = self.hits.scores + act.bonus
                self.tally = joined(self.tally, self.hits.pages, scores, act.least)
                self.hits = no_pages()
            case _:
                assert_never(act)

    def parcel(self, came: Parcel, legs: list[Leg]) -> Parcel:
        """Return the question with what was done."""
        return msgspec.structs.replace(
            came,
            legs=legs,
            tally=load_of(self.tally),
            hits=load_of(self.hits),
            rows=packed(self.rows),
        )

    def _hit(self, act: Hit) -> None:
        wanted = self.tally.pages if act.is_within else None
        norms, lengths, weights = self._scale
        scale = Scale(norms, lengths, weights * act.worth)
        pages, scores = self._words.hits(act.term, act.fields, wanted, scale)
        self._add(pages, scores)

    def _row(self, act: Row) -> None:
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


def _is_within(leg: Leg) -> bool:
    """Return True if a leg finds no page that has not come so far."""
    return not any(
        isinstance(act, Everything) or (isinstance(act, Hit | Row) and not act.is_within)
        for act in leg.acts
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
