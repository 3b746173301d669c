"""What a host says of its pages' changes, in hints and dates, and what that is worth."""

from math import expm1

from msgspec import Struct

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


class HostSignals(Struct):
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
