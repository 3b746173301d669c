"""Shards on machines: few move when one joins or leaves, and none has more than its share."""

import math

from hypothesis import given
from hypothesis import strategies as st

from gossamer.cluster import PlacedNode, moves, place

SHARDS = st.integers(2, 96)
CORES = st.lists(st.integers(1, 64), min_size=1, max_size=9)


def named(cores: list[int]) -> list[PlacedNode]:
    return [PlacedNode(f"node-{number}", count) for number, count in enumerate(cores)]


@given(SHARDS, CORES)
def test_every_shard_has_a_node_and_no_node_much_more_than_its_share(
    shards: int, cores: list[int]
) -> None:
    nodes = named(cores)
    placed = place(range(shards), nodes, {}, {})
    assert sorted(placed) == list(range(shards))
    for node in nodes:
        share = shards * node.cores / sum(cores)
        assert list(placed.values()).count(node.name) <= math.ceil(share) + 1


@given(SHARDS, st.integers(1, 8))
def test_a_node_that_joins_gets_its_share_and_no_shard_moves_between_others(
    shards: int, count: int
) -> None:
    before = place(range(shards), named([4] * count), {}, {})
    after = place(range(shards), named([4] * (count + 1)), before, {})
    moved = [shard for shard in before if before[shard] != after[shard]]
    assert {after[shard] for shard in moved} <= {f"node-{count}"}
    assert len(moved) <= math.ceil(shards / (count + 1)) + 1
    assert len(moved) >= shards // (count + 1) - 1


@given(SHARDS, st.integers(2, 8))
def test_a_node_that_leaves_gives_back_only_its_own(shards: int, count: int) -> None:
    nodes = named([4] * count)
    before = place(range(shards), nodes, {}, {})
    after = place(range(shards), nodes[1:], before, {})
    stayed = [shard for shard in before if before[shard] != "node-0"]
    assert all(after[shard] == before[shard] for shard in stayed)


@given(SHARDS, CORES)
def test_what_is_placed_stays_where_it_is(shards: int, cores: list[int]) -> None:
    placed = place(range(shards), named(cores), {}, {})
    assert place(range(shards), named(cores), placed, {}) == placed


def test_a_shard_avoids_the_node_where_it_came_to_grief_if_there_is_another() -> None:
    nodes = named([2, 2])
    assert place([0], nodes, {0: "node-0"}, {0: "node-0"}) == {0: "node-1"}
    assert place([0], nodes[:1], {0: "node-0"}, {0: "node-0"}) == {0: "node-0"}


def test_without_nodes_there_is_no_place() -> None:
    assert place([0, 1], [], {}, {}) == {}


def test_a_node_takes_part_in_one_move_at_a_time() -> None:
    current = {0: "a", 1: "a", 2: "b", 3: "b"} | dict.fromkeys(range(4, 32), "c")
    wanted = {**current, 0: "d", 1: "d", 2: "e", 3: "e"}
    assert moves(wanted, current, {}) == [0, 2]
    assert moves(wanted, current, {0: ("a", "d")}) == [2]
    assert moves(wanted, {shard: current[shard] for shard in range(4)}, {}) == [0]
