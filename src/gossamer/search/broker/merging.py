"""One list out of those of several shards."""

from collections.abc import Sequence
from itertools import islice
from math import sqrt

from msgspec.structs import replace

from gossamer.search.broker.fanout import ShardFanout
from gossamer.search.index_reader import CandidateList
from gossamer.search.messages import Candidate, ShardQuery, TopCandidates


def merged(fan: ShardFanout, numbers: Sequence[int], ask: ShardQuery) -> CandidateList:
    """Return the best of some shards.

    Each is asked for somewhat more than its part. One of which all were good enough may have more,
    and is asked again.
    """
    some = replace(ask, top=_part(ask.top, len(numbers)))
    answers = fan.ask(dict.fromkeys(numbers, lambda shard: shard.top(some)))
    tops = answers.of
    missing = answers.missing
    best = _best(tops, ask.top)
    if some.top < ask.top:
        least = best[-1].score if len(best) >= ask.top else -1.0
        again = [
            n
            for n, top in tops.items()
            if top.total > len(top.candidates) and top.candidates[-1].score >= least
        ]
        more = fan.ask(dict.fromkeys(again, lambda shard: shard.top(ask)), is_extra=True)
        tops = tops | more.of
        missing += more.missing
        best = _best(tops, ask.top) if again else best
    total = sum(top.total for top in tops.values())
    return CandidateList(total=total, candidates=best, missing=missing)


def _part(top: int, shards: int) -> int:
    """Return how many candidates a shard is asked for first: its part, and what chance may add."""
    part = top / shards
    return min(top, round(part + 3 * sqrt(part) + 3))


def _best(tops: dict[int, TopCandidates], most: int) -> list[Candidate]:
    rows = [(one, n) for n, top in tops.items() for one in top.candidates]
    rows.sort(key=lambda row: (-row[0].score, row[0].key))
    return [replace(one, shard=n) for one, n in islice(rows, most)]


def joined(high: CandidateList, low: CandidateList, most: int) -> CandidateList:
    """Return what both tiers found together."""
    return CandidateList(
        total=high.total + low.total,
        candidates=sorted(high.candidates + low.candidates, key=by_score)[:most],
        missing=high.missing + low.missing,
        is_low_asked=True,
    )


def by_score(one: Candidate) -> tuple[float, int]:
    """Return what candidates are ordered by: the best first, equals by key."""
    return -one.score, one.key
