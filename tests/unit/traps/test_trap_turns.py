"""Whose turn it is among the domains on probation: nobody is far ahead of the slowest."""

from gossamer.traps.allowance import ProbationTurns


def taking(turns: ProbationTurns, name: str, cost: float, most: int = 99) -> int:
    """Return how many turns a domain has until it must wait."""
    for count in range(most):
        if not turns.is_due(name):
            return count
        turns.take(name, cost)
    return most


def test_a_domain_may_be_four_requests_ahead_of_the_slowest() -> None:
    turns = ProbationTurns()
    assert (turns.join("a"), turns.join("b")) == (0.0, 0.0)
    assert taking(turns, "a", 1.0) == 5
    assert turns.join("a") == 5.0
    assert turns.is_due("b")
    turns.take("b", 0.5)
    assert not turns.is_due("a"), "the slowest has moved by half a request only"
    turns.take("b", 0.5)
    assert turns.is_due("a")


def test_a_domain_alone_need_not_wait() -> None:
    assert taking(ProbationTurns(), "a", 1.0) == 99


def test_a_domain_of_four_times_the_weight_has_four_times_the_turns() -> None:
    turns = ProbationTurns()
    turns.join("heavy")
    turns.join("light")
    had = {"heavy": 0, "light": 0}
    for _ in range(200):
        for name, cost in (("heavy", 0.25), ("light", 1.0)):
            if turns.is_due(name):
                turns.take(name, cost)
                had[name] += 1
    assert had["heavy"] == 200
    assert 50 <= had["light"] <= 55


def test_a_newcomer_begins_where_the_slowest_is() -> None:
    turns = ProbationTurns()
    turns.join("b")
    turns.take("a", 7.0)
    turns.take("b", 3.0)
    assert turns.join("late") == 3.0
    assert turns.join("a") == 7.0, "who is there already stays where it is"


def test_nobody_waits_for_who_has_left() -> None:
    turns = ProbationTurns()
    turns.join("slow")
    assert taking(turns, "a", 1.0) == 5
    turns.leave("slow")
    assert turns.is_due("a")
    assert turns.join("slow") == 5.0, "it comes back as a newcomer"
    turns.leave("never there")


def test_when_all_have_left_a_newcomer_does_not_begin_at_nothing() -> None:
    turns = ProbationTurns()
    turns.take("a", 6.0)
    turns.leave("a")
    assert turns.join("b") == 6.0


def test_nobody_waits_for_who_has_not_moved_for_more_than_five_seconds() -> None:
    turns = ProbationTurns()
    turns.look(100.0)
    turns.join("still")
    taking(turns, "a", 1.0)
    turns.look(105.0)
    assert not turns.is_due("a")
    turns.look(105.1)
    assert turns.is_due("a")
    assert turns.join("still") == 4.0, "as far as anybody may be ahead, no further"


def test_a_turn_is_a_move() -> None:
    turns = ProbationTurns()
    turns.join("slow")
    taking(turns, "a", 1.0)
    turns.look(4.0)
    turns.take("slow", 0.5)
    turns.look(8.0)
    assert turns.join("slow") == 0.5
    turns.look(9.1)
    assert turns.join("slow") == 4.5


def test_who_is_moved_on_is_waited_for_again() -> None:
    turns = ProbationTurns()
    turns.join("still")
    taking(turns, "a", 1.0)
    turns.look(6.0)
    assert taking(turns, "a", 1.0) == 4
    turns.look(11.0)
    assert not turns.is_due("a")
    turns.look(11.1)
    assert turns.is_due("a")


def test_the_fastest_is_not_moved_on_for_waiting() -> None:
    turns = ProbationTurns()
    turns.join("slow")
    taking(turns, "a", 1.0)
    turns.take("slow", 0.1)
    turns.look(3.0)
    turns.take("slow", 0.1)
    turns.look(7.0)
    assert turns.join("a") == 5.0


def test_who_waits_at_the_lead_is_not_taken_for_one_that_has_moved() -> None:
    turns = ProbationTurns()
    turns.join("slow")
    turns.take("a", 4.0)
    turns.look(3.0)
    turns.take("slow", 0.0)
    turns.look(6.0)
    turns.take("slow", 0.5)
    turns.look(6.1)
    assert turns.join("a") == 4.5
