"""UrlMap: which number has this URL, and which URL this number? From a file, without loading it."""

import ctypes
import mmap
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.graph.names import find_kernels, read_kernels
from gossamer.graph.names.keys import (
    OTHER,
    key_of,
    keys_of,
    origin_of,
    packed_keys,
    url_of,
    urls_of,
)
from gossamer.graph.names.layout import HEADER_BYTES, PADDING, Header, read_header
from gossamer.graph.names.read_kernels import (
    CODES,
    DAMAGED,
    NO_ROOM,
    PER_GROUP,
    PER_PART,
    SHAPE_WORDS,
    SPELL_ROOM,
)
from gossamer.native import Native

BATCH_PARTS = 2048
BATCH_BYTES = 1 << 22
_SpellRoom = ctypes.c_char * SPELL_ROOM
SLACK = 16
Key = TypeVar("Key")
Text = TypeVar("Text")

_SIGNATURES = {
    "find": "BWWBn",
    "find_many": "BWWBnIn",
    "spell": "BWWnB",
    "spell_many": "BWWInBnI",
    "spell_parts": "BWWnnBnI",
}


@cache
def natives() -> Native:
    """Return the compiled kernels of the reader; the first call loads or compiles them."""
    return Native((find_kernels, read_kernels), _SIGNATURES)


