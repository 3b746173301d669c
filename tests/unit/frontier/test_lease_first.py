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
    f.supply.lease_first([task("http://a.test/look"), task("http://c.test/look")])
    commit(f, rows)
    looks = [f.next(9.0, is_first=True) for _ in range(3)]
    assert {look.url.text for look in looks if look} == {
        "http://a.test/look",
        "http://c.test/look",
    }
    assert looks[2] is None
    for look in looks[:2]:
        assert look is not None
        f.conclude(look)
        f.settle(look, 9.0, QUICK)
    later = take(f, rows, 10.0)
    assert later is not None
    assert "look" not in later.url.text


def test_a_host_is_asked_by_one_lane_at_a_time_and_never_before_its_gap() -> None:
    rows = DictRows()
    f = frontier(rows, delay_s=5.0)
    f.add([task("http://a.test/1"), task("http://a.test/2")])
    first = take(f, rows, 0.0)
    assert first is not None
    f.supply.lease_first([task("http://a.test/look")])
    commit(f, rows)
    assert f.next(0.0, is_first=True) is None
    f.conclude(first)
    f.settle(first, 1.0, QUICK)
    assert f.next(5.9, is_first=True) is None
    assert f.next_moment(is_first=True) == 6.0
    look = f.next(6.0, is_first=True)
    assert look is not None
    assert look.url.text == "http://a.test/look"


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
    f.supply.lease_first([task("http://a.test/look")])
    commit(f, rows)
    look = f.next(0.0, is_first=True)
    assert look is not None
    f.put_back(look, 3.0, "robots")
    f.settle(look, 0.0, None)
    assert f.next(2.0, is_first=True) is None
    assert f.next(3.0, is_first=True) == look


def test_after_a_death_a_look_is_gone_and_its_host_waits_its_gap() -> None:
    rows = DictRows()
    f = frontier(rows, delay_s=4.0)
    f.add([task("http://a.test/1")])
    commit(f, rows)
    f.supply.lease_first([task("http://a.test/look")])
    commit(f, rows)
    assert f.next(0.0, is_first=True) is not None
    again = frontier(rows, delay_s=4.0)
    again.recover(10.0, lambda t: "look" in t.url.text, all_wait=False)
    rows.write(again.rows_to_commit())
    again.committed()
    assert take(again, rows, 13.9) is None
    found = take(again, rows, 14.0)
    assert found is not None
    assert found.url.text == "http://a.test/1"
    assert again.next(99.0, is_first=True) is None
    assert again.queued == 1
