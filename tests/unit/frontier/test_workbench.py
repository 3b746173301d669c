"""The workbench: no host before its moment, none to two workers, none forgotten; and its orders."""

import pytest

from gossamer.config import UrlConfig
from gossamer.frontier.rows import HostOutage, HostState, HostStates, Span
from gossamer.frontier.workbench import (
    ActiveHost,
    HostKind,
    Lease,
    Openings,
    Ready,
    Workbench,
    kind_of,
)
from gossamer.model import Task
from gossamer.urls import host_key, parse


def active(name: str, leased: tuple[int, ...], queued: int = 0) -> ActiveHost:
    """A host with leased tasks of some grades, and a queue of one grade."""
    url = parse(f"http://{name}/", UrlConfig())
    assert url is not None
    spans = {queued: Span(head=0, tail=1)} if queued else {}
    tasks = [Task(url=url, grade=grade) for grade in leased]
    host = ActiveHost(key=host_key(name), row=HostState(name=name, spans=spans))
    host.leases, host.ticket = [Lease(b"l", tasks, len(tasks))], 1
    return host


def test_a_host_is_worth_its_best_task_leased_or_queued() -> None:
    assert active("a.test", (3, 9, 2), queued=5).best_grade() == 9
    assert active("a.test", (3, 2), queued=5).best_grade() == 5
    assert active("a.test", ()).best_grade() == 0


def test_the_best_host_goes_first_and_among_equals_the_one_that_came_first() -> None:
    ready = Ready()
    for host in (active("a.test", (3,)), active("b.test", (7,)), active("c.test", (7,))):
        ready.put(host)
    taken = [host.row.name for host in iter(ready.take, None)]
    assert taken == ["b.test", "c.test", "a.test"]


def test_a_ready_host_whose_queue_becomes_better_goes_before_others_and_once() -> None:
    ready = Ready()
    late, other = active("late.test", (2,)), active("other.test", (7,))
    ready.put(late)
    ready.put(other)
    late.row.spans[12] = Span(head=0, tail=1)
    ready.rise(late)
    taken = [host.row.name for host in iter(ready.take, None)]
    assert taken == ["late.test", "other.test"]


def test_a_host_that_is_not_ready_does_not_become_so_by_rising() -> None:
    ready = Ready()
    ready.rise(active("a.test", (9,)))
    assert ready.take() is None


def test_a_host_that_was_asked_outside_its_queue_is_skipped() -> None:
    ready = Ready()
    host = active("a.test", (9,))
    ready.put(host)
    host.ticket = 0
    assert ready.take() is None


def test_a_host_that_is_busy_or_left_alone_cannot_rise_into_being_asked() -> None:
    ready = Ready()
    host = active("a.test", (2,))
    ready.put(host)
    host.row.spans[12] = Span(head=0, tail=1)
    for ticket in (0, 5):  # asked outside its queue; then back on the heap, until its gap is over
        host.ticket = ticket
        ready.rise(host)
        assert ready.take() is None
        ready.put(active("b.test", (1,)))
        assert ready.take() is not None


def test_a_host_that_was_taken_cannot_rise_into_being_asked_a_second_time() -> None:
    ready = Ready()
    host = active("a.test", (2,))
    ready.put(host)
    assert ready.take() is host
    host.row.spans[12] = Span(head=0, tail=1)
    ready.rise(host)
    assert ready.take() is None


NOW = 1000.0


def lease_of(name: str, *grades: int, is_first: bool = False) -> Lease:
    url = parse(f"http://{name}/", UrlConfig())
    assert url is not None
    tasks = [Task(url=url, grade=grade) for grade in grades]
    return Lease(b"l" + name.encode(), tasks, len(tasks), is_first)