class UrlMap:
    """An open file of URLs, numbered in the order of their keys. Any thread may ask it."""

    def __init__(self, path: Path, file: NDArray[np.uint8], header: Header) -> None:
        self.path = path
        self._keys = header.keys
        self._longest = header.longest
        groups = -(-header.keys // PER_GROUP)
        heads = header.data_end + 8 * (3 * groups + 1)
        index = _numbers(file[header.data_end : heads], 8)
        _check_index(path, header, index)
        strings = _strings(path, file, heads + header.heads_bytes, header.tables)
        checked = np.zeros(groups // 64 + 1, np.uint64)
        shape = [header.keys, groups, HEADER_BYTES, heads, SHAPE_WORDS + len(strings), 0, 0, 0]
        known = np.concatenate((np.array(shape, np.uint64), strings, checked))
        arrays = (file, index, known)
        self._arrays = arrays
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
        key = key_of(url)
        found = self._find(*self._places, key + PADDING, len(key))
        return self._sound(found) >> 1 if found & 1 or found < 0 else None

    def url(self, node: int) -> str:
        """Return the URL that has a number."""
        return self._text(url_of, self.key(node))

    def key(self, node: int) -> bytes:
        """Return the key of the URL that has a number."""
        if not 0 <= node < self._keys:
            raise IndexError(f"node {node} of {self._keys}")
        out = _SpellRoom()
        length = self._spell(*self._places, node, out)
        if length == NO_ROOM:
            return next(self._batches(np.array([node])))[0]
        return out[: self._sound(length)]  # type: ignore[return-value] # they are bytes

    def nodes(self, urls: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of URLs, -1 for each that is not there."""
        packed = packed_keys(urls)
        if packed is None:
            return self.nodes_of_keys(keys_of(urls))
        return self._nodes(packed + PADDING, len(urls))

    def nodes_of_keys(self, keys: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the numbers of the URLs that have these keys, -1 for each that is not there."""
        packed = b"\0".join((*keys, PADDING))
        if packed.count(0) != len(keys) + len(PADDING):
            raise ValueError("a key holds a zero byte")
        return self._nodes(packed, len(keys))

    def _nodes(self, packed: bytes, many: int) -> NDArray[np.int64]:
        """Return the numbers of keys, each followed by a zero, behind all of which is padding."""
        out = np.empty(many, np.int64)
        size = len(packed) - len(PADDING)
        self._sound(natives()["find_many"](*self._places, packed, size, out.ctypes.data, many))
        return np.where(out & 1, out >> 1, -1)

    def urls(self, nodes: Sequence[int] | NDArray[np.integer]) -> list[str]:
        """Return the URLs that have these numbers."""
        wanted = np.ascontiguousarray(nodes, np.int64)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self._keys:
            raise IndexError(f"nodes between {wanted.min()} and {wanted.max()} of {self._keys}")
        return [url for keys in self._batches(wanted) for url in self._text(urls_of, keys)]

    def _batches(self, nodes: NDArray[np.int64]) -> Iterator[list[bytes]]:
        """Yield the keys of nodes."""
        room = min(BATCH_BYTES, len(nodes) * (self._longest + 1)) + 2 * self._longest + SLACK
        out = np.empty(room, np.uint8)
        done = np.zeros(1, np.int64)
        while len(nodes):
            size = natives()["spell_many"](
                *self._places,
                nodes.ctypes.data,
                len(nodes),
                out.ctypes.data,
                room,
                done.ctypes.data,
            )
            yield out[: self._sound(size if done[0] else DAMAGED)].tobytes().split(b"\0")[:-1]
            nodes = nodes[done[0] :]

    def keys(self, first: int = 0, last: int | None = None) -> Iterator[list[bytes]]:
        """Yield the keys of nodes from `first` to before `last`, in order, in batches."""
        last = self._keys if last is None else min(last, self._keys)
        if first >= last:
            return
        part, end = first // PER_PART, -(-last // PER_PART)
        skip, left = first % PER_PART, last - first
        room = BATCH_BYTES + PER_PART * (self._longest + SLACK)
        out = np.empty(room, np.uint8)
        done = np.zeros(1, np.int64)
        while part < end:
            stop = min(end, part + BATCH_PARTS)
            size = natives()["spell_parts"](
                *self._places, part, stop, out.ctypes.data, room, done.ctypes.data
            )
            served = out[: self._sound(size if done[0] else DAMAGED)].tobytes()
            keys = served.split(b"\0")[skip:-1][:left]
            yield keys
            part += int(done[0])
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
            names.append("" if is_other else self._text(origin_of, head))
            firsts.append(node)
            end = self._keys if is_other else self._lower(head + b"0") >> 1  # 0 follows the slash
            if end <= node:
                raise CorruptFile(self.path, 0, f"node {node} is out of order")
            node = end
        return names, np.array([*firsts, self._keys], np.int64)

    def _text(self, read: Callable[[Key], Text], key: Key) -> Text:
        """Return what some keys say, if they are what we write."""
        try:
            return read(key)
        except UnicodeDecodeError as problem:
            raise CorruptFile(self.path, 0, f"a key is not valid text ({problem})") from problem

    def _lower(self, key: bytes) -> int:
        """Return 2 * the number of keys before this one, + 1 if it is there."""
        return self._sound(self._find(*self._places, key + PADDING, len(key)))

    def _sound(self, answer: int) -> int:
        """Return a kernel's answer if it is none of damage."""
        if answer < 0:
            raise CorruptFile(self.path, 0, "the checksum of a group of keys does not match")
        return answer


def _numbers(part: NDArray[np.uint8], width: int) -> NDArray[np.unsignedinteger]:
    """Return a part of a file as numbers, in place; what is left of the last one is left out."""
    return part[: len(part) // width * width].view(f"<u{width}")


def _strings(path: Path, file: NDArray[np.uint8], start: int, tables: int) -> NDArray[np.uint64]:
    """Return the words of `known` on each code of each table."""
    counts = _numbers(file[start : start + 2 * tables], 2).astype(np.int64)
    start += 2 * tables
    many = int(counts.sum())
    lengths = file[start : start + many].astype(np.uint64)
    start += many
    is_whole = len(counts) == tables and len(lengths) == many and (counts <= CODES).all()
    if not is_whole or start + int(lengths.sum()) + len(PADDING) != len(file):
        raise CorruptFile(path, start, "its tables do not end at the end of the file")
    pool = file[start : -len(PADDING)]
    ends = np.cumsum(lengths)
    places = np.append(np.flatnonzero(pool == 0), len(pool)).astype(np.uint64)
    nearest = places[np.searchsorted(places[:-1], ends - lengths)] + np.uint64(1)
    behind = np.where(nearest <= ends, nearest + lengths - ends, 0).astype(np.uint64)
    words = (ends - lengths + np.uint64(start)) << np.uint64(16)
    words |= lengths << np.uint64(8) | behind
    strings = np.zeros((max(1, tables), CODES), np.uint64)
    within = np.arange(CODES) < counts[:, None]
    if tables:
        strings[within] = words
    return strings.reshape(-1)


def _check_index(path: Path, header: Header, index: NDArray[np.uint64]) -> None:
    """Raise `CorruptFile` unless groups lie in the data, and name tables and heads that exist."""
    groups = -(-header.keys // PER_GROUP)
    if len(index) == 3 * groups + 1:
        places = index[: groups + 1] >> np.uint64(16)
        tables = index[:groups] & np.uint64(0xFFFF)
        ends = np.concatenate((np.zeros(1, np.uint64), index[groups + 1 : 2 * groups + 1]))
        if (
            places[0] == HEADER_BYTES
            and places[-1] <= header.data_end
            and ends[-1] == header.heads_bytes
            and bool((places[1:] >= places[:-1]).all() and (ends[1:] >= ends[:-1]).all())
            and bool((tables < header.tables).all())
        ):
            return
    raise CorruptFile(path, header.data_end, "its index refers to data that is not there")
