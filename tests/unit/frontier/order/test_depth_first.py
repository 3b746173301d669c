"""Depth first, as in textbooks: the last page's links first, those of one page in their order."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.frontier import Frontier, HostAnswer, choose_order, count_waiting
from gossamer.model import LinkKind, Task
from gossamer.urls import parse
from tests.unit.frontier.rows import DictRows

QUICK = HostAnswer(latency_s=0.01)
Links = Mapping[int, Sequence[int]]


def web_of(dice: Random) -> Links:
    """Return pages with links to each other, some with very many."""
    pages = dice.randrange(2, 120)
    counts = [dice.choice((0, 1, 3, 20, 90)) for _ in range(pages)]
    return {n: [dice.randrange(pages) for _ in range(counts[n])] for n in range(pages)}


def task(page: int, host: str = "a.test", via: str = "", depth: int = 0) -> Task:
    url = parse(f"http://{host}/{page}", UrlConfig())
    assert url is not None
    kind = LinkKind.ANCHOR if via else LinkKind.SEED
    return Task(url=url, depth=depth, via=via, kind=kind)


def textbook(links: Links) -> list[int]:
    """Return the order of a depth-first search from page 0 that notes what it has met."""
    stack, met, order = [0], {0}, list[int]()
    while stack:
        order.append(page := stack.pop())
        new = [n for n in dict.fromkeys(links[page]) if n not in met]
        met.update(new)
        stack += reversed(new)
    return order


class Walk:
    """A crawl of one host in memory, which may be killed."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.rows = DictRows()
        self.met = {0}
        self.order: list[int] = []
        self._is_done: set[int] = set()
        self.frontier = self._open()
        self.frontier.add([task(0)])
        self.commit()

    def _open(self) -> Frontier:
        config = FrontierConfig(order="dfs")
        rules = PolitenessConfig(delay_s=0.0)
        return Frontier(config, rules, self.rows, Random(7), choose_order(config))

    def commit(self) -> None:
        """Let everything so far happen."""
        self.rows.write(self.frontier.rows_to_commit())
        self.frontier.committed()

    def next(self) -> Task | None:
        """Return the next task, with as many commits as leases need."""
        for _ in range(4):
            if (found := self.frontier.next(0.0)) is not None or not self.frontier.has_uncommitted:
                return found
            self.commit()
        return None

    def kill(self) -> None:
        """Lose what is in memory, and start again."""
        self.frontier = self._open()
        self.frontier.recover(0.0, lambda found: found.url.key in self._is_done, all_wait=False)
        self.commit()

    def fetch(self, found: Task) -> None:
        """Give a task its turn."""
        page = int(found.url.text.rpartition("/")[2])
        new = [n for n in dict.fromkeys(self.links[page]) if n not in self.met]
        self.met.update(new)
        self.order.append(page)
        self.frontier.add([task(n, via=found.url.text, depth=found.depth + 1) for n in new])
        self._is_done.add(found.url.key)
        self.frontier.conclude(found)
        self.frontier.settle(found, 0.0, QUICK)


@pytest.mark.parametrize("seed", range(60))
def test_pages_are_asked_for_in_the_order_of_a_depth_first_search_also_after_kills(
    seed: int,
) -> None:
    dice = Random(seed)
    links = web_of(dice)
    walk = Walk(links)
    while (found := walk.next()) is not None:
        if dice.random() < 0.1:
            walk.kill()  # with a request under way
            continue
        walk.fetch(found)
        if dice.random() < 0.2:
            walk.commit()
            walk.kill()
    assert walk.order == textbook(links)
    assert walk.frontier.queued == 0
    waiting = count_waiting(walk.rows, lambda _found: False)
    assert waiting.urls == 0


@pytest.mark.parametrize("count", [1, 15, 16, 17, 64, 65, 1000])
def test_however_many_links_a_page_has_they_are_asked_for_in_their_order(count: int) -> None:
    links: dict[int, list[int]] = {n: [] for n in range(count + 3)}
    links[0] = list(range(1, count + 1))
    links[1] = [count + 1, count + 2]
    walk = Walk(links)
    while (found := walk.next()) is not None:
        walk.fetch(found)
    assert walk.order == [0, 1, count + 1, count + 2, *range(2, count + 1)]


def test_the_links_of_the_page_that_came_last_go_first_wherever_it_lies() -> None:
    config = FrontierConfig(order="dfs")
    rows = DictRows()
    rules = PolitenessConfig(delay_s=0.0)
    frontier = Frontier(config, rules, rows, Random(7), choose_order(config))
    frontier.add([task(1, via="http://b.test/"), task(2, via="http://b.test/")])
    frontier.add([task(3, via="http://c.test/"), task(4, via="http://c.test/")])
    order = []
    for _ in range(20):
        if (found := frontier.next(0.0)) is not None:
            order.append(found.url.text[-1])
            frontier.conclude(found)
            frontier.settle(found, 0.0, QUICK)
        rows.write(frontier.rows_to_commit())
        frontier.committed()
    assert order == ["3", "4", "1", "2"]


def test_sitemaps_come_after_the_pages() -> None:
    grade = choose_order(FrontierConfig(order="dfs")).grade
    url = task(1).url
    page = Task(url=url, kind=LinkKind.SITEMAP, depth=1)
    tried = Task(url=url, kind=LinkKind.SITEMAP, depth=0)
    named = Task(url=url, kind=LinkKind.SITEMAP, depth=1, nesting=1)
    assert grade(page) == grade(task(1)) > grade(tried) == grade(named)
