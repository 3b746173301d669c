"""Places that may be away: the others answer, it is said, and they are asked again."""

import gc
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search import open_searcher
from gossamer.search.broker import Broker, BrokerOptions, TierRule, Tiers, open_reader
from gossamer.search.broker.places import Places
from gossamer.search.broker.refresher import Refresher
from gossamer.search.index_reader import MissingShard
from gossamer.search.manifest import index_folder
from gossamer.search.messages import ShardQuery
from gossamer.search.remote import NodeHealth, RemoteShard, SilentShard
from tests.unit.search.made import crawl_with_index, prepared, shard_of, write_shard

RED = ShardQuery(groups=(("red",),), needed=1)
PAGES = [prepared(f"http://a.test/{n}", title="red", main="red " * n) for n in range(1, 21)]
NOBODY = "http://127.0.0.1:1"
PATIENCE_S = 60.0


class Set:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def wall(self) -> float:
        return self.now

    def steady(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Wait for nothing."""


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, or fail."""
    for _ in range(int(PATIENCE_S * 20)):
        if is_so():
            return
        threading.Event().wait(0.05)
    pytest.fail("it never was so")


def test_a_machine_that_fails_is_left_alone_longer_each_time_but_not_for_ever() -> None:
    clock = Set()
    health = NodeHealth(clock)
    assert health.refusal() == ""
    waits = []
    for _ in range(7):
        health.note_failure("is down")
        health.note_failure("is down")  # another question of the same moment
        assert health.refusal() == "is down"
        began = clock.now
        while health.refusal():
            clock.now += 0.5
        waits.append(clock.now - began)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    health.note_answer()
    health.note_failure("is down")
    clock.now += 1.0
    assert health.refusal() == "", "an answer begins it anew"


def test_nobody_waits_for_a_machine_while_it_is_tried() -> None:
    clock = Set()
    health = NodeHealth(clock)
    health.note_failure("is down")
    clock.now += 1.0
    health.begin_try(8.0)
    assert health.refusal() == "is down"
    health.end_try("is still down")
    clock.now += 1.5
    assert health.refusal() == "is still down"
    clock.now += 0.5
    assert health.refusal() == ""


def test_a_shard_of_a_machine_that_hangs_is_not_asked_again_at_once() -> None:
    clock = Set()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/shard/00"
        shard = RemoteShard(url, timeout_s=0.05, health=NodeHealth(clock))
        with pytest.raises(SilentShard, match="does not answer: timed out"):
            shard.facts()
        listening.accept()[0].close()
        with pytest.raises(SilentShard, match="does not answer: timed out"):
            shard.facts()
        listening.settimeout(0.05)
        with pytest.raises(TimeoutError):
            listening.accept()


def test_a_search_without_one_of_two_places_says_which_and_why(tmp_path: Path) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", PAGES)
    reader = open_reader([crawl, NOBODY])
    assert reader.find(RED).missing == 1
    with reader.noting() as notes:
        assert reader.find(RED).total == 20
    away = MissingShard(place=NOBODY, shard="", reason="does not answer: Connection refused")
    assert list(notes.missing.values()) == [away]
    reader.close()
    searcher = open_searcher([str(crawl), NOBODY])
    answer = searcher.search("red")
    assert answer.is_partial
    assert answer.missing == [away]
    assert answer.total == 20
    searcher.close()


def test_if_every_place_is_away_one_line_names_each() -> None:
    with pytest.raises(CannotGoOn) as raised:
        open_reader([NOBODY, "http://127.0.0.1:2"])
    assert str(raised.value) == (
        "http://127.0.0.1:1 does not answer: Connection refused; "
        "http://127.0.0.1:2 does not answer: Connection refused; "
        "expected a `gossamer serve DIR --shard` there"
    )


def test_a_folder_without_an_index_is_a_mistake_also_beside_others(tmp_path: Path) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", PAGES)
    with pytest.raises(CannotGoOn, match="no index in"):
        open_reader([crawl, tmp_path / "nothing"])


def test_passwords_in_the_url_of_a_server_are_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="leave them out") as raised:
        open_reader("http://me:s3cret@127.0.0.1:1")
    assert "s3cret" not in str(raised.value)


class Coming:
    """A place that is away until it is told to be there."""

    place = "http://coming.test"
    may_be_away = True

    def __init__(self, shards: Tiers) -> None:
        self._shards = shards
        self.is_here = False
        self.looks = 0

    def is_due(self) -> bool:
        return True

    def look(self) -> bool:
        self.looks += 1
        if not self.is_here:
            raise CannotGoOn("is away")
        return False

    def tiers(self) -> Tiers:
        return self._shards


