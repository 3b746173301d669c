"""UrlMap: which number has this URL, and which URL this number? From a file, without loading it."""

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.graph.names import read_kernels
from gossamer.graph.names.keys import OTHER, key_of, keys_of, origin_of, url_of
from gossamer.graph.names.layout import HEADER_BYTES, Header, read_header
from gossamer.graph.names.read_kernels import CODES, NO_ROOM, PER_BUCKET, PER_GROUP
from gossamer.native import Native

BATCH_BUCKETS = 512
BATCH_BYTES = 1 << 22
_USUAL_KEY = 1024

_SIGNATURES = {
    "find": "BWWIBn",
    "find_many": "BWWIBnI",
    "spell": "BWWInBn",
    "spell_many": "BWWIInBnI",
    "spell_buckets": "BWWInnBnI",
}


@cache
def natives() -> Native:
    """Return the compiled kernels of the reader; the first call loads or compiles them."""
    return Native((read_kernels,), _SIGNATURES)


class UrlMap:
    """An open file of URLs, numbered in the order of their keys. Any thread may ask it."""

    def __init__(self, path: Path, file: NDArray[np.uint8], header: Header) -> None:
        self.path = path
        self._keys = header.keys
        self._longest = header.longest
        self._buckets = -(-header.keys // PER_BUCKET)
        groups = -(-self._buckets // PER_GROUP)
        heads = header.data_end + 8 * (2 * groups + self._buckets)
        self._strings = _strings(path, file, heads + header.heads_bytes, header.tables)
        index = file[header.data_end : heads].view(np.uint64)
        shape = [header.keys, self._buckets, groups, HEADER_BYTES, header.data_end, heads]
        self._shape = np.array(shape, np.int64)
        _check_index(path, header, index, groups)
        self._file = file
        arrays = (file, index, self._strings, self._shape)
        self._places = tuple(array.ctypes.data for array in arrays)
        self._find = natives()["find"]
        self._spell = natives()["spell"]

    @classmethod
    def open(cls, path: Path) -> "UrlMap":
        """Return a map; raise `CorruptFile` if its header or index is not as it was written."""
        try:
            with path.open("rb") as opened:
                mapped = mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as problem:
            raise CorruptFile(path, 0, f"it cannot be read ({problem})") from problem
        header = read_header(path, memoryview(mapped))
        return cls(path, np.frombuffer(mapped, np.uint8), header)

    def __len__(self) -> int:
        return self._keys

    def node(self, url: str) -> int | None:
        """Return the number of a URL; None if it is not there."""
        found = self._lower(key_of(url))
        return found >> 1 if found & 1 else None

    def url(self, node: int) -> str:
        """Return the URL that has a number."""
        return url_of(self.key(node))

    def key(self, node: int) -> bytes:
        """Return the key of the URL that has a number."""
        if not 0 <= node < self._keys:
            raise IndexError(f"node {node} of {self._keys}")
        room = min(self._longest, _USUAL_KEY)
        out = (ctypes.c_char * room)()
        length = self._spell(*self._places, node, out, room)
        if length == NO_ROOM:
            out = (ctypes.c_char * self._longest)()
            length = self._spell(*self._places, node, out, self._longest)
        return out[: self._sound(length)]

    def nodes(self, urls: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of URLs, -1 for each that is not there."""
        return self.nodes_of_keys(keys_of(urls))

    def nodes_of_keys(self, keys: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the numbers of the URLs that have these keys, -1 for each that is not there."""
        out = np.empty(len(keys), np.int64)
        blob = b"\0".join((*keys, b""))
        self._sound(natives()["find_many"](*self._places, blob, len(blob), out.ctypes.data))
        return np.where(out & 1, out >> 1, -1)

    def urls(self, nodes: Sequence[int] | NDArray[np.integer]) -> list[str]:
        """Return the URLs that have these numbers."""
        wanted = np.ascontiguousarray(nodes, np.int64)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self._keys:
            raise IndexError(f"nodes between {wanted.min()} and {wanted.max()} of {self._keys}")
        room = BATCH_BYTES + self._longest + 1
        out = np.empty(room, np.uint8)
        done = np.zeros(1, np.int64)
        found: list[str] = []
        while len(found) < len(wanted):
            rest = wanted[len(found) :]
            size = natives()["spell_many"](
                *self._places, rest.ctypes.data, len(rest), out.ctypes.data, room, done.ctypes.data
            )
            keys = out[: self._sound(size)].tobytes().split(b"\0")
            found += [url_of(key) for key in keys[:-1]]
        return found

    def keys(self, first: int = 0, last: int | None = None) -> Iterator[list[bytes]]:
        """Yield the keys of nodes from `first` to before `last`, in order, in batches."""
        last = self._keys if last is None else min(last, self._keys)
        if first >= last:
            return
        bucket, end = first // PER_BUCKET, -(-last // PER_BUCKET)
        skip, left = first % PER_BUCKET, last - first
        room = max(BATCH_BYTES, PER_BUCKET * (self._longest + 1) + 1)
        out = np.empty(room, np.uint8)
        done = np.zeros(1, np.int64)
        while bucket < end:
            stop = min(end, bucket + BATCH_BUCKETS)
            size = natives()["spell_buckets"](
                *self._places, bucket, stop, out.ctypes.data, room, done.ctypes.data
            )
            keys = out[: self._sound(size)].tobytes().split(b"\0")[skip:-1][:left]
            yield keys
            bucket += int(done[0])
            skip, left = 0, left - len(keys)

    def span(self, prefix: bytes) -> tuple[int, int]:
        """Return the first node whose key begins so, and the first behind it that does not."""
        first = self._lower(prefix) >> 1
        stem = prefix.rstrip(b"\xff")
        if not stem:
            return first, self._keys
        return first, self._lower(stem[:-1] + bytes((stem[-1] + 1,))) >> 1

    def hosts(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return all origins (scheme, host, port) in the order of nodes, and their first nodes.

        One more number follows: how many nodes there are. What is no web address is of origin "".
        """
        names: list[str] = []
        firsts: list[int] = []
        node = 0
        while node < self._keys:
            key = self.key(node)
            head, slash, _ = key.partition(b"/")
            is_other = key[:1] == OTHER or not slash
            names.append("" if is_other else origin_of(head))
            firsts.append(node)
            end = self._keys if is_other else self._lower(head + b"0") >> 1  # 0 follows the slash
            if end <= node:
                raise CorruptFile(self.path, 0, f"node {node} is not where its key belongs")
            node = end
        return names, np.array([*firsts, self._keys], np.int64)

    def _lower(self, key: bytes) -> int:
        """Return 2 * the number of keys before this one, + 1 if it is there."""
        return self._sound(self._find(*self._places, key, len(key)))

    def _sound(self, answer: int) -> int:
        """Return a kernel's answer if it is none of damage."""
        if answer < 0:
            raise CorruptFile(self.path, 0, "a bucket of keys is not as it was written")
        return answer


def _strings(path: Path, file: NDArray[np.uint8], start: int, tables: int) -> NDArray[np.uint64]:
    """Return for each table and code: place in the file << 16 | length << 8 | has it a zero?"""
    counts = file[start : start + 2 * tables].view("<u2").astype(np.int64)
    start += 2 * tables
    many = int(counts.sum())
    lengths = file[start : start + many].astype(np.uint64)
    start += many
    if len(counts) != tables or len(lengths) != many or start + int(lengths.sum()) != len(file):
        raise CorruptFile(path, start, "its tables do not end where the file does")
    pool = file[start:]
    ends = np.cumsum(lengths)
    zeros = np.concatenate(([0], np.cumsum(pool == 0)))
    has_zero = zeros[ends.astype(np.int64)] > zeros[(ends - lengths).astype(np.int64)]
    words = (ends - lengths + np.uint64(start)) << np.uint64(16)
    words |= lengths << np.uint64(8) | has_zero.astype(np.uint64)
    strings = np.zeros((max(1, tables), CODES), np.uint64)
    within = np.arange(CODES) < counts[:, None]
    if tables:
        strings[within] = words
    return strings.reshape(-1)


def _check_index(path: Path, header: Header, index: NDArray[np.uint64], groups: int) -> None:
    """Raise `CorruptFile` unless groups name tables, and first keys, that are there."""
    tables = index[:groups] & np.uint64(0xFFFF)
    ends = index[groups : 2 * groups]
    is_whole = len(index) == 2 * groups + -(-header.keys // PER_BUCKET)
    if groups and (
        not is_whole
        or int(tables.max()) >= header.tables
        or int(ends[-1]) != header.heads_bytes
        or bool((ends[1:] < ends[:-1]).any())
    ):
        raise CorruptFile(path, header.data_end, "its index names what is not there")
