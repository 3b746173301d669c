"""What a store keeps of a crawl's past, and what is deleted: nothing that was named lately."""

from pathlib import Path

import pytest
from msgspec import json

from gossamer.crawl.history import (
    DAY_S,
    HOUR_S,
    LAST_MANIFESTS,
    keep_set,
    manifests_at,
    note_moment,
    sweep,
    worth_keeping,
)
from gossamer.errors import CannotGoOn
from gossamer.store import CrawlCharter, CrawlStore, Objects, ShardManifest, ShippedFile

NOW = 1_800_000_000.0
CHARTER = CrawlCharter(
    crawl="c", lineage="l", owner="o", lease_s=2.0, epoch=1, generation=1, shards=2, nonce="n", at=0
)


@pytest.fixture
def store(tmp_path: Path) -> CrawlStore:
    return CrawlStore(Objects(f"file://{tmp_path}/store", is_made=True))


def ship(store: CrawlStore, shard: int, number: int, at: float, *files: str) -> None:
    """Write a manifest that names some files, which are there."""
    for name in files:
        store.objects.put(name, name.encode())
    manifest = ShardManifest(
        crawl="c",
        shard=shard,
        epoch=1,
        lineage="l",
        nonce="n",
        at=at,
        sequence=number,
        files={name: ShippedFile(name, len(name)) for name in files},
    )
    assert store.shard_chain(1, shard).append(number, json.encode(manifest))


def sequences(store: CrawlStore, at: float) -> list[int]:
    return [one.sequence for one in manifests_at(store, at)[1]]


def test_the_newest_set_that_is_not_after_a_moment_is_found(store: CrawlStore) -> None:
    ship(store, 0, 1, NOW)
    ship(store, 1, 1, NOW)
    first = note_moment(store, CHARTER, None)
    assert note_moment(store, CHARTER, first) is first
    ship(store, 1, 2, NOW + 10)
    second = note_moment(store, CHARTER, first)
    assert (first.numbers, second.numbers) == ((1, 1), (1, 2))
    assert sequences(store, NOW + 9.9) == [1, 1]
    assert sequences(store, NOW + 10) == [1, 2]
    with pytest.raises(CannotGoOn, match="no checkpoint that is so old; the oldest is of 2027"):
        manifests_at(store, NOW - 1)


def test_a_set_whose_manifests_are_gone_is_passed_over(store: CrawlStore) -> None:
    for number in (1, 2):
        ship(store, 0, number, NOW + number)
        ship(store, 1, number, NOW + number)
        note_moment(store, CHARTER, None)
    store.objects.delete([store.shard_chain(1, 1).name(2)])
    assert sequences(store, NOW + 100) == [1, 1]


def test_a_kept_set_outlives_its_manifests(store: CrawlStore) -> None:
    ship(store, 0, 1, NOW)
    ship(store, 1, 1, NOW)
    keep_set(store, note_moment(store, CHARTER, None))
    keep_set(store, note_moment(store, CHARTER, None))
    assert len(store.objects.names("kept/")) == 1
    store.objects.delete([store.shard_chain(1, shard).name(1) for shard in (0, 1)])
    assert sequences(store, NOW) == [1, 1]


def test_one_set_an_hour_is_kept_for_two_days_and_one_a_day_for_a_month() -> None:
    moments = [NOW - minutes * 60 for minutes in range(0, 60 * 24 * 60, 10)]
    stays = worth_keeping(moments, NOW)
    ages = sorted(NOW - at for at in stays)
    of_hours = [age for age in ages if age <= 48 * HOUR_S]
    of_days = [age for age in ages if age > 48 * HOUR_S]
    assert 48 <= len(of_hours) <= 50
    assert 28 <= len(of_days) <= 30
    assert max(ages) <= 31 * DAY_S


def test_only_what_nothing_has_named_for_a_day_is_deleted(store: CrawlStore) -> None:
    old, new, part = "0001/0000/files/old", "0001/0000/files/new", "archive/pages/0-5-x"
    ship(store, 0, 1, NOW, old)
    ship(store, 0, 2, NOW, new)
    ship(store, 1, 1, NOW)
    store.objects.put(part, b"never named")
    sweep(store, CHARTER, NOW)
    sweep(store, CHARTER, NOW + DAY_S - 1)
    assert store.objects.exists(old)
    assert store.objects.exists(part)
    sweep(store, CHARTER, NOW + DAY_S)
    assert not store.objects.exists(old)
    assert not store.objects.exists(part)
    assert store.objects.exists(new)
    assert store.manifest(1, 0) is not None


def test_what_was_named_again_meanwhile_has_a_day_of_its_own(store: CrawlStore) -> None:
    name = "0001/0000/files/one"
    ship(store, 0, 1, NOW)
    ship(store, 1, 1, NOW)
    store.objects.put(name, b"1")
    sweep(store, CHARTER, NOW)
    ship(store, 0, 2, NOW, name)
    sweep(store, CHARTER, NOW + DAY_S)
    assert store.objects.exists(name)


def test_files_of_sets_and_of_kept_sets_stay(store: CrawlStore) -> None:
    name = "0001/0000/files/one"
    ship(store, 0, 1, NOW, name)
    ship(store, 1, 1, NOW)
    keep_set(store, note_moment(store, CHARTER, None))
    ship(store, 0, 2, NOW + 1)
    note_moment(store, CHARTER, None)
    for days in range(30):
        sweep(store, CHARTER, NOW + days * DAY_S)
    assert store.objects.exists(name)
    for days in range(30, 35):
        sweep(store, CHARTER, NOW + days * DAY_S)
    assert not store.objects.exists(name)


@pytest.mark.parametrize("damaged", ["0001/0000/manifest/000000000001", "kept/", "sets/"])
def test_what_cannot_be_read_is_not_taken_for_gone(store: CrawlStore, damaged: str) -> None:
    name = "0001/0000/files/one"
    ship(store, 0, 1, NOW, name)
    ship(store, 1, 1, NOW)
    keep_set(store, note_moment(store, CHARTER, None))
    ship(store, 0, 2, NOW + 1)
    store.objects.put(store.objects.names(damaged)[0] if damaged[-1] == "/" else damaged, b"{")
    for days in range(3):
        with pytest.raises(CannotGoOn, match="is damaged"):
            sweep(store, CHARTER, NOW + days * DAY_S)
    assert store.objects.exists(name)
    if damaged != "kept/":
        with pytest.raises(CannotGoOn, match="is damaged"):
            manifests_at(store, NOW + 1)


def test_a_chain_keeps_its_last_thousand_numbers(store: CrawlStore) -> None:
    chain = store.shard_chain(1, 0)
    for number in range(1, LAST_MANIFESTS + 4):
        store.objects.put(chain.name(number), b"{}")
    ship(store, 0, LAST_MANIFESTS + 4, NOW)
    ship(store, 1, 1, NOW)
    sweep(store, CHARTER, NOW)
    assert chain.numbers() == list(range(5, LAST_MANIFESTS + 5))


def test_another_generation_that_does_not_count_yet_is_left_alone(store: CrawlStore) -> None:
    ship(store, 0, 1, NOW)
    ship(store, 1, 1, NOW)
    for name in ("0000/0000/manifest/000000000001", "0002/0000/files/coming"):
        store.objects.put(name, b"1")
    for days in (0, 1):
        sweep(store, CHARTER, NOW + days * DAY_S)
    assert not store.objects.exists("0000/0000/manifest/000000000001")
    assert store.objects.exists("0002/0000/files/coming")
