"""Passages: blocks of equal words, merged over small changes and aligned word by word.

Blocks that lie close to each other in a page, and not far from each other in the given text, are
one passage, in whatever order they stand there: a sentence may have been moved. What lies between
two of them is compared by its longest common subsequence; at the ends of a passage a word or two
may have been changed, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from gossamer.dedupe.kernels.reuse import PHRASE
from gossamer.dedupe.kernels.sketching import Ints
from gossamer.dedupe.phrases import PhraseIndex, SplitText

MOST_GAP = 12
"""Words of a page between two blocks of a passage."""
MOST_LEFT_OUT = 24
"""Words of the given text between two blocks whose gap is aligned."""
REACH = 400
"""How far blocks of a passage may lie from each other in the given text."""
LEAST_DENSITY = 0.7
"""Of the words between the ends of a passage, at least so many are equal."""
_STEPS = ((1, 1), (0, 1), (1, 0), (2, 2), (0, 2), (2, 0), (1, 2), (2, 1))
"""How many words of the page and of the given text a change at the end of a passage may have."""
_SURE = 2
"""Equal words that must follow on such a change."""


class Block(NamedTuple):
    """Words in a row that are equal."""

    at: int
    """In the page."""
    place: int
    """In the given text."""
    words: int


class AlignedPassage(NamedTuple):
    """A passage of a page and of a given text."""

    blocks: list[Block]
    pairs: list[tuple[int, int]]
    """Each word of the page that the given text has, and its place there; in the page's order."""

    @property
    def words(self) -> int:
        """Return how many words are equal."""
        return len(self.pairs)

    @property
    def longest_run(self) -> int:
        """Return how many words in a row are equal at most."""
        best = run = 1
        for (at, place), (next_at, next_place) in pairwise(self.pairs):
            run = run + 1 if (next_at, next_place) == (at + 1, place + 1) else 1
            best = max(best, run)
        return best if self.pairs else 0


@dataclass(slots=True)
class _Chain:
    """Blocks that may become a passage."""

    low: int
    high: int
    blocks: list[Block] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.blocks[-1].at + self.blocks[-1].words

    def take(self, block: Block) -> None:
        self.blocks.append(block)
        self.low = min(self.low, block.place)
        self.high = max(self.high, block.place + block.words)

    def is_near(self, block: Block) -> bool:
        is_near_here = block.at - self.end <= MOST_GAP
        return is_near_here and self.low - REACH < block.place < self.high + REACH

    def distance(self, block: Block) -> int:
        last = self.blocks[-1]
        return abs(block.place - last.place - (block.at - last.at))


def find_passages(
    index: PhraseIndex, page: SplitText, blocks: Ints, min_words: int
) -> list[AlignedPassage]:
    """Return the passages of so many equal words, or more, that a page shares with a given text.

    `index` is that of one text.
    """
    found: list[AlignedPassage] = []
    for chain in _chains(blocks):
        passage = _aligned(index, page, chain)
        first, last = passage.pairs[0][0], passage.pairs[-1][0]
        is_dense = passage.words >= LEAST_DENSITY * (last - first + 1)
        if is_dense and passage.words >= min_words:
            found.append(passage)
    return found


def _chains(blocks: Ints) -> Iterator[_Chain]:
    """Yield chains of blocks, without blocks at their ends that merely happen to be near."""
    are_open: list[_Chain] = []
    for row in blocks.tolist():
        block = Block(*row)
        yield from (_trimmed(one) for one in are_open if block.at - one.end > MOST_GAP)
        are_open = [one for one in are_open if block.at - one.end <= MOST_GAP]
        near = [one for one in are_open if one.is_near(block)]
        if near:
            min(near, key=lambda one: one.distance(block)).take(block)
        else:
            are_open.append(_Chain(block.place, block.place + block.words, [block]))
    yield from map(_trimmed, are_open)


def _trimmed(chain: _Chain) -> _Chain:
    blocks = chain.blocks
    first, last = 0, len(blocks)
    while last - first > 1 and _is_stray(blocks[first], blocks[first + 1]):
        first += 1
    while last - first > 1 and _is_stray(blocks[last - 1], blocks[last - 2]):
        last -= 1
    return _Chain(chain.low, chain.high, blocks[first:last])


def _is_stray(end: Block, next_to: Block) -> bool:
    """Return True if the gap between a block at the end and its neighbour is larger than it."""
    first, second = sorted((end, next_to))
    return end.words <= second.at - first.at - first.words


def _aligned(index: PhraseIndex, page: SplitText, chain: _Chain) -> AlignedPassage:
    """Return a chain with all the words that are equal in it, each at most once."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()

    def add(found: Iterable[tuple[int, int]]) -> None:
        for at, place in found:
            if at not in pairs and place not in taken:
                pairs[at] = place
                taken.add(place)

    for at, place, words in chain.blocks:
        add(zip(range(at, at + words), range(place, place + words), strict=True))
    ahead, behind = _Walk(index, page, 1), _Walk(index, page, -1)
    add(behind.beyond(chain.blocks[0].at - 1, chain.blocks[0].place - 1))
    for block, following in pairwise(chain.blocks):
        ends = block.at + block.words, block.place + block.words
        if ends[1] <= following.place <= ends[1] + MOST_LEFT_OUT:
            add(_between(index, page, ends, following))
        else:
            add(ahead.beyond(*ends))
            add(behind.beyond(following.at - 1, following.place - 1))
    last = chain.blocks[-1]
    add(ahead.beyond(last.at + last.words, last.place + last.words))
    return AlignedPassage(chain.blocks, sorted(pairs.items()))


def _between(
    index: PhraseIndex, page: SplitText, ends: tuple[int, int], following: Block
) -> list[tuple[int, int]]:
    """Return the equal words between the end of a block and the next one."""
    at, place = ends
    here = page.words[at : following.at].tolist()
    there = index.words[place : following.place].tolist()
    return [(at + i, place + j) for i, j in _common(here, there)]


def _common(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return a longest common subsequence: the places of its members in both."""
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            is_equal = a[i] == b[j]
            lengths[i][j] = (
                lengths[i + 1][j + 1] + 1 if is_equal else max(lengths[i + 1][j], lengths[i][j + 1])
            )
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


class _Walk:
    """Goes on from the end of a block, in one direction, over small changes."""

    def __init__(self, index: PhraseIndex, page: SplitText, step: int) -> None:
        self._given = index.words
        self._page = page.words
        self._step = step

    def beyond(self, at: int, place: int) -> Iterator[tuple[int, int]]:
        """Yield the equal words beyond the end of a block: less than a phrase between changes."""
        for _ in range(PHRASE):
            steps = ((at + self._step * i, place + self._step * j) for i, j in _STEPS)
            found = next((one for one in steps if self._equal(*one) >= _SURE), None)
            if found is None:
                return
            at, place = found
            for _ in range(self._equal(at, place)):
                yield at, place
                at, place = at + self._step, place + self._step

    def _equal(self, at: int, place: int) -> int:
        """Return how many words in a row are equal from here on, up to a phrase."""
        count = 0
        while (
            count < PHRASE
            and 0 <= at < len(self._page)
            and 0 <= place < len(self._given)
            and self._page[at] == self._given[place]
        ):
            count += 1
            at, place = at + self._step, place + self._step
        return count
