from random import Random

import pytest

from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.frontier import Frontier, HostAnswer
from gossamer.frontier.rows import HostStates, pack_tasks, unpack_tasks
from gossamer.model import LinkKind, Task
from gossamer.urls import parse

from .rows import DictRows

QUICK = HostAnswer(latency_s=0.01)


def task(text: str, depth: int = 1) -> Task:
    url = parse(text, UrlConfig())
    assert url is not None
    return Task(url=url, depth=depth, via="http://via.test/", kind=LinkKind.ANCHOR)


def frontier(rows: DictRows, delay_s: float | None = 1.0, **knobs: int) -> Frontier:
    at_least = knobs.pop("at_least", 1)
    rules = PolitenessConfig(delay_s=delay_s)
    return Frontier(FrontierConfig(**knobs), rules, rows, Random(7), at_least=at_least)


def commit(f: Frontier, rows: DictRows) -> None:
    rows.write(f.rows_to_commit())
    f.committed()


def take(f: Frontier, rows: DictRows, now: float) -> Task | None:
    """Take the next task, committing as often as leases need it."""
    for _ in range(4):
        if (found := f.next(now)) is not None:
            return found
        if not f.has_uncommitted:
            return None
        commit(f, rows)
    return None


def test_a_task_is_not_given_before_its_lease_is_committed() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1")])
    assert f.next(0.0) is None
    commit(f, rows)
    assert f.next(0.0) is None
    assert f.has_uncommitted
    commit(f, rows)
    found = f.next(0.0)
    assert found is not None
    assert found.url.text == "http://a.test/1"
    assert found.via == "http://via.test/"


def test_a_busy_host_is_not_given_a_second_time() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1"), task("http://a.test/2")])
    first = take(f, rows, 0.0)
    assert first is not None
    assert take(f, rows, 1000.0) is None
    f.settle(first, 1000.0, QUICK)
    assert take(f, rows, 1000.5) is None
    second = take(f, rows, 1001.0)
    assert second is not None
    assert second.url.text == "http://a.test/2"


def test_hosts_do_not_wait_for_each_other() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1"), task("http://b.test/1"), task("http://c.test/1")])
    hosts = {found.url.host for _ in range(3) if (found := take(f, rows, 0.0)) is not None}
    assert hosts == {"a.test", "b.test", "c.test"}


def test_shallow_urls_of_a_host_come_first() -> None:
    rows = DictRows()
    f = frontier(rows, 0.0)
    f.add([task("http://a.test/deep", depth=5), task("http://a.test/shallow", depth=1)])
    commit(f, rows)
    order = []
    while (found := take(f, rows, 0.0)) is not None:
        order.append(found.url.text)
        f.settle(found, 0.0, QUICK)
        f.conclude(found)
    assert order == ["http://a.test/shallow", "http://a.test/deep"]


def test_a_throttled_host_is_left_alone_as_long_as_it_asked() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1"), task("http://a.test/2")])
    first = take(f, rows, 0.0)
    assert first is not None
    f.put_back(first, 0.0, "throttled")
    f.settle(first, 0.0, HostAnswer(latency_s=0.1, is_throttled=True, retry_after_s=60.0))
    assert take(f, rows, 59.9) is None
    again = take(f, rows, 60.0)
    assert again == first


def test_a_delayed_task_comes_back_when_its_moment_has_come() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1")])
    first = take(f, rows, 0.0)
    assert first is not None
    f.settle(first, 0.0, QUICK)
    f.delay(first, 300.0)
    commit(f, rows)
    assert take(f, rows, 299.0) is None
    assert f.queued == 1
    assert f.next_moment() == 300.0
    again = take(f, rows, 300.0)
    assert again is not None
    assert again.url.text == "http://a.test/1"


def test_after_a_death_a_leased_task_is_queued_again_and_its_host_waits_its_gap() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1"), task("http://b.test/1")])
    assert take(f, rows, 0.0) is not None
    reborn = frontier(rows)
    reborn.recover(10.0, lambda _task: False, all_wait=False)
    commit(reborn, rows)
    assert reborn.queued == 2
    assert take(reborn, rows, 10.9) is None
    assert take(reborn, rows, 11.0) is not None
    assert take(reborn, rows, 11.0) is not None
    assert not [key for key in rows.rows if key.startswith(b"l")] or reborn._leases.count == 2


