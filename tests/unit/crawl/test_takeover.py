"""Who may run a crawl that has a store: one machine at a time, and nobody asks too early."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import obstore
import pytest
from msgspec import json

from gossamer.clock import SystemClock
from gossamer.cluster import Ring
from gossamer.config import Config, FilterConfig, PolitenessConfig
from gossamer.crawl.opening import ShardFolder
from gossamer.crawl.setting import over_restored
from gossamer.crawl.shipping import ShippedMark, Shipper, ship_after_s, shipped_mark_path
from gossamer.crawl.takeover import StoreClaim, claim_store, ring_of_store
from gossamer.errors import CannotGoOn, TakenOver
from gossamer.linux import boot_time
from gossamer.model import Counters
from gossamer.store import (
    CrawlCharter,
    CrawlFolder,
    CrawlStore,
    Objects,
    ShardManifest,
    ShippedFile,
)

LEASE_S = 0.5


class Machine:
    """A folder and the store that it shares with others."""

    def __init__(self, base: Path, name: str) -> None:
        self.folder = base / name
        self.url = f"file://{base}/store"

    def claim(self, *, is_forced: bool = False) -> StoreClaim:
        clock = SystemClock()
        return claim_store(self.folder, self.url, LEASE_S, clock, is_forced=is_forced)

    def begins_in_s(self, claim: StoreClaim) -> float:
        return claim.orders(Ring(), LEASE_S, 1.0).begins_at - boot_time()

    def shipper(self, claim: StoreClaim) -> Shipper:
        """Return what keeps the lease of a shard; nothing is there that it could ship."""
        none: Any = None
        return Shipper(
            orders=claim.orders(Ring(), LEASE_S, 1.0),
            place=ShardFolder(folder=CrawlFolder(self.folder)),
            state=none,
            archive=none,
            older={},
            peers=none,
            clock=SystemClock(),
            wake=lambda: None,
            counters=Counters(),
            standing=none,
            survey=none,
            hurries=lambda: 0,
        )

    def ship(self, claim: StoreClaim, *, counts: bool = True) -> None:
        """Ship a first checkpoint of one shard."""
        orders = claim.orders(Ring(), LEASE_S, 1.0)
        charter = claim.charter
        chain = claim.store.shard_chain(orders.generation, 0)
        manifest = ShardManifest(
            crawl=charter.crawl,
            shard=0,
            epoch=orders.epoch,
            lineage=orders.lineage,
            nonce="n",
            at=1.0,
            sequence=1,
            files={"CURRENT": ShippedFile("", 1, digest_of(b"x"), b"x")},
            root={"crawl.toml": ShippedFile("", 1, digest_of(b"#"), b"#")},
        )
        number = max(chain.numbers(), default=0) + 1
        assert chain.append(number, json.encode(manifest))
        if counts:
            claim.keep()


def digest_of(content: bytes) -> str:
    from hashlib import blake2b  # noqa: PLC0415 -- of this alone

    return blake2b(content, digest_size=16).hexdigest()


@contextmanager
def alive(claim: StoreClaim) -> Iterator[None]:
    with claim.beating():
        yield


@pytest.fixture
def a(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "a")


@pytest.fixture
def b(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "b")


def test_a_crawl_that_shows_signs_of_life_is_not_taken_over_unasked(a: Machine, b: Machine) -> None:
    mine = a.claim()
    with alive(mine), pytest.raises(CannotGoOn, match=r"elsewhere, by .*--take-over"):
        b.claim()
    mine.keep()
    assert not b.folder.exists(), "nothing is left of what was refused"


def test_one_without_a_sign_of_life_is_taken_over_and_the_old_owner_learns_it(
    a: Machine, b: Machine
) -> None:
    old = a.claim()
    a.ship(old)
    new = b.claim()
    assert (b.folder / "state" / "00" / "CURRENT").read_bytes() == b"x"
    assert new.has_restored
    new.keep()
    with pytest.raises(TakenOver, match="goes on there"):
        old.keep()


@pytest.mark.parametrize("counts", [True, False])
def test_a_shard_that_has_shipped_learns_of_a_successor_by_itself(
    *, counts: bool, a: Machine, b: Machine
) -> None:
    old = a.claim()
    shard = a.shipper(old)
    a.ship(old, counts=counts)  # else the charter does not name its generation yet
    asyncio.run(shard._confirm())
    assert shard.may_ask
    b.claim(is_forced=True)
    with pytest.raises(TakenOver):
        asyncio.run(shard._confirm())


def test_a_shard_goes_on_when_its_generation_counts(a: Machine) -> None:
    mine = a.claim()
    shard = a.shipper(mine)
    for counts in (False, True):
        a.ship(mine, counts=counts)
        shard._number = -1  # it looks for its place again
        asyncio.run(shard._confirm())
        assert shard.may_ask
        asyncio.run(shard._confirm())
        assert shard.may_ask


def test_force_takes_over_what_is_alive_and_waits_for_its_lease(a: Machine, b: Machine) -> None:
    old = a.claim()
    a.ship(old)
    with alive(old):
        new = b.claim(is_forced=True)
    assert 0 < b.begins_in_s(new) <= LEASE_S
    with pytest.raises(TakenOver):
        old.keep()


def test_the_same_folder_goes_on_at_once_and_keeps_what_it_has(a: Machine) -> None:
    first = a.claim()
    a.ship(first)
    (a.folder / "state" / "00").mkdir(parents=True)
    again = a.claim()
    assert a.begins_in_s(again) <= 0
    # It never noted that it shipped: the store may have more, so the folder is set aside.
    assert again.has_restored
    assert len(list(a.folder.glob("set-aside-*"))) == 1
    third = a.claim()
    assert not third.has_restored


class Killed(BaseException):
    """Stands for kill -9: nothing in the program catches it."""


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """End what is done at its n-th step: before or after a change of the folder, or of the store.

    Whatever lies between two steps is neither.
    """
    left = step

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        name = frame.f_code.co_name
        if name in {"replace_file", "create", "note_far"} and event in {"call", "return"}:
            left -= 1
            if left == 0:
                raise Killed

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def kept_in(machine: Machine) -> None:
    """Let a machine have a folder that has all that it has shipped."""
    first = machine.claim()
    machine.ship(first)
    state = machine.folder / "state" / "00"
    state.mkdir(parents=True)
    orders = first.orders(Ring(), LEASE_S, 1.0)
    mark = ShippedMark(lineage=orders.lineage, number=1)
    path = shipped_mark_path(state, first.charter.crawl, orders.generation)
    path.write_bytes(json.encode(mark))


@pytest.mark.parametrize("is_copy", [False, True], ids=["same", "copy"])
def test_a_claim_that_is_killed_leaves_a_folder_that_is_as_new_as_it_was(
    *, is_copy: bool, tmp_path: Path
) -> None:
    has_ended, step = False, 0
    while not has_ended:
        step += 1
        machine = Machine(tmp_path / f"{step}", "a")
        kept_in(machine)
        if is_copy:
            shutil.copytree(machine.folder, tmp_path / f"{step}" / "copy")
            machine.folder = tmp_path / f"{step}" / "copy"
        with suppress(Killed), killed_at(step):
            machine.claim(is_forced=True)
            has_ended = True
        for _ in range(2):
            with suppress(Killed), killed_at(step // 2):  # the next may be killed, too
                machine.claim(is_forced=True)
        assert not machine.claim(is_forced=True).has_restored, step
        assert not list(machine.folder.glob("set-aside-*")), step
        (mark,) = (machine.folder / "state").glob("shipped-*")
        assert not json.decode(mark.read_bytes(), type=ShippedMark).claims
    assert step > 6


def test_a_claim_that_is_killed_does_not_hide_that_the_folder_is_behind(
    a: Machine, b: Machine
) -> None:
    kept_in(a)
    for step in (3, 6, 9, 12):
        with suppress(Killed), killed_at(step):
            a.claim(is_forced=True)
    b.ship(b.claim(is_forced=True))
    assert a.claim(is_forced=True).has_restored


def test_a_successor_that_was_still_waiting_passes_its_wait_on(a: Machine, b: Machine) -> None:
    old = a.claim()
    a.ship(old)
    b.claim(is_forced=True)
    again = b.claim()
    assert 0 < b.begins_in_s(again) <= LEASE_S, "the first owner may still be asking"


def test_who_ended_cleanly_is_not_waited_for(a: Machine, b: Machine) -> None:
    old = a.claim()
    a.ship(old)
    old.end()
    assert b.begins_in_s(b.claim()) <= 0


def test_a_copy_of_a_folder_is_not_the_folder(a: Machine, b: Machine) -> None:
    a.ship(a.claim())
    a.claim()
    shutil.copytree(a.folder, b.folder)
    theirs = b.claim(is_forced=True)
    assert b.begins_in_s(theirs) > 0
    mine = a.claim(is_forced=True)
    assert mine.has_restored, "what the copy shipped meanwhile is not in this folder"


def test_a_folder_of_another_crawl_is_refused_and_not_touched(a: Machine, b: Machine) -> None:
    a.ship(a.claim())
    (b.folder / "archive").mkdir(parents=True)
    (b.folder / "crawl.toml").write_text("# other\n")
    before = sorted(b.folder.rglob("*"))
    with pytest.raises(CannotGoOn, match="is another crawl"):
        b.claim()
    assert sorted(b.folder.rglob("*")) == before


def test_an_empty_store_that_should_have_a_crawl_is_refused(a: Machine, tmp_path: Path) -> None:
    a.ship(a.claim())
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(CannotGoOn, match="is no folder"):
        a.claim()
    (tmp_path / "store").mkdir()
    with pytest.raises(CannotGoOn, match="has no crawl"):
        a.claim()


def test_a_store_that_is_away_is_no_other_owner(a: Machine, tmp_path: Path) -> None:
    mine = a.claim()
    a.ship(mine)
    (tmp_path / "store").rename(tmp_path / "away")
    with pytest.raises(CannotGoOn, match="is it mounted") as told:
        mine.keep()
    assert not isinstance(told.value, TakenOver)
    (tmp_path / "store").mkdir()  # what an unmounted file system leaves
    with pytest.raises(CannotGoOn, match="is it mounted") as told:
        mine.keep()
    assert not isinstance(told.value, TakenOver)
    assert not list((tmp_path / "store").iterdir())
    (tmp_path / "store").rmdir()
    (tmp_path / "away").rename(tmp_path / "store")
    mine.keep()


def test_what_is_written_where_a_store_was_is_not_taken_for_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, away, put = tmp_path / "store", tmp_path / "away", obstore.put
    objects = Objects(f"file://{store}", is_made=True)

    def put_too_late(*asked: Any, **how: Any) -> object:
        store.rename(away)  # it goes between the look at it and the writing, which makes it anew
        return put(*asked, **how)

    monkeypatch.setattr(obstore, "put", put_too_late)
    with pytest.raises(CannotGoOn, match="is it mounted"):
        objects.create("a/b", b"mine")
    assert not list(away.iterdir())


def test_only_one_of_two_claims_of_one_charter_is_granted(tmp_path: Path) -> None:
    store = CrawlStore(Objects(f"file://{tmp_path}/store", is_made=True))
    charter = CrawlCharter(
        crawl="c", lineage="l", owner="o", lease_s=1.0, epoch=1, nonce="one", at=0.0
    )
    assert store.charters.append(1, json.encode(charter))
    assert not store.charters.append(1, json.encode(charter)[:-1] + b" }")
    assert store.charters.append(1, json.encode(charter)), "an answer that was lost is ours"


def test_a_number_whose_predecessor_was_swept_is_not_ours(tmp_path: Path) -> None:
    store = CrawlStore(Objects(f"file://{tmp_path}/store", is_made=True))
    assert all(store.charters.append(number, b"{}") for number in (1, 2, 3))
    store.objects.delete([store.charters.name(number) for number in (1, 2)])
    assert not store.charters.append(2, b"{}")
    assert not store.charters.is_newest(2)
    assert store.charters.numbers() == [3]


def test_checkpoints_are_rare_while_little_happens() -> None:
    assert ship_after_s(5.0, 31, is_urgent=False) == 30.0
    assert ship_after_s(5.0, 32, is_urgent=False) == 5.0
    assert ship_after_s(5.0, 0, is_urgent=True) == 5.0
    assert ship_after_s(60.0, 0, is_urgent=False) == 60.0


def test_what_is_given_to_a_restored_crawl_takes_the_place_of_what_it_says() -> None:
    restored = Config(
        seeds=("http://a.test/",),
        concurrency=7,
        politeness=PolitenessConfig(delay_s=2.0),
        filter=FilterConfig(max_depth=3),
    )
    given = Config(seeds=("http://b.test/",), politeness=PolitenessConfig(delay_s=9.0))
    found = over_restored(restored, given)
    assert found.seeds == ("http://a.test/", "http://b.test/")
    assert (found.concurrency, found.filter.max_depth, found.politeness.delay_s) == (7, 3, 9.0)


def test_another_ring_of_as_many_shards_is_another_generation(a: Machine) -> None:
    claim = a.claim()
    a.ship(claim)
    first = claim.orders(Ring(), LEASE_S, 1.0).generation
    assert claim.is_settled
    again = a.claim(is_forced=True)
    assert again.orders(Ring(), LEASE_S, 1.0).generation == first
    two, other = Ring.even(2), Ring.even(3).resplit(2)
    second = again.orders(two, LEASE_S, 1.0).generation
    assert (second > first, again.is_settled) == (True, False)
    assert again.orders(two, LEASE_S, 1.0).generation == second
    for shard in range(2):
        again.store.shard_chain(second, shard).append(1, b"{}")
    again.keep()
    assert (again.is_settled, again.charter.shards, again.charter.ranges) == (True, 2, ())
    assert ring_of_store(again.charter) != other


def test_the_charter_of_a_store_has_the_ranges_of_an_uneven_ring(a: Machine) -> None:
    claim, ring = a.claim(), Ring.even(2).resplit(3)
    generation = claim.orders(ring, LEASE_S, 1.0).generation
    for shard in ring.numbers:
        claim.store.shard_chain(generation, shard).append(1, b"{}")
    claim.keep()
    found = claim.store.charter()
    assert found is not None
    assert (found[1].shards, found[1].ranges) == (3, ring.ranges)
    assert ring_of_store(found[1]) == ring
    assert claim.orders(ring, LEASE_S, 1.0).generation == generation
