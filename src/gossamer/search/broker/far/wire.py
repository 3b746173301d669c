"""What a broker and a shard on another machine say to each other: msgpack, typed, bounded.

A request is `POST /shard/SHARD/NAME` with one of the wishes below; the answer is what the method
NAME of a shard returns. Whatever else comes in is `BadMessage`.
"""

from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from gossamer.search.broker.far.sound import is_ask
from gossamer.search.messages import Ask, Counts, Evidence, Facts, Phrase, Stored, Term, Top
from gossamer.search.shard import Shard

MOST_REQUEST_BYTES = 60 * 1024
"""Less than the server takes of anybody."""
MOST_ANSWER_BYTES = 16 * 1024 * 1024
MOST_TOP = 10_000
MOST_TERMS = 2_000
Word = Annotated[Term, Meta(max_length=1000)]
Keys = Annotated[list[Annotated[int, Meta(ge=0)]], Meta(max_length=MOST_TOP)]
ShardNames = Annotated[
    list[Annotated[str, Meta(pattern=r"^(low-)?[0-9]{2,4}\Z")]], Meta(max_length=1000)
]
Terms = Annotated[list[Word], Meta(max_length=MOST_TERMS)]


class Offer(Struct, frozen=True):
    """The shards of an index, by the names of their folders: what `GET /shard` answers."""

    high: ShardNames
    low: ShardNames = []  # msgspec copies it


class BadMessage(Exception):
    """Bytes that are not a question, or not an answer, or too many of them."""


class CountsWish(Struct, frozen=True):
    """Statistics of some terms."""

    terms: Terms


class KeysWish(Struct, frozen=True):
    """Pages as they are shown."""

    keys: Keys


class NearWish(Struct, frozen=True):
    """How many rows of terms each page has."""

    keys: Keys
    rows: Annotated[list[Terms], Meta(max_length=MOST_TERMS)]


class EvidenceWish(Struct, frozen=True):
    """What the scores of some pages are made of."""

    keys: Keys
    ask: Ask


class VocabularyWish(Struct, frozen=True):
    """Terms that begin in some way."""

    prefix: Word
    most: Annotated[int, Meta(ge=0, le=MOST_TOP)]


class FactsWish(Struct, frozen=True):
    """How much there is; the newest commit is taken up first."""


_Wish = TypeVar("_Wish")


def answer_shard(shard: Shard, name: str, body: bytes) -> bytes:
    """Return a shard's answer to a request that came over the network."""
    answer = _ANSWERERS.get(name)
    if answer is None:
        raise BadMessage(f"expected one of {', '.join(_ANSWERERS)}, got {name[:40]!r}")
    if len(body) > MOST_REQUEST_BYTES:
        raise BadMessage(f"a question has at most {MOST_REQUEST_BYTES} bytes")
    return msgspec.msgpack.encode(answer(shard, body))


def decoded(body: bytes, kind: type[_Wish]) -> _Wish:
    """Return what bytes say, if they say something of this kind."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise BadMessage(f"not what was expected: {error}") from error


def _asked(ask: Ask) -> Ask:
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


def _counts(shard: Shard, body: bytes) -> Counts:
    return shard.counts(decoded(body, CountsWish).terms)


def _top(shard: Shard, body: bytes) -> Top:
    return shard.top(_asked(decoded(body, Ask)))


def _evidence(shard: Shard, body: bytes) -> list[list[Evidence]]:
    wish = decoded(body, EvidenceWish)
    return shard.evidence(wish.keys, _asked(wish.ask))


def _near(shard: Shard, body: bytes) -> list[float]:
    wish = decoded(body, NearWish)
    return shard.near(wish.keys, wish.rows)


def _stored(shard: Shard, body: bytes) -> list[Stored]:
    return shard.stored(decoded(body, KeysWish).keys)


def _vocabulary(shard: Shard, body: bytes) -> list[tuple[Term, int]]:
    wish = decoded(body, VocabularyWish)
    return shard.vocabulary(wish.prefix, wish.most)


def _facts(shard: Shard, body: bytes) -> Facts:
    decoded(body, FactsWish)
    shard.renew()
    return shard.facts()


_ANSWERERS: dict[str, Callable[[Shard, bytes], object]] = {
    "counts": _counts,
    "top": _top,
    "evidence": _evidence,
    "near": _near,
    "stored": _stored,
    "vocabulary": _vocabulary,
    "facts": _facts,
}