def test_a_place_that_was_away_at_the_start_joins_when_it_is_there(tmp_path: Path) -> None:
    here = Coming(Tiers([shard_of(tmp_path / "one", PAGES[:10])]))
    away = Coming(Tiers([shard_of(tmp_path / "two", PAGES[10:])]))
    here.is_here = True
    places = Places([here, away])
    broker = Broker(places.first(), BrokerOptions(refresh_s=0.01), places=places)
    with broker.noting() as notes:
        found = broker.find(RED)
        assert (found.total, found.missing) == (10, 1)
        assert [one.reason for one in notes.missing.values()] == ["is away"]
        away.is_here = True
        until(lambda: broker.pages() == 10 and away.looks > 3)
        assert broker.find(RED).total == 10, "a search keeps the shards that it began with"
    until(lambda: broker.find(RED).total == 20)
    found = broker.find(RED)
    assert (found.total, found.missing) == (20, 0)
    assert broker.counts(["red"]).pages == 20
    here.is_here = False
    looks = here.looks
    until(lambda: here.looks > looks + 2)
    assert broker.find(RED).total == 20, "what is open answers while its place cannot be read"
    broker.close()


def test_an_index_takes_up_commits_by_itself_until_it_is_closed(tmp_path: Path) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", PAGES)
    broker = open_reader(crawl, options=BrokerOptions(refresh_s=0.01))
    assert broker.find(RED).total == 20
    write_shard(index_folder(crawl) / "00", [prepared("http://new.test/", title="red")])
    until(lambda: broker.find(RED).total == 21)
    until(lambda: broker.statistics().refreshes > 0)
    broker.settle()
    assert broker.counts(["red"]).pages == 21
    broker.close()
    write_shard(index_folder(crawl) / "00", [prepared("http://newer.test/", title="red")])
    threading.Event().wait(0.1)
    assert broker.find(RED).total == 21
    assert not [one for one in threading.enumerate() if one.name == "gossamer-refresher"]


class Counted:
    """Something that is refreshed."""

    def __init__(self, calls: list[int]) -> None:
        self._calls = calls

    def refresh(self) -> None:
        self._calls.append(1)
        raise CannotGoOn("nobody is there")


@pytest.mark.slow
def test_a_refresher_ends_with_what_it_refreshes_and_survives_its_failures() -> None:
    calls: list[int] = []
    counted = Counted(calls)
    refresher = Refresher(counted.refresh, 0.01)
    until(lambda: len(calls) > 2)
    del counted
    gc.collect()
    until(lambda: not refresher._thread.is_alive())


def test_statistics_stay_as_they_are_while_a_shard_is_missing(tmp_path: Path) -> None:
    one, two = shard_of(tmp_path / "1", PAGES[:10]), shard_of(tmp_path / "2", PAGES[10:])
    away = Away(two)
    broker = Broker(Tiers([one, away]))  # type: ignore[list-item]  # a shard in all that matters
    assert broker.counts(["red"]).pages == 20
    write_shard(tmp_path / "1", [prepared(f"http://b.test/{n}", title="red") for n in range(5)])
    away.is_away = True
    assert broker.renew()
    broker.settle()
    assert broker.counts(["red"]).pages == 20
    assert broker.statistics().is_stale
    away.is_away = False
    broker.renew()
    broker.settle()
    assert broker.counts(["red"]).pages == 25
    assert not broker.statistics().is_stale


class Away:
    """A shard that is there or not."""

    is_far = True
    place, name = "http://away.test", "00"

    def __init__(self, shard: object) -> None:
        self._shard = shard
        self.is_away = False

    def __getattr__(self, name: str) -> object:
        if self.is_away:
            raise CannotGoOn("is away")
        return getattr(self._shard, name)


def test_what_is_found_on_a_machine_that_is_gone_since_is_left_out_and_told(tmp_path: Path) -> None:
    away = Away(shard_of(tmp_path / "1", PAGES))
    broker = Broker(Tiers([away]))  # type: ignore[list-item]  # a shard in all that matters
    with broker.noting() as notes:
        found = broker.find(RED)
        away.is_away = True
        assert broker.stored(found.candidates) == []
        assert [one.reason for one in notes.missing.values()] == ["is away"]


def test_the_tiers_that_were_asked_are_told(tmp_path: Path) -> None:
    high = [prepared(f"http://h.test/{n}", title="red") for n in range(12)]
    low = [prepared("http://l.test/", title="red blue")]
    tiers = Tiers([shard_of(tmp_path / "h", high)], [shard_of(tmp_path / "l", low)])
    broker = Broker(tiers, BrokerOptions(rule=TierRule(good=0.1)))
    with broker.noting() as notes:
        broker.find(RED)
    assert list(notes.tiers) == ["high"]
    with broker.noting() as notes:
        broker.find(ShardQuery(groups=(("blue",),), needed=1))
    assert list(notes.tiers) == ["high", "low"]
    plain = Broker(Tiers([shard_of(tmp_path / "p", high)]))
    with plain.noting() as notes:
        plain.find(RED)
    assert list(notes.tiers) == []
