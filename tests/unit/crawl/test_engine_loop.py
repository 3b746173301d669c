"""The engine loop: lease, dispatch, commit, wait; when it begins nothing new, and when it ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.crawl.harness import (
    HOSTS,
    OWN,
    PLAIN,
    Engine,
    Peers,
    config,
    limits,
    open_engine,
)

from gossamer.config import Config, FrontierConfig, RobotsConfig, StoreConfig
from gossamer.errors import CannotGoOn
from gossamer.model import Failed, FailureKind, LinkKind, UrlState

SEED = "http://a.test/"
PAGES = [f"http://a.test/{number}" for number in range(6)]
HOMES = [f"http://{host}/" for host in HOSTS]
NEVER = 1e6


def site(engine: Engine) -> None:
    """Put a seed and six pages of one host on the web, and queue the seed."""
    engine.web.page(SEED, "", *PAGES)
    for page in PAGES:
        engine.web.page(page)
    engine.queue(SEED)


def homes(engine: Engine, count: int) -> list[str]:
    """Put one page of so many hosts on the web, and queue them."""
    for home in HOMES[:count]:
        engine.web.page(home)
    engine.queue(*HOMES[:count])
    return HOMES[:count]


def slow_commits(*, commit_s: float = NEVER, commit_pages: int = 64, **more: object) -> Config:
    store = StoreConfig(commit_s=commit_s, commit_pages=commit_pages, sync="never")
    return config(store=store, **more)


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator["asyncio.Future[bool]"]:
    """Run the loop beside a test; it is stopped afterwards."""
    run = asyncio.ensure_future(engine.loop.run())
    try:
        await engine.pass_time()
        yield run
    finally:
        run.cancel()
        await asyncio.wait([run])


async def ended(run: "asyncio.Future[bool]") -> bool:
    """Return True if a run ends without more of its own time passing, however slow we are."""
    await asyncio.wait([run], timeout=60.0)
    return run.done()


# The end


async def test_it_ends_when_nothing_is_left_to_do(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    site(engine)
    assert await engine.run()
    assert engine.stored() == sorted([SEED, *PAGES])
    assert sorted(engine.web.asked) == sorted([SEED, *PAGES])
    assert engine.core.frontier.queued == 0


async def test_a_crawl_without_work_ends_at_once(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    assert await engine.run(seconds=1.0)
    assert engine.web.asked == []


async def test_a_url_that_waits_for_its_next_try_is_work_that_is_left(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    engine.web.say(SEED, Failed(kind=FailureKind.CONNECT_FAILED))
    engine.web.page(SEED)
    engine.queue(SEED)
    assert await engine.run()
    assert engine.web.asked == [SEED, SEED]
    assert engine.of(SEED).attempts == 1


async def test_no_more_pages_are_stored_than_wanted(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(limits=limits(max_pages=3)))
    site(engine)
    assert not await engine.run()
    assert len(engine.stored()) == len(engine.web.asked) == 3
    assert engine.state.totals().pages == 3
    assert engine.core.frontier.queued == 4


async def test_many_hosts_at_once_do_not_overshoot_the_wanted_pages(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(limits=limits(max_pages=2)))
    homes(engine, 5)
    assert not await engine.run()
    assert len(engine.web.asked) == 2


async def test_a_page_that_failed_leaves_room_for_another(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(limits=limits(max_pages=2)))
    engine.queue("http://a.test/missing")
    homes(engine, 3)
    assert not await engine.run()
    assert len(engine.stored()) == 2


async def test_it_stops_when_its_time_is_over(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(limits=limits(max_time_s=2.5)))
    site(engine)
    assert not await engine.run()
    assert len(engine.web.asked) == 3
    assert engine.loop.limit_reached() == "max_time"


async def test_it_stops_when_the_archive_is_as_large_as_wanted(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(limits=limits(max_bytes=1)))
    site(engine)
    assert not await engine.run()
    assert engine.web.asked == [SEED]


async def test_what_is_under_way_when_somebody_asks_to_stop_is_committed(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits())
    one, two = homes(engine, 2)
    engine.web.hold(one)
    async with running(engine) as run:
        engine.run_state.stop("asked")
        engine.queue("http://c.test/")
        await engine.pass_time(1.0)
        assert not run.done()
        engine.web.let_go(one)
        await engine.pass_time(1.0)
        assert await ended(run)
        assert not run.result()
    assert engine.stored() == [one, two]
    assert "http://c.test/" not in engine.web.asked


async def test_a_stop_waits_eight_seconds_for_answers(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    (home,) = homes(engine, 1)
    engine.web.hold(home)
    async with running(engine) as run:
        engine.run_state.stop("asked")
        await engine.pass_time(7.9)
        assert not run.done()
        await engine.pass_time(0.2)
        assert await ended(run)
    assert engine.stored() == []
    assert engine.core.frontier.queued == 1


async def test_the_time_spent_is_counted_over_all_runs(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    engine.ledger.counters.seconds = 100.0
    site(engine)
    began_at = engine.time.now()
    await engine.run()
    assert engine.state.totals().seconds == 100.0 + engine.time.now() - began_at


# Politeness and slots


async def test_a_host_is_asked_once_per_gap(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    site(engine)
    async with running(engine):
        asked = []
        for _ in range(6):
            asked.append(len(engine.web.asked))
            await engine.pass_time(0.5)
    assert asked == [1, 1, 2, 2, 3, 3]


async def test_hosts_do_not_wait_for_each_other(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    one, *others = homes(engine, 4)
    engine.web.hold(one)
    async with running(engine):
        assert sorted(engine.web.asked) == sorted([one, *others])
        await engine.pass_time(0.1)
        assert engine.stored() == others


async def test_no_more_is_under_way_or_uncommitted_than_wanted(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits(commit_s=5.0, concurrency=2, commit_pages=9))
    one, two, *_ = homes(engine, 4)
    for home in HOMES[:4]:
        engine.web.hold(home)
    async with running(engine):
        assert len(engine.web.asked) == 2
        first, second = engine.web.asked
        engine.web.let_go(first)
        await engine.pass_time()
        assert len(engine.web.asked) == 3  # the first is committed: half of two is one
        assert first in engine.stored()
        assert second in {one, two, *HOMES}


async def test_an_uncommitted_page_keeps_its_slot(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits(concurrency=4))
    homes(engine, 5)
    for home in HOMES:
        engine.web.hold(home)
    async with running(engine):
        assert len(engine.web.asked) == 4
        engine.web.let_go(engine.web.asked[0])
        await engine.pass_time()
        assert (len(engine.web.asked), engine.stored()) == (4, [])
        engine.web.let_go(engine.web.asked[1])
        await engine.pass_time()
        assert len(engine.stored()) == 2
        assert len(engine.web.asked) == 5


# When a group is committed


async def test_a_group_is_committed_when_it_is_full(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits(commit_pages=3))
    for home in homes(engine, 5):
        engine.web.hold(home)
    async with running(engine):
        before = engine.commits
        for home in HOMES[:2]:
            engine.web.let_go(home)
        await engine.pass_time(1.0)
        assert engine.commits == before
        engine.web.let_go(HOMES[2])
        await engine.pass_time()
        assert (engine.commits, engine.stored()) == (before + 1, HOMES[:3])


async def test_a_group_is_full_at_half_of_what_may_be_under_way(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits(concurrency=4))
    for home in homes(engine, 4):
        engine.web.hold(home)
    async with running(engine):
        engine.web.let_go(HOMES[0])
        await engine.pass_time()
        assert engine.stored() == []
        engine.web.let_go(HOMES[1])
        await engine.pass_time()
        assert engine.stored() == HOMES[:2]


async def test_answers_of_robots_count_in_a_group(tmp_path: Path) -> None:
    engine = open_engine(
        tmp_path, config(PLAIN, store=StoreConfig(commit_s=NEVER, sync="never"), concurrency=4)
    )
    texts = homes(engine, 3)
    for home in texts:
        engine.web.hold(f"{home}robots.txt")
    async with running(engine):
        before = engine.commits
        engine.web.let_go(f"{texts[0]}robots.txt")
        await engine.pass_time()
        assert engine.commits == before
        engine.web.let_go(f"{texts[1]}robots.txt")
        await engine.pass_time()
        assert engine.commits == before + 1


async def test_a_turn_waits_no_longer_than_its_time(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits(commit_s=5.0))
    one, two = homes(engine, 2)
    engine.web.hold(two)
    async with running(engine):
        await engine.pass_time(4.9)
        assert engine.stored() == []
        await engine.pass_time(0.1)
        assert engine.stored() == [one]


async def test_a_host_that_asks_us_to_slow_down_is_committed_at_once(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits())
    engine.web.say(HOMES[0], Failed(kind=FailureKind.THROTTLED, retry_after_s=60.0))
    engine.web.hold(HOMES[1])
    engine.queue(HOMES[0], HOMES[1])
    async with running(engine):
        record = engine.state.record_of(HOMES[0])
        assert record is not None
        assert record.state is UrlState.WAITING


async def test_when_nothing_is_under_way_nothing_is_waited_for(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, slow_commits())
    (home,) = homes(engine, 1)
    async with running(engine) as run:
        assert engine.stored() == [home]
        await engine.pass_time()
        assert await ended(run)


async def test_leases_that_free_slots_wait_for_are_committed_ten_times_as_soon(
    tmp_path: Path,
) -> None:
    frontier = FrontierConfig(lease_urls=1)
    engine = open_engine(tmp_path, slow_commits(commit_s=5.0, frontier=frontier))
    engine.web.hold(HOMES[1])
    for text in (PAGES[0], PAGES[1], HOMES[1]):
        engine.web.page(text)
        engine.queue(text)
        engine.ledger.commit()  # each is leased by itself
    async with running(engine):
        assert engine.web.asked == [PAGES[0], HOMES[1]]
        await engine.pass_time(0.9)
        assert engine.stored() == []
        await engine.pass_time(0.1)  # its host is ready, and has nothing that is leased
        assert engine.stored() == [PAGES[0]]
        assert engine.web.asked == [PAGES[0], HOMES[1], PAGES[1]]


# Bugs and errors


async def test_a_bug_in_a_station_costs_one_url(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    engine.web.page(SEED, "", *PAGES)
    engine.web.say(PAGES[0], RuntimeError("a bug of ours"))
    for page in PAGES[1:]:
        engine.web.page(page)
    engine.queue(SEED)
    assert await engine.run()
    assert engine.stored() == sorted([SEED, *PAGES[1:]])
    record = engine.of(PAGES[0])
    assert (record.state, record.reason) == (UrlState.FAILED, "internal_error")
    assert record.detail == "RuntimeError('a bug of ours')"
    assert engine.web.asked.count(PAGES[0]) == 1


async def test_a_bug_after_the_fetch_costs_one_url_too(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    site(engine)
    engine.suspicion.bug = ValueError("once")
    assert await engine.run()
    assert engine.of(SEED).reason == "internal_error"
    assert sorted(engine.stored()) == sorted(PAGES), "its links were found, and are followed"


async def test_a_bug_that_strikes_at_every_page_costs_each_page_and_not_the_crawl(
    tmp_path: Path,
) -> None:
    engine = open_engine(tmp_path)
    site(engine)
    engine.suspicion.bug = ValueError("always")
    engine.suspicion.is_lasting = True
    assert await engine.run()
    assert engine.stored() == []
    assert {engine.of(text).reason for text in (SEED, *PAGES)} == {"internal_error"}


@pytest.mark.parametrize("kind", [FailureKind.DISCONNECTED, FailureKind.THROTTLED])
async def test_a_url_that_a_bug_has_ended_is_not_asked_again(
    tmp_path: Path, kind: FailureKind
) -> None:
    """The failure would have been tried again; but what is on record is the end of the URL."""
    engine = open_engine(tmp_path)
    engine.web.say(SEED, Failed(kind=kind))
    engine.web.page(SEED)
    engine.queue(SEED)
    engine.suspicion.bug = ValueError("once")
    assert await engine.run()
    assert engine.of(SEED).reason == "internal_error"
    assert engine.web.asked.count(SEED) == 1


async def test_a_bug_in_making_records_strikes_twice_and_costs_one_url(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    site(engine)
    engine.writer.bug_at = PAGES[2]
    assert await engine.run()
    assert engine.of(PAGES[2]).reason == "internal_error"
    assert sorted(engine.stored()) == sorted({SEED, *PAGES} - {PAGES[2]})
    assert engine.of(PAGES[2]).stored is None


async def test_an_error_that_forbids_to_go_on_ends_the_crawl(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    engine.web.say(SEED, CannotGoOn("the disk is gone"))
    engine.queue(SEED)
    with pytest.raises(ExceptionGroup) as raised:
        await engine.run()
    assert raised.group_contains(CannotGoOn, match="the disk is gone")
    assert engine.state.record_of(SEED) is None


async def test_a_commit_that_fails_ends_the_crawl(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    site(engine)
    engine.state.refusals = 99
    with pytest.raises(ExceptionGroup) as raised:
        await engine.run()
    assert raised.group_contains(CannotGoOn, match="no space left")


async def test_an_error_beside_the_loop_ends_the_crawl(tmp_path: Path) -> None:
    engine = open_engine(tmp_path)
    homes(engine, 1)
    engine.web.hold(HOMES[0])
    async with running(engine) as run:
        engine.run_state.ended(None)
        await engine.pass_time()
        assert not run.done()
        engine.run_state.ended(CannotGoOn("beside"))
        engine.run_state.ended(None)
        await engine.pass_time()
        assert await ended(run)
        assert isinstance(run.exception(), ExceptionGroup)


async def test_a_full_disk_pauses_the_crawl(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(store=StoreConfig(min_free_bytes=1 << 60, sync="never")))
    homes(engine, 1)
    async with running(engine) as run:
        await engine.pass_time(3.0, steps=3)
        assert (engine.web.asked, engine.run_state.paused) == ([], "disk_low")
        assert not run.done()


# Other shards


async def test_while_peers_are_blocked_nothing_new_is_begun(tmp_path: Path) -> None:
    peers = Peers()
    engine = open_engine(tmp_path, peers=peers)
    site(engine)
    async with running(engine) as run:
        assert engine.web.asked == [SEED]
        peers.is_blocked = True
        await engine.pass_time(5.0, steps=5)
        assert engine.web.asked == [SEED]
        assert engine.stored() == [SEED]  # what was begun is committed
        peers.is_blocked = False
        await engine.pass_time(20.0, steps=20)
        assert await ended(run)
    assert len(engine.stored()) == 7


async def test_no_more_pages_are_begun_than_granted(tmp_path: Path) -> None:
    peers = Peers()
    peers.allowed = 2
    engine = open_engine(tmp_path, peers=peers)
    homes(engine, 5)
    async with running(engine):
        await engine.pass_time(5.0, steps=5)
        assert len(engine.web.asked) == 2
        peers.allowed = 3
        await engine.pass_time(1.0)
        assert len(engine.web.asked) == 3


async def test_an_idle_shard_stays_until_it_is_dismissed(tmp_path: Path) -> None:
    peers = Peers()
    peers.is_dismissed = False
    engine = open_engine(tmp_path, peers=peers)
    (home,) = homes(engine, 1)
    async with running(engine) as run:
        await engine.pass_time(3.0, steps=3)
        assert not run.done()
        assert (engine.loop.is_idle, peers.rests > 0) == (True, True)
        engine.queue("http://b.test/", kind=LinkKind.ANCHOR)
        engine.web.page("http://b.test/")
        await engine.pass_time(1.0)
        assert engine.stored() == [home, "http://b.test/"]
        peers.is_dismissed = True
        await engine.pass_time()
        assert await ended(run)
        assert run.result()


async def test_a_dismissed_shard_with_work_goes_on(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, peers=Peers())
    site(engine)
    assert await engine.run()
    assert len(engine.stored()) == 7


async def test_letters_are_committed_though_no_turn_is(tmp_path: Path) -> None:
    peers = Peers()
    peers.is_dismissed = False
    engine = open_engine(tmp_path, slow_commits(), peers=peers)
    async with running(engine):
        before = engine.commits
        peers.has_uncommitted = True
        assert not engine.loop.is_idle
        await engine.pass_time()
        assert (engine.commits, peers.has_uncommitted) == (before + 1, False)


async def test_letters_wait_no_longer_than_turns_while_something_is_under_way(
    tmp_path: Path,
) -> None:
    peers = Peers()
    engine = open_engine(tmp_path, slow_commits(commit_s=5.0), peers=peers)
    (home,) = homes(engine, 1)
    engine.web.hold(home)
    async with running(engine):
        await engine.pass_time(20.0)
        peers.has_uncommitted = True
        await engine.pass_time()
        await engine.pass_time(4.9)
        assert peers.has_uncommitted
        await engine.pass_time(0.1)
        assert not peers.has_uncommitted


# Durability


async def settled(engine: Engine, event: str) -> bool:
    """Wait for what a thread does; long, since the machine may be slow."""
    return await comes(lambda: event in engine.events)


async def comes(is_there: Callable[[], bool]) -> bool:
    """Wait for something that a thread brings about; long, since the machine may be slow."""
    for _ in range(20_000):
        if is_there():
            return True
        await asyncio.sleep(0.001)
    return False


async def test_with_sync_second_commits_are_durable_a_second_later(tmp_path: Path) -> None:
    peers = Peers()
    engine = open_engine(tmp_path, config(store=StoreConfig(sync="second")), peers=peers)
    one, two = homes(engine, 2)
    engine.web.hold(two)
    async with running(engine):
        await engine.pass_time(0.9)
        assert engine.stored() == [one]
        assert "sync state" not in engine.events
        commits = peers.commits
        await engine.pass_time(0.1)
        assert await settled(engine, "sync state")
        assert await comes(lambda: bool(peers.durable_commits))
        assert engine.events.index("sync archive") < engine.events.index("sync state")
        assert peers.durable_commits == [commits]


async def test_with_sync_never_the_disk_is_not_asked(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(store=StoreConfig(sync="never")))
    site(engine)
    await engine.run()
    assert not {"sync state", "sync archive"} & set(engine.events)


async def test_with_sync_never_files_that_were_rotated_are_durable_a_second_later(
    tmp_path: Path,
) -> None:
    store = StoreConfig(sync="never", file_bytes=1, commit_pages=1)
    engine = open_engine(tmp_path, config(store=store))
    one, two, three = homes(engine, 3)
    engine.web.hold(two)
    engine.web.hold(three)
    async with running(engine):
        await engine.pass_time(5.0)
        assert "sync state" not in engine.events
        engine.web.let_go(two)
        await engine.pass_time(1.0)
        assert engine.stored() == sorted([one, two])
        assert await settled(engine, "write ends")
        synced = [event for event in engine.events if "sync" in event or "ends" in event]
        assert synced == ["sync archive", "sync state", "write ends"]


async def test_with_sync_each_every_commit_is_durable(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, config(OWN, store=StoreConfig(sync="each")))
    site(engine)
    await engine.run()
    assert engine.events.count("sync state") == engine.commits


# Slow hosts

MANY = [f"{number}.test" for number in range(12)]
MANY_HOMES = [f"http://{host}/" for host in MANY]


def many(tmp_path: Path, *, hanging: int, peers: Peers | None = None) -> Engine:
    """Return an engine with eight slots and twelve hosts, of which some do not answer."""
    engine = open_engine(tmp_path, config(robots=RobotsConfig(own_hosts=tuple(MANY))), peers)
    for home in MANY_HOMES:
        engine.web.page(home)
    for home in MANY_HOMES[:hanging]:
        engine.web.hold(home)
    engine.queue(*MANY_HOMES)
    return engine


def parked(engine: Engine) -> list[str]:
    return [host for host in MANY if engine.core.frontier.hosts.row(host).is_parked]


async def test_hosts_that_hang_are_cut_and_parked_for_others_that_wait(tmp_path: Path) -> None:
    engine = many(tmp_path, hanging=9)
    async with running(engine):
        await engine.pass_time()
        asked = list(engine.web.asked)
        assert len(asked) == 6  # half of the fast lane, then the slow one
        await engine.pass_time(1.9, steps=4)
        assert set(asked[:4]).isdisjoint(f"http://{host}/" for host in parked(engine))
        await engine.pass_time(3.0, steps=12)
        assert set(MANY_HOMES) <= set(engine.web.asked)
        assert set(MANY_HOMES[9:]) <= set(engine.stored())
        assert {"http://" + host + "/" for host in parked(engine)} < set(MANY_HOMES[:9])


async def test_a_probe_that_hangs_is_a_part_of_waiting_for_hosts_that_are_down(
    tmp_path: Path,
) -> None:
    engine = open_engine(tmp_path, config(robots=RobotsConfig(own_hosts=tuple(MANY))))
    engine.web.say(MANY_HOMES[0], *[Failed(kind=FailureKind.FIRST_BYTE_TIMEOUT)] * 2)
    engine.queue(MANY_HOMES[0])
    async with running(engine):
        assert not engine.loop.outages().is_waiting
        await engine.pass_time(6.0, steps=12)
        assert engine.core.frontier.parked.hosts == 1
        engine.web.hold(MANY_HOMES[0])
        assert engine.loop.outages().is_waiting
        await engine.pass_time(12.0, steps=24)
        assert len(engine.run_state.in_flight) == 1
        assert engine.loop.outages().is_waiting


async def test_hosts_that_hang_are_left_in_peace_while_nobody_waits(tmp_path: Path) -> None:
    engine = many(tmp_path, hanging=5)
    async with running(engine):
        await engine.pass_time(15.0, steps=60)
        assert parked(engine) == []
        assert len(engine.run_state.in_flight) == 5
        for home in MANY_HOMES[:5]:
            engine.web.let_go(home)
        await engine.pass_time(1.0)
        assert engine.stored() == sorted(MANY_HOMES)


async def test_nobody_is_cut_while_no_request_is_allowed(tmp_path: Path) -> None:
    peers = Peers()
    engine = many(tmp_path, hanging=9, peers=peers)
    async with running(engine):
        await engine.pass_time()
        peers.is_blocked = True
        await engine.pass_time(10.0, steps=40)
        assert parked(engine) == []
