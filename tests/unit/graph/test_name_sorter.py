import random
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.errors import CorruptFile
from gossamer.graph.names import NameSorter, sorter


def _keys(many: int, seed: int = 1) -> list[bytes]:
    drawn = random.Random(seed)
    return [f"org.example.{drawn.randrange(many)}/x".encode() for _ in range(many)]


def _sorted_in(folder: Path, keys: list[bytes], memory_bytes: int) -> list[list[bytes]]:
    names = NameSorter(folder, memory_bytes)
    for start in range(0, len(keys), 50):
        names.add(keys[start : start + 50])
    return list(names.merged())


@pytest.mark.parametrize("memory_bytes", [1, 2_000, 20_000, 1 << 30])
def test_all_keys_come_once_and_in_order(tmp_path: Path, memory_bytes: int) -> None:
    keys = _keys(6_000)
    found = [key for batch in _sorted_in(tmp_path, keys, memory_bytes) for key in batch]
    assert found == sorted(set(keys))


def test_repeated_keys_cost_no_memory(tmp_path: Path) -> None:
    names = NameSorter(tmp_path, 100_000)
    for _ in range(1_000):
        names.add(_keys(200))
    assert not list(tmp_path.iterdir())


def test_no_more_is_held_than_was_granted(tmp_path: Path) -> None:
    names = NameSorter(tmp_path, 50_000)
    most = 0
    for number in range(200):
        names.add(_keys(100, number))
        most = max(most, len(names._held))
    assert most * sorter.KEY_OVERHEAD_BYTES <= 50_000


def test_batches_of_a_merge_are_bounded(tmp_path: Path) -> None:
    batches = _sorted_in(tmp_path, _keys(40_000), 500_000)
    runs = len(list(tmp_path.iterdir()))
    assert runs > 2
    assert max(map(len, batches)) <= runs * sorter.BATCH_KEYS
    assert all(one[-1] < two[0] for one, two in pairwise(batches))


def test_many_runs_are_merged_into_one(tmp_path: Path) -> None:
    _sorted_in(tmp_path, _keys(10_000), 1)
    assert len(list(tmp_path.iterdir())) < sorter.FAN_IN


def test_nothing_in_nothing_out(tmp_path: Path) -> None:
    names = NameSorter(tmp_path, 1)
    names.add([])
    assert list(names.merged()) == []


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.999])
def test_a_run_that_was_cut_is_told(tmp_path: Path, kept: float) -> None:
    names = NameSorter(tmp_path, 20_000)
    names.add(_keys(3_000))
    names.add(_keys(3_000, 2))
    (run, *_) = sorted(tmp_path.iterdir())
    content = run.read_bytes()
    run.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(CorruptFile):
        list(names.merged())
