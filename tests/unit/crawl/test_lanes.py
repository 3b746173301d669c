"""Lanes: who may have a slot, which requests are slow, and which are cut for others."""

import pytest

from gossamer.clock import SystemClock
from gossamer.config import FetchConfig
from gossamer.crawl.lanes import Flight, Lanes, lane_sizes
from gossamer.fetch import AddressGuard, TransferWatch
from gossamer.fetch.curl import CurlHandle, CurlLoop
from gossamer.frontier import ALL_HOSTS, HostKind

ANSWERED, NEW, PARKED = HostKind.ANSWERED, HostKind.NEW, HostKind.PARKED
NOBODY: set[HostKind] = set()


class Web:
    """Transfers that a test makes receive what it likes."""

    def __init__(self) -> None:
        self._config = FetchConfig()
        self._runner = CurlLoop(SystemClock(), ends_idle=True)

    def follow(self, watch: TransferWatch) -> CurlHandle:
        """Let a transfer be under way."""
        handle = CurlHandle(self._config, AddressGuard(self._config), {})
        watch.follow(self._runner, handle, "a.test")
        return handle


@pytest.fixture
def web() -> Web:
    return Web()


def begun(
    lanes: Lanes, web: Web, kind: HostKind, count: int, at: float = 0.0
) -> list[TransferWatch]:
    """Begin requests that wait for their first byte; their keys go on from those there are."""
    watches = [lanes.begin(len(lanes), kind, at) for _ in range(count)]
    for watch in watches:
        web.follow(watch)
    return watches


def cut(lanes: Lanes, now: float, *waiting: HostKind) -> list[TransferWatch]:
    return list(lanes.sweep(now, set(waiting)))


# How the slots are shared out


@pytest.mark.parametrize(
    ("concurrency", "sizes"),
    [(1, (1, 0)), (7, (7, 0)), (8, (6, 2)), (64, (48, 16)), (512, (384, 128))],
)
def test_a_quarter_of_the_slots_is_the_slow_lane_unless_there_are_few(
    concurrency: int, sizes: tuple[int, int]
) -> None:
    assert lane_sizes(concurrency) == sizes


def test_with_few_slots_there_are_no_lanes_and_nothing_is_cut(web: Web) -> None:
    lanes = Lanes(7)
    begun(lanes, web, NEW, 7)
    assert lanes.openings() == ALL_HOSTS
    assert cut(lanes, 60.0, *HostKind) == []
    assert lanes.slow == 0


def test_new_hosts_have_half_of_the_fast_lane_then_what_is_free_in_the_slow_one(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, NEW, 32)
    assert lanes.slow == 0
    assert NEW in lanes.openings().kinds
    begun(lanes, web, NEW, 15)
    assert lanes.slow == 15
    assert NEW in lanes.openings().kinds
    begun(lanes, web, NEW, 1)
    assert lanes.slow == 16
    assert lanes.openings().kinds == (ANSWERED,)


def test_new_hosts_have_half_of_what_the_slow_lane_leaves(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, ANSWERED, 16)
    cut(lanes, 2.0)
    assert lanes.slow == 16
    begun(lanes, web, NEW, 23)
    assert NEW in lanes.openings().kinds
    begun(lanes, web, NEW, 1)
    assert lanes.slow == 16
    assert lanes.openings().kinds == (ANSWERED,)
    lanes.end(16)
    assert NEW in lanes.openings().kinds


def test_hosts_that_have_answered_are_never_kept_out(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, ANSWERED, 63)
    assert ANSWERED in lanes.openings().kinds
    assert lanes.slow == 0


def test_new_hosts_go_first_until_they_have_an_eighth(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, ANSWERED, 20)
    begun(lanes, web, NEW, 7)
    assert lanes.openings().first is NEW
    begun(lanes, web, NEW, 1)
    assert lanes.openings().first is None
    lanes.end(20)
    assert lanes.openings().first is NEW


def test_probes_have_half_of_the_slow_lane(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, PARKED, 7)
    assert lanes.openings().kinds == (ANSWERED, NEW, PARKED)
    begun(lanes, web, PARKED, 1)
    assert lanes.openings().kinds == (ANSWERED, NEW)
    assert lanes.slow == 8
    lanes.end(0)
    assert PARKED in lanes.openings().kinds
    assert lanes.slow == 7


