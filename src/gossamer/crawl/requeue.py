"""Queue again what failed, or was refused: `gossamer retry`, and seeds that are given once more.

A URL that is queued again keeps its record, with the visits so far, as `queued`; the totals no
longer count its failure, and its attempts begin anew. Record, queue and totals are one commit.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gossamer.crawl.core import Core
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.recovery import task_of
from gossamer.model import FAMILIES, FailureKind, RefusalKind, Task, UrlRecord, UrlState
from gossamer.report import URL, decode_record, encode_record, url_row_key
from gossamer.urls import parse, ring_of

BATCH = 1000
"""URL records that are looked at before others have their turn."""
RETRIED = frozenset({UrlState.FAILED, UrlState.REFUSED})
ROBOTS = frozenset({RefusalKind.ROBOTS_DISALLOWED, RefusalKind.ROBOTS_UNREACHABLE})
"""Refusals for which robots.txt is asked for again."""
RING_BYTES = 3

Found = tuple[int, UrlRecord]


class RetryRequest(Struct, frozen=True, kw_only=True):
    """What is to be queued again: all failures; or only those of some reasons, hosts and URLs.

    Refusals are only queued again if their reason, or their URL, is named; but for those of hosts
    that were given up because their robots.txt could not be had: they were down.
    """

    reasons: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


def wanted_records(core: Core, request: RetryRequest) -> Iterator[list[Found]]:
    """Yield the records that a request means, in batches; some are empty."""
    if request.urls:
        parsed = (parse(text, core.stations.urls) for text in request.urls)
        records = ((url.key, core.record_of(url.key)) for url in parsed if url is not None)
        known = [(key, record) for key, record in records if record is not None]
        yield [found for found in known if _is_meant(found[1], request)]
        return
    for prefix in _prefixes(request.hosts):
        batch: list[Found] = []
        for number, (row, value) in enumerate(core.state.scan(prefix), 1):
            record = decode_record(value)
            if _is_meant(record, request):
                batch.append((int.from_bytes(row[1:], "big"), record))
            if number % BATCH == 0:
                yield batch
                batch = []
        yield batch


def _prefixes(hosts: Sequence[str]) -> list[bytes]:
    """Return where the records of hosts lie; those of all, if none is named."""
    if not hosts:
        return [URL]
    return sorted({URL + ring_of(host).to_bytes(RING_BYTES, "big") for host in hosts})


def _is_meant(record: UrlRecord, request: RetryRequest) -> bool:
    has_reason = is_among(record.reason, request.reasons)
    is_named = bool(request.urls) or has_reason
    is_named = is_named or record.reason == RefusalKind.ROBOTS_UNREACHABLE
    if record.state is not UrlState.FAILED and not (record.state is UrlState.REFUSED and is_named):
        return False
    if request.reasons and not has_reason:
        return False
    return not request.hosts or _host_of(record.url) in request.hosts


def is_among(reason: str, named: Sequence[str]) -> bool:
    """Return True if a reason is named, or its family: http_4xx means http_403, too."""
    families = (FAMILIES[name] for name in named if name in FAMILIES)
    return reason in named or reason.startswith(tuple(families))


def _host_of(text: str) -> str:
    authority = text.partition("//")[2].partition("/")[0].partition("?")[0]
    return authority if authority.endswith("]") else authority.rpartition(":")[0] or authority


def requeue(core: Core, ledger: Ledger, found: Sequence[Found], now: float) -> Counter[str]:
    """Queue URLs again that failed or were refused, in one commit; return how many by reason."""
    told: Counter[str] = Counter()
    if not found:
        return told
    ledger.commit()  # what is read below is what is so
    tasks: list[Task] = []
    for key, _ in found:
        record = core.record_of(key)
        task = _task_of(key, record, core) if record is not None else None
        if record is None or task is None or ledger.uncounted.has(url_row_key(key), record.url):
            continue
        tasks.append(task)
        told[record.reason] += 1
        core.counters.uncount(record.state.value, record.reason, record.detail)
        again = replace(record, state=UrlState.QUEUED, retry_at=None)
        ledger.add_rows([(url_row_key(key), encode_record(again))])
        if record.reason == FailureKind.KILLED_US:
            core.suspects.add(key, record.seen_at, now)
        if record.reason in ROBOTS:
            core.robots.forget(task.url)
    core.counters.count_retried(len(tasks))
    core.frontier.queue_again(tasks)
    ledger.commit()
    return told


def _task_of(key: int, record: UrlRecord, core: Core) -> Task | None:
    """Return the task of a URL that failed or was refused; None if it is not to be queued again."""
    task = task_of(record, core) if record.state in RETRIED else None
    return task if task is not None and task.url.key == key else None