def test_a_settled_task_is_not_queued_again_after_a_death() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1")])
    first = take(f, rows, 0.0)
    assert first is not None
    reborn = frontier(rows)
    reborn.recover(10.0, lambda t: t.url.text == "http://a.test/1", all_wait=False)
    commit(reborn, rows)
    assert reborn.queued == 0


def test_a_long_queue_makes_room_for_a_waiting_host() -> None:
    rows = DictRows()
    f = frontier(rows, 0.0, quantum_urls=4, lease_urls=2)
    f.add([task(f"http://long.test/{n}") for n in range(400)])
    commit(f, rows)
    first = take(f, rows, 0.0)
    assert first is not None
    f.add([task("http://late.test/1")])
    commit(f, rows)
    f.settle(first, 0.0, QUICK)
    f.conclude(first)
    seen = []
    for _ in range(300):
        found = take(f, rows, 0.0)
        assert found is not None
        seen.append(found.url.host)
        f.settle(found, 0.0, QUICK)
        f.conclude(found)
    assert "late.test" in seen


def test_a_reserved_host_is_busy_until_it_is_settled() -> None:
    rows = DictRows()
    f = frontier(rows)
    hop = task("http://other.test/robots.txt")
    assert f.reserve("other.test", 5.0) is None
    assert f.reserve("other.test", 5.0) is not None
    f.settle(hop, 5.0, QUICK)
    assert f.reserve("other.test", 5.5) == 6.0
    assert f.reserve("other.test", 6.0) is None


def test_packed_rows_give_back_what_was_packed() -> None:
    tasks = [task("http://a.test/1"), task("http://a.test/2"), task("http://a.test:81/3", depth=2)]
    assert unpack_tasks(pack_tasks(tasks), "a.test", 0) == tasks


def test_the_budget_counts_urls_ever_taken_in() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1"), task("http://a.test/2")])
    commit(f, rows)
    assert f.hosts.known_urls("a.test") == 2
    assert f.hosts.known_urls("b.test") == 0


def test_a_task_that_waited_and_was_woken_comes_back_once_after_a_death() -> None:
    rows = DictRows()
    f = frontier(rows, 0.0)
    f.add([task(f"http://a.test/{n}") for n in range(10)])
    first = take(f, rows, 0.0)
    assert first is not None
    f.settle(first, 0.0, QUICK)
    f.delay(first, 5.0)
    commit(f, rows)
    f.next(5.0)  # wakes it
    commit(f, rows)
    reborn = frontier(rows, 0.0)
    reborn.recover(10.0, lambda _task: False, all_wait=False)
    commit(reborn, rows)
    given = []
    while (found := take(reborn, rows, 20.0)) is not None:
        given.append(found.url.text)
        reborn.settle(found, 20.0, QUICK)
        reborn.conclude(found)
    assert sorted(given) == sorted(f"http://a.test/{n}" for n in range(10))


def test_an_answer_that_knows_no_rules_keeps_the_crawl_delay() -> None:
    rows = DictRows()
    f = frontier(rows, 0.0)
    f.add([task("http://a.test/1"), task("http://a.test/2")])
    first = take(f, rows, 0.0)
    assert first is not None
    f.put_back(first, 0.0, "robots")
    f.settle(first, 0.0, HostAnswer(latency_s=0.1, knows_rules=True, crawl_delay_s=30.0))
    assert f.reserve("a.test", 30.0) is None
    f.settle(first, 30.0, HostAnswer(latency_s=0.1))
    assert f.reserve("a.test", 59.0) == 60.0


def test_a_changed_clock_alone_asks_for_a_commit() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1")])
    first = take(f, rows, 0.0)
    assert first is not None
    commit(f, rows)
    assert not f.has_uncommitted
    f.put_back(first, 0.0, "robots")
    f.settle(first, 0.0, HostAnswer(latency_s=0.1, is_throttled=True, retry_after_s=3600.0))
    assert f.has_uncommitted
    commit(f, rows)
    reborn = frontier(rows)
    reborn.recover(1.0, lambda _task: False, all_wait=False)
    commit(reborn, rows)
    assert take(reborn, rows, 3600.0) is None
    assert take(reborn, rows, 3601.0) is not None


def test_after_a_reboot_no_try_waits_for_a_date_of_a_wrong_clock() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1")])
    first = take(f, rows, 1e9)
    assert first is not None
    f.settle(first, 1e9, QUICK)
    f.delay(first, 1e9 + 60.0)
    commit(f, rows)
    reborn = frontier(rows)
    reborn.recover(100.0, lambda _task: False, all_wait=True)
    commit(reborn, rows)
    assert take(reborn, rows, 200.0) is not None


