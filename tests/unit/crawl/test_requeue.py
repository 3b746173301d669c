"""Queueing again: what failed or was refused, each once, with books that balance."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.crawl.harness import OWN, PLAIN, Engine, config, document, open_engine, refused, url

from gossamer.config import FrontierConfig
from gossamer.crawl.core import build_core
from gossamer.crawl.opening import ShardFolder
from gossamer.crawl.requeue import BATCH, RetryRequest, _host_of, requeue, wanted_records
from gossamer.crawl.seeds import Seed, plant
from gossamer.model import (
    FINAL,
    Counters,
    Failed,
    FailureKind,
    Fetched,
    RefusalKind,
    Task,
    UrlRecord,
    UrlState,
)
from gossamer.report import encode_record, suspect_row_key, url_row_key

A, B, C = "http://a.test/p", "http://a.test/q", "http://b.test:8080/r"
LOST = Failed(kind=FailureKind.TLS_CERTIFICATE)
MISSING = Failed(kind=FailureKind.NOT_FOUND, document=document(B, b"", status=404))


@pytest.fixture
def own(tmp_path: Path) -> Engine:
    return open_engine(tmp_path, OWN)


async def fail(engine: Engine, *texts: str, outcome: Failed = LOST) -> None:
    for text in texts:
        engine.web.say(text, outcome)
        engine.clock.advance(5.0)
        await engine.ask(text)
    engine.ledger.commit()


def meant(engine: Engine, **request: Any) -> list[str]:
    """Return the URLs that a request means."""
    batches = wanted_records(engine.core, RetryRequest(**request))
    return [record.url for batch in batches for _, record in batch]


def again(engine: Engine, **request: Any) -> dict[str, int]:
    told: dict[str, int] = {}
    for batch in wanted_records(engine.core, RetryRequest(**request)):
        told |= requeue(engine.core, engine.ledger, batch, engine.time.now())
    return told


async def test_a_family_of_statuses_can_be_named(own: Engine) -> None:
    await fail(own, A, outcome=Failed(kind=FailureKind.HTTP_4XX, detail="403"))
    await fail(own, B, outcome=Failed(kind=FailureKind.HTTP_4XX, detail="451 (challenge)"))
    assert own.core.counters.failed == {"http_403": 1, "http_451": 1}
    assert meant(own, reasons=("http_451",)) == [B]
    assert set(meant(own, reasons=("http_4xx",))) == {A, B}
    assert meant(own, reasons=("http_5xx",)) == []


async def test_what_is_wrong_with_certificates_is_counted_until_they_are_queued_again(
    own: Engine,
) -> None:
    expired = Failed(kind=FailureKind.TLS_CERTIFICATE, detail="the certificate has expired (10)")
    await fail(own, A, outcome=expired)
    await fail(own, B)
    assert own.core.counters.certificates == {"expired": 1, "invalid": 1}
    again(own, urls=(A,))
    assert own.core.counters.certificates == {"invalid": 1}


async def test_a_failure_is_queued_again_and_counted_no_longer(own: Engine) -> None:
    await fail(own, A, B)
    assert own.core.counters.failed == {"tls_certificate": 2}
    assert again(own, urls=(A,)) == {"tls_certificate": 1}
    assert own.core.counters.failed == {"tls_certificate": 1}
    assert own.core.counters.retried == 1
    assert own.core.frontier.queued == 1
    record = own.of(A)
    assert (record.state, len(record.visits)) == (UrlState.QUEUED, 1)
    own.web.page(A)
    own.clock.advance(5.0)
    assert await own.ask_next() == A
    record = own.of(A)
    assert (record.state, record.attempts) == (UrlState.ARCHIVED, 1)
    assert [visit.state for visit in record.visits] == ["failed", "archived"]
    assert own.core.frontier.queued == 0


async def test_a_url_is_queued_again_once(own: Engine) -> None:
    await fail(own, A)
    found = [one for batch in wanted_records(own.core, RetryRequest()) for one in batch]
    assert requeue(own.core, own.ledger, found, 1.0) == {"tls_certificate": 1}
    assert requeue(own.core, own.ledger, found, 1.0) == {}
    assert (own.core.frontier.queued, own.core.counters.failed) == (1, {})


async def test_what_failed_a_moment_ago_is_committed_first(own: Engine) -> None:
    own.web.say(A, LOST)
    await own.ask(A)
    assert own.ledger.group
    record = own.ledger.group[0][0]
    assert requeue(own.core, own.ledger, [(url(A).key, record)], 1.0) == {"tls_certificate": 1}
    assert own.of(A).state is UrlState.QUEUED


def test_records_are_looked_at_in_batches(own: Engine) -> None:
    failed = UrlRecord(url=A, state=UrlState.FAILED, reason="gone")
    own.state.write([(url_row_key(n), encode_record(failed)) for n in range(2 * BATCH + 7)])
    batches = list(wanted_records(own.core, RetryRequest()))
    assert [len(batch) for batch in batches] == [BATCH, BATCH, 7]
    assert [key for batch in batches for key, _ in batch] == list(range(2 * BATCH + 7))


async def test_nothing_is_committed_for_nothing(own: Engine) -> None:
    commits = own.commits
    assert requeue(own.core, own.ledger, [], 1.0) == {}
    assert own.commits == commits


async def test_stored_pages_are_not_queued_again(own: Engine) -> None:
    own.web.page(A)
    await own.ask(A)
    own.ledger.commit()
    assert again(own, urls=(A,)) == {}
    assert own.of(A).state is UrlState.ARCHIVED


async def test_reasons_hosts_and_urls_are_all_heeded(own: Engine) -> None:
    await fail(own, A, C)
    await fail(own, B, outcome=MISSING)
    assert sorted(meant(own)) == [A, B, C]
    assert meant(own, reasons=("not_found",)) == [B]
    assert meant(own, hosts=("b.test",)) == [C]
    assert meant(own, hosts=("a.test",), reasons=("tls_certificate",)) == [A]
    assert meant(own, urls=("http://A.test/p#x",)) == [A]
    assert meant(own, urls=(A, C), hosts=("b.test",)) == [C]
    assert meant(own, urls=(A,), reasons=("not_found",)) == []
    assert meant(own, urls=("not a url", "http://a.test/never-met")) == []


async def test_urls_of_a_host_that_was_given_up_for_its_robots_are_queued_again(
    tmp_path: Path,
) -> None:
    engine = open_engine(tmp_path, PLAIN)
    engine.ledger.record(refused(A, RefusalKind.ROBOTS_UNREACHABLE), engine.time.now())
    engine.ledger.commit()
    assert meant(engine) == meant(engine, hosts=("a.test",)) == [A]
    assert meant(engine, reasons=("not_found",)) == []


async def test_refusals_are_queued_again_only_if_they_are_named(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, PLAIN)
    engine.web.robots("http://a.test/robots.txt", "User-agent: *", "Disallow: /p")
    await engine.ask(A)
    engine.clock.advance(1.0)
    await engine.ask_next()
    assert engine.of(A).state is UrlState.REFUSED
    assert meant(engine) == []
    assert meant(engine, hosts=("a.test",)) == []
    assert meant(engine, reasons=("robots_disallowed",)) == [A]
    assert meant(engine, urls=(A,)) == [A]
    assert again(engine, urls=(A,)) == {"robots_disallowed": 1}
    assert engine.core.counters.refused == {}
    engine.web.robots("http://a.test/robots.txt", "User-agent: *", "Disallow:")
    engine.web.page(A)
    for _ in range(2):
        engine.clock.advance(5.0)
        await engine.ask_next()
    assert engine.web.asked.count("http://a.test/robots.txt") == 2
    assert engine.of(A).state is UrlState.ARCHIVED


async def test_what_killed_us_is_read_alone_when_it_is_queued_again(own: Engine) -> None:
    await fail(own, A, outcome=Failed(kind=FailureKind.KILLED_US))
    await fail(own, B)
    again(own)
    assert url(A).key in own.core.suspects
    assert url(B).key not in own.core.suspects
    assert suspect_row_key(url(A).key) in own.state.rows


async def test_a_url_that_is_queued_again_is_found_once_after_a_death(own: Engine) -> None:
    """Its old lease is still open, for another URL: it must not name it any more."""
    own.web.say(A, LOST)
    own.queue(A, B)
    assert await own.ask_next() == A
    own.ledger.commit()
    assert own.of(A).state is UrlState.FAILED
    again(own)
    later = open_after_death(own)
    assert later.frontier.queued == 2
    found = [task.url.text for task in drained(later)]
    assert sorted(found) == [A, B]


def open_after_death(engine: Engine) -> Any:
    """Return the stations as the next start finds them."""
    place = ShardFolder(folder=engine.disk.folder)
    core = build_core(engine.state, place, engine.config, Random(1), Counters())  # type: ignore[arg-type]

    def is_settled(task: Task) -> bool:
        record = core.record_of(task.url.key)
        return record is not None and record.state in FINAL

    core.frontier.recover(engine.time.now(), is_settled, all_wait=False)
    engine.state.write(core.frontier.rows_to_commit())
    core.frontier.committed()
    return core


def drained(core: Any) -> list[Any]:
    """Take every task there is."""
    tasks = []
    for now in range(100, 10_000, 100):
        if (task := core.frontier.next(2e9 + now)) is not None:
            tasks.append(task)
            core.frontier.conclude(task)
            core.frontier.settle(task, 2e9 + now, None)
        core.state.write(core.frontier.rows_to_commit())
        core.frontier.committed()
    return tasks


# Seeds


def planted(engine: Engine, *texts: str, **options: Any) -> Any:
    shard: Any = SimpleNamespace(core=engine.core, ledger=engine.ledger, engine=engine.loop)
    return plant(shard, [Seed(url=text) for text in texts], **options)


async def test_seeds_that_failed_are_asked_for_again_and_stored_ones_are_not(own: Engine) -> None:
    await fail(own, A)
    own.web.page(B)
    own.clock.advance(5.0)
    await own.ask(B)
    own.ledger.commit()
    own.queue(C)
    own.ledger.commit()
    told = planted(own, A, B, C, "http://a.test/new", A)
    assert (told.new, told.refused) == (1, {})
    assert (told.again, told.stored, told.waiting) == ({A: "failed: tls_certificate"}, [B], [C])
    answer = told.answer()
    assert (answer.added, answer.queued_again) == (2, {A: "failed: tls_certificate"})
    told = planted(own, A)
    assert (told.again, told.waiting) == ({}, [A])


async def test_a_shard_in_the_place_of_a_dead_one_asks_no_failed_seed_again(own: Engine) -> None:
    await fail(own, A)
    told = planted(own, A, asks_again=False)
    assert (told.again, own.of(A).state) == ({}, UrlState.FAILED)


# In orders in which a URL may wait in two places


async def test_a_url_that_is_queued_again_is_not_taken_for_one_that_had_its_turn(
    tmp_path: Path,
) -> None:
    engine = open_engine(tmp_path, config(frontier=FrontierConfig(order="opic")))
    await fail(engine, A)
    again(engine)
    engine.web.say(A, Fetched(document=document(A, b"<p>here</p>")))
    engine.clock.advance(5.0)
    assert await engine.ask_next() == A
    assert engine.of(A).state is UrlState.ARCHIVED


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://a.test/b?c", "a.test"),
        ("http://a.test:81/b", "a.test"),
        ("http://[::1]/b", "[::1]"),
        ("http://[::1]:81/b", "[::1]"),
        ("gopher://a.test?c/d", "a.test"),
    ],
)
def test_the_host_of_a_url_is_told_without_its_port(text: str, host: str) -> None:
    assert _host_of(text) == host
