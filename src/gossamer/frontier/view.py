"""A read-only view of the queues: where does a URL wait, and how much is there to do?"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from gossamer.frontier.frontier import ReadRows
from gossamer.frontier.outage import Parked
from gossamer.frontier.rows import (
    DELAYED,
    FAILING,
    HOST,
    LEASE,
    QUEUE,
    FailedTry,
    HostRow,
    decode_host,
    due_moment,
    failing_key,
    host_row_key,
    unpack_delayed,
    unpack_tasks,
    url_key_in,
)
from gossamer.model import Task, Url
from gossamer.urls import host_key


class WaitingUrl(Struct, frozen=True, kw_only=True):
    """A URL that is queued, leased, or waits for its next try."""

    task: Task
    state: str
    next_at: float
    """The moment from which the URL, or its host, may be asked."""
    reason: str
    """The rule that set that moment."""


def find_waiting(rows: ReadRows, url: Url) -> WaitingUrl | None:
    """Return where a URL waits, or None if it is not queued."""
    host = host_key(url.host)
    value = rows.get(host_row_key(host))
    if value is None:
        return None
    row = decode_host(value)
    for key, _ in rows.scan(DELAYED):
        if url_key_in(key) == url.key:
            task = Task(url=url)
            return WaitingUrl(task=task, state="waiting", next_at=due_moment(key), reason="retry")
    if (tried := find_failed(row, url.key)) is not None:
        value = rows.get(failing_key(host, url.key))
        task = unpack_delayed(value) if value is not None else Task(url=url)
        at, reason = (row.next_at, row.reason) if row.is_parked else (tried.retry_at, "retry")
        return WaitingUrl(task=task, state="waiting", next_at=at, reason=reason)
    for state, prefix in (("leased", LEASE), ("queued", QUEUE)):
        for task in _tasks(rows, prefix + host, row.name):
            if task.url.key == url.key:
                return WaitingUrl(task=task, state=state, next_at=row.next_at, reason=row.reason)
    return None


def find_failed(row: HostRow, url_key: int) -> FailedTry | None:
    """Return a URL's failure in its host's present run of failures, if there was one."""
    tries = row.outage.tries if row.outage is not None else ()
    return next((tried for tried in tries if tried.url_key == url_key), None)


def queued_tasks(rows: ReadRows) -> Iterator[Task]:
    """Yield all tasks that are queued, each with its grade, host by host."""
    for key, value in rows.scan(QUEUE):
        if (found := rows.get(host_row_key(key[1:12]))) is not None:
            yield from unpack_tasks(value, decode_host(found).name, 255 - key[12])


def waiting_urls(rows: ReadRows) -> Iterator[WaitingUrl]:
    """Yield all URLs that are leased, queued or wait for a try, host by host, each once."""
    for key, value in rows.scan(HOST):
        row, met = decode_host(value), set[int]()
        for state, prefix in (("leased", LEASE), ("queued", QUEUE)):
            for task in _tasks(rows, prefix + key[1:], row.name):
                if task.url.key not in met:
                    met.add(task.url.key)
                    yield WaitingUrl(task=task, state=state, next_at=row.next_at, reason=row.reason)
        for _, failing in rows.scan(FAILING + key[1:]):
            task = unpack_delayed(failing)
            yield WaitingUrl(task=task, state="waiting", next_at=row.next_at, reason=row.reason)
    for key, value in rows.scan(DELAYED):
        task, due_at = unpack_delayed(value), due_moment(key)
        yield WaitingUrl(task=task, state="waiting", next_at=due_at, reason="retry")


def _tasks(rows: ReadRows, prefix: bytes, host: str) -> Iterator[Task]:
    for key, value in rows.scan(prefix):
        grade = 255 - key[12] if key[:1] == QUEUE else 0
        yield from unpack_tasks(value, host, grade)


class WaitingTotals(Struct, frozen=True, kw_only=True):
    """How much there is to do, over all hosts."""

    urls: int
    hosts: int
    known: int
    parked: Parked


def count_waiting(rows: ReadRows, is_settled: Callable[[Task], bool]) -> WaitingTotals:
    """Count the URLs of a stopped crawl that are queued, leased or wait for their next try."""
    urls = hosts = known = parked_hosts = parked_urls = 0
    names: dict[bytes, str] = {}
    for key, value in rows.scan(HOST):
        row = decode_host(value)
        names[key[1:]] = row.name
        hosts, urls, known = hosts + 1, urls + row.waiting, known + row.known
        if row.is_parked and row.waiting:
            parked_hosts, parked_urls = parked_hosts + 1, parked_urls + row.waiting
    delayed = sum(1 for _ in rows.scan(DELAYED))
    for key, value in rows.scan(LEASE):
        tasks = unpack_tasks(value, names.get(key[1:12], ""), 0)
        urls += sum(not is_settled(task) for task in tasks)
    parked = Parked(hosts=parked_hosts, urls=parked_urls)
    return WaitingTotals(urls=urls + delayed, hosts=hosts, known=known, parked=parked)


def find_host(rows: ReadRows, host: str) -> HostRow | None:
    """Return the row of a host, or None if the host is unknown."""
    value = rows.get(host_row_key(host_key(host)))
    return decode_host(value) if value is not None else None