def test_enough_hosts_are_active_although_the_first_is_always_ready() -> None:
    rows = DictRows()
    f = frontier(rows, 0.0, at_least=3)
    f.add([task(f"http://a.test/{n}") for n in range(100)])
    first = take(f, rows, 0.0)
    assert first is not None
    f.add([task("http://b.test/1"), task("http://c.test/1")])
    commit(f, rows)
    f.settle(first, 0.0, QUICK)
    given = set()
    for _ in range(8):
        found = take(f, rows, 0.0)
        assert found is not None
        given.add(found.url.host)
        f.settle(found, 0.0, QUICK)
        f.conclude(found)
        commit(f, rows)
    assert given == {"a.test", "b.test", "c.test"}


def test_tasks_in_memory_are_bounded_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.frontier.workbench.MAX_LEASED", 20)
    rows = DictRows()
    f = frontier(rows, 1.0, lease_urls=4)
    wanted = {f"http://h{host}.test/{n}" for host in range(20) for n in range(8)}
    f.add([task(text) for text in sorted(wanted)])
    found, now, most = set(), 0.0, 0
    while f.queued:
        while (taken := take(f, rows, now)) is not None:
            most = max(most, f._leases.count)
            found.add(taken.url.text)
            f.settle(taken, now, QUICK)
            f.conclude(taken)
        commit(f, rows)
        now += 1.0
    assert found == wanted
    assert most < 20 + 8


def test_a_task_that_leaves_its_lease_to_wait_is_not_in_the_row_any_more() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task(f"http://a.test/{n}") for n in range(3)])
    first = take(f, rows, 0.0)
    assert first is not None
    f.delay(first, 50.0)
    f.settle(first, 0.0, QUICK)
    commit(f, rows)
    leased = [value for key, value in rows.rows.items() if key.startswith(b"l")]
    assert [t.url.text for t in unpack_tasks(leased[0], "a.test", 0)] == [
        "http://a.test/1",
        "http://a.test/2",
    ]
    assert f.queued == 3


def test_a_new_host_is_looked_for_on_disk_once() -> None:
    rows = DictRows()
    read: list[bytes] = []

    def get(key: bytes) -> bytes | None:
        read.append(key)
        return rows.rows.get(key)

    table = HostStates(get)
    assert table.known_urls("a.test") == 0
    table.note_known("a.test")
    assert table.known_urls("a.test") == 1
    assert len(read) == 1


def test_the_last_gap_of_a_host_is_known_and_that_of_a_stranger_is_none() -> None:
    rows = DictRows()
    f = frontier(rows, delay_s=3.0)
    f.add([task("http://a.test/1")])
    found = take(f, rows, 0.0)
    assert found is not None
    f.settle(found, 0.0, QUICK)
    assert f.hosts.gap_s("a.test") == 3.0
    assert f.hosts.gap_s("b.test") == 0.0
    assert f.hosts.count == 1


def test_after_a_death_hosts_that_were_under_way_come_first() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task(f"http://h{n}.test/{page}") for n in range(200) for page in range(2)])
    assert take(f, rows, 0.0) is not None
    active = set(f._bench.hosts)
    assert len(active) < 200
    reborn = frontier(rows)
    reborn.recover(50.0, lambda _task: False, all_wait=False)
    commit(reborn, rows)
    assert reborn.next(50.0) is None
    assert reborn.active_hosts
    assert set(reborn._bench.hosts) <= active


def test_a_host_with_a_delay_of_its_own_waits_that_long_and_after_a_restart_too() -> None:
    rows = DictRows()

    def made() -> Frontier:
        rules = PolitenessConfig(delay_s=1.0)
        return Frontier(FrontierConfig(), rules, rows, Random(7), own_delays={"a.test": 5.0})

    f = made()
    f.add([task(f"http://{host}.test/{n}") for host in "ab" for n in range(3)])
    for _ in range(2):
        found = take(f, rows, 0.0)
        assert found is not None
        f.settle(found, 0.0, QUICK)
    commit(f, rows)
    due = {name: f.hosts.row(name).next_at for name in ("a.test", "b.test")}
    assert due == {"a.test": 5.0, "b.test": 1.0}
    again = made()
    again.recover(100.0, lambda _task: False, all_wait=True)
    due = {name: again.hosts.row(name).next_at for name in ("a.test", "b.test")}
    assert due == {"a.test": 105.0, "b.test": 101.0}
