"""Any machine takes over: killed with their disks, frozen and thawed, machines follow one another.

The judges are the server's log and the archive, read by warcio and FastWARC.
"""

import signal
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb
from tests.e2e.crawler import wait_until
from tests.store.extent import IS_FULL, only_in_full, times
from tests.store.machines import LEASE_S, TAKEN_OVER, Trial, pause, trial

pytestmark = pytest.mark.slow


def web_of(seed: int, *, losses: int = 3) -> FakeWeb:
    """Return a web that is large enough for some losses."""
    return FakeWeb(seed=seed, hosts=6, pages_per_host=6 + 4 * losses)


@pytest.mark.parametrize(
    ("store", "losses", "shards"), [("folder", times(20), 1), ("s3", times(10), 2)]
)
def test_machines_that_die_with_their_disks_lose_nothing(
    store: str, losses: int, shards: int, tmp_path: Path
) -> None:
    web = web_of(1901, losses=losses)
    with trial(tmp_path, web, is_s3=store == "s3", shards=shards) as going:
        machines = [going.machine(name) for name in ("a", "b")]
        for number in range(losses):
            machine = machines[number % 2]
            machine.start(*going.dice.choice([(), ("--take-over",)]) if number else ())
            if going.dice.random() < 0.2:
                pause(going.dice.uniform(0.0, LEASE_S))
            else:
                going.wait_for(going.dice.randint(1, 60), machine)
                pause(going.dice.uniform(0.0, 1.0))
            was_killed = machine.lose()
            going.losses += was_killed
            going.note(machine.name, "lost" if was_killed else "had ended", "at", going.served())
        last = machines[losses % 2]
        last.run("--take-over").expect(0)
        going.judge(last)


@only_in_full
def test_a_machine_that_was_frozen_ends_when_it_finds_another_in_its_place(tmp_path: Path) -> None:
    with trial(tmp_path, web_of(1902, losses=times(10)), shards=2) as going:
        owner, other = (going.machine(name) for name in ("a", "b"))
        owner.start()
        for _ in range(times(10)):
            going.wait_for(going.dice.randint(5, 40), owner)
            if not owner.is_running:
                break
            owner.signal(signal.SIGSTOP)
            going.note(owner.name, "frozen at", going.served())
            other.start(*going.dice.choice([(), ("--take-over",)]))
            going.wait_for(going.dice.randint(1, 20), other)
            owner.signal(signal.SIGCONT)
            going.losses += 1
            ended = owner.finish().expect(TAKEN_OVER)
            assert "taken over by" in ended.err
            assert other.is_running or other.process is None or other.process.poll() == 0
            owner, other = other, owner
        ended = owner.finish().expect(0)
        assert ended.last_json["finished"] is True
        going.judge(owner)


@only_in_full
def test_a_machine_that_crawls_is_not_disturbed_unless_it_is_told_to_be(tmp_path: Path) -> None:
    with trial(tmp_path, web_of(1903)) as going:
        owner, other = (going.machine(name) for name in ("a", "b"))
        owner.start()
        going.wait_for(20, owner)
        refused = other.run().expect(4)
        assert "--take-over" in refused.err
        assert not (other.folder / "state").exists()
        assert owner.is_running
        other.start("--take-over")
        assert "taken over by" in owner.finish().expect(TAKEN_OVER).err
        going.losses += 1
        other.finish().expect(0)
        going.judge(other)


@only_in_full
def test_of_two_machines_that_are_restarted_for_ever_one_crawls(tmp_path: Path) -> None:
    with trial(tmp_path, web_of(1904, losses=20 if IS_FULL else 4), shards=2) as going:
        standby(going, kills=6 if IS_FULL else 1)


def standby(going: Trial, kills: int) -> None:
    """Restart both whenever they end, as a unit does; kill the owner now and then."""
    machines = [going.machine(name) for name in ("a", "b")]
    for machine in machines:
        machine.start()
    codes: dict[str, list[int]] = {"a": [], "b": []}
    goal = going.served() + 40
    while True:
        for machine in machines:
            if not machine.is_running:
                ended = machine.finish()
                if ended.code == 0:
                    going.note("exit codes", codes)
                    assert {code for some in codes.values() for code in some} <= {4, -9}
                    going.judge(machine)
                    return
                assert ended.code in {4, -9}, ended
                codes[machine.name].append(ended.code)
                machine.start()
        if kills and going.served() >= goal:
            owner = next(m for m in machines if (m.folder / "state").exists())
            owner.lose()
            kills, goal = kills - 1, going.served() + 40
            going.losses += 1
            going.note(owner.name, "lost")
        pause(0.1)


@only_in_full
@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_successor_that_goes_while_it_waits_leaves_the_wait_to_the_next(
    end: str, tmp_path: Path
) -> None:
    with trial(tmp_path, web_of(1905)) as going:
        owner, other = (going.machine(name) for name in ("a", "b"))
        owner.start()
        going.wait_for(30, owner)
        owner.signal(signal.SIGSTOP)
        process = other.start("--take-over")
        begun = "the successor to have claimed the crawl, and begun its state"
        assert wait_until((other.folder / "state" / "00").exists, process, begun)
        if end == "killed":
            other.kill()
        else:
            process.send_signal(signal.SIGTERM)
            assert other.finish().code in {3, 4}
        owner.signal(signal.SIGCONT)
        other.start("--take-over")
        owner.finish().expect(TAKEN_OVER)
        going.losses += 2
        other.finish().expect(0)
        going.judge(other)