class Bench:
    """A workbench over a table without rows."""

    def __init__(self, *, is_strict: bool | None = None) -> None:
        self.table = HostStates(lambda key: None)  # noqa: ARG005  # no host has a row on disk
        usual = Workbench(self.table)
        self.bench = usual if is_strict is None else Workbench(self.table, is_strict=is_strict)

    def open(self, name: str, at: float = 0.0) -> ActiveHost:
        return self.bench.open(host_key(name), HostState(name=name, next_at=at))

    def give(self, host: ActiveHost, *grades: int, is_first: bool = False) -> Lease:
        """Give a host a lease that is committed."""
        lease = lease_of(host.row.name, *grades, is_first=is_first)
        self.bench.await_commit(host, lease)
        self.bench.committed()
        return lease

    def put(self, name: str, *grades: int, at: float = 0.0, is_first: bool = False) -> ActiveHost:
        """Lay a new host with work on the bench."""
        host = self.open(name, at)
        self.give(host, *(grades or (1,)), is_first=is_first)
        return host

    def take(self, now: float = NOW) -> str:
        """Take a ready host and make it busy; return its name, or ""."""
        host = self.bench.take_ready(now)
        if host is None:
            return ""
        host.next_lease().tasks.pop()
        return host.row.name

    def take_all(self, now: float = NOW) -> list[str]:
        return list(iter(lambda: self.take(now), ""))


def test_a_host_is_ready_from_its_moment_on_and_not_before() -> None:
    bench = Bench()
    host = bench.put("a.test", at=2000.0)
    assert bench.bench.take_ready(1999.9) is None
    assert bench.bench.next_moment() == 2000.0
    assert bench.bench.take_ready(2000.0) is host
    assert bench.bench.next_moment() is None


def test_the_host_that_has_been_ready_longest_goes_first() -> None:
    bench = Bench()
    for name, at in (("b.test", 20.0), ("a.test", 10.0), ("c.test", 20.0), ("d.test", 5000.0)):
        bench.put(name, at=at)
    assert bench.bench.next_moment() == 10.0
    assert bench.take_all() == ["a.test", "b.test", "c.test"]
    assert bench.bench.next_moment() == 5000.0


def test_a_busy_host_is_never_handed_out_a_second_time() -> None:
    bench = Bench()
    host = bench.put("a.test", 1, 1)
    assert bench.take() == "a.test"
    assert host.is_busy
    bench.give(host, 1)  # a commit brings it more work meanwhile
    bench.give(host, 1, is_first=True)
    assert bench.take_all() == []
    assert bench.bench.next_moment() is None
    bench.bench.release(host)
    assert not host.is_busy
    assert bench.take_all() == ["a.test"]


def test_a_host_that_is_reserved_cannot_be_reached_through_its_old_place_in_the_queue() -> None:
    bench = Bench()
    host = bench.put("a.test")
    assert bench.bench.reserve(host.key, host.row, NOW) is None
    assert host.is_busy
    assert bench.take_all() == []
    assert bench.bench.next_moment() is None
    assert bench.bench.hosts == {host.key: host}
    host.row.next_at = 3000.0
    bench.bench.release(host)
    assert bench.take_all(2999.0) == []
    assert bench.bench.next_moment() == 3000.0
    assert bench.take_all(3000.0) == ["a.test"]


def test_a_host_without_a_queue_can_be_reserved_when_its_moment_has_come_and_once() -> None:
    bench = Bench()
    key, row = host_key("a.test"), HostState(name="a.test", next_at=NOW + 1)
    assert bench.bench.reserve(key, row, NOW) == NOW + 1
    assert bench.bench.hosts == {}
    assert bench.bench.reserve(key, row, NOW + 1) is None
    assert bench.bench.hosts[key].row is row
    assert bench.bench.hosts[key].is_busy
    assert bench.bench.reserve(key, row, NOW + 1) == pytest.approx(NOW + 1.1)
    assert bench.take_all(NOW + 1) == []
    bench.bench.release(bench.bench.hosts[key])
    assert bench.bench.take_ready(NOW + 1) is bench.bench.hosts[key]


def test_a_host_waits_for_the_commit_of_its_lease() -> None:
    bench = Bench()
    host = bench.open("a.test")
    assert bench.bench.take_ready(NOW) is None
    lease = lease_of("a.test", 1, 2)
    bench.bench.await_commit(host, lease)
    assert (host.leased, host.waiting, host.leases) == (2, 0, [])
    assert bench.bench.awaiting == {host.key: host}
    assert bench.bench.take_ready(NOW) is None
    bench.bench.committed()
    assert (host.leased, host.waiting, host.leases) == (2, 2, [lease])
    assert (host.uncommitted, bench.bench.awaiting) == ([], {})
    assert bench.bench.take_ready(NOW) is host


def test_a_commit_does_not_send_a_host_that_lies_on_the_bench_to_the_back() -> None:
    bench = Bench()
    first = bench.put("a.test")
    bench.put("b.test")
    bench.give(first, 1)
    assert first.waiting == 2
    assert bench.take_all() == ["a.test", "b.test"]


