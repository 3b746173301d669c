"""Grades: what an order is, what rules of credit have in common, and what they make of links."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import frexp
from typing import Protocol

from msgspec.structs import replace

from gossamer.frontier.order.credit_table import CreditTable
from gossamer.model import (
    MEAN_PRIORITY,
    Link,
    LinkKind,
    Task,
    Url,
    claim_of,
    label_names,
    links_without,
    picked_links,
)

GRADES = 16
"""Classes of credit, a factor of two each; 16 cost nothing against an exact queue."""
SHIFT = 12
"""Credits under 2^-11 all have grade 1, those from 2^3 on all have grade 16."""
TEXT_BITS = 40
"""Bits of a URL key below its ring point, which stands for the domain."""
CLASSES_OF_PRIORITY = 4.0
"""Classes between a sitemap's lowest priority and its highest, in orders without credit."""


def grade_of(credit: float) -> int:
    """Return the grade of a credit, 1 (low) to 16: floor(log2) of it, shifted and clamped."""
    if credit <= 0.0:
        return 1
    return min(max(frexp(credit)[1] + SHIFT, 1), GRADES)


class Importance(Protocol):
    """A rule that passes credit along links."""

    credits: CreditTable
    local: float
    """What a link within a domain gets, as a share of what a link to another domain gets."""

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point."""

    def deposit(self, task: Task) -> None:
        """Add the credit that a task carries."""

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Credit new URLs with their first share; return the grade of each."""

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given, now that the page was fetched."""

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Credit known URLs with a share each; return queued ones whose grade may have risen."""

    def save(self) -> bytes:
        """Return everything as the bytes of a file."""

    def load(self, data: bytes) -> bool:
        """Load what `save` returned; return False, and change nothing, if it is damaged."""


