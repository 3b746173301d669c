"""Ranking: from the links of a page to tasks, with what their order wants them to carry."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from gossamer.frontier.order.grading import TEXT_BITS, Importance
from gossamer.model import Link, LinkKind, Task

MEAN_PRIORITY = 0.5
"""What a sitemap means when it says nothing (sitemaps.org)."""
_PRIORITY = "priority="


class Ranking:
    """What new tasks are worth, and which queued ones a page has made worth more."""

    def __init__(
        self,
        credit: Importance | None = None,
        score: Callable[[str, str, int], int] | None = None,
        is_ours: Callable[[int], bool] | None = None,
    ) -> None:
        self._credit, self._score, self._is_ours = credit, score, is_ours
        self.needs_known = credit is not None
        """Links to known URLs matter, too."""

    def follow(
        self, page: Task, wanted: Sequence[Link], known: Mapping[int, Link]
    ) -> tuple[list[Task], list[Task]]:
        """Return tasks for the new links of a page, and for known ones that are to move up.

        What belongs to another shard is not ours to judge: it is sent there with its credit.
        """
        if self._credit is not None:
            return self._with_credit(self._credit, page, wanted, known)
        if self._score is None:
            return [page.follow(link) for link in wanted], []
        score, depth = self._score, page.depth + 1
        return [
            replace(page.follow(link), grade=score(link.target.text, link.text, depth))
            for link in wanted
        ], []

    def _with_credit(
        self, credit: Importance, page: Task, wanted: Sequence[Link], known: Mapping[int, Link]
    ) -> tuple[list[Task], list[Task]]:
        share = credit.share(page.url.key, len(wanted) + len(known))
        near, ring = share * credit.local, page.url.key >> TEXT_BITS
        tasks = [
            replace(
                page.follow(link),
                credit=(near if link.target.key >> TEXT_BITS == ring else share) * _favour(link),
            )
            for link in wanted
        ]
        inside = [key for key in known if key >> TEXT_BITS == ring]
        outside = [key for key in known if key >> TEXT_BITS != ring]
        is_ours = self._is_ours
        if is_ours is not None:  # what is inside is: a domain belongs to one shard
            outside = [key for key in outside if is_ours(key)]
        risen = credit.give(inside, near) + credit.give(outside, share)
        moved = [page.follow(known[key]) for key in risen]
        if is_ours is None:
            return tasks, moved
        moved += [
            replace(page.follow(link), credit=share)
            for key, link in known.items()
            if not is_ours(key)
        ]
        return tasks, moved

    def receive(self, task: Task) -> bool:
        """Take the credit that another shard sends for a known URL; tell whether it moves up."""
        if self._credit is None or not task.credit:
            return False
        return bool(self._credit.give((task.url.key,), task.credit))


def _favour(link: Link) -> float:
    """Return how much more than others a sitemap says that a page is worth to its owner."""
    if link.kind is not LinkKind.SITEMAP or _PRIORITY not in link.text:
        return 1.0
    said = link.text.partition(_PRIORITY)[2].partition(" ")[0]
    try:
        return min(max(float(said), 0.0), 1.0) / MEAN_PRIORITY
    except ValueError:
        return 1.0
