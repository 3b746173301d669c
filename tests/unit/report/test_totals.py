"""The totals of several shards."""

from gossamer.model import Counters, Standing, UserErrors
from gossamer.report import (
    decode_counters,
    encode_counters,
    merge_standings,
    status_of,
    sum_counters,
    waiting_words,
)


def test_errors_of_the_users_functions_add_up_over_shards_and_restarts() -> None:
    first, second = Counters(pages=1), Counters(pages=2)
    first.add_user_error("score m:f", "ValueError: 1")
    first = decode_counters(encode_counters(first))
    first.add_user_error("score m:f", "ValueError: 2")
    second.add_user_error("score m:f", "KeyError: 3")
    second.add_user_error("filter f", "KeyError: 4")
    total = sum_counters([first, second])
    assert total.pages == 3
    assert total.user_errors == {
        "score m:f": UserErrors(3, "KeyError: 3"),
        "filter f": UserErrors(1, "KeyError: 4"),
    }
    assert first.user_errors["score m:f"].count == 2, "the parts stay as they were"


def test_totals_of_an_older_version_are_still_read() -> None:
    assert decode_counters(b"\x81\xa5pages\x07") == Counters(pages=7)


def test_hosts_that_wait_for_an_address_add_up_over_shards_the_most_first() -> None:
    waits = [{"127.0.0.1": 2, "127.0.0.2": 3}, {"127.0.0.1": 4, "127.0.0.3": 1}, {}]
    parts = [Standing(queued=0, hosts=0, known_urls=0, address_waits=each) for each in waits]
    told = merge_standings(parts).address_waits
    assert list(told.items()) == [("127.0.0.1", 6), ("127.0.0.2", 3), ("127.0.0.3", 1)]
    many = {f"127.0.1.{number}": number for number in range(1, 10)}
    merged = merge_standings([Standing(queued=0, hosts=0, known_urls=0, address_waits=many)])
    assert list(merged.address_waits.values()) == [9, 8, 7, 6, 5]


def test_shards_that_wait_while_others_crawl_are_named() -> None:
    def words(*paused: str) -> str:
        parts = [Standing(queued=1, hosts=1, known_urls=1, paused=each) for each in paused]
        return waiting_words(status_of(Counters(), merge_standings(parts)))

    assert words("", "", "store_lease", "").startswith("shard 2 (of 4) paused: waiting for the le")
    assert words("store_lease", "", "store_lease").startswith("shards 0, 2 (of 3) paused: waiting")
    assert words("store_lease", "store_lease").startswith("paused: waiting for the lease")
    assert words("store_lease").startswith("paused: waiting for the lease")
    assert words("", "") == ""
