"""The steps of a split in the store: each may be repeated, and only one thing can come of it."""

from pathlib import Path

import pytest
from msgspec import json
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.cluster import POINTS, Ring
from gossamer.crawl.cluster_claim import ClusterClaim, CoordinatorOffer, claim_cluster
from gossamer.crawl.history import is_swept, manifests_at, note_moment
from gossamer.crawl.splitting import (
    begin_chains,
    close_shard,
    expect_free_number,
    have_shipped,
    is_closed,
    knows_ring,
    ring_after_split,
)
from gossamer.errors import CannotGoOn, TakenOver
from gossamer.model import Counters
from gossamer.store import CrawlStore, ShardManifest, ShippedFile, SplitIntent


def claimed(folder: Path, *, is_forced: bool = False) -> ClusterClaim:
    return claim_cluster(
        CoordinatorOffer(
            url=f"file://{folder}",
            address="127.0.0.1:1",
            fingerprint="",
            lease_s=0.1,
            shards=0,
            usual_shards=2,
            is_forced=is_forced,
        ),
        SystemClock(),
    )


def ship(claim: ClusterClaim, generation: int, shard: int, *, has_ended: bool) -> ShardManifest:
    """Ship a checkpoint of a shard, by an epoch that is issued for it."""
    chain = claim.store.shard_chain(generation, shard)
    number, before = claim.store.manifest(generation, shard) or (0, None)
    assert before is not None
    epoch = claim.issue()
    manifest = replace(
        before,
        epoch=epoch,
        nonce=f"{number + 1}",
        at=1000.0 + epoch,
        files={"CURRENT": ShippedFile("", 1, "x", b"x")},
        archive={f"pages-{shard:02d}-0001-00000.warc.gz": [ShippedFile("archive/a", 5, "x")]},
        counters=Counters(pages=7),
        has_ended=has_ended,
        source=None,
    )
    assert chain.append(number + 1, json.encode(manifest))
    return manifest


def wanted(claim: ClusterClaim, shard: int = 0) -> SplitIntent:
    return claim.begin_split(shard, ring_after_split(claim.charter, shard))


def close(claim: ClusterClaim, intent: SplitIntent) -> bool:
    return close_shard(claim.store, claim.charter, intent, claim.issue(), 2000.0)


