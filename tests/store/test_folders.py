"""Which folder a crawl goes on in: older ones, copies, those of other crawls or without a store."""

import shutil
import signal
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb
from tests.e2e.crawler import wait_until
from tests.store.extent import only_in_full, times
from tests.store.machines import TAKEN_OVER, Machine, Trial, tree_hash, trial

pytestmark = pytest.mark.slow
SMALL = {"hosts": 6, "pages_per_host": 9}


def stopped(going: Trial, machine: Machine, after: int) -> None:
    """Let a machine crawl on for some requests, then stop it as a person does."""
    machine.start()
    going.wait_for(after, machine)
    assert machine.process is not None
    machine.process.send_signal(signal.SIGTERM)
    ended = machine.finish()
    assert ended.code in {0, 3}, ended


def put_back(machine: Machine, copy: Path) -> None:
    """Replace a machine's folder by an older copy of it."""
    shutil.rmtree(machine.folder)
    shutil.copytree(copy, machine.folder)


@only_in_full
def test_an_older_copy_of_the_folder_that_is_put_back_loses_nothing(tmp_path: Path) -> None:
    web = FakeWeb(seed=1911, hosts=6, pages_per_host=8 + 4 * times(10))
    with trial(tmp_path, web) as going:
        machine = going.machine("a")
        for number in range(times(10)):
            stopped(going, machine, going.dice.randint(5, 25))
            copy = tmp_path / f"copy-{number}"
            shutil.copytree(machine.folder, copy)
            machine.start()
            going.wait_for(going.dice.randint(10, 50), machine)
            going.losses += machine.kill()
            put_back(machine, copy)
        machine.run().expect(0)
        going.judge(machine)


@only_in_full
def test_of_two_copies_of_a_folder_only_what_was_shipped_counts(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1912, **SMALL), shards=2) as going:
        first, copy = going.machine("a"), going.machine("b")
        stopped(going, first, 20)
        shutil.copytree(first.folder, copy.folder)
        first.start()
        going.wait_for(30, first)
        first.signal(signal.SIGSTOP)
        copy.start("--take-over")
        going.wait_for(25, copy)
        going.losses += copy.kill() + 1
        first.signal(signal.SIGCONT)
        first.finish().expect(TAKEN_OVER)
        first.run("--take-over").expect(0)
        going.judge(first)


@only_in_full
def test_a_folder_that_is_behind_is_set_aside_and_not_deleted(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1913, **SMALL)) as going:
        first, other = going.machine("a"), going.machine("b")
        stopped(going, first, 20)
        before = {path.name for path in (first.folder / "archive").glob("*.gz")}
        stopped(going, other, 20)
        first.run().expect(0)
        (aside,) = first.folder.glob("set-aside-*")
        assert before <= {path.name for path in aside.rglob("*.gz")}
        going.judge(first)


def test_a_folder_of_another_crawl_is_refused_and_not_touched(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1914, **SMALL)) as going:
        owner, wrong = going.machine("a"), going.machine("b")
        alone = going.machine("c", "--max-pages", "5", has_store=False)
        alone.run().expect(0)
        going.losses += 1  # what it asked for will be asked for again
        shutil.copytree(alone.folder, wrong.folder)
        stopped(going, owner, 20)
        before = tree_hash(wrong.folder)
        for more in ((), ("--take-over",)):
            refused = wrong.run(*more).expect(4)
            assert str(wrong.folder) in refused.err
            assert tree_hash(wrong.folder) == before
        owner.run("--max-pages", "100000").expect(0)
        going.judge(owner)


@only_in_full
def test_a_crawl_that_had_no_store_is_given_one(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1915, **SMALL), shards=2) as going:
        alone = going.machine("a", has_store=False)
        stopped(going, alone, 40)
        owner, other = going.machine("a"), going.machine("b")
        owner.start()
        going.wait_for(20, owner)
        going.losses += owner.lose()
        other.run().expect(0)
        going.judge(other)


@only_in_full
def test_a_crawl_that_ended_goes_on_elsewhere_by_the_same_command(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1916, **SMALL)) as going:
        first, other = going.machine("a"), going.machine("b")
        first.run("--max-pages", "30").expect(0)
        other.run("--max-pages", "100000").expect(0)
        going.judge(other)
        again = first.run().expect(0)
        assert again.last_json["finished"] is True
        going.judge(first)


@only_in_full
@pytest.mark.parametrize("shards", [3, 1])
def test_a_machine_takes_over_with_another_number_of_shards(shards: int, tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1917, **SMALL), shards=2) as going:
        owner, other = going.machine("a"), going.machine("b", "--shards", str(shards))
        owner.start()
        going.wait_for(40, owner)
        going.losses += owner.lose()
        ended = other.run().expect(0)
        assert ended.last_json["shards"] == shards
        going.judge(other)


@only_in_full
def test_the_secrets_of_hosts_stay_on_their_machine_and_are_asked_for_on_the_next(
    tmp_path: Path,
) -> None:
    with trial(tmp_path, FakeWeb(seed=1918, **SMALL)) as going:
        host = "h01.fake0.test"
        owner, other = going.machine("a", "--auth", f"{host}=me:sesame-open"), going.machine("b")
        owner.start()
        going.wait_for(30, owner)
        assert wait_until((owner.folder / "secrets.toml").exists, owner.process)
        going.losses += owner.lose()
        for name, content in going.place.contents():
            assert b"sesame-open" not in content, name
        ended = other.run()
        assert host in ended.err
        owner.run("--take-over").expect(0)
        for name, content in going.place.contents():
            assert b"sesame-open" not in content, name
