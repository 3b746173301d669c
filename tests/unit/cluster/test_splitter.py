import pytest

from gossamer.cluster import POINTS, Ring, Splitter, splitter


class Nothing:
    """A seen test that knows nothing and is told nothing."""

    def new_among(self, keys: list[int]) -> list[int]:
        return list(keys)

    def add(self, keys: list[int]) -> None:
        raise AssertionError(f"not ours: {keys}")


def foreign(number: int) -> int:
    return ((POINTS - 1) << 40) | number


def test_what_was_sent_long_ago_is_sent_again_and_memory_stays_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(splitter, "SENT_KEPT", 10)
    split = Splitter(Ring.even(2), 0, Nothing())
    for number in range(0, 40, 5):
        split.add([foreign(one) for one in range(number, number + 5)])
    again = split.new_among([foreign(number) for number in range(40)])
    assert again == [foreign(number) for number in range(30)]
