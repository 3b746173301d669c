"""What every `Clock` does: the machine's own, and the one of tests that is told to move."""

import asyncio

import pytest

from gossamer.clock import Clock, CrawlTime, SystemClock
from gossamer.testing import ManualClock

ROUNDING_S = 1e-5
"""Seconds since the epoch, as a float, are not finer than that."""


@pytest.fixture(params=[SystemClock, ManualClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


async def slept(clock: Clock, seconds: float) -> None:
    """Sleep by the clock, and let time pass where it does not pass by itself."""
    task = asyncio.ensure_future(clock.sleep(seconds))
    if isinstance(clock, ManualClock):
        await clock.run_for(seconds)
    await task


def test_wall_time_is_of_this_age(clock: Clock) -> None:
    assert 1_600_000_000 < clock.wall() < 10_000_000_000


def test_steady_time_never_goes_back(clock: Clock) -> None:
    moments = [clock.steady() for _ in range(100)]
    assert moments == sorted(moments)


async def test_a_sleep_lasts_as_long_as_was_asked_by_both_times(clock: Clock) -> None:
    steady, wall = clock.steady(), clock.wall()
    await slept(clock, 0.02)
    assert clock.steady() - steady >= 0.0199
    assert clock.wall() - wall >= 0.0199


async def test_who_sleeps_lets_others_run(clock: Clock) -> None:
    ran = []

    async def other() -> None:
        ran.append(True)

    task = asyncio.ensure_future(other())
    await clock.sleep(0)
    await slept(clock, 0.001)
    assert ran == [True]
    await task


async def test_sleepers_wake_in_the_order_of_their_moments(clock: Clock) -> None:
    woken: list[int] = []

    async def sleeper(number: int, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(number)

    sleepers = [asyncio.ensure_future(sleeper(n, s)) for n, s in ((2, 0.2), (1, 0.02))]
    await slept(clock, 0.4)
    await asyncio.gather(*sleepers)
    assert woken == [1, 2]


async def test_a_sleep_can_be_cancelled(clock: Clock) -> None:
    task = asyncio.ensure_future(clock.sleep(3600))
    await clock.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_time_of_a_crawl_goes_on_with_steady_time(clock: Clock) -> None:
    early = clock.wall() - clock.steady()
    time = CrawlTime.anchored(clock)
    late = clock.wall() - clock.steady()
    await slept(clock, 0.01)
    before, now, after = clock.steady(), time.now(), clock.steady()
    assert before - ROUNDING_S <= now - time.offset_s <= after + ROUNDING_S
    assert min(early, late) - 1 <= time.offset_s <= max(early, late) + 1