def test_a_host_that_was_taken_and_has_nothing_left_comes_back_with_the_commit() -> None:
    bench = Bench()
    host = bench.put("a.test")
    assert bench.take() == "a.test"
    bench.bench.await_commit(host, lease_of("a.test", 1))
    bench.bench.release(host)
    assert bench.take_all() == []
    bench.bench.committed()
    taken = bench.bench.take_ready(NOW)
    assert taken is host
    bench.bench.await_commit(host)  # it has something queued that is not committed
    bench.bench.committed()
    assert bench.bench.take_ready(NOW) is host


def test_a_released_host_goes_back_unless_it_has_nothing_to_do_before_the_commit() -> None:
    bench = Bench()
    idle = bench.put("idle.test")
    assert bench.take() == "idle.test"
    bench.bench.release(idle)  # with no work: whoever takes it sees to that
    assert bench.bench.take_ready(NOW) is idle
    more = bench.put("more.test", 1, 1)
    assert bench.take() == "more.test"
    bench.bench.await_commit(more, lease_of("more.test", 1))
    bench.bench.release(more)
    assert bench.bench.take_ready(NOW) is more


def test_a_task_that_goes_first_takes_its_host_before_others_and_before_its_own_tasks() -> None:
    bench = Bench()
    bench.put("early.test", at=1.0)
    host = bench.put("late.test", 1, at=2.0)
    assert bench.bench.next_moment(is_first=True) is None
    assert bench.bench.take_ready(NOW, is_first=True) is None
    urgent = bench.give(host, 1, is_first=True)
    assert bench.bench.next_moment(is_first=True) == 2.0
    assert bench.bench.next_moment() == 1.0
    assert bench.bench.take_ready(1.5, is_first=True) is None
    assert bench.bench.take_ready(NOW, is_first=True) is host
    assert host.next_lease() is urgent
    assert bench.take_all() == ["early.test"]
    urgent.tasks.clear()
    bench.bench.release(host)
    assert bench.bench.take_ready(NOW, is_first=True) is None
    assert bench.bench.next_moment(is_first=True) is None
    assert bench.take_all() == ["late.test"]


def test_without_a_wish_a_task_that_goes_first_is_still_taken_first() -> None:
    bench = Bench()
    bench.put("early.test", at=1.0)
    bench.put("late.test", at=2.0, is_first=True)
    assert bench.take_all() == ["late.test", "early.test"]


def test_a_removed_host_is_forgotten_and_its_row_let_go() -> None:
    bench = Bench()
    host = bench.put("a.test")
    assert bench.table.find(host.key) is host.row
    bench.bench.remove(host)
    assert bench.bench.hosts == {}
    assert bench.bench.next_moment() is None
    assert bench.take_all() == []
    with pytest.raises(KeyError):
        bench.table.release(host.key)


def test_a_host_that_comes_back_is_not_reached_through_the_place_of_its_former_self() -> None:
    bench = Bench()
    bench.bench.remove(bench.put("a.test", at=1.0))
    bench.put("a.test", at=2000.0)
    assert bench.take_all() == []
    assert bench.bench.next_moment() == 2000.0


def test_asking_for_the_next_moment_takes_nothing_off_the_bench() -> None:
    bench = Bench()
    for name in ("a.test", "b.test"):
        bench.put(name)
    assert bench.bench.next_moment() == 0.0
    assert bench.take_all() == ["a.test", "b.test"]


@pytest.mark.slow
def test_100_000_hosts_are_all_that_may_be_active() -> None:
    bench = Bench().bench
    row = HostState(name="a.test")
    for number in range(99_999):
        bench.open(number.to_bytes(8, "big"), row)
    assert bench.is_full is False
    bench.open(b"one more", row)
    assert bench.is_full is True


def test_in_a_strict_order_the_best_of_all_ready_hosts_goes_first() -> None:
    grades = {"a.test": 2, "b.test": 9, "c.test": 5}
    for is_strict, names in ((None, "abc"), (False, "abc"), (True, "bca")):
        bench = Bench(is_strict=is_strict)
        for name, grade in grades.items():
            bench.put(name, grade)
        bench.put("later.test", 15, at=2000.0)
        assert bench.take_all() == [f"{name}.test" for name in names]


