"""What a host's pages have in common: how often they change, and what its words are worth."""

from math import exp, expm1, log

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

_LIKE_OTHERS = 3.0
"""Pages that the mean of all hosts weighs in a host's prior."""

_DOUBT = 5.0
"""Hints, and expected changes, that the first opinion of a host's hints weighs."""

_FIRST_JUMP, _FIRST_DRIFT = 0.1, 0.7
"""The first opinion: a hint is a tenth of a change, and three changes in ten have one."""

_LEAST, _MOST_JUMP = 0.02, 4.0
_RELIABLE = 0.7
_KEPT = 0.995
"""What is left of the count after a visit: a share computed with an old opinion should go."""

_CERTAIN = 3.0
"""Where so many changes are expected, finding one says nothing about what hints are worth."""

_DATES_WRONG = 0.2


class Word(Struct):
    """What came of what a host said of its pages' changes.

    Hints are taken to add to the changes that are to be expected: since the last visit, `jump` for
    each hint, and `drift` times as many as without hints for the time that has passed. A visit
    that finds a change shows that there was one or more, but not of which sort: they are counted
    in the proportion in which they were expected.
    """

    is_hinting: bool = False
    hint_changes: float = _DOUBT * _FIRST_JUMP
    hints: float = _DOUBT
    drift_changes: float = _DOUBT * _FIRST_DRIFT
    drift_expected: float = _DOUBT
    dates: int = 0
    wrong_dates: int = 0

    @property
    def jump(self) -> float:
        """Return how many changes there are to a hint."""
        return min(max(self.hint_changes / self.hints, _LEAST), _MOST_JUMP)

    @property
    def drift(self) -> float:
        """Return the share of changes that come without a hint."""
        return min(max(self.drift_changes / self.drift_expected, _LEAST), 1.0)

    @property
    def has_true_dates(self) -> bool:
        """Return True if dates of changes agreed with the content so far."""
        return self.wrong_dates <= _DATES_WRONG * (self.dates + 1)

    def note_visit(self, expected: float, hints: int, *, changed: bool) -> None:
        """Count a visit after so many hints and, had there been none, so many changes expected."""
        by_drift, by_hints = self.drift * expected, self.jump * hints
        total = by_drift + by_hints
        if not self.is_hinting or not 0.0 < total < _CERTAIN:
            return
        found = changed / -expm1(-total)
        self.drift_changes = _KEPT * self.drift_changes + by_drift * found
        self.drift_expected = _KEPT * self.drift_expected + expected
        self.hint_changes = _KEPT * self.hint_changes + by_hints * found
        self.hints = _KEPT * self.hints + hints

    def note_date(self, *, changed: bool, is_between: bool) -> None:
        """Count a dated change: right if it lies between the visits exactly when there was one."""
        self.dates += 1
        self.wrong_dates += changed != is_between

    def age_of_change(
        self, elapsed_s: float, modified_ago_s: float | None, hints: int
    ) -> float | None:
        """Return how old a change is, so far as the host can be believed.

        A visit that a true hint brought about finds a change however rare changes are; it tells no
        more than that there was one since the last visit.
        """
        if hints == 1 and self.jump > _RELIABLE:
            return elapsed_s
        return modified_ago_s if self.has_true_dates and not hints else None


_COLUMNS = ("gap_s", "level", "floor", "drift", "jump", "hints_per_change")


class Hosts:
    """A column per property of hosts, numbered as they come."""

    __slots__ = ("_number", "_words", "keys", *_COLUMNS)

    def __init__(self) -> None:
        self.keys: list[int] = []
        self._number: dict[int, int] = {}
        self._words: dict[int, Word] = {}
        self.gap_s = np.empty(0)
        """Seconds between two changes of a page of which nothing else is known: the prior."""
        self.level = np.empty(0)
        self.floor = np.empty(0)
        self.drift = np.empty(0)
        """Share of the changes that come without a hint: 1 of a host that gives none."""
        self.jump = np.empty(0)
        """What a hint adds to the changes expected; 0 of a host that gives none."""
        self.hints_per_change = np.empty(0)

    def number(self, key: int, gap_s: float, level: float) -> int:
        """Return the number of a host, a new one with the given prior and level if need be."""
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self.keys)
            self.keys.append(key)
            if number == len(self.gap_s):
                self._grow(2 * number + 16)
            self.gap_s[number], self.level[number] = gap_s, level
            self.floor[number] = self.drift[number] = 1.0
        return number

    @property
    def has_hints(self) -> bool:
        """Return True if any host ever gave a hint."""
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
        self, host: NDArray[np.int32], rates: NDArray[np.float32], first_gap_s: float
    ) -> float:
        """Set each host's prior from the rates of those of its pages that were visited again.

        Return by which factor a prior has moved at most: rates depend on priors in turn.
        """
        count = len(self.keys)
        gaps = -np.log(rates)
        everywhere = (float(gaps.sum(dtype=np.float64)) + _LIKE_OTHERS * log(first_gap_s)) / (
            len(gaps) + _LIKE_OTHERS
        )
        sums = np.bincount(host, gaps, count) + _LIKE_OTHERS * everywhere
        means = np.exp(sums / (np.bincount(host, minlength=count) + _LIKE_OTHERS))
        moved = float(np.abs(np.log(means / self.gap_s[:count])).max(initial=0.0))
        self.gap_s[:count] = means
        return exp(moved)

    def share(self, level: NDArray[np.float64] | float, floor: NDArray[np.float64] | float) -> None:
        """Set the level and the share of the floor of every host."""
        self.level[: len(self.keys)] = level
        self.floor[: len(self.keys)] = floor

    def _weigh(self, number: int, word: Word) -> None:
        self.jump[number], self.drift[number] = word.jump, word.drift
        self.hints_per_change[number] = word.hints / word.drift_expected

    def _grow(self, size: int) -> None:
        for name in _COLUMNS:
            old = getattr(self, name)
            setattr(self, name, np.concatenate((old, np.zeros(size - len(old)))))
