"""The score of a page, worked out from evidence and the statistics of the whole index.

It is the engine's own formula. What a shard cannot know, how long fields are on average and how
many pages have a word in the whole index, comes from all shards together.
"""

from collections.abc import Sequence

from gossamer.search.fields import K1, TEXT_FIELDS, B
from gossamer.search.messages import Counts, Evidence, ShardQuery
from gossamer.search.shard import group_idf


class Scorer:
    """Scores the pages of one question."""

    def __init__(self, ask: ShardQuery, counts: Counts) -> None:
        self._worth = [
            (K1 + 1) * ask.boost(number) * group_idf(group, counts)
            for number, group in enumerate(ask.groups)
        ]
        self._weights = [ask.weights.of(name) for name in TEXT_FIELDS]
        self._per_word = [
            K1 * B * counts.pages / tokens if tokens else 0.0 for tokens in counts.tokens
        ]

    def score(self, evidence: Sequence[Evidence]) -> float:
        """Return the score of a page."""
        total = 0.0
        for said in evidence:
            norm = K1 * (1 - B) + self._per_word[said.field] * said.length
            share = said.often / (said.often + norm)
            total += self._worth[said.group] * self._weights[said.field] * share
        return total

    def best(self) -> float:
        """Return what a page would have with every word, in one form each, all over every field."""
        return sum(self._worth) * sum(self._weights)