def test_there_is_always_a_slot_for_one_probe(web: Web) -> None:
    lanes = Lanes(8)
    assert PARKED in lanes.openings().kinds
    begun(lanes, web, PARKED, 1)
    assert PARKED not in lanes.openings().kinds


def test_probes_find_no_slot_in_a_slow_lane_that_is_full(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, ANSWERED, 16)
    cut(lanes, 2.0)
    assert lanes.openings().kinds == (ANSWERED, NEW)


# Which requests are slow


def flight_of(web: Web) -> tuple[Flight, CurlHandle]:
    flight = Flight(kind=ANSWERED, began_at=100.0, in_slow_lane=False)
    return flight, web.follow(flight.watch)


def test_a_request_is_slow_when_it_has_waited_two_seconds_for_its_first_byte(web: Web) -> None:
    flight, _ = flight_of(web)
    flight.measure(101.9)
    assert not flight.is_slow
    flight.measure(102.0)
    assert flight.is_slow


def test_the_time_before_the_connection_counts_too() -> None:
    flight = Flight(kind=ANSWERED, began_at=100.0, in_slow_lane=False)
    flight.measure(102.0)
    assert flight.is_slow


def test_a_request_is_slow_when_it_brings_less_than_a_kilobyte_a_second(web: Web) -> None:
    flight, handle = flight_of(web)
    handle.lines.append(b"HTTP/1.1 200 OK\r\n")
    flight.measure(101.0)
    handle.spool.add(bytes(1999))
    flight.measure(102.9)
    assert not flight.is_slow
    flight.measure(103.0)
    assert flight.is_slow


def test_a_request_that_brings_a_kilobyte_a_second_is_not_slow(web: Web) -> None:
    flight, handle = flight_of(web)
    handle.spool.add(b"x")
    for number in range(10):
        flight.measure(101.0 + 2.0 * number)
        assert not flight.is_slow
        handle.spool.add(bytes(2000))


def test_what_came_long_ago_does_not_count(web: Web) -> None:
    flight, handle = flight_of(web)
    handle.spool.add(b"x")
    flight.measure(100.5)
    handle.spool.add(bytes(50_000))
    flight.measure(102.5)
    assert not flight.is_slow
    flight.measure(104.5)
    assert flight.is_slow


def test_a_request_whose_answer_comes_at_last_is_not_slow_any_more(web: Web) -> None:
    flight, handle = flight_of(web)
    flight.measure(105.0)
    assert flight.is_slow
    handle.lines.append(b"HTTP/1.1 200 OK\r\n")
    flight.measure(105.5)
    assert not flight.is_slow


def test_a_page_that_is_being_read_is_not_slow(web: Web) -> None:
    lanes = Lanes(64)
    (watch,) = begun(lanes, web, ANSWERED, 1)
    watch.leave()
    cut(lanes, 60.0, ANSWERED)
    assert lanes.slow == 0


# Which are cut


def test_what_began_in_the_slow_lane_may_be_cut_after_a_second_unless_bytes_have_come(
    web: Web,
) -> None:
    lanes = Lanes(64)
    begun(lanes, web, NEW, 32)
    first = lanes.begin(100, NEW, 0.0)
    web.follow(first).spool.add(b"x")
    watches = begun(lanes, web, NEW, 15)
    assert cut(lanes, 0.9, NEW) == []
    assert cut(lanes, 1.0, NEW) == watches[:4]


def test_room_is_made_for_those_that_wait_beyond_what_is_too_much(web: Web) -> None:
    lanes = Lanes(64)
    watches = begun(lanes, web, NEW, 48)
    assert cut(lanes, 2.0, PARKED) == watches[: 48 - 16 + 4]
    assert cut(lanes, 2.0, PARKED) == []


