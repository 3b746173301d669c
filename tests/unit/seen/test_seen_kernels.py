"""The compiled loops where they could go wrong: key 0, the largest key, growth, no cache."""

import subprocess
import sys

import numpy as np

from gossamer.seen.kernels import miss
from gossamer.seen.runs import KeyTable

EDGES = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)


def known(table: KeyTable, keys: np.ndarray) -> list[bool]:
    unknown = np.empty(len(keys), np.bool_)
    miss(keys, table.slots, KeyTable().slots, unknown)
    return list(~unknown)


def test_an_empty_table_knows_no_key_not_even_zero() -> None:
    assert known(KeyTable(), EDGES) == [False] * 5


def test_the_smallest_and_the_largest_key_are_kept() -> None:
    for key in EDGES:
        table = KeyTable()
        assert table.add(np.array([key], np.uint64)).tolist() == [key]
        assert known(table, EDGES) == [bool(other == key) for other in EDGES]
        assert table.keys().tolist() == [key]


def test_a_key_that_comes_twice_is_added_once() -> None:
    table = KeyTable()
    assert table.add(np.array([0, 5, 0, 5], np.uint64)).tolist() == [0, 5]
    assert table.add(np.array([5, 6, 0], np.uint64)).tolist() == [6]
    assert table.count == 3


def test_a_table_that_grows_forgets_nothing_and_stays_half_empty() -> None:
    table = KeyTable()
    keys = np.random.default_rng(1).integers(0, 2**64, 100_000, dtype=np.uint64)
    keys = np.unique(np.append(keys, EDGES))
    for chunk in np.array_split(np.random.default_rng(2).permutation(keys), 300):
        table.add(chunk)
        assert 2 * table.count <= len(table.slots)
    assert np.array_equal(np.sort(table.keys()), keys)
    assert all(known(table, keys))
    assert table.count == len(keys)


def test_keys_that_share_every_high_bit_do_not_get_lost() -> None:
    table = KeyTable()
    keys = np.uint64(0xABCDEF << 40) + np.arange(5000, dtype=np.uint64)
    table.add(keys)
    assert all(known(table, keys))
    assert not any(known(table, keys + np.uint64(5000)))


def test_read_only_keys_are_accepted() -> None:
    keys = np.frombuffer(EDGES.tobytes(), np.uint64)
    table = KeyTable()
    table.add(keys)
    assert known(table, keys) == [True] * 5


def test_a_table_needs_neither_numba_nor_llvm() -> None:
    KeyTable().add(EDGES)  # compiled by now
    script = "import sys, numpy; from gossamer.seen.runs import KeyTable; "
    script += "KeyTable().add(numpy.zeros(1, 'u8')); "
    script += "sys.exit('numba' in sys.modules or 'llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
