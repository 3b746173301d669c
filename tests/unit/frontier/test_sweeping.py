"""What is not wanted any more leaves the frontier at once, wherever it waits."""

import pytest

from gossamer.frontier import Frontier
from gossamer.model import Task

from .rows import DictRows
from .test_frontier import QUICK, commit, frontier, take, task


def is_bad(one: Task) -> bool:
    return "/bad" in one.url.text


def swept(f: Frontier, rows: DictRows) -> set[str]:
    """Take out what is bad, as a crawl does."""
    found: list[Task] = []
    for places in f.sweep.queued(is_bad):
        commit(f, rows)
        found += f.sweep.take(places, is_bad)
        commit(f, rows)
    found += f.sweep.take_waiting(is_bad)
    commit(f, rows)
    return {one.url.text for one in found}


def left(f: Frontier, rows: DictRows) -> set[str]:
    found: set[str] = set()
    now = 0.0
    for _ in range(1000):
        one = take(f, rows, now)
        if one is None:
            if not f.queued:
                break
            now += 10.0
            continue
        found.add(one.url.text)
        f.conclude(one)
        f.settle(one, now, QUICK)
        commit(f, rows)
    return found


@pytest.mark.parametrize("hosts", [1, 3])
def test_queued_and_leased_tasks_leave_and_the_others_have_their_turn(hosts: int) -> None:
    rows = DictRows()
    f = frontier(rows, lease_urls=4)
    sites = [f"http://{n}.test/{kind}" for n in range(hosts) for kind in ("good", "bad")]
    names = [f"{site}{m}" for m in range(100) for site in sites]
    f.add(map(task, names))
    commit(f, rows)
    assert f.next(0.0) is None  # a lease waits for its commit
    commit(f, rows)
    bad = {name for name in names if "/bad" in name}
    assert swept(f, rows) == bad
    assert f.queued == len(names) - len(bad)
    assert left(f, rows) == set(names) - bad
    assert f.queued == 0


def test_delayed_tasks_leave_and_a_restart_finds_none() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/bad"), task("http://a.test/good")])
    for _ in range(2):
        one = take(f, rows, 0.0)
        assert one is not None
        f.delay(one, 100.0)
        f.settle(one, 0.0, None)
        commit(f, rows)
    assert swept(f, rows) == {"http://a.test/bad"}
    assert f.queued == 1
    again = frontier(rows)
    again.recover(0.0, lambda _: False, all_wait=False)
    commit(again, rows)
    assert again.queued == 1


def test_nothing_is_changed_where_nothing_is_bad() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add(map(task, [f"http://a.test/{n}" for n in range(10)]))
    commit(f, rows)
    before = dict(rows.rows)
    assert swept(f, rows) == set()
    assert rows.rows == before
