import asyncio

import pytest

from gossamer.clock import Clock
from gossamer.testing import ManualClock


async def test_a_sleeper_wakes_when_its_moment_has_come_and_not_before() -> None:
    clock: Clock = ManualClock()
    assert isinstance(clock, ManualClock)
    sleeper = asyncio.ensure_future(clock.sleep(5))
    await clock.run_for(4.9)
    assert not sleeper.done()
    await clock.run_for(0.2)
    assert sleeper.done()
    assert clock.sleepers == 0


async def test_time_passes_in_steps_so_that_a_loop_wakes_each_time() -> None:
    clock = ManualClock(wall_at=100.0)
    woken: list[float] = []

    async def tick() -> None:
        while True:
            await clock.sleep(1)
            woken.append(clock.wall())

    ticking = asyncio.ensure_future(tick())
    await clock.run_for(3.5)
    ticking.cancel()
    assert woken == [101.0, 102.0, 103.0]
    assert clock.steady() == 3.5


async def test_advance_moves_both_clocks_and_a_jump_only_the_wall() -> None:
    clock = ManualClock(wall_at=100.0)
    clock.advance(2)
    clock.jump_wall(-50)
    assert (clock.wall(), clock.steady()) == (52.0, 2.0)
    with pytest.raises(ValueError, match="forward only"):
        clock.advance(-1)
