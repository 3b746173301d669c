"""Schedules: hours of the week, as the clocks of a time zone show them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import ConfigError
from gossamer.schedule import DAYS, Schedule, moment_words, read_schedule

BERLIN = "Europe/Berlin"
HOUR_S = 3600.0


def at(text: str, zone: str = "UTC", fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def shown(moment: float | None, zone: str = "UTC") -> str:
    assert moment is not None
    return f"{datetime.fromtimestamp(moment, ZoneInfo(zone)):%a %Y-%m-%d %H:%M:%S}"


def test_without_hours_requests_may_always_be_made() -> None:
    assert Schedule().opens_at(0.0) is None
    assert read_schedule((), "").is_open(1e9)


def test_hours_hold_every_day_and_end_at_their_end() -> None:
    day = read_schedule(["09:00-17:30"], "UTC")
    assert not day.is_open(at("2026-11-19T08:59:59"))
    assert day.is_open(at("2026-11-19T09:00"))
    assert day.is_open(at("2026-11-19T17:29:59"))
    assert not day.is_open(at("2026-11-19T17:30"))
    assert shown(day.opens_at(at("2026-11-19T17:30:20"))) == "Fri 2026-11-20 09:00:00"
    assert day.opens_at(at("2026-11-19T09:00")) is None


def test_hours_may_reach_over_midnight_and_belong_to_the_day_on_which_they_begin() -> None:
    night = read_schedule(["Fri 22:00-06:00"], "UTC")
    assert night.is_open(at("2026-11-20T23:00"))
    assert night.is_open(at("2026-11-21T05:59"))
    assert not night.is_open(at("2026-11-20T05:00"))
    assert shown(night.opens_at(at("2026-11-21T06:00"))) == "Fri 2026-11-27 22:00:00"


def test_hours_may_reach_over_the_end_of_the_week() -> None:
    night = read_schedule(["Sunday 22:00-06:00"], "UTC")
    assert night.is_open(at("2026-11-22T23:00"))
    assert night.is_open(at("2026-11-23T05:00"))
    assert not night.is_open(at("2026-11-23T06:00"))


def test_several_hours_add_up_and_whole_days_have_24() -> None:
    hours = read_schedule(["Mon-Fri 20:00 - 07:00", "sat,Sun 00:00-24:00"], "UTC")
    assert not hours.is_open(at("2026-11-20T12:00"))
    assert hours.is_open(at("2026-11-20T20:00"))
    assert hours.is_open(at("2026-11-22T23:59"))
    assert not hours.is_open(at("2026-11-23T00:00"))  # Sunday is over, and Monday begins at 20:00


def test_days_may_go_round_the_week() -> None:
    hours = read_schedule(["Sat-Mon 10:00-11:00"], "UTC")
    found = [day for day in range(16, 23) if hours.is_open(at(f"2026-11-{day:02}T10:30"))]
    assert found == [16, 21, 22]


def test_hours_are_those_of_the_time_zone() -> None:
    hours = read_schedule(["22:00-06:00"], BERLIN)
    assert shown(hours.opens_at(at("2026-07-01T12:00"))) == "Wed 2026-07-01 20:00:00"
    assert shown(hours.opens_at(at("2026-12-01T12:00"))) == "Tue 2026-12-01 21:00:00"


def test_hours_that_a_clock_leaves_out_begin_when_it_goes_on() -> None:
    """In Berlin the clock goes from 02:00 to 03:00 on 29 March 2026."""
    hours = read_schedule(["02:30-05:00"], BERLIN)
    before = at("2026-03-29T01:59", BERLIN)
    opens = hours.opens_at(before)
    assert shown(opens, BERLIN) == "Sun 2026-03-29 03:00:00"
    assert opens == before + 60


def test_hours_that_a_clock_leaves_out_whole_come_the_next_time() -> None:
    hours = read_schedule(["Sun 02:10-02:50"], BERLIN)
    opens = hours.opens_at(at("2026-03-28T12:00", BERLIN))
    assert shown(opens, BERLIN) == "Sun 2026-04-05 02:10:00"


def test_hours_that_a_clock_shows_twice_come_twice() -> None:
    """In Berlin the clock goes from 03:00 to 02:00 on 25 October 2026."""
    hours = read_schedule(["02:00-03:00"], BERLIN)
    first, second = (at("2026-10-25T02:30", BERLIN, fold) for fold in (0, 1))
    assert second == first + HOUR_S
    assert hours.is_open(first)
    assert hours.is_open(second)
    assert not hours.is_open(second + HOUR_S)


def test_the_time_zone_of_the_machine_is_taken_unless_one_is_named() -> None:
    now = at("2026-11-19T12:00")
    here = datetime.fromtimestamp(now).astimezone()
    hours = read_schedule([f"{here:%H:%M}-{here.hour:02}:59"], "")
    assert hours.is_open(now)
    assert f"{here:%H:%M %Z}" in moment_words(now, "")


def test_a_moment_is_told_with_its_zone() -> None:
    moment = at("2026-11-20T21:00")
    assert moment_words(moment, BERLIN) == "Fri 20 Nov 22:00 CET (Europe/Berlin)"
    assert moment_words(moment, "UTC") == "Fri 20 Nov 21:00 UTC"


@pytest.mark.parametrize(
    "text",
    [
        *("", "22", "22:00", "22:00-", "-06:00", "25:00-26:00", "22:60-23:00", "24:00-06:00"),
        *("22:00-06:00-07:00", "Mon", "Mon 22", "Foo 22:00-06:00", "Mo 22:00-06:00", "22-6"),
        *("Mon- 22:00-06:00", "Mon,,Tue 22:00-06:00", "10pm-6am", "Mon\n22:00\u00a0-6:00x"),
    ],
)
def test_what_is_no_hours_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"schedule\.hours: expected hours such as") as caught:
        read_schedule(["22:00-06:00", text], "")
    assert "\n" not in str(caught.value)
    assert repr(text) in str(caught.value)


def test_hours_without_length_are_refused() -> None:
    with pytest.raises(ConfigError, match="a whole day is"):
        read_schedule(["09:00-09:00"], "")


@pytest.mark.parametrize("name", ["Berlin", "CET/", "../etc/passwd", "Europe/Nowhere", "a\0b", "/"])
def test_what_is_no_time_zone_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ConfigError, match=r'schedule\.time_zone: expected .*"Europe/Berlin"') as e:
        read_schedule((), name)
    assert "\n" not in str(e.value)


@given(
    st.lists(
        st.tuples(st.sampled_from(DAYS), st.integers(0, 1439), st.integers(1, 1440)),
        min_size=1,
        max_size=4,
    ).filter(lambda spans: all(begin != end for _, begin, end in spans)),
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)).map(lambda d: d.replace(tzinfo=UTC)),  # noqa: DTZ001
    st.sampled_from(["UTC", BERLIN, "Australia/Lord_Howe", "America/New_York", "Asia/Kathmandu"]),
)
def test_no_moment_before_the_opening_is_open_and_that_is(
    spans: list[tuple[str, int, int]], moment: datetime, zone: str
) -> None:
    texts = [f"{d} {b // 60:02}:{b % 60:02}-{e // 60:02}:{e % 60:02}" for d, b, e in spans]
    schedule = read_schedule(texts, zone)
    now = moment.timestamp()
    opens = schedule.opens_at(now)
    if opens is None:
        assert schedule.is_open(now)
        return
    assert opens > now
    assert schedule.is_open(opens)
    steps = [now + (opens - now) * n / 50 for n in range(50)]
    assert not any(schedule.is_open(step) for step in (*steps, opens - 1.0))
