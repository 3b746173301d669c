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
    HostState,
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
    outage: str = ""
    """Why its host is parked; "" if it is not, or the URL does not wait for that."""


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


def find_failed(row: HostState, url_key: int) -> FailedTry | None:
    """Return a URL's failure in its host's present run of failures, if there was one."""
    tries = row.outage.tries if row.outage is not None else ()
    return next((tried for tried in tries if tried.url_key == url_key), None)


def queued_tasks(rows: ReadRows) -> Iterator[Task]:
    """Yield all tasks that are queued, each with its grade, host by host."""
    for key, value in rows.scan(QUEUE):
        if (found := rows.get(host_row_key(key[1:12]))) is not None:
            yield from unpack_tasks(value, decode_host(found).name, 255 - key[12])


def waiting_urls(rows: ReadRows, ring: bytes = b"") -> Iterator[WaitingUrl]:
    """Yield all URLs that are leased, queued or wait for a try, host by host, each once.

    `ring`: only those whose host's key begins with it.
    """
    delayed: set[int] = set()
    for key, value in rows.scan(DELAYED):
        if (task := unpack_delayed(value)).url.key not in delayed and is_at(task.url, ring):
            delayed.add(task.url.key)
            yield WaitingUrl(task=task, state="waiting", next_at=due_moment(key), reason="retry")
    for key, value in rows.scan(HOST + ring):
        row, met = decode_host(value), set[int]()
        outage = row.outage.reason if row.outage is not None and row.is_parked else ""
        for state, task in _tasks_of(rows, key[1:], row):
            if task.url.key not in met and task.url.key not in delayed:
                met.add(task.url.key)
                at, reason = row.next_at, row.reason
                yield WaitingUrl(task=task, state=state, next_at=at, reason=reason, outage=outage)


def is_at(url: Url, ring: bytes) -> bool:
    """Return True if the key of a URL begins with some bytes."""
    return url.key.to_bytes(8, "big").startswith(ring)


def _tasks_of(rows: ReadRows, host: bytes, row: HostState) -> Iterator[tuple[str, Task]]:
    """Yield the tasks of a host with their states; a URL may have several."""
    for _, failing in rows.scan(FAILING + host):
        yield "waiting", unpack_delayed(failing)
    for state, prefix in (("leased", LEASE), ("queued", QUEUE)):
        for task in _tasks(rows, prefix + host, row.name):
            yield state, task


def _tasks(rows: ReadRows, prefix: bytes, host: str) -> Iterator[Task]:
    for key, value in rows.scan(prefix):
        grade = 255 - key[12] if key[:1] == QUEUE else 0
        yield from unpack_tasks(value, host, grade)


class HostStanding(Struct, frozen=True, kw_only=True):
    """What the frontier knows of a host."""

    name: str
    key: bytes
    gap_s: float
    """The last gap between two requests."""
    median_s: float
    """Estimated median of the time that an answer took; 0.0 before the first."""
    waiting: int
    """Its URLs that are queued, leased or wait for their next try."""
    is_parked: bool


def each_host(
    rows: ReadRows, is_settled: Callable[[Task], bool], ring: bytes = b""
) -> Iterator[HostStanding]:
    """Yield every host, in the order of their keys; `ring` is what wanted keys begin with.

    `is_settled` returns True of a leased task that has ended, or waits outside the queue.
    """
    delayed: dict[str, set[int]] = {}
    for _, value in rows.scan(DELAYED):
        url = unpack_delayed(value).url
        delayed.setdefault(url.host, set()).add(url.key)
    for key, value in rows.scan(HOST + ring):
        row = decode_host(value)
        elsewhere = delayed.get(row.name, set[int]())
        tries = row.outage.tries if row.outage is not None else ()
        met = {*elsewhere, *(tried.url_key for tried in tries)}
        leased = {
            task.url.key
            for task in _tasks(rows, LEASE + key[1:], row.name)
            if task.url.key not in met and not is_settled(task)
        }
        yield HostStanding(
            name=row.name,
            key=key[1:],
            gap_s=row.gap_s,
            median_s=row.median_s,
            waiting=row.waiting + len(elsewhere) + len(leased),
            is_parked=row.is_parked,
        )


class WaitingTotals(Struct, frozen=True, kw_only=True):
    """How much there is to do, over all hosts."""

    urls: int
    hosts: int
    known: int
    parked: Parked


def count_waiting(rows: ReadRows, is_settled: Callable[[Task], bool]) -> WaitingTotals:
    """Count the URLs of a stopped crawl that are queued, leased or wait for their next try.

    `is_settled` returns True of a leased task that has ended, or waits outside the queue.
    """
    urls = hosts = known = 0
    names: dict[bytes, str] = {}
    parked: dict[bytes, int] = {}
    elsewhere: set[int] = set()
    for key, value in rows.scan(HOST):
        row = decode_host(value)
        names[key[1:]] = row.name
        hosts, urls, known = hosts + 1, urls + row.waiting, known + row.known
        if row.is_parked:
            parked[key[1:]] = row.waiting
        elsewhere.update(tried.url_key for tried in (row.outage.tries if row.outage else ()))
    delayed = [url_key_in(key) for key, _ in rows.scan(DELAYED)]
    elsewhere.update(delayed)
    for key, value in rows.scan(LEASE):  # a lease stays until all of its tasks have ended
        tasks = unpack_tasks(value, names.get(key[1:12], ""), 0)
        leased = sum(task.url.key not in elsewhere and not is_settled(task) for task in tasks)
        urls += leased
        if key[1:12] in parked:
            parked[key[1:12]] += leased
    waiting = [count for count in parked.values() if count]
    totals = Parked(hosts=len(waiting), urls=sum(waiting))
    return WaitingTotals(urls=urls + len(delayed), hosts=hosts, known=known, parked=totals)


def find_host(rows: ReadRows, host: str) -> HostState | None:
    """Return the row of a host, or None if the host is unknown."""
    value = rows.get(host_row_key(host_key(host)))
    return decode_host(value) if value is not None else None
