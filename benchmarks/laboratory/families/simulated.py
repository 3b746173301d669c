"""SimulatedCrawl: families crawled without sockets or files, a thousand pages in a second or two.

The trap detector, the filters and the share of what is on probation are those of a crawl. Hosts
have their turns one after the other, as they have on the workbench without a delay; the queue of a
host is breadth first.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from gossamer.cluster import ProbationShare, ShardProbation
from gossamer.config import FilterConfig, TrapsConfig, UrlConfig
from gossamer.filter import build_chain, is_copy_in_place, sitemap_may_name
from gossamer.model import (
    FOLLOWED,
    CopyOf,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    Redirected,
    Task,
    Turn,
    Url,
)
from gossamer.testing import LoggedRequest, Request
from gossamer.traps import Hold, ReleasedTasks, TrapDetector
from gossamer.urls import join, parse
from laboratory.families.web import FamilyWeb

_RULES = UrlConfig()
_HREF = re.compile(r'href="([^"#]*)|<loc>([^<]*)')
_SITEMAP = re.compile(r"^Sitemap: *(\S+)", re.MULTILINE)
_TITLE = re.compile(r"<title>([^<]*)")
_TAG = re.compile(r"<[^>]*>")
_GRADES = 8
_COMMIT_STEPS = 16
_FIRST_SITEMAPS = 5
REQUESTS_PER_S = 100.0


class _NoBody:
    """What a document of a simulation has instead of bytes."""

    size = 0


class Step(NamedTuple):
    """One request: where it went, and why it was allowed."""

    host: str
    target: str
    status: int
    way: str
    """`free`, or on probation: `share` while others waited, `open` when nobody did; `robots`."""


class SimulatedCrawl:
    """Crawls a web of families to its end."""

    def __init__(self, web: FamilyWeb, traps: TrapsConfig, *, per_home: int = 100_000) -> None:
        """Begin at the seeds of the web; `per_home` is the most URLs of a host."""
        self._web = web
        self.steps: list[Step] = []
        self._known: set[int] = set()
        self._per_host: Counter[str] = Counter()
        self._queues: dict[str, list[tuple[int, int, Task]]] = {}
        self._turns: deque[str] = deque()
        self._queued = self._sequence = 0
        self._asked_robots: set[str] = set()
        self._contents: dict[int, str] = {}
        self._rows: dict[bytes, bytes] = {}
        self._out_ways: dict[int, str] = {}
        seeds = [_url(seed) for seed in web.seeds]
        self.traps = TrapDetector(
            traps, self._scan, seeds, self._per_host.__getitem__, per_home=per_home
        )
        self._share = ProbationShare(1)
        self._is_open = False
        self._filters = build_chain(
            FilterConfig(scope="any", max_urls_per_host=per_home),
            seeds,
            self._per_host.__getitem__,
            follow_embeds=False,
            extra=[self.traps.object_to],
        )
        self._add([Task(url=seed) for seed in seeds], are_new=True)
        self._known.update(seed.key for seed in seeds)

    @property
    def requests(self) -> Iterator[LoggedRequest]:
        """The requests as a server would have logged them."""
        for number, step in enumerate(self.steps):
            yield LoggedRequest(
                at=number / REQUESTS_PER_S,
                host=step.host,
                method="GET",
                target=step.target,
                status=step.status,
                user_agent="",
                connection_id=0,
                open_connections_of_host=1,
            )

    def run(self, most: int = 100_000) -> "SimulatedCrawl":
        """Crawl to the end, or until so many requests were made."""
        while len(self.steps) < most and (self._queued or self.traps.is_waiting):
            if self.traps.is_waiting:
                self._look_at_held()
            task = self._next_task()
            if task is not None:
                self._fetch(task)
            if not len(self.steps) % _COMMIT_STEPS or not self._queued:
                self._commit()
        return self

    def _commit(self) -> None:
        for key, value in self.traps.rows_to_commit():
            if value is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = value

    def _scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        if prefix in self._rows:
            return iter([(prefix, self._rows[prefix])])
        return iter(sorted(row for row in self._rows.items() if row[0].startswith(prefix)))

    def _add(self, tasks: Iterable[Task], *, are_new: bool) -> None:
        for task in tasks:
            host = task.url.host
            if are_new:
                self._per_host[host] += 1
            queue = self._queues.setdefault(host, [])
            if not queue:
                self._turns.append(host)
            grade = task.grade or min(max(_GRADES - task.depth + int(task.credit), 1), _GRADES)
            self._sequence += 1
            self._queued += 1
            heappush(queue, (-grade, self._sequence, task))

    def _release(self, back: ReleasedTasks) -> None:
        way = "open" if self._is_open else "share"
        for task in (*back.known, *back.new):
            self._out_ways[task.url.key] = way
        self._add(back.known, are_new=False)
        self._add(back.new, are_new=True)

    def _look_at_held(self) -> None:
        """Do as the engine does."""
        if not self._queued:
            self.traps.wake()
        now = len(self.steps) / REQUESTS_PER_S
        told = ShardProbation(
            is_waited=self._queued > self.traps.out,
            wants=True,
            requests=len(self.steps),
            used=self.traps.used,
            used_open=self.traps.used_open,
        )
        self._share.note(0, told, now)
        orders = self._share.orders(0, None)
        self._is_open = orders.is_open
        self.traps.obey(is_open=orders.is_open, granted=orders.granted, now=now)
        self._release(self.traps.release())

    def _next_task(self) -> Task | None:
        if not self._turns:
            return None
        host = self._turns.popleft()
        queue = self._queues[host]
        task = heappop(queue)[-1]
        self._queued -= 1
        if queue:
            self._turns.append(host)
        else:
            del self._queues[host]
        answer = self.traps.may_go(task)
        if isinstance(answer, Hold):
            self._release(self.traps.release())
        return task if answer is None else None

    def _fetch(self, task: Task) -> None:
        host = task.url.host
        if host not in self._asked_robots:
            self._asked_robots.add(host)
            self._ask_robots(task.url)
        is_out = self.traps.is_out(task.url)
        way = self._out_ways.get(task.url.key, "share") if is_out else "free"
        turn, status = self._turn_of(task)
        self.steps.append(Step(host, task.url.target, status, way))
        self.traps.observe(turn)
        self._add(self.traps.admit(turn.new_tasks), are_new=True)
        self._release(self.traps.release())

    def _ask_robots(self, url: Url) -> None:
        request = Request("GET", "/robots.txt", url.host, b"")
        answer = self._web.respond(request)
        self.steps.append(Step(url.host, "/robots.txt", answer.status, "robots"))
        base = f"{url.origin}/robots.txt"
        source = Task(url=_url(base), depth=-1)
        named = _SITEMAP.findall(answer.body.decode()) if answer.status == 200 else []
        links = [Link(target=_url(text), kind=LinkKind.SITEMAP) for text in named]
        self._add(self.traps.admit(self._new_of(source, links)), are_new=True)

    def _turn_of(self, task: Task) -> tuple[Turn, int]:
        url = task.url
        answer = self._web.respond(Request("GET", url.target, url.host, b""))
        document = self._document(url, answer.status)
        headers = dict(answer.headers)
        if answer.status == 404:
            failed = Failed(kind=FailureKind.NOT_FOUND, document=document)
            return Turn(task=task, outcome=failed, at=0.0), answer.status
        if "Location" in headers:
            target = join(url.text, headers["Location"], _RULES)
            links = [Link(target=target, kind=LinkKind.REDIRECT)] if target is not None else []
            moved = Redirected(document=document, target=headers["Location"])
            new = self._new_of(task, links)
            return Turn(task=task, outcome=moved, at=0.0, new_tasks=new), answer.status
        body = answer.body.decode()
        is_sitemap = "xml" in headers.get("Content-Type", "")
        found = _sitemap(body) if is_sitemap else _page(url, body)
        followed = [link for link in found.links if link.kind in FOLLOWED]
        links = [link for link in followed if not is_sitemap or sitemap_may_name(task, link)]
        fingerprint = xxh3_64_intdigest(answer.body)
        first = self._contents.setdefault(fingerprint, url.text)
        copy_of = CopyOf(first, "", "", 0.0) if first != url.text else None
        is_copy = copy_of is not None and is_copy_in_place(url.text, first)
        turn = Turn(
            task=task,
            outcome=Fetched(document=document),
            at=0.0,
            found=found,
            fingerprint=fingerprint,
            copy_of=copy_of,
            new_tasks=[] if is_copy else self._new_of(task, links),
        )
        return turn, answer.status

    def _new_of(self, task: Task, links: Iterable[Link]) -> list[Task]:
        fresh = {link.target.key: link for link in links if link.target.key not in self._known}
        if not fresh:
            return []
        kept, _ = self._filters.keep(list(fresh.values()), task.depth + 1, task.url.text)
        self._known.update(link.target.key for link in kept)
        new = [task.follow(link) for link in kept]
        late = [one for one in new if one.nesting][_FIRST_SITEMAPS:]
        keys = {one.url.key for one in late}
        return [replace(one, grade=1) if one.url.key in keys else one for one in new]

    def _document(self, url: Url, status: int) -> Document:
        return Document(
            url=url,
            status=status,
            head=b"",
            headers=(),
            body=_NoBody(),  # type: ignore[arg-type] # nobody reads it
            request=b"",
            address=self._web.address_of(url.host) or "",
            fetched_at=0.0,
            latency_s=0.0,
        )


def _url(text: str) -> Url:
    found = parse(text, _RULES)
    assert found is not None, text
    return found


def _links(base: str, body: str, kind: LinkKind, rel: str = "") -> list[Link]:
    texts = (found[1] or found[2] or "" for found in _HREF.finditer(body))
    targets = (join(base, text.replace("&amp;", "&"), _RULES) for text in texts)
    return [Link(target=target, kind=kind, rel=rel) for target in targets if target is not None]


def _page(url: Url, body: str) -> Extraction:
    title = _TITLE.search(body)
    text = _TAG.sub(" ", body.partition("<body>")[2])
    links = _links(url.text, body, LinkKind.ANCHOR)
    links += [
        Link(target=target, kind=LinkKind.IMAGE)
        for text_of in re.findall(r'<img src="([^"]*)', body)
        if (target := join(url.text, text_of, _RULES)) is not None
    ]
    return Extraction(
        title=title[1] if title else "", text=text, links=links, media_type="text/html"
    )


def _sitemap(body: str) -> Extraction:
    rel = "sitemap" if "<sitemapindex" in body else ""
    found = _links("http://x.test/", body, LinkKind.SITEMAP, rel)
    return Extraction(links=found, media_type="application/sitemap+xml")
