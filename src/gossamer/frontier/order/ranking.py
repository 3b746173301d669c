"""Ranking: from the links of a page to tasks, with what their order wants them to carry."""

from collections.abc import Callable, Mapping, Sequence

from gossamer.frontier.order.grading import Importance
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
        return [page.follow(link, score(link.target.text, link.text, depth)) for link in wanted], []

    def _with_credit(
        self, credit: Importance, page: Task, wanted: Sequence[Link], known: Mapping[int, Link]
    ) -> tuple[list[Task], list[Task]]:
        share = credit.share(page.url.key, len(wanted) + len(known))
        is_ours = self._is_ours
        if is_ours is None:
            tasks = _own_tasks(credit, page, wanted, share)
            return tasks, _risen(credit, page, known, share)
        ours = {key: link for key, link in known.items() if is_ours(key)}
        moved = _risen(credit, page, ours, share)
        if len(ours) < len(known):
            others = [link for key, link in known.items() if key not in ours]
            moved += [page.follow(link, credit=share) for link in others]
        own = [link for link in wanted if is_ours(link.target.key)]
        tasks = _own_tasks(credit, page, own, share)
        if len(own) < len(wanted):
            others = [link for link in wanted if not is_ours(link.target.key)]
            tasks += [page.follow(link, credit=share * _favour(link)) for link in others]
        return tasks, moved

    def receive(self, task: Task) -> bool:
        """Take the credit that another shard sends for a known URL; tell whether it moves up."""
        if self._credit is None or not task.credit:
            return False
        return bool(self._credit.give((task.url.key,), task.credit))


def _own_tasks(credit: Importance, page: Task, wanted: Sequence[Link], share: float) -> list[Task]:
    """Return tasks for new URLs of ours. Those of one page start with the same credit."""
    if not wanted:
        return []
    if wanted[0].kind is LinkKind.SITEMAP:
        return [page.follow(link, credit=share * _favour(link)) for link in wanted]
    grade = credit.meet([link.target.key for link in wanted], share)
    return [page.follow(link, grade) for link in wanted]


def _risen(credit: Importance, page: Task, known: Mapping[int, Link], share: float) -> list[Task]:
    """Return tasks for those known URLs whose grade rises with their share."""
    risen = credit.give(list(known), share)
    return [page.follow(known[key], credit.grade(key)) for key in risen]


def _favour(link: Link) -> float:
    """Return how much more than others a sitemap says that a page is worth to its owner."""
    if link.kind is not LinkKind.SITEMAP or _PRIORITY not in link.text:
        return 1.0
    said = link.text.partition(_PRIORITY)[2].partition(" ")[0]
    try:
        return min(max(float(said), 0.0), 1.0) / MEAN_PRIORITY
    except ValueError:
        return 1.0
