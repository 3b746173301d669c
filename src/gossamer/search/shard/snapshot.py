"""ShardSnapshot: a shard as it was at one commit. It never changes, whoever commits meanwhile."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
import tantivy
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn
from gossamer.search.facets import FIRST_YEAR, LAST_YEAR, year_begins
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.messages import Counts, Term
from gossamer.search.page import HASH
from gossamer.search.shard.schema import length_column

META = "meta.json"
_TRIES = 20
HASH_BITS = 64
MOST_HASHES = 1_000
"""That an image may be like."""
MOST_TERMS = 10_000
"""That a snapshot remembers: some 2 MB."""


class _Segment(Struct):
    segment_id: str
    max_doc: int


class EngineMeta(Struct):
    """What we need of the engine's own list of its files."""

    opstamp: int
    segments: list[_Segment] = []  # msgspec copies it


class _Node(Struct):
    """A number of the engine, and what it is made of."""

    value: float
    description: str
    details: list["_Node"] = []  # msgspec copies it


_decode_meta = msgspec.json.Decoder(EngineMeta).decode
_decode_node = msgspec.json.Decoder(_Node).decode


class ShardSnapshot:
    """What is asked of one commit: the engine's view of it, and what it counts with."""

    def __init__(self, index: tantivy.Index, path: Path) -> None:
        self.meta = meta = _taken_up(index, path)
        self.path = path
        self.searcher = index.searcher()
        self.schema = index.schema
        self.generation = meta.opstamp
        self.slots = sum(segment.max_doc for segment in meta.segments)
        """Pages as the engine counts them: those replaced stay until their segment is merged."""
        self._average: dict[str, float] = {}
        self._having: dict[Term, tuple[int, ...]] = {}

    @property
    def pages(self) -> int:
        """Return how many pages there are."""
        return self.searcher.num_docs

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""
        having = {term: self._having.get(term) or self._asked(term) for term in terms}
        return Counts(pages=self.slots, tokens=self.tokens, having=having)

    def _asked(self, term: Term) -> tuple[int, ...]:
        """Ask the engine for a term, which takes as long as a quarter of a search; remember it."""
        if len(self._having) >= MOST_TERMS:
            self._having.clear()
        count = self.searcher.doc_freq
        self._having[term] = found = tuple(count(name, term) for name in TEXT_FIELDS)
        return found

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """Return how many words all pages have in each field; replaced pages as the others."""
        sums = {name: {"sum": {"field": length_column(name)}} for name in TEXT_FIELDS}
        found = self.searcher.aggregate(tantivy.Query.all_query(), sums)
        share = self.slots / self.pages if self.pages else 0.0
        return tuple(round(found[name]["value"] * share) for name in TEXT_FIELDS)

    @cached_property
    def years(self) -> range:
        """Return the years in which its pages were fetched, from the first to the last."""
        known = tantivy.Query.range_query(
            self.schema,
            "at",
            tantivy.FieldType.Unsigned,
            lower_bound=year_begins(FIRST_YEAR),
            upper_bound=year_begins(LAST_YEAR + 1) - 1,
        )
        ends = {"first": {"min": {"field": "at"}}, "last": {"max": {"field": "at"}}}
        found = self.searcher.aggregate(known, ends)
        first, last = found["first"]["value"], found["last"]["value"]
        if first is None or last is None:
            return range(0)
        return range(_year(first), _year(last) + 1)

    @cached_property
    def _hashes(self) -> NDArray[np.uint64]:
        """Return the perceptual hashes of all images, each once; 8 bytes each."""
        found = self.searcher.terms_with_prefix("mark", HASH)
        return np.array([int(term[len(HASH) :], 16) for term, _ in found], np.uint64)

    def hashes_like(self, wanted: int, most_bits: int) -> list[tuple[str, float]]:
        """Return hashes as terms that differ from one in few bits, and what each of them scores.

        All hashes are compared: a million in some 10 ms, once they were read, which takes 5 us each
        after a commit.
        """
        bits = np.bitwise_count(self._hashes ^ np.uint64(wanted))
        near = np.flatnonzero(bits <= most_bits)
        near = near[np.argsort(bits[near], kind="stable")][:MOST_HASHES]
        pairs = zip(self._hashes[near].tolist(), bits[near].tolist(), strict=True)
        return [
            (f"{HASH}{value:016x}", (1 + HASH_BITS - other) / HASH_BITS) for value, other in pairs
        ]

    def average(self, field: str, term: Term, place: tantivy.DocAddress) -> float:
        """Return the mean length that the engine counts with, asked once, of a page with a term."""
        if field not in self._average:
            query = tantivy.Query.term_query(self.schema, field, term)
            told = _decode_node(query.explain(self.searcher, place).to_json())
            self._average[field] = _value(told, "avgdl")
        return self._average[field]


def languages_of(searcher: tantivy.Searcher) -> dict[str, int]:
    """Return how many pages of each language there are, those replaced or deleted left out."""
    every = tantivy.Query.all_query()
    found = searcher.terms_with_prefix("language", "", every)
    return {language: pages for language, pages in found if pages}


def _taken_up(index: tantivy.Index, path: Path) -> EngineMeta:
    """Bring an index to its newest commit; return what that is made of."""
    meta = read_meta(path)
    for _ in range(_TRIES):
        index.reload()
        newest = read_meta(path)
        if newest == meta:
            return meta
        meta = newest
    raise CannotGoOn(f"{path} changes faster than it can be read; try again")


def read_meta(path: Path) -> EngineMeta:
    """Return the engine's list of the files in a folder."""
    try:
        return _decode_meta((path / META).read_bytes())
    except msgspec.DecodeError as error:
        raise ValueError(f"{META}: {error}") from error


def _year(at: float) -> int:
    return datetime.fromtimestamp(at, UTC).year


def _value(node: _Node, name: str) -> float:
    """Return the number with a name, 0 if there is none."""
    if node.description.startswith(name):
        return node.value
    return next((found for part in node.details if (found := _value(part, name))), 0.0)
