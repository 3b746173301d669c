"""What a host's pages have in common: how often they change, and what its words are worth."""

from math import log

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.frontier.revisit.rate import STRENGTH

_LIKE_OTHERS = 3.0
"""Pages that the mean of all hosts weighs in a host's prior."""

_DOUBT = 5.0
"""Hints that the first opinion of a host's hints weighs."""

_PRECISION, _RECALL = 0.1, 0.3
"""The first opinion: close to ignoring them."""

_LEAST, _MOST = 0.02, 0.98
_DATES_WRONG = 0.2


class Word(Struct):
    """What came of what a host said of its pages' changes."""

    hinted: int = 0
    confirmed: int = 0
    changes: int = 0
    foretold: int = 0
    dates: int = 0
    wrong_dates: int = 0
    is_hinting: bool = False

    def note_visit(self, *, changed: bool, had_hint: bool) -> None:
        """Count a visit, if the host gives hints at all."""
        if self.is_hinting:
            self.hinted += had_hint
            self.confirmed += had_hint and changed
            self.changes += changed
            self.foretold += had_hint and changed

    def note_date(self, *, changed: bool, is_between: bool) -> None:
        """Count a dated change: right if it lies between the visits exactly when there was one."""
        self.dates += 1
        self.wrong_dates += changed != is_between

    @property
    def precision(self) -> float:
        """Return the chance that a page with a hint has changed."""
        seen = (self.confirmed + _DOUBT * _PRECISION) / (self.hinted + _DOUBT)
        return min(max(seen, _LEAST), _MOST)

    @property
    def recall(self) -> float:
        """Return the chance that a page that changed had a hint."""
        seen = (self.foretold + _DOUBT * _RECALL) / (self.changes + _DOUBT)
        return min(max(seen, _LEAST), _MOST)

    @property
    def has_true_dates(self) -> bool:
        """Tell whether dates of changes agreed with the content so far."""
        return self.wrong_dates <= _DATES_WRONG * (self.dates + 1)


class Hosts:
    """A column per property of hosts, numbered as they come."""

    __slots__ = ("_number", "_words", "floor", "jump", "keys", "level", "prior_s", "recall")

    def __init__(self) -> None:
        self.keys: list[int] = []
        self._number: dict[int, int] = {}
        self._words: dict[int, Word] = {}
        self.prior_s = np.empty(0)
        """Seconds that the prior puts into a belief: its strength over its rate."""
        self.level = np.empty(0)
        self.floor = np.empty(0)
        self.recall = np.empty(0)
        self.jump = np.empty(0)
        """What a hint adds to the changes expected: log 1 / (1 - precision); 0 without hints."""

    def number(self, key: int, prior_s: float, level: float) -> int:
        """Return the number of a host, a new one with the given prior and level if need be."""
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self.keys)
            self.keys.append(key)
            if number == len(self.prior_s):
                self._grow(2 * number + 16)
            self.prior_s[number], self.level[number], self.floor[number] = prior_s, level, 1.0
        return number

    @property
    def has_hints(self) -> bool:
        """Tell whether any host ever gave a hint."""
        return bool(self.jump.any())

    def word(self, number: int) -> Word:
        """Return what is known of a host's word."""
        return self._words.setdefault(number, Word())

    def heard_hint(self, number: int) -> None:
        """Take a host for one that gives hints, worth what came of its hints so far."""
        word = self.word(number)
        word.is_hinting = True
        self._weigh(number, word)

    def weigh_words(self) -> None:
        """Take over what came of the hints since."""
        for number, word in self._words.items():
            if word.is_hinting:
                self._weigh(number, word)

    def learn_priors(
        self, host: NDArray[np.int32], rates: NDArray[np.float32], first_prior_per_s: float
    ) -> None:
        """Set each host's prior from the rates of those of its pages that were visited again."""
        count = len(self.keys)
        logs = np.log(rates)
        everywhere = (float(logs.sum(dtype=np.float64)) + _LIKE_OTHERS * log(first_prior_per_s)) / (
            len(logs) + _LIKE_OTHERS
        )
        sums = np.bincount(host, logs, count) + _LIKE_OTHERS * everywhere
        means = sums / (np.bincount(host, minlength=count) + _LIKE_OTHERS)
        self.prior_s[:count] = STRENGTH / np.exp(means)

    def share(self, level: NDArray[np.float64] | float, floor: NDArray[np.float64] | float) -> None:
        """Set the level and the share of the floor of every host."""
        self.level[: len(self.keys)] = level
        self.floor[: len(self.keys)] = floor

    def _weigh(self, number: int, word: Word) -> None:
        self.recall[number] = word.recall
        self.jump[number] = -log(1.0 - word.precision)

    def _grow(self, size: int) -> None:
        for name in ("prior_s", "level", "floor", "recall", "jump"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate((old, np.zeros(size - len(old)))))
