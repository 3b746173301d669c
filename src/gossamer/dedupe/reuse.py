"""TextReuse: which passages of given texts are in the pages of a crawl.

Two walks over the pages. The first notes which phrases of the given texts are on how many pages,
and which pages have enough of them to be read again. The second finds the passages. A phrase that
very many pages have, or many of one host, is weak evidence: navigation, licences, stock phrases.
So a passage needs enough words in phrases that are rare, unless a page holds nearly all of a text.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from gossamer.dedupe.kernels.reuse import PHRASE
from gossamer.dedupe.passages import AlignedPassage, find_passages
from gossamer.dedupe.phrases import (
    Commonness,
    PhraseCounts,
    PhraseIndex,
    SplitText,
    WordSplitter,
)

MIN_WORDS = 25
"""A passage has so many equal words, unless told otherwise."""
WINDOW = 4
"""The richest stretch of a page is of so many times the least words of a passage."""
COMMON_PAGES, COMMON_SHARE = 50, 0.02
"""A phrase is common if more pages have it than either of these."""
COMMON_OF_HOST, COMMON_SHARE_OF_HOST = 10, 0.1
"""The same for the pages of one host."""
NEARLY_ALL = 0.95
"""A page that holds so much of a text is told even if all of it is common."""


class FoundPassages(NamedTuple):
    """The passages of one given text that a page holds."""

    text: int
    passages: list[AlignedPassage]
    words: int
    """Words of the given text that are in them."""


class TextReuse:
    """Given texts, looked for in pages. First `note` every page, then ask for its `passages`.

    Each text has at least as many words as a passage.
    """

    def __init__(self, texts: Sequence[str], min_words: int = MIN_WORDS) -> None:
        self._splitter = WordSplitter()
        self._least = min_words
        self.texts = [self._splitter.split(text) for text in texts]
        self._all = PhraseIndex(self.texts)
        self._counts = PhraseCounts(self._all)
        self._single: dict[int, PhraseIndex] = {}
        self._hosts: Counter[int] = Counter()

    def split(self, text: str) -> SplitText:
        """Return a page as words."""
        return self._splitter.split(text)

    def note(self, page: SplitText, host: str) -> bool:
        """Count the phrases of a page; return True if it may hold a passage."""
        key = _key_of(host)
        self._hosts[key] += 1
        blocks = self._all.blocks(page)
        if not len(blocks):
            return False
        self._counts.add(blocks, key)
        window = WINDOW * self._least
        return 2 * self._all.most_within(blocks, window) >= self._least

    def passages(self, page: SplitText, host: str) -> list[FoundPassages]:
        """Return the passages that a page holds, by given text. All pages were noted before."""
        key, limits = _key_of(host), self.limits(host)
        hits = self._counts.by_text(page, key, limits)
        found: list[FoundPassages] = []
        for number, (both, rare) in enumerate(hits.tolist()):
            phrases = len(self.texts[number].words) - PHRASE + 1
            if 2 * (rare + PHRASE - 1) >= self._least or (phrases > 0 and 2 * both >= phrases):
                told = self._of_text(number, page, key, limits)
                found += [told] if told.passages else []
        return found

    def limits(self, host: str) -> Commonness:
        """Return on how many pages a phrase is common, for a page of a host."""
        return Commonness(
            max(COMMON_PAGES, int(COMMON_SHARE * self._hosts.total())),
            max(COMMON_OF_HOST, int(COMMON_SHARE_OF_HOST * self._hosts[_key_of(host)])),
        )

    def _of_text(self, number: int, page: SplitText, key: int, limits: Commonness) -> FoundPassages:
        index = self._single.get(number)
        if index is None:
            index = self._single[number] = PhraseIndex([self.texts[number]])
        passages = find_passages(index, page, index.blocks(page), self._least)
        held = {place for one in passages for _, place in one.pairs}
        if len(held) < NEARLY_ALL * len(self.texts[number].words):
            passages = [one for one in passages if self._is_telling(number, one, key, limits)]
            held = {place for one in passages for _, place in one.pairs}
        return FoundPassages(number, passages, len(held))

    def _is_telling(
        self, number: int, passage: AlignedPassage, key: int, limits: Commonness
    ) -> bool:
        """Return True if enough words of a passage are in phrases that are not common."""
        start = int(self._all.starts[number])
        rare = sum(
            int(self._counts.are_rare(start + place, words, key, limits).sum())
            for _, place, words in passage.blocks
        )
        return 2 * rare >= self._least


def _key_of(host: str) -> int:
    return xxh3_64_intdigest(host.encode()) >> 32
