"""What every seen test does for keys of its own: alone, and as one shard among several."""

from pathlib import Path

import pytest

from gossamer.cluster import Ring, Splitter
from gossamer.config import SeenConfig
from gossamer.crawl.ports import UrlSeenTest
from gossamer.seen import UrlSeen

TEXT_BITS = 40


@pytest.fixture(params=["alone", "one of one", "one of three"])
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> UrlSeenTest:
    alone = UrlSeen.open(tmp_path, SeenConfig(run_keys=50, fan_in=2), [])
    match request.param:
        case "alone":
            return alone
        case "one of one":
            return Splitter(Ring.even(1), 0, alone)
        case _:
            return Splitter(Ring.even(3), 0, alone)


def own(*numbers: int) -> list[int]:
    """Return keys that the first shard of any number owns."""
    ring = Ring.even(3).spans(0)[0][0]
    return [(ring << TEXT_BITS) + number for number in numbers]


def test_all_are_new_at_first_in_the_order_asked(seen: UrlSeenTest) -> None:
    assert seen.new_among(own(3, 1, 2)) == own(3, 1, 2)
    assert seen.new_among([]) == []


def test_asking_is_not_adding(seen: UrlSeenTest) -> None:
    seen.new_among(own(1))
    assert seen.new_among(own(1)) == own(1)


def test_what_was_added_is_not_new_and_the_rest_keeps_its_order(seen: UrlSeenTest) -> None:
    seen.add(own(5, 2))
    assert seen.new_among(own(1, 2, 9, 5, 7)) == own(1, 9, 7)
    seen.add(own(2))
    seen.add([])
    assert seen.new_among(own(2, 5)) == []


def test_keys_come_in_any_collection(seen: UrlSeenTest) -> None:
    seen.add(own(1))
    assert sorted(seen.new_among(dict.fromkeys(own(1, 2)).keys())) == own(2)


def test_the_smallest_and_many_keys_are_remembered(seen: UrlSeenTest) -> None:
    many = own(*range(1000))
    seen.add(many)
    assert seen.new_among([*many, *own(5000)]) == own(5000)
