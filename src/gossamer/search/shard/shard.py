"""Shard: some of the pages of an index, in a folder on this machine."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol

import msgspec
import tantivy
from msgspec.structs import asdict, replace

from gossamer.durable import is_writable, linked_files
from gossamer.ranks import NewestRanks
from gossamer.search.fields import FAST_FIELDS, TEXT_FIELDS
from gossamer.search.messages import (
    Bonus,
    Candidate,
    Counts,
    Evidence,
    FacetCounts,
    Facts,
    ShardQuery,
    Stored,
    Term,
    TopCandidates,
)
from gossamer.search.page import Prepared, Shown
from gossamer.search.shard.damage import guarded
from gossamer.search.shard.evidence import EvidenceReader
from gossamer.search.shard.facets import count_facets
from gossamer.search.shard.query_builder import MUST, SAID_IN, SHOULD, Query, QueryBuilder
from gossamer.search.shard.schema import length_column, open_index
from gossamer.search.shard.snapshot import ShardSnapshot, languages_of, read_meta

_decode_shown = msgspec.msgpack.Decoder(Shown).decode


class IndexShard(Protocol):
    """What a broker asks: a folder on this machine, or another machine."""

    @property
    def place(self) -> str:
        """Where its index is: a folder, or the URL of a server."""

    @property
    def name(self) -> str:
        """Its name there."""

    @property
    def is_far(self) -> bool:
        """Return True if it is waited for: it is asked in a thread."""

    def facts(self) -> Facts:
        """Return how much there is, and of which commit."""

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""

    def top(self, ask: ShardQuery) -> TopCandidates:
        """Return the best candidates."""

    def evidence(self, keys: Sequence[int], ask: ShardQuery) -> list[list[Evidence]]:
        """Return of each page what its score is made of; nothing of those that are gone."""

    def near(self, keys: Sequence[int], bonuses: Sequence[Bonus]) -> list[float]:
        """Return of each page the sum of what the phrases are worth that it has."""

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""

    def facets(self, ask: ShardQuery) -> FacetCounts:
        """Return how many matches have each value."""

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them, the most frequent first."""

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""

    def close(self) -> None:
        """Let go what it holds."""


