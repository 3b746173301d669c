"""Decoding: what the author wrote, from what was sent, under caps. Pure; never raises.

Chunk framing is undone by `Dechunker`, which says where the answer really ended.
Content codings are undone one after the other, each as a stream, so that no bomb is ever whole in
memory: gzip, deflate (zlib's and the raw one), br, zstd.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from io import BytesIO
from typing import Any

import brotli
import numpy as np
import zstandard
from isal import isal_zlib
from isal.igzip_lib import IsalError
from msgspec import Struct

from gossamer.config import MIB
from gossamer.fetch import chunk_kernels
from gossamer.native import Native

MAX_CODINGS = 3
"""More codings than this on one body are an attack, not a habit."""

KEPT_BYTES = MIB
"""Of a body that grows beyond its cap so much is kept: enough to see what it was meant to be."""

_PIECE_BYTES = 256 * 1024
_HELD_BYTES = 8 * MIB
"""So much is held before it is known whether a body is a bomb; larger ones are decoded twice."""
_RESCUE_BYTES = 512
_ZSTD_WINDOW_BYTES = 8 * MIB
_GZIP = 31
_ZLIB = 15
_RAW = -15
_GZIP_MARK = b"\x1f"
_BROKEN: Any = (
    *(zlib.error, IsalError, brotli.error, zstandard.ZstdError),
    *(EOFError, MemoryError),
)


class Caps(Struct, frozen=True):
    """How much a body may decode to."""

    max_decoded_bytes: int
    max_ratio: int

    def limit(self, sent_bytes: int) -> int:
        """Return the cap for a body of so many bytes as sent; the first megabyte is free."""
        return min(self.max_decoded_bytes, max(MIB, self.max_ratio * sent_bytes))


class Decoded(Struct, frozen=True):
    """Decoded bytes, and what went wrong: `note` is "" when nothing did."""

    data: bytes
    note: str = ""
    is_cut: bool = False


class _TooLarge(Exception):
    """A coding inside another grew beyond the cap."""


@lru_cache(maxsize=256)
def codings_of(content_encoding: str) -> tuple[str, ...]:
    """Return the codings named in Content-Encoding in the order in which they were applied."""
    if not content_encoding:
        return ()
    names = (name.strip().lower().removeprefix("x-") for name in content_encoding.split(","))
    return tuple(name for name in names if name not in {"", "identity"})


def decode(data: bytes, codings: tuple[str, ...], limit: int) -> Decoded:
    """Undo the codings, last first; keep what precedes an error, and the start of a bomb."""
    if not codings:
        return Decoded(data[:limit], "", is_cut=len(data) > limit)
    if codings == ("gzip",) and (whole := _gunzip_at_once(data, limit)) is not None:
        return Decoded(whole)
    unknown = [name for name in codings if name not in _STAGES]
    if unknown or len(codings) > MAX_CODINGS:
        problem = f"unknown coding {unknown[0][:40]}" if unknown else "too many codings"
        return Decoded(data[:limit], problem, is_cut=len(data) > limit)
    found = _collect(_undone(data, codings, limit), limit, min(limit, _HELD_BYTES))
    return found or _collect(_undone(data, codings, limit), limit, limit) or Decoded(b"")


def _undone(data: bytes, codings: tuple[str, ...], limit: int) -> Iterator[bytes]:
    """Return the decoded bytes as a stream; what lies between two codings is under the cap too."""
    *inner, last = codings
    stream = _STAGES[last](iter((data,)))
    for name in reversed(inner):
        stream = _STAGES[name](_bounded(stream, limit))
    return stream


def _gunzip_at_once(data: bytes, limit: int) -> bytes | None:
    """Return a whole, small, ordinary gzip body in one call; None if it is anything else."""
    engine = isal_zlib.decompressobj(_GZIP)
    try:
        decoded: bytes = engine.decompress(data, min(limit, _HELD_BYTES))
    except _BROKEN:
        return None
    return decoded if engine.eof and not engine.unused_data else None


def _collect(stream: Iterable[bytes], limit: int, room: int) -> Decoded | None:
    """Hold a stream if it fits into `room`; None if it does not, although it is under its cap.

    Of a stream that is not under its cap only the start is held, however it is read.
    """
    out = BytesIO()
    size = 0
    note = ""
    try:
        for piece in stream:
            size += len(piece)
            if size > limit:
                return Decoded(_start(out, piece, limit), f"cut at {limit} bytes", is_cut=True)
            if size <= room:
                out.write(piece)
            else:
                out.truncate(KEPT_BYTES)
    except _TooLarge:
        return Decoded(_start(out, b"", limit), f"cut at {limit} bytes", is_cut=True)
    except _BROKEN as problem:
        note = str(problem) or type(problem).__name__
    return Decoded(out.getvalue(), note) if size <= room else None


def _start(out: BytesIO, piece: bytes, limit: int) -> bytes:
    """Return the first bytes of what was held and of the piece that was too much."""
    size = min(limit, KEPT_BYTES)
    return (out.getvalue()[:size] + piece)[:size]


def _gunzip(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Undo gzip; members may follow each other, and padding or rubbish after them is dropped."""
    return _inflate(stream, _GZIP)


