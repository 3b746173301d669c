"""Watched pages and their hosts: a column per property, 53 bytes per page."""

from math import exp, log

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gossamer.frontier.revisit.change_rate import CLAIMED_GAPS_S, STRENGTH
from gossamer.frontier.revisit.due_queue import OUT
from gossamer.frontier.revisit.signals import HostSignals

_SMALLEST = 1_024
_TAIL_SHARE = 16
_LIKE_OTHERS = 3.0
"""Pages that the mean of all hosts weighs in a host's prior."""

_FIRST_TRUST, _DOUBT_OF_CLAIMS = 0.5, 16.0
"""The first opinion of a host's claims: half of what they say, as logarithms go; and its weight,
in squares of the difference between a claim and the host's prior: three that differ by a factor of
ten."""

NEW, TAKEN, GONE = 1, 2, 4
"""Bits of a page's state: not visited since it is watched; being visited; removed."""

PAGE_COLUMNS: dict[str, DTypeLike] = {
    "key": np.uint64,
    "host": np.int32,
    "weight": np.float32,
    "changes": np.float32,
    "seconds": np.float32,
    "prior": np.float32,
    "seen": np.float16,
    "span_s": np.float32,
    "claim": np.uint8,
    "last_at": np.float64,
    "due_at": np.float64,
    "hints": np.uint8,
    "state": np.uint8,
}


