"""A page that kills machines is found by what shards had in hand."""

from gossamer.cluster.in_hand import MOST_KEPT, KeysInHand


def test_what_was_in_hand_when_a_machine_went_is_suspected() -> None:
    hands = KeysInHand(2)
    hands.note(0, [1, 2], 0)
    hands.note(0, [2, 3], 0)
    hands.lost(0)
    assert hands.suspects(0) == {2: 1, 3: 1}
    assert hands.suspects(1) == {}


def test_only_who_was_read_alone_when_the_next_one_went_has_two() -> None:
    hands = KeysInHand(1)
    for alone, found in (
        (0, {1: 1, 2: 1}),
        (1, {1: 2, 2: 1}),
        (0, {1: 2, 2: 1}),
        (1, {1: 3, 2: 1}),
    ):
        hands.note(0, [1, 2], alone)
        hands.lost(0)
        assert hands.suspects(0) == found


def test_an_end_and_a_death_where_the_disk_is_suspect_nobody() -> None:
    hands = KeysInHand(1)
    hands.note(0, [1], 1)
    hands.ended(0)
    hands.lost(0)
    assert hands.suspects(0) == {}


def test_suspects_are_not_kept_without_end() -> None:
    hands = KeysInHand(1)
    hands.note(0, list(range(1, MOST_KEPT + 4)), 0)
    hands.lost(0)
    assert len(hands.suspects(0)) == MOST_KEPT
    assert 1 not in hands.suspects(0)