def test_in_a_strict_order_a_ready_host_can_rise_and_in_another_nothing_changes() -> None:
    for is_strict, names in ((True, ["a.test", "c.test"]), (False, ["c.test", "a.test"])):
        bench = Bench(is_strict=is_strict)
        hosts = [bench.put(name, grade) for name, grade in (("b.test", 9), ("c.test", 5))]
        late = bench.put("a.test", 2)
        assert bench.take() == "b.test"
        late.row.spans[12] = Span(head=0, tail=1)
        for host in (*hosts, late):
            bench.bench.rise(host)
        assert bench.take_all() == names


def test_in_a_strict_order_a_ready_host_that_was_removed_is_not_handed_out() -> None:
    bench = Bench(is_strict=True)
    low = bench.put("low.test", 1)
    bench.put("high.test", 9)
    assert bench.take() == "high.test"
    bench.bench.remove(low)
    assert bench.take_all() == []


def test_in_a_strict_order_the_next_moment_is_not_that_of_hosts_which_are_ready() -> None:
    bench = Bench(is_strict=True)
    bench.put("low.test", 1)
    bench.put("high.test", 9)
    bench.put("later.test", 15, at=2000.0)
    assert bench.take() == "high.test"
    assert bench.bench.next_moment() == 2000.0
    assert bench.take_all(2000.0) == ["later.test", "low.test"]
    assert bench.bench.next_moment() is None


def test_a_host_counts_what_it_handed_out_and_what_came_back() -> None:
    bench = Bench()
    host = bench.open("a.test")
    assert (host.taken, host.waiting, host.leased, host.is_busy) == (0, 0, 0, False)
    first, second = bench.give(host, 1), bench.give(host, 1, 1)
    assert (host.taken, host.waiting, host.leased) == (0, 3, 3)
    assert host.next_lease() is first
    assert (host.taken, host.waiting, host.leased, host.is_busy) == (1, 2, 2, True)
    first.tasks.pop()
    assert host.next_lease() is second
    assert (host.taken, host.waiting, host.leases) == (2, 1, [second])
    host.was_given_back()
    assert (host.taken, host.waiting) == (1, 2)
    bench.bench.await_commit(host, lease_of("a.test", 1, 1, 1))
    assert (host.waiting, host.leased) == (2, 5)


def test_a_host_knows_whether_it_has_work_for_another_origin() -> None:
    host = active("a.test", (1, 2))
    assert host.has_work_besides("https://a.test") is True
    assert host.has_work_besides("http://a.test") is False
    assert active("a.test", ()).has_work_besides("https://a.test") is False


# Kinds of hosts


def laid(bench: Workbench, name: str, ready_at: float, **row: object) -> ActiveHost:
    """Lay a host on a bench."""
    host_row = HostState(name=name, next_at=ready_at, **row)  # type: ignore[arg-type]
    host = bench.open(host_key(name), host_row)
    bench.put(host)
    return host


def kinds_bench(*, is_strict: bool) -> tuple[Workbench, dict[str, ActiveHost]]:
    """Return a bench with a host of each kind, ready one after the other."""
    bench = Workbench(HostStates(lambda _key: None), is_strict=is_strict)
    parked = HostOutage(parked_at=1.0)
    hosts = {
        "new": laid(bench, "new.test", 10.0),
        "known": laid(bench, "known.test", 11.0, answered_at=5.0),
        "down": laid(bench, "down.test", 12.0, answered_at=5.0, outage=parked),
    }
    return bench, hosts


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (HostState(name="a"), HostKind.NEW),
        (HostState(name="a", outage=HostOutage(failures=1)), HostKind.NEW),
        (HostState(name="a", answered_at=1.0), HostKind.ANSWERED),
        (HostState(name="a", answered_at=1.0, outage=HostOutage(parked_at=0.0)), HostKind.PARKED),
        (HostState(name="a", outage=HostOutage(parked_at=2.0)), HostKind.PARKED),
    ],
)
def test_a_host_is_parked_or_has_answered_or_is_new(row: HostState, kind: HostKind) -> None:
    assert kind_of(row) is kind


