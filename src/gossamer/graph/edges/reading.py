"""Edge lists read: lines `source target` become arrays of node numbers, whatever they are named."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import ConfigError
from gossamer.graph.edges import text_kernels as kernels
from gossamer.graph.edges.lines import CHUNK_BYTES, chunks
from gossamer.graph.rows import Ids
from gossamer.native import Native

Words: TypeAlias = Sequence[bytes]
_COMMENTS = (b"#", b"%")
_SHOWN = 60
_PER_PAIR_BYTES = 4
"""The shortest line of two numbers."""


class Pairs(NamedTuple):
    """Some lines of an edge list, and what was found up to their end."""

    sources: Ids
    targets: Ids
    lines: int
    """Of the text so far, comments included."""
    nodes: int
    """One more than the largest number so far."""


class WordPairs(NamedTuple):
    """Some lines of an edge list whose nodes have names."""

    words: list[bytes]
    """Source, target, source, target and so on."""
    lines: int


@cache
def _native() -> Native:
    return Native((kernels,), {"parse_numbers": "BnUUI", "find_words": "BnII"})


def has_numbers(name: str) -> bool:
    """Return True if the first edge of a text is a pair of numbers; an empty text has numbers."""
    for chunk in chunks(name, CHUNK_BYTES):
        for line in chunk.splitlines():
            words = line.split(None, 2)
            if words and not words[0].startswith(_COMMENTS):
                return all(word.isdigit() for word in words[:2])
    return True


def number_pairs(name: str) -> Iterator[Pairs]:
    """Yield the edges of a text whose nodes are numbers; the first bad line is a `ConfigError`."""
    room = CHUNK_BYTES
    sources, targets = _room(room)
    told = np.array([0, 0, -1, 0], np.int64)
    lines = 0
    for chunk in chunks(name):
        if len(chunk) > room:
            room = len(chunk)
            sources, targets = _room(room)
        text = np.frombuffer(chunk, np.uint8)
        arrays = (sources.ctypes.data, targets.ctypes.data, told.ctypes.data)
        end = _native()["parse_numbers"](text.ctypes.data, len(chunk), *arrays)
        found, pairs, top, place = (int(one) for one in told)
        lines += found
        if end != kernels.GOOD:
            bad = chunk[place:].split(b"\n", 1)[0]
            raise ConfigError(f"{name}: line {lines + 1}: {_complaint(end)}, found {_shown(bad)}")
        yield Pairs(sources[:pairs].copy(), targets[:pairs].copy(), lines, top + 1)


def word_pairs(name: str) -> Iterator[WordPairs]:
    """Yield the edges of a text whose nodes have names; the first bad line is a `ConfigError`."""
    told = np.zeros(4, np.int64)
    lines = 0
    for chunk in chunks(name):
        text = np.frombuffer(chunk, np.uint8)
        spans = np.empty(4 * chunk.count(b"\n"), np.int64)
        arrays = (spans.ctypes.data, told.ctypes.data)
        end = _native()["find_words"](text.ctypes.data, len(chunk), *arrays)
        found, pairs, _, place = (int(one) for one in told)
        lines += found
        if end != kernels.GOOD:
            bad = chunk[place:].split(b"\n", 1)[0]
            raise ConfigError(f"{name}: line {lines + 1}: expected two names, found {_shown(bad)}")
        ends = iter(spans[: 4 * pairs].tolist())
        yield WordPairs([chunk[start:end] for start, end in zip(ends, ends, strict=True)], lines)


def _room(chunk_bytes: int) -> tuple[Ids, Ids]:
    """Return places for all pairs that so many bytes can hold."""
    pairs = chunk_bytes // _PER_PAIR_BYTES + 1
    return np.empty(pairs, np.uint32), np.empty(pairs, np.uint32)


def _complaint(end: int) -> str:
    if end == kernels.TOO_LARGE:
        return (
            f"expected numbers of at most {kernels.MOST_ID:,} "
            "(use --names if these are names: nodes are then numbered for you)"
        )
    return "expected `source target`, two numbers (use --names if nodes have names)"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace").strip()
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def nodes_by_word(words: Words, known: dict[bytes, int]) -> NDArray[np.uint32]:
    """Return the numbers of words, in their order."""
    return np.fromiter(map(known.__getitem__, words), np.uint32, len(words))
