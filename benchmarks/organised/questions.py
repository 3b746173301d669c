"""Questions: words of titles, about topics of which some are in fashion. A topic is a host."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gossamer.search.messages import ShardQuery
from organised.pages import spooled

LENGTHS = (1, 2, 3, 4)
LENGTH_WEIGHTS = (25, 35, 25, 15)
"""How many words questions to search engines have, about."""
TOP = 100


class Question(NamedTuple):
    """Some words of a title."""

    words: tuple[str, ...]

    def ask(self, kind: str) -> ShardQuery:
        """Return it as a question for all of its words, any of them, or all in a row."""
        groups = tuple((word,) for word in self.words)
        needed = 1 if kind == "any" else len(groups)
        phrases = ((self.words,),) if kind == "phrase" else ()
        return ShardQuery(groups=groups, needed=needed, phrases=phrases, top=TOP)


class Asker:
    """Makes questions of the titles of pages."""

    def __init__(self, pages: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        titles: defaultdict[int, list[list[str]]] = defaultdict(list)
        for page in spooled(pages):
            words = page.words[0].split()
            if words:
                titles[page.host].append(words)
        self._titles = [titles[host] for host in sorted(titles)]
        self._all = [words for topic in self._titles for words in topic]

    def uniform(self, many: int) -> list[Question]:
        """Return questions about any pages."""
        return [self._question(self._chance.choice(self._all)) for _ in range(many)]

    def drifting(self, epochs: int, many: int) -> list[list[Question]]:
        """Return questions day by day. Topics follow Zipf's law; each day others are on top."""
        topics = list(range(len(self._titles)))
        days = []
        for _ in range(epochs):
            self._chance.shuffle(topics)
            weights = [1 / (rank + 1) for rank in range(len(topics))]
            chosen = self._chance.choices(topics, weights, k=many)
            days.append([self._question(self._chance.choice(self._titles[it])) for it in chosen])
        return days

    def _question(self, title: Sequence[str]) -> Question:
        (length,) = self._chance.choices(LENGTHS, LENGTH_WEIGHTS)
        start = self._chance.randrange(max(len(title) - length, 0) + 1)
        return Question(tuple(dict.fromkeys(title[start : start + length])))


def packed(work_ns: Iterable[tuple[str, int]], shards: int) -> dict[str, int]:
    """Place terms, the one with most work first, each where there is least."""
    loads = [0] * shards
    placed = {}
    for term, work in sorted(work_ns, key=lambda row: (-row[1], row[0])):
        place = loads.index(min(loads))
        placed[term] = place
        loads[place] += work
    return placed
