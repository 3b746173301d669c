"""What a question is on its way from term shard to term shard. All of it is bytes between them.

A `TravellingQuery` has the hops that are left, and all pages that may still be answers (the
accumulators of the textbook). The shard of the last hop takes the best of them and sends a
`TermAnswer` to the broker.
"""

from typing import TypeAlias

import msgspec
from msgspec import Struct

from gossamer.search.messages import Term

BROKER = -1
"""Where answers go: no shard has this number."""
WITHOUT = -1
"""Of `EndCondition`: pages that met the condition are dropped."""


class MatchAll(Struct, frozen=True, array_like=True, tag=0):
    """All pages meet the condition."""


class ScoreTerm(Struct, frozen=True, array_like=True, tag=1):
    """Pages that have a term in some fields meet the condition, and score."""

    term: Term
    fields: int
    """In bits."""
    worth: float
    """0: it does not score."""
    is_within: bool
    """Only pages that have come so far are looked at."""


class PhraseStep(Struct, frozen=True, array_like=True, tag=2):
    """Rows go on where they have a term at a place."""

    term: Term
    shift: int
    is_first: bool
    is_within: bool


class PhraseEnd(Struct, frozen=True, array_like=True, tag=3):
    """Pages with a row that came so far, in some fields, meet the condition."""

    fields: int


class EndCondition(Struct, frozen=True, array_like=True, tag=4):
    """The condition is complete: pages that have met at least so many go on."""

    least: int
    bonus: float = 0.0
    """What those score that have met this one, beside what words are worth."""


Act: TypeAlias = MatchAll | ScoreTerm | PhraseStep | PhraseEnd | EndCondition


class Hop(Struct, frozen=True, array_like=True):
    """What one shard does."""

    shard: int
    acts: list[Act]


class Accumulators(Struct, frozen=True, array_like=True):
    """Pages and their scores, packed."""

    pages: bytes = b""
    scores: bytes = b""
    """Four bytes each; none if all are 0."""
    seen: bytes = b""
    """How many conditions each has met; one byte if that is the same for all."""


class TravellingQuery(Struct, frozen=True, array_like=True):
    """A question on its way."""

    hops: list[Hop]
    """The first is that of the shard which gets this."""
    weights: tuple[float, ...]
    top: int
    """0: all of them."""
    after: int | None = None
    before: int | None = None
    tally: Accumulators = Accumulators()
    """Pages that met all conditions so far."""
    hits: Accumulators = Accumulators()
    """Pages that meet the one that is being asked."""
    rows: bytes = b""
    """Where rows begin, as far as they have come."""


class TermAnswer(Struct, frozen=True, array_like=True):
    """The best pages, the best first, and how many there were."""

    total: int
    pages: list[int]
    scores: list[float]


class AskCounts(Struct, frozen=True, array_like=True):
    """A question for statistics of terms that a shard has."""

    terms: list[Term]


class AskWords(Struct, frozen=True, array_like=True):
    """A question for terms that begin so."""

    prefix: str
    most: int


encode = msgspec.msgpack.Encoder().encode
decode_parcel = msgspec.msgpack.Decoder(TravellingQuery).decode
decode_answer = msgspec.msgpack.Decoder(TermAnswer).decode
decode_ask_counts = msgspec.msgpack.Decoder(AskCounts).decode
decode_counts = msgspec.msgpack.Decoder(list[tuple[int, ...]]).decode
decode_ask_words = msgspec.msgpack.Decoder(AskWords).decode
decode_words = msgspec.msgpack.Decoder(list[tuple[Term, int]]).decode