@pytest.mark.parametrize("is_strict", [False, True])
def test_only_hosts_of_the_kinds_that_are_open_are_taken(is_strict: bool) -> None:  # noqa: FBT001 -- a parameter
    bench, hosts = kinds_bench(is_strict=is_strict)
    only = Openings((HostKind.ANSWERED,))
    assert bench.take_ready(10.5, only) is None
    assert bench.next_moment(only) == 11.0
    assert bench.take_ready(20.0, only) is hosts["known"]
    assert bench.take_ready(20.0, only) is None
    assert bench.next_moment(only) is None
    assert bench.take_ready(20.0, Openings((HostKind.NEW, HostKind.PARKED))) is not None
    assert bench.take_ready(20.0, Openings(())) is None


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_kind_that_goes_first_does_so_although_others_wait_longer(is_strict: bool) -> None:  # noqa: FBT001 -- a parameter
    bench, hosts = kinds_bench(is_strict=is_strict)
    first = Openings(tuple(HostKind), HostKind.PARKED)
    assert bench.take_ready(20.0, first) is hosts["down"]
    assert bench.take_ready(20.0, first) is not None


def test_without_a_preference_the_host_that_has_waited_longest_is_taken_whatever_its_kind() -> None:
    bench, hosts = kinds_bench(is_strict=False)
    taken = [bench.take_ready(20.0) for _ in range(4)]
    assert taken == [hosts["new"], hosts["known"], hosts["down"], None]


def test_hosts_ready_at_the_same_moment_are_taken_in_the_order_they_were_laid() -> None:
    bench = Workbench(HostStates(lambda _key: None))
    hosts = [laid(bench, f"{n}.test", 10.0, answered_at=float(n % 2)) for n in range(6)]
    assert [bench.take_ready(10.0) for _ in range(6)] == hosts


@pytest.mark.parametrize("is_strict", [False, True])
def test_the_kinds_that_wait_are_told_whether_or_not_they_are_open(is_strict: bool) -> None:  # noqa: FBT001 -- a parameter
    bench, hosts = kinds_bench(is_strict=is_strict)
    assert bench.ready_kinds(9.0) == set()
    assert bench.ready_kinds(11.0) == {HostKind.NEW, HostKind.ANSWERED}
    assert bench.take_ready(20.0, Openings((HostKind.NEW,))) is hosts["new"]
    assert bench.ready_kinds(20.0) == {HostKind.ANSWERED, HostKind.PARKED}
    bench.take_ready(20.0)
    bench.take_ready(20.0)
    assert bench.ready_kinds(20.0) == set()


def test_in_a_strict_order_the_best_of_the_kinds_that_are_open_is_taken() -> None:
    bench = Workbench(HostStates(lambda _key: None), is_strict=True)
    for name, grade, answered_at in (("a", 3, 1.0), ("b", 9, 0.0), ("c", 7, 1.0)):
        laid(bench, name, 0.0, answered_at=answered_at, spans={grade: Span(head=0, tail=1)})
    known = Openings((HostKind.ANSWERED,))
    taken = [bench.take_ready(1.0, known), bench.take_ready(1.0), bench.take_ready(1.0)]
    assert [host.row.name for host in taken if host is not None] == ["c", "b", "a"]


def test_in_a_strict_order_a_kind_goes_first_also_when_its_hosts_have_been_ready_for_long() -> None:
    bench, hosts = kinds_bench(is_strict=True)
    second = laid(bench, "down2.test", 13.0, outage=HostOutage(parked_at=1.0))
    first = Openings(tuple(HostKind), HostKind.PARKED)
    assert [bench.take_ready(20.0, first), bench.take_ready(20.0, first)] == [
        hosts["down"],
        second,
    ]


def test_a_host_that_is_set_aside_gives_its_leases_back_and_is_forgotten() -> None:
    bench = Bench()
    host = bench.put("a.test", 1, 2)
    lease, waiting = host.leases[0], lease_of("a.test", 3)
    bench.bench.await_commit(host, waiting)
    assert bench.bench.set_aside(host) == [lease, waiting]
    bench.bench.committed()
    assert (bench.take(), bench.bench.hosts) == ("", {})


def test_a_host_that_is_set_aside_stays_for_what_goes_before_others() -> None:
    bench = Bench()
    host = bench.put("a.test", 1, 2, 3)
    usual = host.leases[0]
    bench.give(host, 7, 8, is_first=True)
    assert bench.bench.set_aside(host) == [usual]
    assert host.waiting == 2
    assert bench.bench.take_ready(NOW, is_first=True) is host