def test_a_shard_is_closed_only_when_it_has_ended(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    first = claim.charter.generation
    intent = wanted(claim)
    ship(claim, first, 0, has_ended=False)
    assert not close(claim, intent)
    ship(claim, first, 0, has_ended=True)
    assert close(claim, intent)
    assert is_closed(claim.store, claim.charter, intent)
    assert close(claim, intent), "it may be asked for again"


def test_an_older_epoch_cannot_close_what_was_claimed_since(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    intent = wanted(claim)
    late = claim.issue()
    ship(claim, claim.charter.generation, 0, has_ended=True)
    assert not close_shard(claim.store, claim.charter, intent, late, 2000.0)


def test_both_begin_with_what_the_shard_had_and_totals_stay_with_its_number(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    last = ship(claim, claim.charter.generation, 0, has_ended=True)
    intent = wanted(claim)
    assert close(claim, intent)
    for _ in range(2):
        begin_chains(claim.store, claim.charter, intent)
    found = [claim.store.manifest(intent.generation, shard) for shard in (0, 2)]
    (number, kept), (other, made) = [one for one in found if one is not None]
    assert (number, other) == (1, 1)
    assert kept.files == made.files == last.files
    assert (kept.counters.pages, made.counters.pages) == (7, 0)
    assert kept.archive == last.archive
    assert not made.archive
    assert kept.source is not None
    assert kept.source == made.source
    assert kept.split_into == made.split_into == 0
    assert not have_shipped(claim.store, intent)


def test_readers_see_the_shard_as_it_ended_until_the_charter_names_both(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    generation = claim.charter.generation
    for shard in (0, 1):
        ship(claim, generation, shard, has_ended=True)
    before = note_moment(claim.store, claim.charter, None)
    assert before is not None
    intent = wanted(claim)
    assert close(claim, intent)
    begin_chains(claim.store, claim.charter, intent)
    for shard in (0, 2):
        ship(claim, intent.generation, shard, has_ended=False)
    assert have_shipped(claim.store, intent)
    assert pages_seen(claim.store) == [7, 7]
    claim.settle_split()
    assert pages_seen(claim.store) == [7, 7, 7]
    after = note_moment(claim.store, claim.charter, before)
    assert after is not None
    assert len(after.numbers) == 3
    assert len(manifests_at(claim.store, before.at).manifests) == 2
    found = manifests_at(claim.store, after.at)
    assert len(found.manifests) == 3
    assert "state/shards.json" in found.root


def pages_seen(store: CrawlStore) -> list[int]:
    found = store.consistent_point()
    assert found is not None
    return [one.counters.pages for one in found[2]]


def test_the_next_coordinator_finds_the_intent_and_an_older_one_settles_nothing(
    tmp_path: Path,
) -> None:
    first = claimed(tmp_path)
    intent = wanted(first)
    second = claimed(tmp_path, is_forced=True)
    assert second.charter.split == intent
    with pytest.raises(TakenOver):
        first.settle_split()
    second.settle_split()
    charter = second.charter
    assert (charter.shards, charter.split, charter.layout) == (3, None, intent.generation)
    assert charter.version > 2, "older versions would read the closed chain"


def test_who_was_started_before_does_not_know_the_ring(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    old = claim.issue()
    wanted(claim)
    halves = claim.issue()
    claim.settle_split()
    new = claim.issue()
    assert [knows_ring(claim.charter, 1, epoch) for epoch in (old, halves, new)] == [
        False,
        False,
        True,
    ]
    assert knows_ring(claim.charter, 0, halves)
    assert knows_ring(claim.charter, 2, halves)


def test_chains_that_count_are_never_swept_nor_those_of_a_split_under_way(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    first = claim.charter.generation
    intent = wanted(claim)
    begun = f"{intent.generation:04d}/0002"
    assert not is_swept(f"{begun}/files/a.sst", claim.charter)
    claim.settle_split()
    charter = claim.charter
    assert not is_swept(f"{begun}/manifest/000000000001", charter)
    assert is_swept(f"{begun}/files/a.sst", charter)
    assert not is_swept(f"{first:04d}/0001/manifest/000000000001", charter)
    assert is_swept(f"{first:04d}/0000/manifest/000000000001", charter), "it was closed"
    assert is_swept(f"{first:04d}/index/0001/a", charter), "of another layout"
    assert not is_swept(f"{intent.generation:04d}/index/0001/a", charter)


def test_a_number_of_which_files_are_left_is_refused(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    expect_free_number(claim.store, claim.charter)
    number, before = claim.store.manifest(claim.charter.generation, 0) or (0, None)
    assert before is not None
    left = {"pages-02-0001-00000.warc.gz": [ShippedFile("archive/a", 5, "x")]}
    manifest = replace(before, epoch=claim.issue(), archive=left)
    claim.store.shard_chain(claim.charter.generation, 0).append(number + 1, json.encode(manifest))
    with pytest.raises(CannotGoOn, match="a shard 2 once"):
        expect_free_number(claim.store, claim.charter)


@pytest.mark.parametrize("shard", [0, 2, 4])
def test_a_split_gives_half_of_the_points_of_one_shard_to_another(shard: int) -> None:
    ring = Ring.even(4).resplit(5)
    split = ring.halved(shard, 5)
    assert split.is_whole
    sizes = [sum(b - a + 1 for a, b in split.spans(one)) for one in (shard, 5)]
    whole = sum(b - a + 1 for a, b in ring.spans(shard))
    assert sum(sizes) == whole
    assert abs(sizes[0] - sizes[1]) <= 1
    for other in {0, 1, 2, 3, 4} - {shard}:
        assert split.spans(other) == ring.spans(other)


def test_one_point_of_the_ring_cannot_be_split(tmp_path: Path) -> None:
    claim = claimed(tmp_path)
    charter = replace(claim.charter, ranges=((0, 0), (POINTS - 1, 1)))
    with pytest.raises(CannotGoOn, match="one point"):
        ring_after_split(charter, 1)
    with pytest.raises(CannotGoOn, match="shards 0 to 1"):
        ring_after_split(charter, 2)
