"""The bench in a strict order: whose tasks are worth most goes first, also when that changes."""

from gossamer.config import UrlConfig
from gossamer.frontier.leases import Lease
from gossamer.frontier.rows import HostRow, Span
from gossamer.frontier.workbench import ActiveHost, Ready
from gossamer.model import Task
from gossamer.urls import host_key, parse


def active(name: str, leased: tuple[int, ...], queued: int = 0) -> ActiveHost:
    """A host with leased tasks of some grades, and a queue of one grade."""
    url = parse(f"http://{name}/", UrlConfig())
    assert url is not None
    spans = {queued: Span(head=0, tail=1)} if queued else {}
    tasks = [Task(url=url, grade=grade) for grade in leased]
    host = ActiveHost(key=host_key(name), row=HostRow(name=name, spans=spans))
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
