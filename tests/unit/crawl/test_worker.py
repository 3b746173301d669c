"""The worker: robots, address, fetch, reading; and what becomes of the task and of its host."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.crawl.harness import (
    HELD,
    OWN,
    PLAIN,
    Body,
    Engine,
    config,
    document,
    open_engine,
    rounds,
    task_of,
    url,
)

from gossamer.config import PolitenessConfig, ProcessConfig, RobotsConfig
from gossamer.crawl.worker import REST_S
from gossamer.frontier import Parked
from gossamer.model import (
    Failed,
    FailureKind,
    Fetched,
    LinkKind,
    Objection,
    Redirected,
    RefusalKind,
    Refused,
    Reject,
    UrlState,
)
from gossamer.urls import host_key

PAGE, ROBOTS = "http://a.test/p", "http://a.test/robots.txt"
CUT = Failed(kind=FailureKind.DISCONNECTED)
DEAD = Failed(kind=FailureKind.CONNECT_FAILED)
ERROR = Failed(kind=FailureKind.HTTP_5XX, detail="500")
BUSY = Failed(kind=FailureKind.THROTTLED, retry_after_s=30.0)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """An engine that asks for robots.txt first."""
    return open_engine(tmp_path, PLAIN)


@pytest.fixture
def own(tmp_path: Path) -> Engine:
    """An engine whose hosts need no robots.txt."""
    return open_engine(tmp_path, OWN)


# Robots


async def test_robots_is_asked_before_the_page_and_the_page_waits_for_the_next_gap(
    engine: Engine,
) -> None:
    engine.web.robots(ROBOTS, "User-agent: *", "Disallow: /private")
    engine.web.page(PAGE)
    await engine.ask(PAGE)
    assert engine.web.asked == [ROBOTS]
    assert not engine.has_record(PAGE)
    assert engine.wait_s == 1.0
    assert engine.next() is None
    engine.clock.advance(1.0)
    assert await engine.ask_next() == PAGE
    assert engine.web.asked == [ROBOTS, PAGE]
    assert (engine.of(PAGE).state, engine.of(PAGE).attempts) == (UrlState.ARCHIVED, 1)


async def test_a_robots_is_read_up_to_a_bound_and_closed(engine: Engine) -> None:
    answer = document(ROBOTS, b"User-agent: *\nDisallow:\n")
    engine.web.say(ROBOTS, Fetched(document=answer))
    await engine.ask(PAGE)
    assert engine.web.requests == [(ROBOTS, None, RobotsConfig().max_bytes)]
    assert isinstance(answer.body, Body)
    assert answer.body.is_closed


async def test_a_page_that_robots_disallows_is_refused_with_the_line_and_never_asked_for(
    engine: Engine,
) -> None:
    engine.web.robots(ROBOTS, "User-agent: *", "Disallow: /p")
    await engine.ask(PAGE)
    engine.clock.advance(1.0)
    await engine.ask_next()
    record = engine.of(PAGE)
    assert engine.web.asked == [ROBOTS]
    assert (record.state, record.reason) == (UrlState.REFUSED, "robots_disallowed")
    assert (record.detail, record.attempts) == ("line 2: Disallow: /p", 0)
    assert engine.core.frontier.queued == 0


async def test_a_refusal_costs_the_host_no_gap(engine: Engine) -> None:
    engine.web.robots(ROBOTS, "User-agent: *", "Disallow: /p")
    engine.web.page("http://a.test/q")
    await engine.ask(PAGE)
    engine.queue("http://a.test/q")
    engine.clock.advance(1.0)
    assert {await engine.ask_next(), await engine.ask_next()} == {PAGE, "http://a.test/q"}


async def test_while_robots_is_unreachable_its_pages_wait_and_lose_no_attempt(
    engine: Engine,
) -> None:
    engine.web.say(ROBOTS, DEAD)
    engine.web.page(PAGE)
    await engine.ask(PAGE)
    engine.clock.advance(1.0)
    await engine.ask_next()
    assert engine.web.asked == [ROBOTS]
    assert not engine.has_record(PAGE)
    assert engine.wait_s == 4.0
    engine.clock.advance(4.0)
    engine.web.robots(ROBOTS, "User-agent: *", "Disallow:")
    await engine.ask_next()
    engine.clock.advance(1.0)
    assert await engine.ask_next() == PAGE
    assert engine.of(PAGE).attempts == 1
    assert engine.web.asked == [ROBOTS, ROBOTS, PAGE]


async def test_an_unreachable_robots_does_not_hold_up_another_origin_of_the_host(
    engine: Engine,
) -> None:
    other = "http://a.test:8080/q"
    engine.web.say(ROBOTS, DEAD)
    engine.queue(PAGE, other)
    for _ in range(8):
        engine.clock.advance(1.0)
        await engine.ask_next()
    assert engine.web.asked.count(ROBOTS) == 1
    assert other in engine.web.asked
    assert not engine.has_record(PAGE)


async def test_a_robots_that_fails_twice_parks_its_host_and_refuses_nothing(
    engine: Engine,
) -> None:
    engine.web.say(ROBOTS, DEAD, Failed(kind=FailureKind.HTTP_5XX, detail="500"))
    engine.queue(PAGE, "http://a.test/q")
    await engine.ask_next()
    engine.clock.advance(5.0)
    await engine.ask_next()
    engine.ledger.commit()
    assert engine.core.frontier.parked == Parked(hosts=1, urls=2)
    assert engine.core.frontier.hosts.row("a.test").outage.reason == "robots_unreachable"  # type: ignore[union-attr]
    engine.web.robots(ROBOTS, "User-agent: *", "Disallow:")
    engine.clock.advance(9.9)
    assert await engine.ask_next() == ""
    engine.clock.advance(0.6)
    assert await engine.ask_next() != ""
    assert engine.core.frontier.parked == Parked(hosts=0, urls=0)
    assert engine.web.asked == [ROBOTS, ROBOTS, ROBOTS]
    assert not engine.has_record(PAGE)


async def test_a_host_whose_robots_leads_to_a_dead_host_is_parked_with_it(engine: Engine) -> None:
    hop = "http://b.test/robots.txt"
    moved = Redirected(document=document(ROBOTS, b"", 301), target=hop)
    engine.web.say(ROBOTS, moved, moved, moved)
    engine.web.say(hop, DEAD, DEAD)
    await engine.ask(PAGE)
    for _ in range(24):
        engine.clock.advance(0.5)
        await engine.ask_next()
        engine.ledger.commit()
    assert engine.core.frontier.parked == Parked(hosts=1, urls=1)
    engine.web.robots(hop, "User-agent: *", "Disallow:")
    for _ in range(200):
        engine.clock.advance(0.5)
        await engine.ask_next()
        engine.ledger.commit()
    assert PAGE in engine.web.asked
    assert engine.core.frontier.parked == Parked(hosts=0, urls=0)


async def test_a_name_that_does_not_exist_fails_the_page_and_not_its_robots(
    engine: Engine,
) -> None:
    engine.names.table["a.test"] = Failed(kind=FailureKind.DNS_NO_SUCH_HOST, detail="NXDOMAIN")
    await engine.ask(PAGE)
    record = engine.of(PAGE)
    assert (record.state, record.reason) == (UrlState.FAILED, "dns_no_such_host")
    assert record.detail == "NXDOMAIN"
    assert engine.web.asked == []
    assert engine.state.totals().requests == 0


async def test_a_robots_that_leads_to_another_host_makes_that_host_busy(engine: Engine) -> None:
    hop = "http://b.test/robots.txt"
    moved = Redirected(document=document(ROBOTS, b"", 301), target=hop)
    engine.web.say(ROBOTS, moved)
    engine.web.robots(hop, "User-agent: *", "Disallow: /p", "Crawl-delay: 9")
    await engine.ask(PAGE)
    engine.clock.advance(1.0)
    task = engine.next()
    assert task is not None
    engine.web.hold(hop)
    asking = asyncio.ensure_future(engine.worker.ask(task))
    await rounds()
    assert engine.web.asked == [ROBOTS, hop]
    engine.queue("http://b.test/q", "http://c.test/q")
    assert (await engine.ask_next(), engine.next()) == ("http://c.test/q", None)
    engine.web.let_go(hop)
    await asking
    assert engine.next() is not None  # our host was not asked: no gap is due
    assert engine.core.robots.peek(url(PAGE), engine.time.now()) is not None


async def test_the_host_on_the_way_has_its_usual_gap_afterwards(engine: Engine) -> None:
    hop = "http://b.test/robots.txt"
    engine.web.say(ROBOTS, Redirected(document=document(ROBOTS, b"", 301), target=hop))
    engine.web.robots(hop, "User-agent: *", "Crawl-delay: 9")
    await engine.ask(PAGE)
    engine.clock.advance(1.0)
    await engine.ask_next()
    row = engine.core.frontier.hosts.row("b.test")
    assert (row.next_at - engine.time.now(), row.crawl_delay_s) == (1.0, None)


async def test_a_robots_that_leads_to_a_host_that_rests_waits_for_it(engine: Engine) -> None:
    hop = "http://b.test/robots.txt"
    engine.web.say(ROBOTS, Redirected(document=document(ROBOTS, b"", 301), target=hop))
    await engine.ask(PAGE)
    hosts = engine.core.frontier.hosts
    hosts.hold(host_key("b.test"), hosts.row("b.test"), engine.time.now() + 7.0, "min_delay")
    engine.clock.advance(1.0)
    assert await engine.ask_next() == PAGE
    assert engine.web.asked == [ROBOTS]
    assert engine.wait_s == 6.0
    assert not engine.has_record(PAGE)


async def test_a_bug_on_the_way_to_a_robots_sets_the_other_host_free(engine: Engine) -> None:
    hop = "http://b.test/robots.txt"
    engine.web.say(ROBOTS, Redirected(document=document(ROBOTS, b"", 301), target=hop))
    engine.web.say(hop, RuntimeError("a bug"))
    await engine.ask(PAGE)
    engine.clock.advance(1.0)
    task = engine.next()
    assert task is not None
    with pytest.raises(RuntimeError, match="a bug"):
        await engine.worker.ask(task)
    engine.queue("http://b.test/q")
    assert engine.next() is None
    engine.clock.advance(1.0)
    assert await engine.ask_next() == "http://b.test/q"


async def test_sitemaps_that_robots_names_are_queued_once(engine: Engine) -> None:
    engine.web.robots(
        ROBOTS, "Sitemap: http://a.test/map.xml", "Sitemap: /map.xml", "User-agent: *"
    )
    await engine.ask(PAGE)
    engine.clock.advance(1.0)
    tasks = []
    while (task := engine.next()) is not None:
        tasks.append((task.url.text, task.kind, task.via, task.depth))
        engine.core.frontier.settle(task, engine.time.now(), None)
    assert tasks == [
        (PAGE, LinkKind.SEED, "", 0),
        ("http://a.test/map.xml", LinkKind.SITEMAP, ROBOTS, 0),
    ]


async def test_no_sitemap_is_queued_where_they_are_not_wanted(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(PLAIN, process=ProcessConfig(sitemaps=False)))
    engine.web.robots(ROBOTS, "Sitemap: http://a.test/map.xml")
    await engine.ask(PAGE)
    assert engine.core.frontier.queued == 1


async def test_a_crawl_delay_is_the_gap_after_robots_and_after_pages(engine: Engine) -> None:
    engine.web.robots(ROBOTS, "User-agent: *", "Crawl-delay: 7")
    engine.web.page(PAGE)
    await engine.ask(PAGE)
    assert engine.wait_s == 7.0
    engine.queue("http://a.test/q")
    engine.clock.advance(7.0)
    await engine.ask_next()
    engine.ledger.commit()
    assert engine.wait_s == 7.0


async def test_a_robots_that_is_throttled_makes_the_commit_urgent(engine: Engine) -> None:
    engine.web.say(ROBOTS, BUSY)
    await engine.ask(PAGE)
    assert engine.is_urgent
    engine.ledger.commit()
    assert engine.wait_s == 30.0


async def test_a_file_has_no_robots(engine: Engine) -> None:
    engine.web.page("file:///tmp/x.html")
    await engine.ask("file:///tmp/x.html")
    assert engine.web.asked == ["file:///tmp/x.html"]


# The address's own gap


@pytest.fixture
def shared(tmp_path: Path) -> Engine:
    """An engine for which two hosts live at one address, which wants 0.5 s between requests."""
    polite = PolitenessConfig(delay_s=1.0, address_delay_s=0.5)
    engine = open_engine(tmp_path, config(OWN, politeness=polite))
    engine.names.table = {"a.test": ("127.0.0.1",), "b.test": ("127.0.0.1",)}
    return engine


async def test_a_task_whose_address_is_not_due_goes_back_and_loses_no_attempt(
    shared: Engine,
) -> None:
    other = "http://b.test/q"
    shared.web.page(PAGE)
    shared.web.page(other)
    await shared.ask(PAGE)
    await shared.ask(other)
    assert shared.web.asked == [PAGE]
    assert not shared.has_record(other)
    assert shared.wait_s == 0.5
    shared.clock.advance(0.5)
    assert await shared.ask_next() == other
    assert (shared.of(other).attempts, len(shared.of(other).visits)) == (1, 1)
    assert shared.state.totals().requests == 2


async def test_an_address_is_left_alone_for_its_gap_from_where_a_request_goes_out(
    shared: Engine,
) -> None:
    other = "http://b.test/q"
    shared.web.connect_s = 0.3  # a new connection, and TLS; the other host's may be open
    shared.web.hold(PAGE)
    began_at = shared.time.now()
    waiting = asyncio.create_task(shared.ask(PAGE))
    for _ in range(50):
        await asyncio.sleep(0)
    assert shared.web.asked == [PAGE]
    shared.clock.advance(0.3)
    await shared.ask(other)
    assert shared.web.asked == [PAGE]
    row = shared.core.frontier.hosts.row("b.test")
    assert row.next_at - began_at == pytest.approx(0.3 + 0.5)
    shared.web.let_go(PAGE)
    await waiting


async def test_hosts_that_wait_for_an_address_try_one_after_the_other(shared: Engine) -> None:
    shared.names.table["c.test"] = ("127.0.0.1",)
    pages = [PAGE, "http://b.test/q", "http://c.test/r"]
    for page in pages:
        shared.web.page(page)
        await shared.ask(page)
    hosts, now = shared.core.frontier.hosts, shared.time.now()
    rows = [hosts.row(host) for host in ("b.test", "c.test")]
    assert [(row.next_at - now, row.reason) for row in rows] == [
        (0.5, "address_delay"),
        (1.0, "address_delay"),
    ]
    for page in pages[1:]:
        shared.clock.advance(0.5)
        assert await shared.ask_next() == page
    assert shared.web.asked == pages


async def test_a_robots_whose_address_is_not_due_waits_too(tmp_path: Path) -> None:
    polite = PolitenessConfig(delay_s=1.0, address_delay_s=0.5)
    engine = open_engine(tmp_path, config(PLAIN, politeness=polite))
    engine.names.table = {"a.test": ("127.0.0.1",), "b.test": ("127.0.0.1",)}
    await engine.ask(PAGE)
    await engine.ask("http://b.test/q")
    assert engine.web.asked == [ROBOTS]
    assert engine.wait_s == 0.5
    engine.clock.advance(0.5)
    assert await engine.ask_next() == "http://b.test/q"
    assert engine.web.asked == [ROBOTS, "http://b.test/robots.txt"]
    assert not engine.has_record("http://b.test/q")


async def test_an_address_that_is_not_due_holds_up_every_origin_of_the_host(
    shared: Engine,
) -> None:
    shared.web.page(PAGE)
    await shared.ask(PAGE)
    shared.queue("http://b.test/q", "http://b.test:8080/r")
    assert await shared.ask_next() == "http://b.test/q"
    assert shared.next() is None
    shared.clock.advance(0.5)
    assert await shared.ask_next() == "http://b.test/q"


# The turn


async def test_the_host_is_settled_first_then_the_turn_is_recorded_then_held_tasks_go(
    own: Engine,
) -> None:
    own.web.page(PAGE)
    task = own.lease(PAGE)
    own.events.clear()
    await own.worker.ask(task)
    assert own.events == ["observe", "entry", "conclude", "settle", "release"]


async def test_a_refused_task_goes_the_same_way(own: Engine) -> None:
    own.suspicion.verdicts[PAGE] = Objection(Reject.TRAP_ENDLESS, "deep")
    task = own.lease(PAGE)
    own.events.clear()
    await own.worker.ask(task)
    assert own.events == ["observe", "entry", "conclude", "settle", "release"]


async def test_what_a_page_links_to_is_queued_once(own: Engine) -> None:
    own.web.page(PAGE, "", "/q", "/q", "http://b.test/", "/p")
    await own.ask(PAGE)
    own.ledger.commit()
    assert own.core.frontier.queued == 2
    assert own.stored() == [PAGE]


async def test_the_gap_begins_when_the_answer_came_and_the_turn_is_dated_after_it(
    own: Engine,
) -> None:
    began_at = own.time.now()
    own.web.latency_s = 0.25
    own.web.page(PAGE)
    await own.ask(PAGE)
    own.queue("http://a.test/q")
    own.ledger.commit()
    assert own.of(PAGE).visits[0].at == began_at + 0.25
    assert own.core.frontier.hosts.row("a.test").next_at == began_at + 1.25


async def test_a_page_that_says_what_another_says_is_a_copy_of_it(own: Engine) -> None:
    own.web.page(PAGE, "the same")
    own.web.page("http://b.test/q", "the same")
    await own.ask(PAGE)
    await own.ask("http://b.test/q")
    assert own.of("http://b.test/q").copy_of == PAGE
    assert own.state.totals().revisits == 1


async def test_what_stood_in_the_way_of_decoding_is_written_down(own: Engine) -> None:
    answer = document(PAGE, b"<p>text</p>", oddities=("odd",))
    answer.body = Body(b"<p>text</p>", decode_note="bomb")
    own.web.say(PAGE, Fetched(document=answer))
    await own.ask(PAGE)
    assert own.of(PAGE).detail == "odd; decoding: bomb"


async def test_a_page_of_an_unwanted_type_is_refused_and_its_body_closed(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(process=ProcessConfig(media_types=("image/*",))))
    answer = document(PAGE, b"<html><p>text</p></html>")
    engine.web.say(PAGE, Fetched(document=answer))
    await engine.ask(PAGE)
    record = engine.of(PAGE)
    assert (record.state, record.reason) == (UrlState.REFUSED, "content_type")
    assert record.detail == "text/html"
    assert isinstance(answer.body, Body)
    assert answer.body.is_closed
    engine.queue("http://a.test/q")
    engine.ledger.commit()
    assert engine.next() is None  # the server was asked: its gap is due


async def test_a_page_of_a_wanted_type_is_kept(tmp_path: Path) -> None:
    wanted = ProcessConfig(media_types=("image/*", "text/*"))
    engine = open_engine(tmp_path, config(process=wanted))
    engine.web.page(PAGE)
    await engine.ask(PAGE)
    assert engine.of(PAGE).state is UrlState.ARCHIVED


async def test_what_the_fetcher_declines_is_refused_without_a_gap(own: Engine) -> None:
    own.web.say(PAGE, Refused(kind=RefusalKind.PRIVATE_ADDRESS, detail="10.0.0.1"))
    await own.ask(PAGE)
    own.queue("http://a.test/q")
    assert (own.of(PAGE).reason, own.of(PAGE).detail) == ("private_address", "10.0.0.1")
    assert own.next() is not None


async def test_a_redirect_is_followed_as_a_task_of_its_own(own: Engine) -> None:
    own.web.say(PAGE, Redirected(document=document(PAGE, b"", 301), target="/q"))
    await own.ask(PAGE)
    assert (own.of(PAGE).state, own.of(PAGE).target) == (UrlState.REDIRECTED, "http://a.test/q")
    own.clock.advance(1.0)
    task = own.next()
    assert task is not None
    assert (task.url.text, task.hops, task.depth) == ("http://a.test/q", 1, 0)


# Failures


async def test_a_failure_that_may_pass_is_tried_again_at_its_moment(own: Engine) -> None:
    own.web.say(PAGE, CUT, CUT)
    own.web.page(PAGE)
    await own.ask(PAGE)
    record = own.of(PAGE)
    assert (record.state, record.reason) == (UrlState.WAITING, "disconnected")
    assert record.retry_at == own.time.now() + 1.0
    assert own.core.frontier.queued == 1
    own.clock.advance(0.9)
    assert await own.ask_next() == ""
    own.clock.advance(0.1)
    assert await own.ask_next() == PAGE
    assert own.of(PAGE).retry_at == own.time.now() + 1.0  # the host may be down: it was free
    own.clock.advance(1.0)
    assert await own.ask_next() == PAGE
    record = own.of(PAGE)
    assert (record.state, record.attempts, record.retry_at) == (UrlState.ARCHIVED, 1, None)
    assert own.core.frontier.queued == 0


async def test_a_page_that_fails_while_others_are_answered_is_final_after_its_tries(
    own: Engine,
) -> None:
    own.web.say(PAGE, *[ERROR] * 4)
    own.queue(PAGE)
    for number in range(130):
        own.queue(f"http://a.test/{number}")
        await own.ask_next()
        own.ledger.commit()
        own.clock.advance(1.0)
    record = own.of(PAGE)
    assert (record.state, record.reason, record.attempts) == (UrlState.FAILED, "http_500", 4)
    assert record.detail == "500"
    totals = own.state.totals()
    assert (totals.failed["http_500"], totals.retries) == (1, {"http_500": 3})
    assert own.core.frontier.parked == Parked(hosts=0, urls=0)


async def test_another_page_of_the_host_goes_while_one_waits_for_its_next_try(
    own: Engine,
) -> None:
    own.web.say(PAGE, DEAD)
    own.queue(PAGE, "http://a.test/q")
    await own.ask_next()
    own.ledger.commit()
    own.clock.advance(1.0)
    assert await own.ask_next() == "http://a.test/q"


async def test_a_throttled_task_keeps_its_place_and_its_host_rests_as_asked(own: Engine) -> None:
    own.web.say(PAGE, BUSY)
    own.queue(PAGE, "http://a.test/q")
    assert await own.ask_next() == PAGE
    assert own.is_urgent
    record = own.of(PAGE)
    assert (record.state, record.reason) == (UrlState.WAITING, "throttled")
    assert own.wait_s == 30.0
    own.clock.advance(30.0)
    assert await own.ask_next() == PAGE
    assert own.of(PAGE).attempts == 1


async def test_a_failure_that_is_not_a_throttle_is_not_urgent(own: Engine) -> None:
    own.web.say(PAGE, CUT)
    await own.ask(PAGE)
    assert not own.is_urgent


async def test_an_outage_of_names_before_anything_was_reached_ends_after_five_tries(
    own: Engine,
) -> None:
    own.names.table["a.test"] = Failed(kind=FailureKind.DNS_UNREACHABLE)
    await own.ask(PAGE)
    for _ in range(4):
        assert own.of(PAGE).state is UrlState.WAITING
        own.clock.advance(10.0)
        assert await own.ask_next() == PAGE
    assert (own.of(PAGE).state, own.of(PAGE).reason) == (UrlState.FAILED, "dns_unreachable")
    assert own.core.frontier.queued == 0


async def test_an_outage_of_names_later_on_is_waited_out(own: Engine) -> None:
    own.web.page("http://b.test/q")
    await own.ask("http://b.test/q")
    own.names.table["a.test"] = Failed(kind=FailureKind.DNS_UNREACHABLE)
    await own.ask(PAGE)
    for _ in range(8):
        own.ledger.commit()
        own.clock.advance(10.0)
        assert await own.ask_next() == PAGE
    assert own.of(PAGE).state is UrlState.WAITING


async def test_a_host_whose_name_cannot_be_looked_up_waits_for_the_next_try(own: Engine) -> None:
    own.names.table["a.test"] = Failed(kind=FailureKind.DNS_UNREACHABLE)
    own.queue(PAGE, "http://a.test/q")
    await own.ask_next()
    own.ledger.commit()
    assert own.wait_s == 5.0


async def test_the_page_of_a_gate_is_named_in_the_failure(own: Engine) -> None:
    gate = document(PAGE, b"<title>Just a moment...</title>", 403)
    own.web.say(PAGE, Failed(kind=FailureKind.HTTP_4XX, detail="403", document=gate))
    await own.ask(PAGE)
    assert own.of(PAGE).detail == "403 (challenge)"


async def test_giving_up_ends_the_task_and_its_host_rests(own: Engine) -> None:
    task, bug = own.lease(PAGE), ValueError("our bug")
    own.web.say(PAGE, bug)
    with pytest.raises(ValueError, match="our bug"):
        await own.worker.ask(task)
    own.worker.give_up(task, bug)
    record = own.of(PAGE)
    assert (record.state, record.reason) == (UrlState.FAILED, "internal_error")
    assert record.detail == "ValueError('our bug')"
    assert own.core.frontier.queued == 0
    own.queue("http://a.test/q")
    own.ledger.commit()
    assert own.next() is None
    own.clock.advance(1.0)
    assert own.next() is not None


async def test_the_trap_detector_hears_of_a_task_that_was_given_up(own: Engine) -> None:
    """Or a probe of a part on probation would be in flight for ever."""
    task, bug = own.lease(PAGE), ValueError("our bug")
    own.web.say(PAGE, bug)
    with pytest.raises(ValueError, match="our bug"):
        await own.worker.ask(task)
    own.events.clear()
    own.worker.give_up(task, bug)
    assert own.events == ["conclude", "settle", "entry", "observe", "release"]


async def test_a_trap_detector_that_fails_on_what_was_given_up_costs_no_other_url(
    own: Engine,
) -> None:
    task = own.lease(PAGE)
    own.web.page(PAGE)
    own.suspicion.bug, own.suspicion.is_lasting = ValueError("theirs"), True
    with pytest.raises(ValueError, match="theirs"):
        await own.worker.ask(task)
    own.worker.give_up(task, ValueError("theirs"))
    assert own.of(PAGE).reason == "internal_error"


async def test_a_revisit_on_which_our_own_code_fails_twice_is_let_go(own: Engine) -> None:
    own.web.page(PAGE)
    await own.ask(PAGE)
    own.ledger.commit()
    let_go: list[tuple[int, float]] = []

    class Watching:
        def note_revisit(self, *_: object) -> None:
            raise ValueError("a bug in learning")

        def let_go(self, key: int, until: float) -> None:
            let_go.append((key, until))

    revisits = replace(own.worker.revisits, watcher=Watching())  # type: ignore[arg-type]
    worker = replace(own.worker, revisits=revisits)
    own.core.frontier.lease_first([task_of(PAGE, kind=LinkKind.REVISIT)])
    own.ledger.commit()
    own.clock.advance(60.0)
    task = own.next()
    assert task is not None
    with pytest.raises(ValueError, match="a bug in learning"):
        await worker.ask(task)
    worker.give_up(task, ValueError("a bug in learning"))
    assert let_go == [(task.url.key, own.time.now() + REST_S)]
    assert own.of(PAGE).visits[-1].state == "no_answer"


async def test_a_bug_after_a_page_was_recorded_does_not_undo_it(own: Engine) -> None:
    task = own.lease(PAGE)
    own.web.page(PAGE)
    await own.worker.ask(task)
    own.worker.give_up(task, ValueError("too late"))
    assert own.of(PAGE).state is UrlState.ARCHIVED
    assert own.ledger.counters.pages == 1
    assert own.ledger.counters.failed == {}


async def test_a_revisit_that_our_own_code_fails_on_is_tried_again_later(own: Engine) -> None:
    own.web.page(PAGE)
    await own.ask(PAGE)
    own.ledger.commit()
    again, bug = task_of(PAGE, kind=LinkKind.REVISIT), ValueError("our bug")
    own.core.frontier.lease_first([again])
    own.ledger.commit()
    own.clock.advance(60.0)
    own.web.say(PAGE, bug)
    task = own.next()
    assert task is not None
    with pytest.raises(ValueError, match="our bug"):
        await own.worker.ask(task)
    own.worker.give_up(task, bug)
    record = own.of(PAGE)
    assert record.state is UrlState.ARCHIVED
    assert record.visits[-1].state == "no_answer"
    assert record.retry_at is not None
    assert record.retry_at > own.time.now()


# Traps


async def test_a_task_that_a_trap_closed_is_refused_unasked(own: Engine) -> None:
    own.suspicion.verdicts[PAGE] = Objection(Reject.TRAP_ENDLESS, "deep")
    await own.ask(PAGE, kind=LinkKind.ANCHOR)
    record = own.of(PAGE)
    assert (record.state, record.reason) == (UrlState.REFUSED, "trap_endless")
    assert (record.detail, own.web.asked) == ("deep", [])


async def test_a_task_that_a_trap_holds_leaves_the_queue_unasked_and_unrecorded(
    own: Engine,
) -> None:
    own.suspicion.verdicts[PAGE] = HELD
    task = own.lease(PAGE, kind=LinkKind.ANCHOR)
    own.events.clear()
    await own.worker.ask(task)
    assert own.events == ["withdraw", "settle", "release"]
    assert not own.has_record(PAGE)
    assert (own.web.asked, own.core.frontier.queued) == ([], 0)
    own.queue("http://a.test/q")
    assert own.next() is not None


async def test_a_revisit_is_not_asked_of_the_traps(own: Engine) -> None:
    own.suspicion.verdicts[PAGE] = Objection(Reject.TRAP_ENDLESS, "deep")
    own.web.page(PAGE)
    await own.ask(PAGE, kind=LinkKind.REVISIT)
    assert own.web.asked == [PAGE]


# Revisits


async def test_a_revisit_asks_with_the_marks_of_what_we_have(own: Engine) -> None:
    own.web.page(PAGE, fields={"etag": '"e"'})
    await own.ask(PAGE)
    own.ledger.commit()
    own.clock.advance(1.0)
    own.web.say(PAGE, Fetched(document=document(PAGE, b"", 304)))
    await own.ask(PAGE, kind=LinkKind.REVISIT)
    (_, first, _), (_, second, _) = own.web.requests
    assert first is None
    assert second is not None
    assert second.etag == '"e"'
    record = own.of(PAGE)
    assert [visit.state for visit in record.visits] == ["archived", "unchanged"]
    assert (record.kind, record.attempts) == ("seed", 1)


async def test_a_revisit_that_fails_is_not_queued_for_another_try(own: Engine) -> None:
    own.web.page(PAGE)
    await own.ask(PAGE)
    own.ledger.commit()
    own.clock.advance(1.0)
    own.web.say(PAGE, CUT)
    await own.ask(PAGE, kind=LinkKind.REVISIT)
    record = own.of(PAGE)
    assert (record.state, record.visits[-1].state) == (UrlState.ARCHIVED, "no_answer")
    assert record.retry_at == own.time.now() + 1.0
    assert own.core.frontier.queued == 0


# Kept connections

STALE = Failed(kind=FailureKind.STALE_CONNECTION)


async def test_a_page_whose_kept_connection_broke_is_asked_for_again_after_the_gap_and_loses_no_try(
    own: Engine,
) -> None:
    own.web.say(PAGE, STALE)
    own.web.page(PAGE)
    await own.ask(PAGE)
    assert not own.has_record(PAGE)
    assert own.core.counters.retries == {"stale_connection": 1}
    assert own.next() is None
    own.clock.advance(1.0)
    task = own.next()
    assert task is not None
    assert (task.url.text, task.attempt) == (PAGE, 0)


async def test_a_robots_whose_kept_connection_broke_is_asked_for_again_after_the_gap(
    engine: Engine,
) -> None:
    engine.web.say(ROBOTS, STALE)
    engine.web.robots(ROBOTS, "User-agent: *", "Disallow: /private")
    engine.web.page(PAGE)
    await engine.ask(PAGE)
    assert await engine.ask_next() == ""
    engine.clock.advance(1.0)
    assert await engine.ask_next() == PAGE
    assert engine.web.asked == [ROBOTS, ROBOTS]