def _undeflate(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Undo deflate, which is zlib's format by the standard and the raw one by habit."""
    stream = iter(stream)
    first = next(stream, b"")
    is_zlib = (
        len(first) > 1
        and first[0] & 0x0F == zlib.DEFLATED
        and not (int.from_bytes(first[:2], "big") % 31)
    )
    yield from _inflate(_chain(first, stream), _ZLIB if is_zlib else _RAW)


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _inflate(stream: Iterable[bytes], wbits: int) -> Iterator[bytes]:
    # zlib's own engine, in small steps, keeps what precedes a defect; the fast one loses it.
    engine = zlib.decompressobj(wbits)
    for step in _steps(stream):
        rest = step
        while rest:
            if engine.eof:
                if wbits != _GZIP or not rest.startswith(_GZIP_MARK):
                    return
                engine = zlib.decompressobj(wbits)
            yield engine.decompress(rest, _PIECE_BYTES)
            rest = engine.unused_data if engine.eof else engine.unconsumed_tail
    yield engine.flush()
    if not engine.eof:
        raise EOFError("the compressed data end too early")


def _steps(stream: Iterable[bytes]) -> Iterator[bytes]:
    for piece in stream:
        for at in range(0, len(piece), _RESCUE_BYTES):
            yield piece[at : at + _RESCUE_BYTES]


def _bounded(stream: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Pass a stream on until it has grown beyond the cap: inner codings can be bombs too."""
    for piece in stream:
        limit -= len(piece)
        if limit < 0:
            raise _TooLarge
        yield piece


def _unbrotli(stream: Iterable[bytes]) -> Iterator[bytes]:
    engine = brotli.Decompressor()
    for piece in stream:
        yield engine.process(piece, output_buffer_limit=_PIECE_BYTES)
        while not engine.can_accept_more_data():
            yield engine.process(b"", output_buffer_limit=_PIECE_BYTES)
        if engine.is_finished():
            return
    # It takes more data while it still holds some of what it made of the last.
    while more := engine.process(b"", output_buffer_limit=_PIECE_BYTES):
        yield more
    if not engine.is_finished():
        raise EOFError("the compressed data end too early")


class _Source:
    """A stream as the file that the zstd engine reads from, a piece at a time."""

    def __init__(self, stream: Iterable[bytes]) -> None:
        self._pieces = (piece for piece in stream if piece)

    def read(self, _size: int = -1) -> bytes:
        return next(self._pieces, b"")


def _unzstd(stream: Iterable[bytes]) -> Iterator[bytes]:
    engine = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    source: Any = _Source(stream)  # the engine asks no more of a file than to be read
    with engine.stream_reader(source, read_across_frames=True) as reader:
        while piece := reader.read(_PIECE_BYTES):
            yield piece


def _dechunk_again(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Undo chunks inside of chunks, if there are any: the name alone may stand there twice.

    Many of them are left as they are: machine code reads those, which nobody has loaded.
    """
    data = b"".join(stream)
    dechunker = Dechunker(compiled_from=NEVER)
    payload = [] if has_many_chunks(data) else dechunker.feed(data)
    yield from payload if dechunker.end == len(data) else [data]


CHUNKED_AGAIN = "chunked again"

_STAGES: dict[str, Callable[[Iterable[bytes]], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
    CHUNKED_AGAIN: _dechunk_again,
}


_SIZE_STRICT = re.compile(
    rb"[0-9A-Fa-f]{1,16}"
    rb"(?:[ \t]*;[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
    rb"(?:[ \t]*=[ \t]*(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|\"(?:[^\"\\\r\n]|\\[^\r\n])*\"))?)*"
)
_SIZE_LENIENT = re.compile(rb"[0-9A-Fa-f]{1,16}")
_MAX_LINE_BYTES = 16_384
_MAX_TRAILER_BYTES = 65_536

# What is expected when no bytes of a chunk are; above zero stands how many are.
_SIZE_LINE = chunk_kernels.SIZE_LINE
_AFTER_CHUNK = chunk_kernels.AFTER_CHUNK
_TRAILER = -2

COMPILED_FROM_CHUNKS = 256
"""Chunks of a body that are read in Python: 1 MB in chunks of 4 kB. A body with more of them is
read by machine code: a chunk costs 2 µs in Python, and one-byte chunks would stop the loop."""
COMPILED_FROM_BYTES = 65_536
"""Of a smaller body Python reads them all: its chunks are 11,000 at most."""
NEVER = 1 << 62
_MET = (
    (chunk_kernels.BARE_LF, "chunk line ends with a bare LF"),
    (chunk_kernels.MALFORMED, "malformed chunk size line"),
)


_SIGNATURES = {"dechunk": "B[b]nB*[b]I*[3]"}


@cache
def _natives() -> Native:
    """Return the compiled loop; the first call loads it, or has it compiled."""
    return Native((chunk_kernels,), _SIGNATURES)


def is_chunk_code_loaded() -> bool:
    """Return True if the compiled loop is at hand."""
    return _natives.cache_info().currsize > 0


def load_chunk_code() -> None:
    """Load the compiled loop, or have it compiled, which takes seconds: call it in a thread."""
    _natives()


def has_many_chunks(sent: bytes) -> bool:
    """Return True if a chunked body begins with so many chunks that machine code reads them."""
    at = 0
    for _ in range(COMPILED_FROM_CHUNKS + 1):
        end = sent.find(b"\n", at)
        found = _SIZE_LENIENT.match(sent, at) if end >= 0 else None
        if found is None or not (size := int(found[0], 16)):
            return False
        at = end + 1 + size + len(b"\r\n")
    return True


class Dechunker:
    """Takes a chunked body piece by piece and gives back its payload.

    `end` is where the framing ended, in bytes from the start: what follows is not this answer's.
    `error` says what broke the framing; what was given back before it is good. Machine code reads
    on after `compiled_from` chunks, to the same effect.
    """

    __slots__ = (
        *("_chunks", "_compiled_from", "_left", "_pending", "_seen", "_trailer_bytes"),
        *("end", "error", "oddities"),
    )

    def __init__(self, *, compiled_from: int = COMPILED_FROM_CHUNKS) -> None:
        self._compiled_from = compiled_from
        self._pending = b""
        self._seen = 0
        self._left = _SIZE_LINE
        self._chunks = 0
        self._trailer_bytes = 0
        self.end: int | None = None
        self.error = ""
        self.oddities: set[str] = set()

    @property
    def is_done(self) -> bool:
        """Return True if nothing more is expected: the end was reached or the framing broke."""
        return self.end is not None or bool(self.error)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payload in the next bytes as sent."""
        buffer = self._pending + data if self._pending else data
        payload: list[bytes] = []
        at = 0
        while not self.is_done:
            if self._chunks >= self._compiled_from and _TRAILER < self._left <= 0:
                at = self._many(buffer, at, payload)
            moved = self._payload(buffer, at, payload) if self._left > 0 else self._line(buffer, at)
            if moved == at:
                break
            at = moved
        self._seen += at
        self._pending = buffer[at:] if not self.is_done else b""
        if not self.is_done and self._left <= 0 and len(self._pending) > _MAX_LINE_BYTES:
            self.error = "a chunk size line has no end"
        return payload

    def _many(self, buffer: bytes, at: int, payload: list[bytes]) -> int:
        """Read all chunks from `at` on in machine code, up to what it leaves to us."""
        data = np.frombuffer(buffer, np.uint8)[at:]
        out, state = np.empty(len(data), np.uint8), np.array((self._left, 0, 0), np.int64)
        size = _natives()["dechunk"](data, len(data), out, state)
        payload.append(out[:size].tobytes())
        self._left, met, moved = (int(number) for number in state)
        self.oddities.update(words for bit, words in _MET if met & bit)
        return at + moved

    def _payload(self, buffer: bytes, at: int, payload: list[bytes]) -> int:
        piece = buffer[at : at + self._left]
        if piece:
            payload.append(piece)
            self._left -= len(piece)
            if not self._left:
                self._left = _AFTER_CHUNK
        return at + len(piece)

    def _line(self, buffer: bytes, at: int) -> int:
        """Read the line at `at`, if it has come whole, and return where the next thing begins."""
        newline = buffer.find(b"\n", at)
        if newline < 0:
            return at
        line = buffer[at:newline]
        if line.endswith(b"\r"):
            line = line[:-1]
        else:
            self.oddities.add("chunk line ends with a bare LF")
        after = newline + 1
        if self._left == _SIZE_LINE:
            self._size(line)
        elif self._left == _AFTER_CHUNK:
            self._left = _SIZE_LINE
            if line:
                self.error = f"{line[:20]!r} follows a chunk"
        else:
            self._trailer(line, self._seen + after)
        return after

    def _size(self, line: bytes) -> None:
        digits = _SIZE_LENIENT.match(line)
        if digits is None:
            self.error = f"{line[:20]!r} is not a chunk size"
            return
        if _SIZE_STRICT.fullmatch(line) is None:
            self.oddities.add("malformed chunk size line")
        self._left = int(digits.group(), 16) or _TRAILER
        self._chunks += 1

    def _trailer(self, line: bytes, after: int) -> None:
        self._trailer_bytes += len(line)
        if not line:
            self.end = after
        elif self._trailer_bytes > _MAX_TRAILER_BYTES:
            self.error = "the trailer is too long"
