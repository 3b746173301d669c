"""Best-first: host-discounted unit credit. What each link of a page gets.

A credit estimates unnormalised PageRank with one unit of teleport per page. The unit shrinks as
more of the page's registrable domain becomes known, so that a domain earns nothing by being large:
an endless trap is no more attractive than any other domain of its size. A link within a domain
gets a quarter of what a link to another one gets. Both were chosen by replays (ADR 16).
"""

from collections.abc import Sequence
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

from gossamer.frontier.order.credit_table import CreditTable
from gossamer.frontier.order.grading import TEXT_BITS, grade_of
from gossamer.linux import use_small_pages
from gossamer.model import LinkKind, Task

PASS_ON = 0.85
"""The share of its credit that a page passes on; PageRank's damping."""
SEED_CREDIT = 300.0
"""What a seed starts with: it bridges the start, until pages found have credit of their own."""
HOST_DISCOUNT = 30.0
"""H: with so many known URLs of its domain, a page passes on half a unit of its own."""
LOCAL = 0.25
"""What a link within a domain gets, as a share of what a link to another domain gets: a site's word
for itself counts less, and a quarter is two grades."""
MANY_SEEDS, MANY_SEED_CREDIT = 100, 100.0
"""With so many seeds each starts with less: their sum must not drown what is found."""
RING_POINTS = 1 << 24


def unit_share(credit: float, known: int, links: int) -> float:
    """Return what each link of a fetched page to another domain gets; others get `LOCAL` of it.

    `known` counts the URLs known of the page's registrable domain (not of its host: a wildcard
    domain has a new host for each page), `links` the distinct ones kept, to fetched pages included.
    """
    return PASS_ON * (credit + 1.0 / (1.0 + known / HOST_DISCOUNT)) / max(links, 1)


class BestFirst:
    """Best-first: credit along links, discounted by what is known of the linking domain."""

    local = LOCAL

    def __init__(self, seeds: int) -> None:
        self.credits = CreditTable()
        self._seed_credit = SEED_CREDIT if seeds < MANY_SEEDS else MANY_SEED_CREDIT
        # Two domains may share one of 16 million points: then each seems larger than it is. Memory
        # is touched as domains come, a small page each, 64 MiB at most.
        memory = mmap(-1, RING_POINTS * 4)
        use_small_pages(memory)
        self._known: NDArray[np.uint32] = np.frombuffer(memory, np.uint32)

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point."""
        self._known[ring] += count

    def deposit(self, task: Task) -> None:
        """Add the credit that a task carries; a seed has something of its own."""
        if task.credit:
            self.credits.give((task.url.key,), task.credit)
        elif task.kind is LinkKind.SEED and not self.credits.of(task.url.key):
            self.credits.put(task.url.key, self._seed_credit)

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Credit new URLs with their first share; return the grade of each."""
        self.credits.put_all(keys, share)
        return grade_of(share)

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""
        return grade_of(self.credits.of(key) or 0.0)

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given, now that the page was fetched."""
        return unit_share(self.credits.of(key) or 0.0, int(self._known[key >> TEXT_BITS]), links)

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Credit known URLs with a share each; return queued ones whose grade may have risen."""
        return self.credits.give(keys, share)

    def save(self) -> bytes:
        """Return everything as the bytes of a file; known URLs are counted anew at a start."""
        return self.credits.snapshot()

    def load(self, data: bytes) -> bool:
        """Load what `save` returned; return False, and change nothing, if it is damaged."""
        return self.credits.restore(data)
