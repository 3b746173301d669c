"""What a broker and a shard on another machine say to each other: msgpack, typed, bounded.

A request is `POST /shard/SHARD/NAME` with one of the wishes below; the answer is what the method
NAME of a shard returns. Whatever else comes in is `BadMessage`.
"""

from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from gossamer.search.messages import (
    Bonus,
    Counts,
    Evidence,
    FacetCounts,
    Facts,
    Phrase,
    ShardQuery,
    Stored,
    Term,
    TopCandidates,
)
from gossamer.search.remote.validation import is_ask, is_bonuses
from gossamer.search.shard import IndexShard

MOST_REQUEST_BYTES = 60 * 1024
"""Less than the server takes of anybody."""
MOST_ANSWER_BYTES = 16 * 1024 * 1024
MOST_TOP = 10_000
MOST_TERMS = 2_000
Word = Annotated[Term, Meta(max_length=1000)]
Keys = Annotated[list[Annotated[int, Meta(ge=0)]], Meta(max_length=MOST_TOP)]
ShardNames = Annotated[
    list[Annotated[str, Meta(pattern=r"^(low-|images-)?[0-9]{2,4}\Z")]], Meta(max_length=1000)
]
Terms = Annotated[list[Word], Meta(max_length=MOST_TERMS)]


class OfferedShards(Struct, frozen=True):
    """The shards of an index, by the names of their folders: what `GET /shard` answers."""

    high: ShardNames
    low: ShardNames = []  # msgspec copies it
    images: ShardNames = []  # msgspec copies it
    born: int = 0
    """Another one: these are other shards, whatever their names are."""


class BadMessage(Exception):
    """Bytes that are not a question, or not an answer, or too many of them."""


class CountsRequest(Struct, frozen=True):
    """Statistics of some terms."""

    terms: Terms


class KeysRequest(Struct, frozen=True):
    """Pages as they are shown."""

    keys: Keys


class NearRequest(Struct, frozen=True):
    """What phrases are worth that each page has."""

    keys: Keys
    bonuses: Annotated[list[Bonus], Meta(max_length=MOST_TERMS)]


class EvidenceRequest(Struct, frozen=True):
    """What the scores of some pages are made of."""

    keys: Keys
    ask: ShardQuery


class VocabularyRequest(Struct, frozen=True):
    """Terms that begin in some way."""

    prefix: Word
    most: Annotated[int, Meta(ge=0, le=MOST_TOP)]


class FactsRequest(Struct, frozen=True):
    """How much there is; the newest commit is taken up first."""


_Request = TypeVar("_Request")


def answer_shard(shard: IndexShard, name: str, body: bytes) -> bytes:
    """Return a shard's answer to a request that came over the network."""
    answer = _ANSWERERS.get(name)
    if answer is None:
        raise BadMessage(f"expected one of {', '.join(_ANSWERERS)}, got {name[:40]!r}")
    if len(body) > MOST_REQUEST_BYTES:
        raise BadMessage(f"a question has at most {MOST_REQUEST_BYTES} bytes")
    return msgspec.msgpack.encode(answer(shard, body))


def decoded(body: bytes, kind: type[_Request]) -> _Request:
    """Return what bytes say, if they say something of this kind."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise BadMessage(f"not what was expected: {error}") from error


def _asked(ask: ShardQuery) -> ShardQuery:
    """Return a question that is not too much to ask."""
    phrases: list[Phrase] = [*ask.phrases, *ask.without]
    filters = ask.filters
    values = [
        *(term for group in ask.groups for term in group),
        *(term for phrase in phrases for row in phrase for term in row),
        *(filters.sites + filters.not_sites + filters.languages + filters.not_languages),
        *(filters.types + filters.not_types + filters.in_url + filters.not_in_url),
        *(filters.labels + filters.not_labels),
    ]
    if len(values) > MOST_TERMS or not 0 <= ask.top <= MOST_TOP:
        raise BadMessage(f"a question has at most {MOST_TERMS} terms and {MOST_TOP} answers")
    if not is_ask(ask):
        raise BadMessage("a question with numbers that cannot be")
    return ask


def _counts(shard: IndexShard, body: bytes) -> Counts:
    return shard.counts(decoded(body, CountsRequest).terms)


def _top(shard: IndexShard, body: bytes) -> TopCandidates:
    return shard.top(_asked(decoded(body, ShardQuery)))


def _evidence(shard: IndexShard, body: bytes) -> list[list[Evidence]]:
    options = decoded(body, EvidenceRequest)
    return shard.evidence(options.keys, _asked(options.ask))


def _near(shard: IndexShard, body: bytes) -> list[float]:
    options = decoded(body, NearRequest)
    terms = [len(row) for bonus in options.bonuses for row in bonus.phrase]
    if sum(terms) > MOST_TERMS or not is_bonuses(options.bonuses):
        raise BadMessage(f"expected at most {MOST_TERMS} terms, and worths that can be")
    return shard.near(options.keys, options.bonuses)


def _stored(shard: IndexShard, body: bytes) -> list[Stored]:
    return shard.stored(decoded(body, KeysRequest).keys)


def _facets(shard: IndexShard, body: bytes) -> FacetCounts:
    return shard.facets(_asked(decoded(body, ShardQuery)))


def _vocabulary(shard: IndexShard, body: bytes) -> list[tuple[Term, int]]:
    options = decoded(body, VocabularyRequest)
    return shard.vocabulary(options.prefix, options.most)


def _facts(shard: IndexShard, body: bytes) -> Facts:
    decoded(body, FactsRequest)
    shard.renew()
    return shard.facts()


_ANSWERERS: dict[str, Callable[[IndexShard, bytes], object]] = {
    "counts": _counts,
    "top": _top,
    "evidence": _evidence,
    "near": _near,
    "stored": _stored,
    "facets": _facets,
    "vocabulary": _vocabulary,
    "facts": _facts,
}