def test_slow_requests_move_to_the_slow_lane_once(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, NEW, 4)
    begun(lanes, web, ANSWERED, 4, at=1.0)
    cut(lanes, 2.5)
    cut(lanes, 2.75)
    assert lanes.slow == 4
    cut(lanes, 3.0)
    assert lanes.slow == 8
    for key in range(8):
        lanes.end(key)
    assert (len(lanes), lanes.slow) == (0, 0)
    assert lanes.openings() == (tuple(HostKind), NEW)


def test_new_hosts_in_the_slow_lane_do_not_count_for_their_part_of_the_fast_one(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, NEW, 8)
    cut(lanes, 2.0)
    assert lanes.openings().first is NEW
    begun(lanes, web, NEW, 7, at=2.0)
    assert lanes.openings().first is NEW
    begun(lanes, web, NEW, 1, at=2.0)
    assert lanes.openings().first is None


def test_nothing_is_cut_while_nobody_waits(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, ANSWERED, 64)
    assert cut(lanes, 60.0) == []
    assert lanes.slow == 64


def test_when_the_slow_lane_is_full_those_that_have_waited_longest_are_cut_for_others(
    web: Web,
) -> None:
    lanes = Lanes(64)
    oldest = begun(lanes, web, ANSWERED, 3)
    begun(lanes, web, ANSWERED, 16, at=1.0)
    assert cut(lanes, 5.0, ANSWERED) == oldest
    assert cut(lanes, 5.25, ANSWERED) == []


def test_a_slow_lane_that_is_just_full_is_left_alone(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, ANSWERED, 16)
    assert cut(lanes, 5.0, ANSWERED) == []


def test_what_cannot_be_cut_is_passed_over(web: Web) -> None:
    lanes = Lanes(64)
    lanes.begin(100, ANSWERED, 0.0)  # its name is being looked up
    watches = begun(lanes, web, ANSWERED, 17)
    assert cut(lanes, 5.0, ANSWERED) == watches[:2]


def test_all_that_is_under_way_is_cut_once(web: Web) -> None:
    lanes = Lanes(8)
    lanes.begin(100, ANSWERED, 0.0)  # its name is being looked up
    watches = begun(lanes, web, ANSWERED, 3)
    assert list(lanes.cut_all()) == watches
    assert list(lanes.cut_all()) == []


def test_one_that_has_become_fast_again_is_not_cut(web: Web) -> None:
    lanes = Lanes(64)
    watches = begun(lanes, web, ANSWERED, 16)
    late = lanes.begin(100, ANSWERED, 0.5)
    handle = web.follow(late)
    cut(lanes, 4.0)
    handle.spool.add(b"x")
    watches += begun(lanes, web, ANSWERED, 1, at=3.0)
    assert cut(lanes, 5.0, ANSWERED) == watches[:2]
    assert lanes.slow == 18


def test_some_are_cut_for_new_hosts_that_find_no_slot(web: Web) -> None:
    lanes = Lanes(64)
    watches = begun(lanes, web, PARKED, 8)
    watches += begun(lanes, web, ANSWERED, 8)
    watches += begun(lanes, web, NEW, 24, at=3.0)
    assert cut(lanes, 4.0, ANSWERED) == []
    assert cut(lanes, 4.0, NEW) == watches[:4]
    assert cut(lanes, 4.0, NEW) == []
    for key in range(4):
        lanes.end(key)
    assert NEW in lanes.openings().kinds


def test_none_is_cut_for_new_hosts_that_find_a_slot(web: Web) -> None:
    lanes = Lanes(64)
    begun(lanes, web, ANSWERED, 16)
    cut(lanes, 2.0)
    assert cut(lanes, 4.0, NEW, ANSWERED) == []


def test_some_are_cut_for_probes_that_find_no_slot(web: Web) -> None:
    lanes = Lanes(64)
    watches = begun(lanes, web, PARKED, 8)
    assert cut(lanes, 0.9, PARKED) == []
    assert cut(lanes, 1.0, PARKED) == watches[:4]


def test_one_at_least_is_cut_where_the_slow_lane_is_small(web: Web) -> None:
    lanes = Lanes(8)
    watches = begun(lanes, web, PARKED, 1)
    assert cut(lanes, 2.0, PARKED) == watches
    assert cut(lanes, 2.25, PARKED) == []