class PageColumns:
    """Rows of pages. Row numbers hold until the next `tidy`.

    Most rows are sorted by key and found by bisection; the newest lie behind them and are found
    through a dictionary, until they are many enough to be sorted in.
    """

    __slots__ = ("_body", "_count", "_gone", "_tail", *PAGE_COLUMNS)

    key: NDArray[np.uint64]
    host: NDArray[np.int32]
    weight: NDArray[np.float32]
    changes: NDArray[np.float32]
    """What was learned of the page itself: the a of a belief, less the prior's."""
    seconds: NDArray[np.float32]
    """The same of b."""
    prior: NDArray[np.float32]
    """What the host's prior still weighs."""
    seen: NDArray[np.float16]
    """Changes that were seen, the last few."""
    span_s: NDArray[np.float32]
    """The time in which they were seen."""
    claim: NDArray[np.uint8]
    """How often its sitemap says that the page changes: a `ChangeFrequency`, 0 if nothing."""
    last_at: NDArray[np.float64]
    due_at: NDArray[np.float64]
    hints: NDArray[np.uint8]
    state: NDArray[np.uint8]

    def __init__(self) -> None:
        self._count = self._gone = 0
        self._tail: dict[int, int] = {}
        self._make_room(np.empty(0, np.int64), _SMALLEST)

    def __len__(self) -> int:
        return self._count - self._gone

    @property
    def rows(self) -> int:
        """Return how many rows there are, those of removed pages included."""
        return self._count

    @property
    def is_full(self) -> bool:
        """Return True if the next page needs `tidy` first."""
        return self._count == len(self.key) or (
            len(self._tail) > _SMALLEST + len(self._body) // _TAIL_SHARE
        )

    def find(self, key: int) -> int:
        """Return the row of a page, or -1."""
        row = self._place(key)
        return -1 if row >= 0 and self.state.item(row) & GONE else row

    def append(self, key: int) -> int:
        """Return an empty row for a page that is not there."""
        row = self._place(key)
        if row < 0:
            row = self._count
            self._count += 1
            self._tail[key] = row
            self.key[row] = key
        else:
            self._gone -= 1
        self.changes[row] = self.seconds[row] = self.seen[row] = self.span_s[row] = 0.0
        self.prior[row] = STRENGTH
        self.claim[row] = 0
        self.hints[row] = 0
        self.state[row] = NEW
        self.due_at[row] = OUT
        return row

    def drop(self, row: int) -> None:
        """Forget a page; its row goes with the next `tidy`."""
        self.state[row] = GONE
        self.due_at[row] = OUT
        self._gone += 1

    def tidy(self) -> bool:
        """Sort new rows in, let removed ones go, make room; return True if rows have moved."""
        if not self._tail and not self._gone and self._count < len(self.key):
            return False
        kept = np.flatnonzero(~(self.state[: self._count] & GONE).astype(np.bool_))
        kept = kept[np.argsort(self.key[kept], kind="stable")]
        self._make_room(kept, len(kept) + len(kept) // 8 + _SMALLEST)
        self._count = len(kept)
        self._gone = 0
        self._tail.clear()
        return True

    def _make_room(self, kept: NDArray[np.int64], size: int) -> None:
        """Move rows to new columns of a size, one column at a time to spare memory."""
        for name, kind in PAGE_COLUMNS.items():
            column = np.zeros(size, kind)
            if len(kept):
                column[: len(kept)] = getattr(self, name)[kept]
            setattr(self, name, column)
        self.due_at[len(kept) :] = OUT
        self._body = self.key[: len(kept)]

    def _place(self, key: int) -> int:
        row = int(self._body.searchsorted(np.uint64(key)))
        if row < len(self._body) and self._body.item(row) == key:
            return row
        return self._tail.get(key, -1)


_HOST_COLUMNS = ("gap_s", "trust", "level", "floor", "drift", "jump", "hints_per_change")


class HostColumns:
    """A column per property of hosts, numbered as they come."""

    __slots__ = ("_number", "_signals", "keys", *_HOST_COLUMNS)

    def __init__(self) -> None:
        self.keys: list[int] = []
        self._number: dict[int, int] = {}
        self._signals: dict[int, HostSignals] = {}
        self.gap_s = np.empty(0)
        """Seconds between two changes of a page of which nothing else is known: the prior."""
        self.trust = np.empty(0)
        """What `changefreq` of its sitemaps is worth, from 0 (nothing) to 1 (it is so)."""
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
            self.trust[number] = _FIRST_TRUST
            self.floor[number] = self.drift[number] = 1.0
        return number

    def prior_gap_s(self, number: int, claim: int) -> float:
        """Return the prior of a page: its host's, moved towards a claim as far as that is trusted.

        On the scale of logarithms, so that half of the way from years to hours is days.
        """
        gap_s, trust = float(self.gap_s[number]), float(self.trust[number])
        return gap_s * pow(float(CLAIMED_GAPS_S[claim]) / gap_s, trust) if claim else gap_s

    def prior_gaps_s(
        self, host: NDArray[np.int32], claim: NDArray[np.uint8]
    ) -> NDArray[np.float32]:
        """Return `prior_gap_s` of pages."""
        gaps = self.gap_s.astype(np.float32)
        if not claim.any():
            return gaps[host]
        table = np.repeat(self.gap_s[:, None], len(CLAIMED_GAPS_S), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # rows that no host has yet
            table[:, 1:] *= (CLAIMED_GAPS_S[None, 1:] / table[:, 1:]) ** self.trust[:, None]
        told: NDArray[np.float32] = table.astype(np.float32)[host, claim]
        return told

    @property
    def has_hints(self) -> bool:
        """Return True if any host ever gave a hint."""
        return bool(self.jump.any())

    def signals(self, number: int) -> HostSignals:
        """Return what is known of a host's hints and dates."""
        return self._signals.setdefault(number, HostSignals())

    def note_hint(self, number: int) -> None:
        """Take a host for one that gives hints, worth what came of its hints so far."""
        signals = self.signals(number)
        signals.is_hinting = True
        self._weigh(number, signals)

    def weigh_hints(self) -> None:
        """Take over what came of the hints since."""
        for number, signals in self._signals.items():
            if signals.is_hinting:
                self._weigh(number, signals)

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

    def learn_trust(
        self, host: NDArray[np.int32], claim: NDArray[np.uint8], rates: NDArray[np.float32]
    ) -> None:
        """Set what the claims of each host are worth, from pages with a history of their own.

        The slope of a line through the first opinion: how far pages are on the way from their
        host's prior to what was claimed of them.
        """
        count = len(self.keys)
        gaps = np.log(self.gap_s[:count])[host]
        claimed, true = np.log(CLAIMED_GAPS_S[claim]) - gaps, -np.log(rates) - gaps
        agreeing = np.bincount(host, claimed * true, count) + _DOUBT_OF_CLAIMS * _FIRST_TRUST
        weight = np.bincount(host, claimed * claimed, count) + _DOUBT_OF_CLAIMS
        self.trust[:count] = (agreeing / weight).clip(0.0, 1.0)

    def share(self, level: NDArray[np.float64] | float, floor: NDArray[np.float64] | float) -> None:
        """Set the level and the share of the floor of every host."""
        self.level[: len(self.keys)] = level
        self.floor[: len(self.keys)] = floor

    def _weigh(self, number: int, signals: HostSignals) -> None:
        self.jump[number], self.drift[number] = signals.jump, signals.drift
        self.hints_per_change[number] = signals.hints / signals.drift_expected

    def _grow(self, size: int) -> None:
        for name in _HOST_COLUMNS:
            old = getattr(self, name)
            setattr(self, name, np.concatenate((old, np.zeros(size - len(old)))))
