"""Shard: some of the pages of an index, in a folder on this machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import tantivy

from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.messages import Ask, Candidate, Counts, Evidence, Stored, Term, Top
from gossamer.search.shard.querying import MUST, SHOULD, Query, Wording
from gossamer.search.shard.schema import open_index

_Shown = tuple[str, str, str, str, int]
_decode_shown = msgspec.msgpack.Decoder(_Shown).decode
_NEAR_FIELDS = ("main", "title")


class Shard(Protocol):
    """What a broker asks: a folder on this machine, or another machine."""

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""

    def top(self, ask: Ask) -> Top:
        """Return the best candidates."""

    def evidence(self, keys: Sequence[int], ask: Ask) -> list[list[Evidence]]:
        """Return of each page what its score is made of."""

    def near(self, keys: Sequence[int], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""


class LocalShard:
    """A shard in a folder. Everything is answered from one snapshot until `renew`."""

    def __init__(self, path: Path) -> None:
        self._index = open_index(path)
        self.renew()

    def renew(self) -> None:
        """Take up what was committed since."""
        self._index.reload()
        self._searcher = self._index.searcher()
        self._tokens = self._all_tokens()

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""
        count = self._searcher.doc_freq
        return Counts(
            pages=self._searcher.num_docs,
            tokens=self._tokens,
            having={term: tuple(count(name, term) for name in TEXT_FIELDS) for term in terms},
        )

    def top(self, ask: Ask) -> Top:
        """Return the best candidates."""
        found = self._searcher.search(self._wording(ask).query(ask), max(ask.top, 1))
        places = [place for _, place in found.hits]
        columns = [
            self._searcher.fast_field_values(name, places)
            for name in ("key", "host", "sketch", "at")
        ]
        scores = [score for score, _ in found.hits]
        rows = zip(scores, *columns, strict=True)
        return Top(
            total=found.count,  # type: ignore[attr-defined]  # its stub forgot it
            candidates=[Candidate(*row) for row in rows],
        )

    def evidence(self, keys: Sequence[int], ask: Ask) -> list[list[Evidence]]:
        """Return of each page what its score is made of."""
        raise NotImplementedError

    def near(self, keys: Sequence[int], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""
        schema, words = self._index.schema, self._wording(Ask())
        clauses = [
            (SHOULD, Query.const_score_query(Query.phrase_query(schema, field, list(row)), 1.0))
            for row in rows
            for field in _NEAR_FIELDS
        ]
        query = Query.boolean_query([(MUST, words.one_of(keys)), *clauses])
        found = self._searcher.search(query, max(len(keys), 1), count=False)
        places = [place for _, place in found.hits]
        scores = [score for score, _ in found.hits]
        of_key = dict(zip(self._searcher.fast_field_values("key", places), scores, strict=True))
        return [of_key.get(key, 0.0) for key in keys]

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        query = self._wording(Ask()).one_of(keys)
        found = self._searcher.search(query, max(len(keys), 1), count=False)
        places = [place for _, place in found.hits]
        of_key = dict(zip(self._searcher.fast_field_values("key", places), places, strict=True))
        return [self._stored(key, of_key[key]) for key in keys if key in of_key]

    def _stored(self, key: int, place: tantivy.DocAddress) -> Stored:
        document = self._searcher.doc(place)
        title, text, language, media_type, at = _decode_shown(document["shown"][0])
        return Stored(
            key=key,
            url=document["url"][0],
            title=title,
            text=text,
            language=language,
            media_type=media_type,
            at=at,
        )

    def _wording(self, ask: Ask) -> Wording:
        terms = [term for group in ask.groups for term in group]
        return Wording(self._index.schema, self.counts(terms))

    def _all_tokens(self) -> tuple[int, ...]:
        """Return how many words all pages have in each field."""
        return tuple(0 for _ in TEXT_FIELDS)