class LocalShard:
    """A shard in a folder. A question is answered from one snapshot, in whichever thread."""

    is_far: Final = False

    def __init__(self, path: Path, ranks: NewestRanks | None = None) -> None:
        """Take its folder, and the ranks of its pages if candidates are to have them."""
        self.path = path
        self._ranks = ranks
        self.place, self.name = str(path.parent.parent), path.name
        self._links = ExitStack()
        with guarded(path):
            self._index = open_index(self._opened(path))
            self._now = ShardSnapshot(self._index, path)

    def _opened(self, path: Path) -> Path:
        """Return the folder for the engine, which makes a lock file in it even to read it."""
        if is_writable(path) or not path.exists():
            return path
        files = [file.name for file in path.iterdir() if file.suffix != ".lock"]
        return self._links.enter_context(linked_files(path, files))

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""
        if self._ranks is not None:
            self._ranks.renew()
        with guarded(self.path):
            before = self._now
            if read_meta(self.path) == before.meta:
                return False
            self._now = ShardSnapshot(self._index, self.path)
            return self._now.generation != before.generation  # else a merge: the same pages

    def facts(self) -> Facts:
        """Return how much there is, and of which commit."""
        now = self._now
        with guarded(self.path):
            languages = languages_of(now.searcher)
        return Facts(pages=now.pages, generation=now.generation, languages=languages)

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""
        with guarded(self.path):
            return self._now.counts(terms)

    def top(self, ask: ShardQuery) -> TopCandidates:
        """Return the best candidates."""
        now = self._now
        most = min(ask.top, now.pages)  # the engine sets memory aside for as many as are asked for
        with guarded(self.path):
            hashes = now.hashes_like(ask.hash, ask.hash_bits) if ask.hash else ()
            words = _wording(now, ask)
            if words.lacks_what_is_needed(ask):
                return TopCandidates(total=0, candidates=[])
            query = words.query(ask, hashes)
            found = now.searcher.search(query, max(most, 1))
            hits = found.hits[: max(most, 0)]
            places = [place for _, place in hits]
            columns = [now.searcher.fast_field_values(name, places) for name in FAST_FIELDS]
        scores = [score for score, _ in hits]
        rows = [Candidate(*row) for row in zip(scores, *columns, strict=True)]
        ranks = self._ranks.of_all([one.key for one in rows]) if self._ranks is not None else []
        return TopCandidates(
            total=found.count,  # type: ignore[attr-defined]  # its stub forgot it
            candidates=[replace(one, rank=rank) for one, rank in zip(rows, ranks, strict=True)]
            if any(ranks)
            else rows,
        )

    def evidence(self, keys: Sequence[int], ask: ShardQuery) -> list[list[Evidence]]:
        """Return of each page what its score is made of; nothing of those that are gone."""
        if not keys:
            return []
        with guarded(self.path):
            found = EvidenceReader(self._now, keys, ask).gathered()
        return [found.get(key, []) for key in keys]

    def near(self, keys: Sequence[int], bonuses: Sequence[Bonus]) -> list[float]:
        """Return of each page the sum of what the phrases are worth that it has."""
        if not keys or not bonuses:
            return [0.0] * len(keys)
        now = self._now
        with guarded(self.path):
            said = {term for bonus in bonuses for terms in bonus.phrase for term in terms}
            words = QueryBuilder(now.schema, now.counts(list(said)))
            clauses = [(SHOULD, words.bonus(bonus)) for bonus in bonuses]
            query = Query.boolean_query([(MUST, words.one_of(keys)), *clauses])
            hits = now.searcher.search(query, len(keys), count=False).hits
            found = now.searcher.fast_field_values("key", [place for _, place in hits])
        of_key = dict(zip(found, [score for score, _ in hits], strict=True))
        return [of_key.get(key, 0.0) for key in keys]

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        if not keys:
            return []
        now = self._now
        with guarded(self.path):
            query = _wording(now, ShardQuery()).one_of(keys)
            hits = now.searcher.search(query, len(keys), count=False).hits
            places = [place for _, place in hits]
            of_key = dict(zip(now.searcher.fast_field_values("key", places), places, strict=True))
            return [_stored(now, key, of_key[key]) for key in keys if key in of_key]

    def marked(self, marks: Sequence[str]) -> list[Stored]:
        """Return the images that have one of some marks."""
        now = self._now
        with guarded(self.path):
            any_of = [(SHOULD, Query.term_query(now.schema, "mark", mark)) for mark in marks]
            found = now.searcher.search(Query.boolean_query(any_of), max(now.pages, 1), count=False)
            places = [place for _, place in found.hits]
            keys = now.searcher.fast_field_values("key", places)
            return [_stored(now, int(key or 0), at) for key, at in zip(keys, places, strict=True)]

    def unchanged(self, pages: Sequence[Prepared]) -> set[int]:
        """Return the keys of those pages that are in it just as they are.

        Compared is what is kept: what a reader is shown, its numbers, among them the sketch of the
        whole text, and how many words it has in each field.
        """
        now = self._now
        wanted = {page.key: page for page in pages}
        columns = (*FAST_FIELDS, *map(length_column, TEXT_FIELDS))
        with guarded(self.path):
            query = _wording(now, ShardQuery()).one_of(list(wanted))
            hits = now.searcher.search(query, len(wanted), count=False).hits if wanted else []
            places = [place for _, place in hits]
            rows = zip(
                *(now.searcher.fast_field_values(name, places) for name in columns), strict=True
            )
            same = set()
            for place, row in zip(places, rows, strict=True):
                page = wanted[row[0]]
                numbers = [getattr(page, name) for name in FAST_FIELDS]
                counts = [words.count(" ") + 1 if words else None for words in page.words]
                if [*row] == [*numbers, *counts] and page.shown == _decode_shown(
                    now.searcher.doc(place)["shown"][0]
                ):
                    same.add(page.key)
        return same

    def facets(self, ask: ShardQuery) -> FacetCounts:
        """Return how many matches have each value."""
        now = self._now
        with guarded(self.path):
            return count_facets(now, _wording(now, ask), ask)

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them, the most frequent first."""
        if most <= 0:
            return []
        found: dict[Term, int] = {}
        with guarded(self.path):
            for field in SAID_IN:
                terms = self._now.searcher.terms_with_prefix(field, prefix, limit=most)
                for term, having in terms:
                    found[term] = max(having, found.get(term, 0))
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:most]

    def close(self) -> None:
        """Let go what it holds: the engine does so by itself."""

    def urls(self) -> Iterator[str]:
        """Return the URLs of all pages: to compare an index with what it was made of."""
        now = self._now
        with guarded(self.path):
            alive = Query.all_query() if now.slots > now.pages else None
            return iter([url for url, _ in now.searcher.terms_with_prefix("url", "", alive)])


def _stored(now: ShardSnapshot, key: int, place: tantivy.DocAddress) -> Stored:
    document = now.searcher.doc(place)
    shown = _decode_shown(document["shown"][0])
    return Stored(key=key, url=document["url"][0], **asdict(shown))


def _wording(now: ShardSnapshot, ask: ShardQuery) -> QueryBuilder:
    terms = [term for group in ask.groups for term in group]
    return QueryBuilder(now.schema, now.counts(terms))
