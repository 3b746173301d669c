"""Every point of the ring has one owner, and what a page links goes to it or stays."""

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


@given(SHARDS, POINT)
def test_a_point_lies_in_the_span_of_its_owner_and_in_no_other(shards: int, point: int) -> None:
    ring = Ring(shards)
    holders = [n for n in range(shards) if ring.span(n)[0] <= point <= ring.span(n)[1]]
    assert holders == [ring.owner(point)]


@given(SHARDS)
def test_the_spans_cover_the_ring_without_gap_or_overlap_and_are_of_one_size(shards: int) -> None:
    spans = [Ring(shards).span(shard) for shard in range(shards)]
    assert (spans[0][0], spans[-1][1]) == (0, POINTS - 1)
    assert all(spans[n][1] + 1 == spans[n + 1][0] for n in range(shards - 1))
    sizes = {last - first + 1 for first, last in spans}
    assert max(sizes) - min(sizes) <= 1


@given(SHARDS, st.integers(0, 2**64 - 1))
def test_the_owner_of_a_key_is_that_of_its_ring_point(shards: int, key: int) -> None:
    assert Ring(shards).owner_of(key) == Ring(shards).owner(key >> 40)


@given(SHARDS, st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,5}){1,2}", fullmatch=True))
def test_all_hosts_of_a_registrable_domain_have_one_owner(shards: int, domain: str) -> None:
    urls = [parse(f"http://{host}{domain}/x", UrlConfig()) for host in ("", "www.", "a.b.")]
    rings = {ring_of(domain), *(url.key >> 40 for url in urls if url is not None)}
    owners = {Ring(shards).owner(ring) for ring in rings}
    is_registrable = len({ring_of(f"{host}{domain}") for host in ("", "www.", "a.b.")}) == 1
    assert not is_registrable or len(owners) == 1


@given(st.integers(1, 5), st.data(), KEYS, KEYS)
def test_a_splitter_calls_ours_new_once_and_passes_every_foreign_key_on(
    shards: int, data: st.DataObject, first: list[int], second: list[int]
) -> None:
    shard = data.draw(st.integers(0, shards - 1))
    ring, seen = Ring(shards), KnownKeys()
    splitter = Splitter(ring, shard, seen)
    assert splitter.new_among(first) == first
    splitter.add(first)
    assert seen.keys == {key for key in first if ring.owner_of(key) == shard}
    assert splitter.new_among([*first, *second]) == [key for key in second if key not in first]


@given(st.integers(2, 5), KEYS)
def test_a_new_start_of_a_shard_passes_foreign_keys_on_again(shards: int, keys: list[int]) -> None:
    seen = KnownKeys()
    Splitter(Ring(shards), 0, seen).add(keys)
    foreign = [key for key in keys if Ring(shards).owner_of(key) != 0]
    assert Splitter(Ring(shards), 0, seen).new_among(keys) == foreign


@given(st.integers(1, 5), st.data())
def test_tasks_are_kept_or_posted_by_owner_and_in_order(shards: int, data: st.DataObject) -> None:
    shard = data.draw(st.integers(0, shards - 1))
    numbers = data.draw(st.lists(st.integers(0, 40), unique=True))
    urls = [parse(f"http://d{number}.test/", UrlConfig()) for number in numbers]
    tasks = [Task(url=url) for url in urls if url is not None]
    kept: list[Task] = []
    posted: list[Task] = []
    Splitter(Ring(shards), shard, KnownKeys()).route(tasks, kept.extend, posted.extend)
    ours = [task for task in tasks if Ring(shards).owner_of(task.url.key) == shard]
    assert kept == ours
    assert posted == [task for task in tasks if task not in ours]
