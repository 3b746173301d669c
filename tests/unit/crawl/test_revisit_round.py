"""One round of revisits: every page once, a few of one host at a time."""

from gossamer.crawl.revisit.rounds import RevisitRound


def test_a_page_is_in_a_round_once() -> None:
    round_ = RevisitRound()
    assert not round_
    assert round_.add(1)
    assert not round_.add(1)
    assert round_.take() == 1
    assert not round_
    assert not round_.add(1)
    assert round_.take() is None


def test_held_pages_come_back_one_by_one_before_others() -> None:
    round_ = RevisitRound()
    for key in (1, 2, 3):
        round_.add(key)
    for _ in range(2):
        key = round_.take()
        assert key is not None
        round_.hold("a.test", key)
    assert len(round_) == 3
    assert round_.held_hosts == ["a.test"]
    round_.release("b.test")
    round_.release("a.test")
    assert [round_.take(), round_.take(), round_.take()] == [1, 3, None]
    assert round_
    assert round_.drop("a.test") == [2]
    assert round_.drop("a.test") == []
    assert not round_


def test_a_postponed_page_comes_when_nothing_else_is_left_and_is_postponed_once() -> None:
    round_ = RevisitRound()
    for key in (1, 2, 3):
        round_.add(key)
    assert round_.take() == 1
    assert round_.postpone(1)
    round_.wake_postponed()
    assert round_.take() == 2
    round_.hold("a.test", 2)
    assert round_.take() == 3
    round_.wake_postponed()
    assert round_.take() is None
    assert len(round_) == 2
    assert round_.drop("a.test") == [2]
    assert round_
    round_.wake_postponed()
    assert round_.take() == 1
    assert not round_.postpone(1)
    assert not round_
