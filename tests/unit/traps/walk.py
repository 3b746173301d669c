"""A crawl without network: pages come from functions, the queue is breadth first."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from laboratory.snares.sheet import Sheet, Snare, full

from gossamer.cluster import ProbationShare, ShardProbation
from gossamer.config import FilterConfig, TrapsConfig
from gossamer.filter import build_chain
from gossamer.model import (
    CopyOf,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    Task,
    Turn,
)
from gossamer.traps import Hold, ReleasedTasks, TrapDetector
from gossamer.urls import join
from tests.unit.traps.pages import RULES, document, url, write_rows


@dataclass
class Walk:
    """Walks through some places, each a URL prefix with the function that makes its pages."""

    places: dict[str, Snare]
    seeds: tuple[str, ...]
    config: TrapsConfig = field(default_factory=TrapsConfig)
    limit: int = 5000
    rows: dict[bytes, bytes] = field(default_factory=dict)
    """The state, as after the last commit."""
    hits: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    fetched: list[str] = field(default_factory=list)
    queue: list[tuple[int, int, Task]] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    hosts: Counter[str] = field(default_factory=Counter)
    pushed: int = 0
    knows_copies: bool = False
    per_home: int = 100_000
    doubtful: list[bool] = field(default_factory=list)
    """For each page that was fetched: whether it was on probation."""
    addresses: Callable[[str], str] = lambda _host: ""
    """By host; "" if it is not known, as behind a proxy."""
    first: dict[str, str] = field(default_factory=dict)
    """The first URL of each text."""

    def __post_init__(self) -> None:
        self.open()
        for seed in self.seeds:
            self.known.add(url(seed).key)
            self.push([Task(url=url(seed))], are_new=True)

    def open(self) -> None:
        """Begin, or begin again after a kill: only the rows are left of the traps."""
        seeds = [url(seed) for seed in self.seeds]
        self.traps = TrapDetector(
            self.config,
            self.scan,
            seeds,
            lambda host: self.hosts[host],
            per_home=self.per_home,
        )
        self.share = ProbationShare(1)
        self.filters = build_chain(
            FilterConfig(scope="any"),
            seeds,
            lambda host: self.hosts[host],
            follow_embeds=False,
            extra=[self.traps.object_to],
        )

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted(row for row in self.rows.items() if row[0].startswith(prefix)))

    def push(self, tasks: list[Task], *, are_new: bool) -> None:
        for task in tasks:
            if are_new:
                self.hosts[task.url.host] += 1
            self.pushed += 1
            heappush(self.queue, (task.depth, self.pushed, task))

    def let_out(self, back: ReleasedTasks) -> None:
        self.refused.update(back.refused)
        self.push(back.known, are_new=False)
        self.push(back.new, are_new=True)

    def run(self) -> "Walk":
        while len(self.fetched) < self.limit and (self.queue or self.traps.is_waiting):
            if self.traps.is_waiting:
                self.look_at_held()
            if self.queue and (task := self.next_task()) is not None:
                self.doubtful.append(self.traps.is_out(task.url))
                self.take(self.turn_of(task))
            self.commit()
        return self

    def look_at_held(self) -> None:
        """Do as the engine does."""
        if not self.queue:
            self.traps.wake()
        is_free = len(self.queue) > self.traps.out
        told = ShardProbation(
            is_waited=is_free,
            wants=True,
            requests=len(self.fetched),
            used=self.traps.used,
            used_open=self.traps.used_open,
        )
        self.share.note(0, told, float(len(self.fetched)) / 100)
        orders = self.share.orders(0, None)
        now = len(self.fetched) / 100
        self.traps.obey(is_open=orders.is_open, granted=orders.granted, now=now)
        self.let_out(self.traps.release())

    def next_task(self) -> Task | None:
        task = heappop(self.queue)[-1]
        match self.traps.may_go(task):
            case None:
                return task
            case Hold():
                self.let_out(self.traps.release())
            case objection:
                self.refused[objection.reason.value] += 1
        return None

    def turn_of(self, task: Task) -> Turn:
        base = max((b for b in self.places if task.url.text.startswith(b)), key=len, default="")
        sheet = self.places[base](task.url.text[len(base) :]) if base else None
        self.hits[base] += 1
        self.fetched.append(task.url.text)
        if sheet is None:
            return Turn(task=task, outcome=Failed(kind=FailureKind.NOT_FOUND), at=0.0)
        return self.page(task, sheet, base)

    def page(self, task: Task, sheet: Sheet, base: str) -> Turn:
        targets = (join(task.url.text, full(link, base), RULES) for link in sheet.links)
        links = [Link(target=target, kind=LinkKind.ANCHOR) for target in targets if target]
        text = f"{sheet.title}\n{sheet.text}"
        first = self.first.setdefault(text, task.url.text)
        is_copy = self.knows_copies and first != task.url.text
        fresh = {link.target.key: link for link in links if link.target.key not in self.known}
        kept, refused = self.filters.keep(list(fresh.values()), task.depth + 1, task.url.text)
        self.known.update(link.target.key for link in kept)
        self.refused.update(refused)
        return Turn(
            task=task,
            outcome=Fetched(document=document(task.url, self.addresses(task.url.host))),
            at=0.0,
            found=Extraction(title=sheet.title, text=text, links=links),
            copy_of=CopyOf(first, "", "", 0.0) if is_copy else None,
            new_tasks=[task.follow(link) for link in kept],
        )

    def take(self, turn: Turn) -> None:
        self.traps.observe(turn)
        self.push(self.traps.admit(turn.new_tasks), are_new=True)
        self.let_out(self.traps.release())

    def commit(self) -> None:
        write_rows(self.rows, self.traps.rows_to_commit())
