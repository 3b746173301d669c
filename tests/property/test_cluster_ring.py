"""Every point of the ring has one owner, and what a page links goes to it or stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cluster import POINTS, Ring, Splitter
from gossamer.config import UrlConfig
from gossamer.model import Task
from gossamer.urls import parse, ring_of

SHARDS = st.integers(1, 256)
EDGES = st.sampled_from([0, 1, POINTS // 2 - 1, POINTS // 2, POINTS - 1])
POINT = st.one_of(EDGES, st.integers(0, POINTS - 1))
KEYS = st.lists(st.integers(0, 2**64 - 1), max_size=30, unique=True)


class KnownKeys:
    """A seen test that is a set."""

    def __init__(self) -> None:
        self.keys: set[int] = set()

    def new_among(self, keys: list[int]) -> list[int]:
        return [key for key in keys if key not in self.keys]

    def add(self, keys: list[int]) -> None:
        self.keys.update(keys)


def split_rings(counts: list[int]) -> Ring:
    """Return the ring of a crawl that was split again and again."""
    ring = Ring.even(counts[0])
    for count in counts[1:]:
        ring = ring.resplit(count)
    return ring


RINGS = st.lists(st.integers(1, 12), min_size=1, max_size=5).map(split_rings)


def size_of(ring: Ring, shard: int) -> int:
    return sum(last - first + 1 for first, last in ring.spans(shard))


@given(RINGS, POINT)
def test_a_point_lies_in_the_spans_of_its_owner_and_in_no_other(ring: Ring, point: int) -> None:
    holders = [
        shard
        for shard in ring.numbers
        if any(first <= point <= last for first, last in ring.spans(shard))
    ]
    assert holders == [ring.owner(point)]
    assert ring.owners(((point, point),)) == {ring.owner(point)}


@given(SHARDS)
def test_an_even_ring_has_one_range_per_shard_in_order_all_of_one_size(shards: int) -> None:
    spans = [span for shard in range(shards) for span in Ring.even(shards).spans(shard)]
    assert (spans[0][0], spans[-1][1]) == (0, POINTS - 1)
    assert all(spans[n][1] + 1 == spans[n + 1][0] for n in range(shards - 1))
    sizes = {last - first + 1 for first, last in spans}
    assert max(sizes) - min(sizes) <= 1


@given(SHARDS, POINT)
def test_an_even_ring_is_that_of_older_versions(shards: int, point: int) -> None:
    assert Ring.even(shards).owner(point) == point * shards >> 24
    assert Ring.even(shards).is_even


@given(RINGS, st.integers(1, 12))
def test_a_resplit_moves_no_point_that_need_not_move(ring: Ring, shards: int) -> None:
    new = ring.resplit(shards)
    assert new.is_whole
    assert new.numbers == tuple(range(shards))
    sizes = [size_of(new, shard) for shard in new.numbers]
    assert (sum(sizes), max(sizes) - min(sizes) <= 1) == (POINTS, True)
    edges = sorted({first for first, _ in (*ring.ranges, *new.ranges)})
    ends = [*edges[1:], POINTS]
    moved = sum(
        end - first
        for first, end in zip(edges, ends, strict=True)
        if ring.owner(first) != new.owner(first)
    )
    kept = range(min(ring.shards, shards))
    lost = sum(size_of(ring, shard) for shard in ring.numbers if shard >= shards)
    assert moved == lost + sum(max(0, size_of(ring, n) - size_of(new, n)) for n in kept)
    assert new.resplit(shards) == new


@given(RINGS, st.integers(1, 12))
def test_a_slice_is_owned_by_all_who_have_anything_of_it_after_a_resplit(
    ring: Ring, shards: int
) -> None:
    new = ring.resplit(shards)
    for shard in ring.numbers:
        inside = {new.owner(first) for first, _ in ring.spans(shard)}
        inside |= {owner for first, owner in new.ranges if ring.owner(first) == shard}
        assert new.owners(ring.spans(shard)) == inside


def test_twice_as_many_shards_keep_the_first_half_of_what_they_had() -> None:
    quarter = POINTS // 4
    assert Ring.even(2).resplit(4).ranges == (
        (0, 0),
        (quarter, 2),
        (2 * quarter, 1),
        (3 * quarter, 3),
    )
    assert Ring.even(1).resplit(2) == Ring.even(2)
    assert Ring.even(2).resplit(1) == Ring.even(1)


@pytest.mark.parametrize(
    "ranges",
    [(), ((1, 0),), ((0, 0), (5, 0)), ((0, 0), (5, 1), (5, 2)), ((0, 0), (POINTS, 1)), ((0, -1),)],
)
def test_a_table_with_gaps_or_doubled_ranges_is_no_whole_ring(
    ranges: tuple[tuple[int, int], ...],
) -> None:
    assert not Ring(ranges).is_whole


@given(SHARDS, st.integers(0, 2**64 - 1))
def test_the_owner_of_a_key_is_that_of_its_ring_point(shards: int, key: int) -> None:
    assert Ring.even(shards).owner_of(key) == Ring.even(shards).owner(key >> 40)


@given(SHARDS, st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,5}){1,2}", fullmatch=True))
def test_all_hosts_of_a_registrable_domain_have_one_owner(shards: int, domain: str) -> None:
    urls = [parse(f"http://{host}{domain}/x", UrlConfig()) for host in ("", "www.", "a.b.")]
    rings = {ring_of(domain), *(url.key >> 40 for url in urls if url is not None)}
    owners = {Ring.even(shards).owner(ring) for ring in rings}
    is_registrable = len({ring_of(f"{host}{domain}") for host in ("", "www.", "a.b.")}) == 1
    assert not is_registrable or len(owners) == 1


@given(RINGS, st.data(), KEYS, KEYS)
def test_a_splitter_calls_ours_new_once_and_passes_every_foreign_key_on(
    ring: Ring, data: st.DataObject, first: list[int], second: list[int]
) -> None:
    shard, seen = data.draw(st.sampled_from(ring.numbers)), KnownKeys()
    splitter = Splitter(ring, shard, seen)
    assert splitter.new_among(first) == first
    splitter.add(first)
    assert seen.keys == {key for key in first if ring.owner_of(key) == shard}
    assert splitter.new_among([*first, *second]) == [key for key in second if key not in first]


@given(st.integers(2, 5), KEYS)
def test_a_new_start_of_a_shard_passes_foreign_keys_on_again(shards: int, keys: list[int]) -> None:
    seen = KnownKeys()
    Splitter(Ring.even(shards), 0, seen).add(keys)
    foreign = [key for key in keys if Ring.even(shards).owner_of(key) != 0]
    assert Splitter(Ring.even(shards), 0, seen).new_among(keys) == foreign


@given(st.integers(1, 5), st.data())
def test_tasks_are_kept_or_posted_by_owner_and_in_order(shards: int, data: st.DataObject) -> None:
    shard = data.draw(st.integers(0, shards - 1))
    numbers = data.draw(st.lists(st.integers(0, 40), unique=True))
    urls = [parse(f"http://d{number}.test/", UrlConfig()) for number in numbers]
    tasks = [Task(url=url) for url in urls if url is not None]
    kept: list[Task] = []
    posted: list[Task] = []
    Splitter(Ring.even(shards), shard, KnownKeys()).route(tasks, kept.extend, posted.extend)
    ours = [task for task in tasks if Ring.even(shards).owner_of(task.url.key) == shard]
    assert kept == ours
    assert posted == [task for task in tasks if task not in ours]
