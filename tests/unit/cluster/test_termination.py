from gossamer.cluster import PageBudget, Termination


def answer(rounds: Termination, *commits: int) -> None:
    """Let every shard answer the round under way, idle, with so many commits."""
    for shard, count in enumerate(commits):
        rounds.note(shard, is_idle=True, commits=count, answers=rounds.round)


def asked() -> Termination:
    """Return a rounds of two idle shards that has begun its first round."""
    rounds = Termination(2)
    for shard in (0, 1):
        assert not rounds.should_ask
        rounds.note(shard, is_idle=True, commits=3, answers=0)
    assert rounds.should_ask
    rounds.ask()
    assert not rounds.should_ask
    return rounds


def test_two_rounds_without_a_commit_between_them_are_the_end() -> None:
    rounds = asked()
    answer(rounds, 3, 3)
    assert not rounds.is_reached
    assert rounds.should_ask
    rounds.ask()
    answer(rounds, 3, 3)
    assert rounds.is_reached
    assert not rounds.should_ask


def test_a_commit_between_two_rounds_asks_for_a_third() -> None:
    rounds = asked()
    answer(rounds, 3, 3)
    rounds.ask()
    answer(rounds, 3, 4)  # it took a letter in, and has dealt with it
    assert not rounds.is_reached
    rounds.ask()
    answer(rounds, 3, 4)
    assert rounds.is_reached


def test_a_busy_shard_makes_the_rounds_begin_again() -> None:
    rounds = asked()
    answer(rounds, 3, 3)
    rounds.ask()
    rounds.note(0, is_idle=False, commits=3, answers=0)
    answer(rounds, 3, 3)
    assert not rounds.is_reached


def test_a_dead_shard_makes_the_rounds_begin_again() -> None:
    rounds = asked()
    answer(rounds, 3, 3)
    rounds.ask()
    rounds.lost(1)
    answer(rounds, 3, 3)  # a new start of it may have as many commits as the dead one had
    assert not rounds.is_reached
    rounds.ask()
    answer(rounds, 3, 3)
    assert not rounds.is_reached


def test_an_answer_to_an_earlier_round_does_not_count() -> None:
    rounds = asked()
    rounds.note(0, is_idle=True, commits=3, answers=1)
    rounds.lost(1)
    rounds.note(1, is_idle=True, commits=1, answers=0)
    assert rounds.ask() == 2
    rounds.note(1, is_idle=True, commits=1, answers=2)
    rounds.note(0, is_idle=True, commits=3, answers=1)
    assert not rounds.should_ask  # the second round is still without shard 0's answer


def test_nobody_is_granted_pages_before_all_have_said_what_they_have() -> None:
    budget = PageBudget(2, 10)
    budget.join(0, 4)
    budget.want(0, 10)
    assert budget.grants() == []
    budget.join(1, 6)
    assert budget.grants() == []
    assert budget.is_scarce


def test_what_a_dead_shard_did_not_use_is_there_for_others() -> None:
    budget = PageBudget(2, 8)
    for shard in (0, 1):
        budget.join(shard, 0)
        budget.want(shard, 8)
    granted = dict(budget.grants())
    assert granted == {0: 2, 1: 1}
    budget.lost(0)
    assert budget.left == 5
    budget.join(0, 0)
    assert budget.left == 7


def test_a_shard_that_died_waiting_is_granted_nothing_until_it_asks_again() -> None:
    budget = PageBudget(2, 2)
    budget.join(0, 0)
    budget.join(1, 0)
    budget.want(1, 2)
    assert budget.grants() == [(1, 1)]
    budget.want(1, 1)
    assert budget.grants() == [(1, 1)]
    budget.want(0, 5)
    assert budget.is_scarce
    budget.lost(0)
    budget.take_back(1, 1)
    assert budget.grants() == []
    assert not budget.is_scarce