class LabelMoves:
    """How many grades the labels of seeds move what is found from them, up or down."""

    def __init__(self, moves: Mapping[str, int]) -> None:
        self._by_name = {name.casefold(): move for name, move in moves.items()}
        self._known: dict[str, int] = {"": 0}

    def __bool__(self) -> bool:
        """Return True if any label moves anything."""
        return bool(self._by_name)

    def of(self, labels: str) -> int:
        """Return by how many grades a set of labels moves a task: the sum of its labels' moves."""
        move = self._known.get(labels)
        if move is None:
            names = label_names(labels)
            move = sum(self._by_name.get(name.casefold(), 0) for name in names)
            self._known[labels] = move
        return move

    def moved(self, grade: int, labels: str) -> int:
        """Return a grade after the move; 0, which is none yet, stays."""
        return min(max(grade + self.of(labels), 1), GRADES) if grade else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How tasks are graded in a crawl, and how strictly the grades are followed."""

    grade: Callable[[Task], int]
    credit: Importance | None = None
    """The rule that moves URLs up after they were queued; None if nothing does."""
    is_strict: bool = False
    """The highest grade goes first, always."""
    is_newest_first: bool = False
    """Of a host's tasks the one that was found last goes first."""
    lifts: tuple[Callable[[Iterator[Task]], list[Task]], ...] = ()
    """Each picks, at a start, queued tasks that something new makes worth more."""
    has_score: Callable[[Url], bool] | None = None
    """Returns True if a URL starts with credit for its score: its task is graded when it is
    queued."""

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point, if that matters."""
        if self.credit is not None:
            self.credit.note_known(ring, count)


class LinkRanker:
    """What new tasks are worth, and which queued ones a page has made worth more."""

    def __init__(
        self,
        credit: Importance | None = None,
        score: Callable[[str, str, int], int] | None = None,
        is_ours: Callable[[int], bool] | None = None,
        moves: LabelMoves | None = None,
        has_score: Callable[[Url], bool] | None = None,
    ) -> None:
        self._credit, self._score, self._is_ours = credit, score, is_ours
        self._has_score = has_score
        self._moves = moves or LabelMoves({})
        self.needs_known = credit is not None
        """Links to known URLs matter, too."""

    def follow(
        self, page: Task, wanted: Sequence[Link], known: Mapping[int, Link]
    ) -> tuple[list[Task], list[Task]]:
        """Return tasks for the new links of a page, and for known ones that are to move up.

        What belongs to another shard is not ours to judge: it is sent there with its credit.
        """
        new, promoted = self._unmoved(page, wanted, known)
        if not page.labels or not self._moves.of(page.labels):
            return new, promoted
        moved = self._moves.moved
        return (
            [replace(task, grade=moved(task.grade, task.labels)) for task in new],
            [replace(task, grade=moved(task.grade, task.labels)) for task in promoted],
        )

    def _unmoved(
        self, page: Task, wanted: Sequence[Link], known: Mapping[int, Link]
    ) -> tuple[list[Task], list[Task]]:
        if self._credit is not None:
            return self._with_credit(self._credit, page, wanted, known)
        if self._score is None:
            if wanted and wanted[0].kind is LinkKind.SITEMAP:
                return [page.follow(link, credit=class_shift(link)) for link in wanted], []
            return [page.follow(link) for link in wanted], []
        score, depth = self._score, page.depth + 1
        return [page.follow(link, score(link.target.text, link.text, depth)) for link in wanted], []

    def _with_credit(
        self, credit: Importance, page: Task, wanted: Sequence[Link], known: Mapping[int, Link]
    ) -> tuple[list[Task], list[Task]]:
        share = credit.share(page.url.key, len(wanted) + len(known))
        is_ours = self._is_ours
        if is_ours is None:
            tasks = self._own_tasks(credit, page, wanted, share)
            return tasks, _risen(credit, page, known, share)
        foreign = [key for key in known if not is_ours(key)]
        moved = _risen(credit, page, links_without(known, foreign) if foreign else known, share)
        for link in picked_links(known, foreign):  # what is not ours is of another domain
            moved.append(page.follow(link, credit=share))
        own = [link for link in wanted if is_ours(link.target.key)]
        tasks = self._own_tasks(credit, page, own, share)
        if len(own) < len(wanted):
            others = [link for link in wanted if not is_ours(link.target.key)]
            tasks += [page.follow(link, credit=share * _favour(link)) for link in others]
        return tasks, moved

    def _own_tasks(
        self, credit: Importance, page: Task, wanted: Sequence[Link], share: float
    ) -> list[Task]:
        """Return tasks for new URLs of ours; those with a score are graded one by one."""
        if self._has_score is None:
            return _own_tasks(credit, page, wanted, share)
        scored = {link.target.key for link in wanted if self._has_score(link.target)}
        plain = [link for link in wanted if link.target.key not in scored]
        tasks = {task.url.key: task for task in _own_tasks(credit, page, plain, share)}
        for link in wanted:
            if link.target.key in scored:
                given = _share_of(link, page, credit, share)
                tasks[link.target.key] = page.follow(link, credit=given)
        return [tasks[link.target.key] for link in wanted]

    def receive(self, task: Task) -> bool:
        """Take the credit that another shard sends for a known URL; return True if it moves up."""
        if self._credit is None or not task.credit:
            return False
        return bool(self._credit.give((task.url.key,), task.credit))


def _own_tasks(credit: Importance, page: Task, wanted: Sequence[Link], share: float) -> list[Task]:
    """Return tasks for new URLs of ours. Those of one page and domain start with the same."""
    ring, local = page.url.key >> TEXT_BITS, share * credit.local
    if wanted and wanted[0].kind is LinkKind.SITEMAP:
        return [page.follow(link, credit=_share_of(link, page, credit, share)) for link in wanted]
    near: list[int] = []
    far: list[int] = []
    for link in wanted:
        key = link.target.key
        (near if key >> TEXT_BITS == ring else far).append(key)
    near_grade = credit.meet(near, local) if near else 0
    far_grade = credit.meet(far, share) if far else 0
    return [
        page.follow(link, near_grade if link.target.key >> TEXT_BITS == ring else far_grade)
        for link in wanted
    ]


def _risen(credit: Importance, page: Task, known: Mapping[int, Link], share: float) -> list[Task]:
    """Return tasks for those known URLs whose grade rises with their share."""
    ring = page.url.key >> TEXT_BITS
    near = [key for key in known if key >> TEXT_BITS == ring]
    risen = credit.give(near, share * credit.local)
    if len(near) < len(known):
        risen += credit.give([key for key in known if key >> TEXT_BITS != ring], share)
    return [page.follow(known[key], credit.grade(key)) for key in risen]


def _share_of(link: Link, page: Task, credit: Importance, share: float) -> float:
    """Return what a page gives to a link: less within its domain, and as its sitemap wants it."""
    is_near = link.target.key >> TEXT_BITS == page.url.key >> TEXT_BITS
    return _favour(link) * (share * credit.local if is_near else share)


def _favour(link: Link) -> float:
    """Return how much more than others a sitemap says that a page is worth to its owner."""
    return claim_of(link).priority / MEAN_PRIORITY if link.kind is LinkKind.SITEMAP else 1.0


def class_shift(link: Link) -> int:
    """Return by how many classes a sitemap's priority moves a page, from -2 to 2."""
    return round(CLASSES_OF_PRIORITY * (claim_of(link).priority - MEAN_PRIORITY))
