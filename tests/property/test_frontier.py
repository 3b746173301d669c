"""Everything put into the frontier comes out once, however often the process dies on the way."""

from random import Random
from typing import Literal, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import examples
from tests.unit.frontier.rows import DictRows

from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.frontier import Frontier, HostAnswer, choose_order
from gossamer.frontier.politeness import gap_after_fetch
from gossamer.model import LinkKind, Task
from gossamer.urls import parse

DELAY_S = 1.0
Order: TypeAlias = Literal["bfs", "best", "opic", "dfs"]
ORDERS: tuple[Order, ...] = ("bfs", "best", "opic", "dfs")
STEPS = st.lists(
    st.sampled_from(["add", "take", "end", "retry", "commit", "wait", "die", "rise"]), max_size=120
)


class Crawler:
    """A crawl without a network: a model of what must hold."""

    def __init__(self, seed: int, order: Order) -> None:
        self.order: Order = order
        self.rows = DictRows()
        self.tasks: list[Task] = []
        self.waiting: set[int] = set()
        self.uncommitted_waiting: set[int] = set()
        self.random = Random(seed)
        self.now = 1000.0
        self.added = 0
        self.settled: set[int] = set()
        self.uncommitted: set[int] = set()
        self.last_asked: dict[str, float] = {}
        self.frontier = self.fresh()
        self.busy: list[Task] = []
        self.known: set[int] = set()
        self.uncommitted_known: set[int] = set()

    def fresh(self) -> Frontier:
        rules = PolitenessConfig(delay_s=DELAY_S)
        knobs = FrontierConfig(lease_urls=3, quantum_urls=5, order=self.order)
        order, is_settled = choose_order(knobs), self.has_had_its_turn
        return Frontier(knobs, rules, self.rows, self.random, order, is_settled=is_settled)

    def has_had_its_turn(self, task: Task) -> bool:
        key = task.url.key
        return key in self.settled or (key in self.waiting and not task.attempt)

    def rise(self) -> None:
        """Let known URLs be worth more, so that some move up in the queue."""
        credit = self.frontier.order.credit
        if credit is None or not self.tasks:
            return
        by_key = {task.url.key: task for task in self.random.sample(self.tasks, 1)}
        risen = credit.give(list(by_key), self.random.choice([0.01, 0.3, 5.0]))
        self.frontier.promote([by_key[key] for key in risen])

    def add(self) -> None:
        self.added += 1
        url = parse(f"http://h{self.added % 4}.test/{self.added}", UrlConfig())
        assert url is not None
        self.tasks.append(Task(url=url, depth=self.added % 6, kind=LinkKind.ANCHOR))
        self.frontier.add([replace(self.tasks[-1], credit=self.random.random() / 50)])
        self.uncommitted_known.add(url.key)

    def take(self) -> None:
        task = self.frontier.next(self.now)
        if task is None:
            return
        host = task.url.host
        assert host not in {busy.url.host for busy in self.busy}
        assert self.now >= self.last_asked.get(host, 0.0) + DELAY_S
        assert task.url.key not in self.settled | self.uncommitted
        self.busy.append(task)

    def end(self) -> None:
        if self.busy:
            task = self.busy.pop(0)
            self.last_asked[task.url.host] = self.now
            self.frontier.settle(task, self.now, HostAnswer(latency_s=0.0))
            self.frontier.conclude(task)
            self.uncommitted.add(task.url.key)

    def retry(self) -> None:
        if self.busy:
            task = self.busy.pop(0)
            self.last_asked[task.url.host] = self.now
            self.frontier.settle(task, self.now, HostAnswer(latency_s=0.0))
            self.frontier.delay(replace(task, attempt=task.attempt + 1), self.now + 2.5)
            self.uncommitted_waiting.add(task.url.key)

    def commit(self) -> None:
        self.rows.write(self.frontier.rows_to_commit())
        self.frontier.committed()
        self.settled |= self.uncommitted
        self.waiting |= self.uncommitted_waiting
        self.uncommitted_waiting = set()
        self.known |= self.uncommitted_known
        self.uncommitted, self.uncommitted_known = set(), set()

    def wait(self) -> None:
        self.now += 0.6

    def die(self) -> None:
        for task in self.busy:
            self.last_asked[task.url.host] = self.now
        self.busy, self.uncommitted, self.uncommitted_known = [], set(), set()
        self.uncommitted_waiting = set()
        self.tasks = [task for task in self.tasks if task.url.key in self.known]
        self.frontier = self.fresh()
        self.frontier.recover(self.now, lambda t: t.url.key in self.settled, all_wait=False)
        self.commit()


@settings(max_examples=examples(300), deadline=None)
@given(steps=STEPS, seed=st.integers(0, 2**16), order=st.sampled_from(ORDERS))
def test_every_url_is_given_out_until_it_is_settled_and_never_too_early(
    steps: list[str], seed: int, order: Order
) -> None:
    crawler = Crawler(seed, order)
    for step in steps:
        getattr(crawler, step)()
    for _ in range(600):
        crawler.take()
        crawler.end()
        crawler.commit()
        crawler.wait()
        if not crawler.frontier.queued:
            break
    assert crawler.settled == crawler.known
    assert crawler.frontier.queued == 0


@given(
    latency_s=st.floats(0, 1000),
    crawl_delay_s=st.none() | st.floats(0, 10_000),
    min_delay_s=st.floats(0, 100),
)
def test_no_gap_is_shorter_than_the_minimum_or_the_crawl_delay(
    latency_s: float, crawl_delay_s: float | None, min_delay_s: float
) -> None:
    rules = PolitenessConfig(min_delay_s=min_delay_s)
    gap = gap_after_fetch(rules, latency_s=latency_s, crawl_delay_s=crawl_delay_s)
    assert gap.seconds >= min_delay_s
    assert gap.seconds >= (crawl_delay_s or 0.0)
