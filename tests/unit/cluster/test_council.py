from gossamer.cluster import Allowance, Consensus


def answer(council: Consensus, *commits: int) -> None:
    """Let every shard answer the round under way, idle, with so many commits."""
    for shard, count in enumerate(commits):
        council.note(shard, is_idle=True, commits=count, answers=council.round)


def asked() -> Consensus:
    """Return a council of two idle shards that has begun its first round."""
    council = Consensus(2)
    for shard in (0, 1):
        assert not council.should_ask
        council.note(shard, is_idle=True, commits=3, answers=0)
    assert council.should_ask
    council.ask()
    assert not council.should_ask
    return council


def test_two_rounds_without_a_commit_between_them_are_the_end() -> None:
    council = asked()
    answer(council, 3, 3)
    assert not council.is_reached
    assert council.should_ask
    council.ask()
    answer(council, 3, 3)
    assert council.is_reached
    assert not council.should_ask


def test_a_commit_between_two_rounds_asks_for_a_third() -> None:
    council = asked()
    answer(council, 3, 3)
    council.ask()
    answer(council, 3, 4)  # it took a letter in, and has dealt with it
    assert not council.is_reached
    council.ask()
    answer(council, 3, 4)
    assert council.is_reached


def test_a_busy_shard_makes_the_rounds_begin_again() -> None:
    council = asked()
    answer(council, 3, 3)
    council.ask()
    council.note(0, is_idle=False, commits=3, answers=0)
    answer(council, 3, 3)
    assert not council.is_reached


def test_a_dead_shard_makes_the_rounds_begin_again() -> None:
    council = asked()
    answer(council, 3, 3)
    council.ask()
    council.lost(1)
    answer(council, 3, 3)  # a new start of it may have as many commits as the dead one had
    assert not council.is_reached
    council.ask()
    answer(council, 3, 3)
    assert not council.is_reached


def test_an_answer_to_an_earlier_round_does_not_count() -> None:
    council = asked()
    council.note(0, is_idle=True, commits=3, answers=1)
    council.lost(1)
    council.note(1, is_idle=True, commits=1, answers=0)
    assert council.ask() == 2
    council.note(1, is_idle=True, commits=1, answers=2)
    council.note(0, is_idle=True, commits=3, answers=1)
    assert not council.should_ask  # the second round is still without shard 0's answer


def test_nobody_is_granted_pages_before_all_have_said_what_they_have() -> None:
    allowance = Allowance(2, 10)
    allowance.join(0, 4)
    allowance.want(0, 10)
    assert allowance.grants() == []
    allowance.join(1, 6)
    assert allowance.grants() == []
    assert allowance.is_scarce


def test_what_a_dead_shard_did_not_use_is_there_for_others() -> None:
    allowance = Allowance(2, 8)
    for shard in (0, 1):
        allowance.join(shard, 0)
        allowance.want(shard, 8)
    granted = dict(allowance.grants())
    assert granted == {0: 2, 1: 1}
    allowance.lost(0)
    assert allowance.left == 5
    allowance.join(0, 0)
    assert allowance.left == 7


def test_a_shard_that_died_waiting_is_granted_nothing_until_it_asks_again() -> None:
    allowance = Allowance(2, 2)
    allowance.join(0, 0)
    allowance.join(1, 0)
    allowance.want(1, 2)
    assert allowance.grants() == [(1, 1)]
    allowance.want(1, 1)
    assert allowance.grants() == [(1, 1)]
    allowance.want(0, 5)
    assert allowance.is_scarce
    allowance.lost(0)
    allowance.take_back(1, 1)
    assert allowance.grants() == []
    assert not allowance.is_scarce
