"""BASE.ef: the starts of rows as the newest WebGraph keeps them, so that its own code opens ours.

WebGraph in Rust, and the Python package `webgraph` that is built on it, read rows only beside this
file: an Elias-Fano list with a select structure, laid out by the ε-serde library. Its head names a
version and the hashes of a type, and a reader refuses all others. Those below are of `webgraph`
0.2.0 for Python (crates webgraph 0.7.0, sux 0.15.0, epserde 0.13.2; numbers of 64 bits, lowest byte
first). If a later one refuses the file, its message tells the hashes that it expects. What the file
holds is in the offsets file already, so nothing is lost if it is deleted.

The numbers are split into low and high bits as in BASE.starts, and their words are the same. Select
differs: the high bits are cut into chunks of 2048 ones. A chunk has nine words: where its first one
stands, and how far from there others stand; which others, hangs on how many bits the chunk spans.
"""

import struct
from pathlib import Path

import numpy as np

from gossamer.graph.bv.coding import read_properties
from gossamer.graph.bv.graph import beside
from gossamer.graph.bv.kernels.natives import at, readers
from gossamer.graph.bv.kernels.starts_kernels import HEAD, NOTED
from gossamer.graph.bv.starts import Places, Words, build_starts, read_offsets

_MARK = b"epserde "
_VERSION = (2, 0)
_WORD_BYTES = 8
_TYPE_HASH = bytes.fromhex("2104224edfab29a9b7f197f9bc1e1f0893fe9a213877443ffefcdd3047a04395")
_ALIGN_HASH = bytes.fromhex("ffb987f6d9bb2fd34b4936c9086e280208ec2ab94322eb39081763e18788cd18")
_TYPE = (
    b"sux::dict::elias_fano::EliasFano<u64, "
    b"sux::rank_sel::select_adapt_const::SelectAdaptConst<"
    b"sux::bits::bit_vec::BitVec<alloc::boxed::Box<[usize]>>, alloc::boxed::Box<[usize]>, 11, 3>, "
    b"sux::bits::bit_field_vec::BitFieldVecU<alloc::boxed::Box<[u64]>>>"
)
_CHUNK = 1 << 11
"""Ones of a chunk."""
_CHUNK_WORDS = 9
_LOCAL = 7
"""Words of a wide chunk that hold places; what does not go in is spilled."""
_NARROW, _WIDE = 1 << 16, 1 << 32
"""Bits that a chunk may span for places of two bytes, and of four."""
_WIDE_MARK, _WIDEST_MARK = 1 << 63, 3 << 62


def write_ef(base: Path) -> None:
    """Write BASE.ef from BASE.offsets; raise `CannotGoOn` if it does not fit the graph."""
    found = read_properties(beside(base, ".properties"))
    count = found.nodes + 1
    universe = beside(base, ".graph").stat().st_size * 8
    blocks = read_offsets(beside(base, ".offsets"), count, found.codes[-1])
    starts = build_starts(blocks, count, universe)
    bits, high, noted = (int(word) for word in starts[2:5])
    high_bits = count + (universe >> bits) + 1
    ends = _values(starts, np.array([0, count - 1]))
    low_words, high_words = starts[HEAD:high], starts[high : high + (high_bits + 63) // 64]
    places = starts[noted : noted + (count + NOTED - 1) // NOTED].astype(np.int64)
    inventory, spill = select_words(starts, places, high_bits)
    head = _head() + struct.pack("<6Q", count, universe, bits, *ends.tolist(), len(low_words))
    new = beside(base, ".ef.new")
    with new.open("wb") as file:
        file.write(head + bytes(-len(head) % _WORD_BYTES))
        low_words.tofile(file)
        file.write(struct.pack("<4Q", bits, (1 << bits) - 1, count, len(high_words)))
        high_words.tofile(file)
        file.write(struct.pack("<2Q", high_bits, len(inventory)))
        inventory.tofile(file)
        file.write(struct.pack("<Q", len(spill)))
        spill.tofile(file)
    new.replace(beside(base, ".ef"))


def select_words(starts: Words, noted: Places, high_bits: int) -> tuple[Words, Words]:
    """Return the chunks of the high bits, and what did not go into them.

    `noted` are the places of every 64th one: all that a chunk of few bits needs.
    """
    firsts = noted[:: _CHUNK // NOTED]
    spans = np.diff(firsts, append=high_bits)
    inventory = np.zeros(len(firsts) * _CHUNK_WORDS + 1, np.uint64)
    chunks = inventory[:-1].reshape(-1, _CHUNK_WORDS)
    inventory[-1] = high_bits
    chunks[:, 0] = firsts
    near = np.zeros(len(firsts) * (_CHUNK // NOTED), np.uint16)
    near[: len(noted)] = noted - np.repeat(firsts, _CHUNK // NOTED)[: len(noted)]
    chunks[:, 1:] = near.view(np.uint64).reshape(-1, _CHUNK_WORDS - 1)
    spilled = [np.zeros(0, np.uint64)]
    spill_words = 0
    for index in np.flatnonzero(spans > _NARROW).tolist():
        mark, words = wide_chunk(_places(starts, index * _CHUNK), int(spans[index]))
        local = words[:_LOCAL]
        chunks[index, 0] |= np.uint64(mark)
        chunks[index, 1:] = 0
        chunks[index, 1] = spill_words
        chunks[index, 2 : 2 + len(local)] = local
        spilled.append(words[_LOCAL:])
        spill_words += len(spilled[-1])
    return inventory, np.concatenate(spilled)


def wide_chunk(places: Places, span: int) -> tuple[int, Words]:
    """Return how a chunk of many bits is marked, and the places of its ones that are kept."""
    if span > _WIDE:
        return _WIDEST_MARK, places[1:].astype(np.uint64)
    step = 1 << max(0, 6 - (span >> 15).bit_length())
    near = (places[::step] - places[0]).astype(np.uint32)
    return _WIDE_MARK, np.append(near, np.zeros(len(near) % 2, np.uint32)).view(np.uint64)


def _places(starts: Words, first: int) -> Places:
    """Return where the ones of a chunk stand, from its first one on."""
    ones = np.arange(first, min(first + _CHUNK, int(starts[1])))
    places: Places = (_values(starts, ones) >> int(starts[2])) + ones
    return places


def _values(starts: Words, indexes: Places) -> Places:
    values = np.empty(len(indexes), np.int64)
    readers()["starts_of"](at(starts), at(indexes), len(indexes), at(values))
    return values


def _head() -> bytes:
    sizes = struct.pack("<HHB", *_VERSION, _WORD_BYTES)
    return b"".join((_MARK, sizes, _TYPE_HASH, _ALIGN_HASH, struct.pack("<Q", len(_TYPE)), _TYPE))
