"""Ranks of an earlier crawl: credit with which URLs start that its graph knows.

A URL of more than mean rank starts with credit in proportion to the rest, as if links had given
it; after that credit goes its ways. The others start like URLs that the file does not know: in the
graph of a partial crawl most of them have their rank from where the crawl ended (ADR 25). Ranks are
advice, and so is all credit.
"""

from collections.abc import Iterator, Sequence
from heapq import nlargest

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gossamer.frontier.order.credit_table import NUMBERS
from gossamer.frontier.order.grading import Importance
from gossamer.model import Task
from gossamer.ranks import RankFile

RANK_CREDIT = 1.0 / 32.0
"""The credit of a page of twice the mean rank: grade 8 of 16. From 257 times on, the highest."""
MOST_LIFTED = 100_000
"""Queued URLs that are put into a better place when a crawl is given ranks: the best ones."""
BATCH_URLS = 4096
_DIGEST_BITS_LEFT_OUT = 12


class WithPriorRanks:
    """A rule of credit, and ranks."""

    def __init__(self, rule: Importance, ranks: RankFile) -> None:
        self._rule, self._ranks = rule, ranks
        self.credits, self.local = rule.credits, rule.local
        self._mark = float(ranks.digest >> _DIGEST_BITS_LEFT_OUT)
        self._is_new = True
        """What is queued was graded without these ranks."""

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point."""
        self._rule.note_known(ring, count)

    def deposit(self, task: Task) -> None:
        """Add the credit that a task carries; one that is met for the first time has its rank."""
        key = task.url.key
        is_met = self.credits.of(key) is not None
        self._rule.deposit(task)
        if not is_met and (start := float(self._starts((key,))[0])):
            self._rule.give((key,), start)

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Credit new URLs with their first share; return the grade of each, 0 if unlike.

        Unlike are those of which some have a rank: then each is graded when it is queued.
        """
        grade = self._rule.meet(keys, share)
        starts = self._starts(keys)
        if not starts.any():
            return grade
        for key, start in zip(keys, starts.tolist(), strict=True):
            if start:
                self._rule.give((key,), start)
        return 0

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""
        return self._rule.grade(key)

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given, now that the page was fetched."""
        return self._rule.share(key, links)

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Credit known URLs with a share each; return queued ones whose grade may have risen."""
        return self._rule.give(keys, share)

    def save(self) -> bytes:
        """Return everything as the bytes of a file, and which ranks it knows."""
        self.credits.keep_numbers(NUMBERS - 1, self._mark)
        return self._rule.save()

    def load(self, data: bytes) -> bool:
        """Load what `save` returned; return False, and change nothing, if it is damaged."""
        if not self._rule.load(data):
            return False
        self._is_new = self.credits.numbers[-1] != self._mark
        return True

    def lift(self, queued: Iterator[Task], most: int = MOST_LIFTED) -> list[Task]:
        """Return queued tasks that ranks make worth more: once for each file, the best ones."""
        if not self._is_new:
            return []
        self._is_new = False
        best = nlargest(most, self._ranked(queued), key=lambda found: found[0])
        lifted: list[Task] = []
        for start, task in best:
            self._rule.give((task.url.key,), start)
            if (grade := self.grade(task.url.key)) > task.grade:
                lifted.append(replace(task, grade=grade))
        return lifted

    def _ranked(self, tasks: Iterator[Task]) -> Iterator[tuple[float, Task]]:
        """Yield those tasks that get credit for their rank, with it."""
        while some := [task for task, _ in zip(tasks, range(BATCH_URLS), strict=False)]:
            starts = self._starts([task.url.key for task in some])
            yield from (pair for pair in zip(starts.tolist(), some, strict=True) if pair[0])

    def _starts(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Return the credit with which URLs start for their ranks."""
        beyond: NDArray[np.float32] = self._ranks.of_all(keys) - np.float32(1.0)
        return beyond.clip(0.0) * np.float32(RANK_CREDIT)
