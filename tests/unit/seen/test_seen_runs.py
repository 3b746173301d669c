"""Run files: what is written is found, and damage is noticed."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.seen.kernels import BLOCK_KEYS
from gossamer.seen.runs import HEADER_BYTES, Run, merged, open_run, verify, write_run

LARGEST = 2**64 - 1


def some_keys(count: int, seed: int = 1) -> np.ndarray:
    keys = np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)
    return np.unique(np.append(keys, np.array([0, LARGEST], np.uint64)))


def held(run: Run, keys: np.ndarray) -> np.ndarray:
    unknown = np.ones(len(keys), np.bool_)
    run.search(keys, unknown)
    return ~unknown


def written(tmp_path: Path, keys: np.ndarray) -> Path:
    path = tmp_path / "run-0000000001.keys"
    write_run(path, [keys], len(keys))
    return path


@pytest.mark.parametrize(
    "count", [1, 2, BLOCK_KEYS - 1, BLOCK_KEYS, BLOCK_KEYS + 1, 5 * BLOCK_KEYS, 10_000]
)
def test_every_key_of_a_run_is_found_and_no_other(tmp_path: Path, count: int) -> None:
    keys = np.arange(3, 3 + 2 * count, 2, dtype=np.uint64) << np.uint64(20)
    path = written(tmp_path, keys)
    for run in (write_run(path, [keys], count), open_run(path)):
        assert held(run, keys).all()
        assert not held(run, keys + np.uint64(1)).any()
        assert not held(run, keys - np.uint64(1)).any()
        assert not held(run, np.array([0, LARGEST], np.uint64)).any()


def test_the_first_and_the_last_possible_key_are_found(tmp_path: Path) -> None:
    keys = some_keys(5000)
    run = open_run(written(tmp_path, keys))
    assert held(run, keys).all()
    assert not held(run, keys[1:-1] + np.uint64(1)).any()


def test_chunks_of_any_length_make_the_same_run(tmp_path: Path) -> None:
    keys = some_keys(3000)
    path = tmp_path / "run-0000000001.keys"
    run = write_run(path, np.array_split(keys, 7), 2 * len(keys))
    whole = write_run(tmp_path / "run-0000000002.keys", [keys], len(keys))
    assert path.read_bytes() == whole.path.read_bytes()
    assert held(run, keys).all()
    assert not held(run, keys[1:-1] + np.uint64(1)).any()


def test_a_run_takes_eight_bytes_a_key_and_one_page(tmp_path: Path) -> None:
    keys = some_keys(10_000)
    assert written(tmp_path, keys).stat().st_size == HEADER_BYTES + 8 * len(keys)


def test_the_filter_turns_most_absent_keys_away(tmp_path: Path) -> None:
    run = open_run(written(tmp_path, some_keys(50_000)))
    absent = some_keys(50_000, seed=2)[1:-1]
    assert run.search(absent, np.ones(len(absent), np.bool_)) < 0.06 * len(absent)


def test_pages_that_were_let_go_come_back(tmp_path: Path) -> None:
    keys = some_keys(5000)
    run = open_run(written(tmp_path, keys))
    run.let_go()
    assert held(run, keys).all()


def test_an_undamaged_run_is_verified(tmp_path: Path) -> None:
    keys = some_keys(5000)
    assert verify(written(tmp_path, keys)) == len(keys)


@pytest.mark.parametrize("at", [0, 8, 17, 24, 32, 2000, HEADER_BYTES, HEADER_BYTES + 8000, -1])
def test_one_flipped_bit_is_damage(tmp_path: Path, at: int) -> None:
    path = written(tmp_path, some_keys(5000))
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    for read in (verify, open_run):
        with pytest.raises(CorruptFile, match="run-0000000001"):
            read(path)


@pytest.mark.parametrize("length", [0, 10, 40, HEADER_BYTES, HEADER_BYTES + 8001, 10**6])
def test_a_run_of_another_length_is_damage(tmp_path: Path, length: int) -> None:
    path = written(tmp_path, some_keys(5000))
    os.truncate(path, length)
    with pytest.raises(CorruptFile):
        open_run(path)


def test_a_missing_run_is_damage(tmp_path: Path) -> None:
    with pytest.raises(CorruptFile, match="missing"):
        open_run(tmp_path / "run-0000000001.keys")


def test_a_full_disk_is_said_in_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotGoOn, match="No space left on device; free some disk space"):
        written(tmp_path, some_keys(10))
    assert not list(tmp_path.glob("*.keys"))


def test_a_merge_yields_each_key_once_in_order() -> None:
    rng = np.random.default_rng(3)
    sets = [np.unique(rng.integers(0, 5000, n, dtype=np.uint64)) for n in (1, 700, 3000, 20)]
    sources = [iter(np.array_split(keys, 1 + len(keys) // 50)) for keys in sets]
    chunks = list(merged([*sources, iter([])]))
    assert np.array_equal(np.concatenate(chunks), np.unique(np.concatenate(sets)))
