"""Tasks that are leased past the queues: before others, and no less polite."""

from .rows import DictRows
from .test_frontier import QUICK, commit, frontier, take, task


def test_what_is_leased_first_goes_before_what_is_queued() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task(f"http://a.test/{n}") for n in range(5)])
    f.add([task("http://b.test/1")])
    found = take(f, rows, 0.0)
    assert found is not None
    f.conclude(found)
    f.settle(found, 0.0, QUICK)
    f.lease_first([task("http://a.test/revisit"), task("http://c.test/revisit")])
    commit(f, rows)
    revisits = [f.next(9.0, is_first=True) for _ in range(3)]
    assert {revisit.url.text for revisit in revisits if revisit} == {
        "http://a.test/revisit",
        "http://c.test/revisit",
    }
    assert revisits[2] is None
    for revisit in revisits[:2]:
        assert revisit is not None
        f.conclude(revisit)
        f.settle(revisit, 9.0, QUICK)
    later = take(f, rows, 10.0)
    assert later is not None
    assert "revisit" not in later.url.text


def test_a_host_is_asked_by_one_lane_at_a_time_and_never_before_its_gap() -> None:
    rows = DictRows()
    f = frontier(rows, delay_s=5.0)
    f.add([task("http://a.test/1"), task("http://a.test/2")])
    first = take(f, rows, 0.0)
    assert first is not None
    f.lease_first([task("http://a.test/revisit")])
    commit(f, rows)
    assert f.next(0.0, is_first=True) is None
    f.conclude(first)
    f.settle(first, 1.0, QUICK)
    assert f.next(5.9, is_first=True) is None
    assert f.next_moment(is_first=True) == 6.0
    revisit = f.next(6.0, is_first=True)
    assert revisit is not None
    assert revisit.url.text == "http://a.test/revisit"


def test_without_a_look_the_first_lane_is_empty_though_hosts_are_ready() -> None:
    rows = DictRows()
    f = frontier(rows)
    f.add([task("http://a.test/1")])
    commit(f, rows)
    assert f.next(0.0, is_first=True) is None
    assert f.next_moment(is_first=True) is None
    assert take(f, rows, 0.0) is not None


def test_a_look_that_must_wait_keeps_its_place() -> None:
    rows = DictRows()
    f = frontier(rows, delay_s=0.0)
    f.add([task("http://a.test/1")])
    f.lease_first([task("http://a.test/revisit")])
    commit(f, rows)
    revisit = f.next(0.0, is_first=True)
    assert revisit is not None
    f.put_back(revisit, 3.0, "robots")
    f.settle(revisit, 0.0, None)
    assert f.next(2.0, is_first=True) is None
    assert f.next(3.0, is_first=True) == revisit


def test_after_a_death_a_look_is_gone_and_its_host_waits_its_gap() -> None:
    rows = DictRows()
    f = frontier(rows, delay_s=4.0)
    f.add([task("http://a.test/1")])
    commit(f, rows)
    f.lease_first([task("http://a.test/revisit")])
    commit(f, rows)
    assert f.next(0.0, is_first=True) is not None
    again = frontier(rows, delay_s=4.0)
    again.recover(10.0, lambda t: "revisit" in t.url.text, all_wait=False)
    rows.write(again.rows_to_commit())
    again.committed()
    assert take(again, rows, 13.9) is None
    found = take(again, rows, 14.0)
    assert found is not None
    assert found.url.text == "http://a.test/1"
    assert again.next(99.0, is_first=True) is None
    assert again.queued == 1
