"""Orders: what grade does a task have, and does anything change it later?"""

from collections.abc import Callable, Iterator, Sequence
from mmap import MADV_NOHUGEPAGE, mmap
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gossamer.frontier.order.credit import LOCAL, SEED_CREDIT, grade_of, unit_share
from gossamer.frontier.order.credits import Credits
from gossamer.frontier.order.opic import START_CREDIT, Lambda, opic_grade_of, opic_share
from gossamer.model import LinkKind, Task

RING_POINTS = 1 << 24
TEXT_BITS = 40
MANY_SEEDS, MANY_SEED_CREDIT = 100, 100.0
"""With so many seeds each starts with less: their sum must not drown what is found."""
SPREAD_EVERY = 100
"""Fetched pages between two gifts of the Lambda page to all."""


class Importance(Protocol):
    """A rule that passes credit along links."""

    credits: Credits
    local: float
    """What a link within a domain gets, as a share of what a link to another domain gets."""

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point."""
        ...

    def deposit(self, task: Task) -> None:
        """Take in what a task brings with it."""
        ...

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Give URLs that were just found their first share; return the grade of each."""
        ...

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""
        ...

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given, now that the page was fetched."""
        ...

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Give known URLs a share each; return those that wait and whose grade may have risen."""
        ...

    def save(self) -> bytes:
        """Return everything as the bytes of a file."""
        ...

    def load(self, data: bytes) -> bool:
        """Take over what `save` gave; False, and nothing changes, if it is damaged."""
        ...


class Order:
    """How tasks are graded in a crawl, and how strictly the grades are followed."""

    def __init__(
        self,
        grade: Callable[[Task], int],
        *,
        credit: Importance | None = None,
        is_strict: bool = False,
        is_newest_first: bool = False,
    ) -> None:
        self.grade = grade
        self.credit = credit
        """The rule that moves URLs up after they were queued; None if nothing does."""
        self.is_strict = is_strict
        """The highest grade goes first, always."""
        self.is_newest_first = is_newest_first
        """Of a host's tasks the one that was found last goes first."""
        self.lift: Callable[[Iterator[Task]], list[Task]] = lambda _queued: []
        """Picks, at a start, queued tasks that something new makes worth more."""

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point, if that matters."""
        if self.credit is not None:
            self.credit.note_known(ring, count)


class ByCredit:
    """Best-first: credit along links, discounted by what is known of the linking domain."""

    local = LOCAL

    def __init__(self, seeds: int) -> None:
        self.credits = Credits()
        self._seed_credit = SEED_CREDIT if seeds < MANY_SEEDS else MANY_SEED_CREDIT
        # Two domains may share one of 16 million points: then each seems larger than it is. Memory
        # is touched as domains come, a small page each, 64 MiB at most.
        memory = mmap(-1, RING_POINTS * 4)
        memory.madvise(MADV_NOHUGEPAGE)
        self._known: NDArray[np.uint32] = np.frombuffer(memory, np.uint32)

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point."""
        self._known[ring] += count

    def deposit(self, task: Task) -> None:
        """Take in what a task brings with it; a seed has something of its own."""
        if task.credit:
            self.credits.give((task.url.key,), task.credit)
        elif task.kind is LinkKind.SEED and not self.credits.of(task.url.key):
            self.credits.put(task.url.key, self._seed_credit)

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Give URLs that were just found their first share; return the grade of each."""
        self.credits.put_all(keys, share)
        return grade_of(share)

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""
        return grade_of(self.credits.of(key) or 0.0)

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given, now that the page was fetched."""
        return unit_share(self.credits.of(key) or 0.0, int(self._known[key >> TEXT_BITS]), links)

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Give known URLs a share each; return those that wait and whose grade may have risen."""
        return self.credits.give(keys, share)

    def save(self) -> bytes:
        """Return everything as the bytes of a file; known URLs are counted anew at a start."""
        return self.credits.snapshot()

    def load(self, data: bytes) -> bool:
        """Take over what `save` gave; False, and nothing changes, if it is damaged."""
        return self.credits.restore(data)


class ByOpic:
    """Adaptive OPIC: a page spends what it has on its links and on the Lambda page."""

    local = 1.0

    def __init__(self) -> None:
        self.credits = Credits()
        self._lambda = Lambda()
        self._turns = 0

    def note_known(self, ring: int, count: int) -> None:
        """Do nothing: OPIC knows no domains."""

    def deposit(self, task: Task) -> None:
        """Take in what a task brings with it; every URL starts with something."""
        if self.credits.of(task.url.key) is None:
            self.credits.put(task.url.key, self._lambda.meet())
        if task.credit:
            self.credits.give((task.url.key,), task.credit)

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Give URLs that were just found their first share; return the grade of each."""
        stored = self._lambda.meet(len(keys)) + share
        self.credits.put_all(keys, stored)
        return opic_grade_of(stored + self._lambda.level)

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""
        return opic_grade_of(self._credit(key))

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given; the page has spent everything then."""
        goes = opic_share(self._credit(key), links)
        self.credits.put(key, -self._lambda.level)
        self._lambda.pot += goes.to_lambda
        self._turns += 1
        if self._turns % SPREAD_EVERY == 0:
            self._lambda.spread()
        return goes.each

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Give known URLs a share each; return those that wait and whose grade may have risen."""
        return self.credits.give(keys, share, level=self._lambda.level - START_CREDIT)

    def save(self) -> bytes:
        """Return everything as the bytes of a file."""
        page = self._lambda
        self.credits.levels[:3] = [page.pot, page.level, float(page.known)]
        return self.credits.snapshot()

    def load(self, data: bytes) -> bool:
        """Take over what `save` gave; False, and nothing changes, if it is damaged."""
        if not self.credits.restore(data):
            return False
        pot, level, known, *_ = self.credits.levels
        self._lambda = Lambda(pot, level, int(known))
        return True

    def _credit(self, key: int) -> float:
        held = self.credits.of(key)
        return 0.0 if held is None else held + self._lambda.level
