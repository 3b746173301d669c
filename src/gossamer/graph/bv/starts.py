"""Starts: where each row of a stream begins. Built from the gaps in BASE.offsets, kept, mapped."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.graph.bv.kernels.natives import at, readers
from gossamer.graph.bv.kernels.starts_kernels import HEAD, NOTED

Words = NDArray[np.uint64]
Places = NDArray[np.int64]

MARK = 0x3130535452415453
"""The letters STARTS01."""
_BLOCK = 1 << 20
PAD_BYTES = 64
"""What kernels may read behind the end of a stream before they notice it."""
_PAGE = 4096


def build_starts(blocks: Iterable[Places], count: int, last: int) -> Words:
    """Return so many ascending numbers, the greatest of which is known, as Elias and Fano would."""
    head = _head(count, last)
    starts = np.zeros(head[5], np.uint64)
    starts[:6] = head
    starts[7] = last
    index, put = 0, readers()["put_starts"]
    for block in blocks:
        if index >= 0:
            index = put(at(starts), index, at(block), len(block))
    if index != count:
        raise CannotGoOn(f"expected {count} row offsets below bit {last}")
    starts[6] = _checksum(starts)
    return starts


def save_starts(path: Path, starts: Words) -> None:
    """Write the file that `load_starts` reads."""
    starts.tofile(path)


def load_starts(path: Path, count: int, stream_bytes: int) -> Words:
    """Return so many numbers, mapped from their file; raise `CorruptFile` if they are not whole.

    The greatest must be where a stream of so many bytes ends, else they are of another graph. What
    the kernels take for granted is checked here: whoever made the file may have made its checksum.
    """
    size = path.stat().st_size
    if size < HEAD * 8 or size % 8:
        raise CorruptFile(path, 0, "not a file of row offsets: its length is not a multiple of 8")
    starts: Words = np.memmap(path, np.uint64, "r")
    if starts[0] != MARK or starts[5] != len(starts) or starts[6] != _checksum(starts):
        raise CorruptFile(path, 0, "an incomplete file of row offsets")
    last = int(starts[7])
    if (last + 7) // 8 != stream_bytes or starts[:6].tolist() != _head(count, last):
        raise CorruptFile(path, 0, f"expected the offsets of {count} rows in {stream_bytes} bytes")
    return starts


def read_offsets(path: Path, count: int, code: int) -> Iterator[Places]:
    """Yield the numbers that an offsets file keeps as gaps, block by block."""
    stream = padded(path)
    state = np.array([0, 0, path.stat().st_size * 8, code], np.int64)
    read = readers()["read_starts"]
    for first in range(0, count, _BLOCK):
        block = np.empty(min(_BLOCK, count - first), np.int64)
        if read(at(stream), at(state), at(block), len(block)) < 0:
            raise CorruptFile(path, int(state[0]) // 8, f"expected {count} offsets")
        yield block


def padded(path: Path) -> NDArray[np.uint8]:
    """Return the bytes of a file, with some more that can be read behind them.

    Mapped, unless the file ends at the very end of a page: what follows that cannot be read.
    """
    size = path.stat().st_size
    if size and PAD_BYTES <= _PAGE - size % _PAGE < _PAGE:
        return np.memmap(path, np.uint8, "r")
    stream = np.zeros(size + PAD_BYTES, np.uint8)
    stream[:size] = np.fromfile(path, np.uint8)
    return stream


def _head(count: int, last: int) -> list[int]:
    """Return the first words of a file: all follows from how many numbers there are, up to what."""
    bits = max(0, (last // max(count, 1)).bit_length() - 1)
    low = (count * bits + 63) // 64 + 1
    high = ((last >> bits) + count + 63) // 64 + 1
    length = HEAD + low + high + count // NOTED + 2
    return [MARK, count, bits, HEAD + low, HEAD + low + high, length]


def _checksum(starts: Words) -> int:
    seed = xxhash.xxh3_64_intdigest(starts[:6].data)
    return xxhash.xxh3_64_intdigest(starts[HEAD:].data, seed=seed)
