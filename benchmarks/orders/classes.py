"""Orders as a crawl has them: FIFO classes, and many fetches in flight, by the shipped rules."""

from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gossamer.frontier.order.best_first import SEED_CREDIT
from gossamer.frontier.order.grading import GRADES
from gossamer.frontier.order.opic import Lambda

from .batches import (
    grades_of,
    link_shares,
    opic_grades_of,
    opic_shares,
    unit_shares,
)
from .web import Walk, Web

Pages = NDArray[np.int64]
Grades = NDArray[np.uint8]

FETCHED = 255


class Rule(Protocol):
    """What becomes of credit when pages are fetched."""

    def start(self, pages: Pages) -> None:
        """Give seeds what seeds get."""

    def pass_on(self, pages: Pages, degrees: Pages, targets: Pages) -> None:
        """Let the links of fetched pages have their shares."""

    def meet(self, pages: Pages) -> None:
        """Learn of new pages, before they get a share."""

    def grades(self, pages: Pages) -> Grades:
        """Return the classes that pages have earned."""


class Breadth:
    """All pages in one class: breadth first."""

    def start(self, pages: Pages) -> None:
        """See `Rule`."""

    def meet(self, pages: Pages) -> None:
        """See `Rule`."""

    def pass_on(self, pages: Pages, degrees: Pages, targets: Pages) -> None:
        """See `Rule`."""

    def grades(self, pages: Pages) -> Grades:
        """See `Rule`."""
        return np.ones(len(pages), np.uint8)


class Best:
    """Host-discounted unit credit: `--order best`."""

    def __init__(self, walk: Walk) -> None:
        self._hosts = walk.hosts()
        self.credit = np.zeros(walk.pages, np.float32)
        self._known = np.zeros(int(self._hosts.max()) + 1, np.int64)

    def start(self, pages: Pages) -> None:
        """See `Rule`."""
        self.credit[pages] = SEED_CREDIT

    def meet(self, pages: Pages) -> None:
        """See `Rule`."""
        np.add.at(self._known, self._hosts[pages], 1)

    def pass_on(self, pages: Pages, degrees: Pages, targets: Pages) -> None:
        """See `Rule`."""
        hosts = self._hosts[pages]
        shares = unit_shares(self.credit[pages], self._known[hosts], degrees)
        is_local = np.repeat(hosts, degrees) == self._hosts[targets]
        np.add.at(self.credit, targets, link_shares(shares, degrees, is_local))

    def grades(self, pages: Pages) -> Grades:
        """See `Rule`."""
        return grades_of(self.credit[pages])


class Opic:
    """Adaptive OPIC with the Lambda page: `--order opic`."""

    def __init__(self, walk: Walk) -> None:
        self._lambda = Lambda()
        self._stored = np.zeros(walk.pages, np.float32)

    def start(self, pages: Pages) -> None:
        """See `Rule`."""

    def meet(self, pages: Pages) -> None:
        """See `Rule`."""
        self._stored[pages] = self._lambda.meet(len(pages))

    def pass_on(self, pages: Pages, degrees: Pages, targets: Pages) -> None:
        """See `Rule`."""
        each, to_lambda = opic_shares(self._stored[pages] + np.float32(self._lambda.level), degrees)
        self._stored[pages] = -self._lambda.level
        np.add.at(self._stored, targets, np.repeat(each, degrees))
        self._lambda.pot += to_lambda
        self._lambda.spread()

    def grades(self, pages: Pages) -> Grades:
        """See `Rule`."""
        return opic_grades_of(self._stored[pages] + np.float32(self._lambda.level))


def replay(walk: Walk, rule: Rule, in_flight: int) -> tuple[Pages, int]:
    """Return the pages in the order in which a crawl by this rule fetches them, and links seen."""
    web, classes = Web(walk), Classes(walk.pages)
    order, links, count = [], 0, 0
    jumps = walk.jumps()
    while count < walk.fetches:
        pages = classes.take(min(in_flight, walk.fetches - count))
        if not len(pages):
            pages = classes.jump(next(jumps))
            rule.meet(pages)
            rule.start(pages)
            continue
        degrees, targets = web.links_of(pages)
        rule.meet(classes.unknown(targets))
        rule.pass_on(pages, degrees, targets)
        classes.promote(targets, rule.grades(targets))
        order.append(pages)
        count += len(pages)
        links += len(targets)
    return np.concatenate(order), links


class Classes:
    """A FIFO per grade. A page whose grade rises is queued again; its stale entry is skipped."""

    def __init__(self, pages: int) -> None:
        self._grade = np.zeros(pages, np.uint8)
        self._queues: list[deque[Pages]] = [deque() for _ in range(GRADES + 1)]

    def unknown(self, targets: Pages) -> Pages:
        """Return which pages among the targets are new, each once."""
        return np.unique(targets[self._grade[targets] == 0])

    def jump(self, pages: Pages) -> Pages:
        """Queue pages in the highest class unless they are known, and return those."""
        new = np.unique(pages[self._grade[pages] == 0]).astype(np.int64)
        self._grade[new] = GRADES
        self._queues[GRADES].append(new)
        return new

    def promote(self, targets: Pages, grades: Grades) -> None:
        """Queue the targets that are new or have earned a higher grade, in the order found."""
        rising = np.flatnonzero(grades > self._grade[targets])
        pages, first = np.unique(targets[rising], return_index=True)
        rising = rising[np.sort(first)]
        pages, grades = targets[rising], grades[rising]
        self._grade[pages] = grades
        for grade in np.unique(grades):
            self._queues[grade].append(pages[grades == grade])

    def take(self, count: int) -> Pages:
        """Take the oldest pages of the highest classes."""
        taken = []
        for grade in range(GRADES, 0, -1):
            queue = self._queues[grade]
            while queue and count:
                pages = queue.popleft()
                pages = pages[self._grade[pages] == grade]
                if len(pages) > count:
                    queue.appendleft(pages[count:])
                    pages = pages[:count]
                self._grade[pages] = FETCHED
                taken.append(pages)
                count -= len(pages)
        return np.concatenate(taken) if taken else np.empty(0, np.int64)
