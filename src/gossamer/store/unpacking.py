"""Bytes of a file, unpacked as they are read: plain, gzip in any number of members, or zstd."""

import sys
from pathlib import Path
from typing import BinaryIO, Protocol

import zstandard
from isal import isal_zlib

CHUNK_BYTES = 1 << 14
"""Of a packed file: what it unpacks to, a thousand times as much at worst, is in memory."""
ZSTD_BYTES = 1 << 10
"""The same of zstd, which unpacks to thirty thousand times as much."""
PLAIN_BYTES = 1 << 17
MOST_WINDOW_BYTES = 1 << 27
GZIP, ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_NOT_GZIP: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub names the class as an instance


class DamagedError(Exception):
    """Some bytes cannot be unpacked. What comes after them can be read on, if there is anything."""


class Source(Protocol):
    """Gives bytes until there are none."""

    def read(self) -> bytes:
        """Return the next bytes; b"" at the end."""


class Unpacked:
    """A reader of unpacked bytes that can look ahead, and knows where it is."""

    def __init__(self, name: str) -> None:
        is_file = name != "-"
        self._file: BinaryIO = Path(name).open("rb") if is_file else sys.stdin.buffer  # noqa: SIM115 - `close` does
        self._source = _source(self._file)
        self._held = bytearray()
        self._start = 0
        self.at = 0
        """How many unpacked bytes were taken."""

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def peek(self, count: int) -> bytes:
        """Return the next bytes without taking them; fewer at the end."""
        while len(self._held) - self._start < count and self._more():
            pass
        return bytes(self._held[self._start : self._start + count])

    def take(self, count: int) -> bytes:
        """Take the next bytes; fewer at the end."""
        found = self.peek(count)
        self._pass(len(found))
        return found

    def skip(self, count: int) -> int:
        """Pass over the next bytes without holding them; return how many there were."""
        passed = 0
        while passed < count:
            here = min(len(self._held) - self._start, count - passed)
            if not here and not self._more():
                break
            self._pass(here)
            passed += here
        return passed

    def skip_blank(self) -> None:
        """Pass over ends of lines; a small packed file may have very many of them."""
        while self.peek(1) in (b"\r", b"\n"):
            here = self._held[self._start : self._start + PLAIN_BYTES]
            self._pass(len(here) - len(here.lstrip(b"\r\n")))

    def take_until(self, mark: bytes, most: int) -> bytes | None:
        """Take bytes up to a mark and the mark; None, and nothing is taken, if it is too far."""
        looked = 0
        while True:
            found = self._held.find(mark, self._start + looked) - self._start
            if 0 <= found <= most - len(mark):
                return self.take(found + len(mark))
            held = len(self._held) - self._start
            looked = max(held - len(mark) + 1, 0)
            if found >= 0 or held >= most or not self._more():
                return None

    def take_line(self, most: int) -> bytes | None:
        """Take a line; b"" at the end; None, and nothing is taken, if it is too long."""
        line = self.take_until(b"\n", most)
        if line is None and len(self.peek(most)) < most:
            return self.take(most)
        return line

    def skip_past(self, mark: bytes) -> None:
        """Pass over everything up to a mark and the mark; to the end if there is none."""
        while self.take_until(mark, PLAIN_BYTES) is None:
            here = len(self._held) - self._start
            if not self.skip(max(here - len(mark) + 1, 1)):
                return

    def _pass(self, count: int) -> None:
        self._start += count
        self.at += count
        if self._start > PLAIN_BYTES:
            del self._held[: self._start]
            self._start = 0

    def _more(self) -> bool:
        try:
            chunk = self._source.read()
        except DamagedError:  # what is held belongs to something that has no end
            self._pass(len(self._held) - self._start)
            raise
        self._held += chunk
        return bool(chunk)


def _source(file: BinaryIO) -> Source:
    first = file.read(CHUNK_BYTES)
    if first.startswith(GZIP):
        return _Gzip(file, first)
    return _Zstd(file, first) if first.startswith(ZSTD) else _Plain(file, first)


class _Plain:
    """Bytes as they are, some of which were read before."""

    def __init__(self, file: BinaryIO, first: bytes) -> None:
        self._file = file
        self._first = first

    def read(self, count: int = PLAIN_BYTES) -> bytes:
        found, self._first = self._first[:count], self._first[count:]
        return found or self._file.read(count)


class _Gzip:
    """What any number of members hold. After a damaged one the next is looked for."""

    def __init__(self, file: BinaryIO, first: bytes) -> None:
        self._file = file
        self._packed = first
        self._inflate = isal_zlib.decompressobj(31)
        self._is_inside = False

    def read(self) -> bytes:
        while self._packed or self._read_packed():
            packed, self._packed = self._packed, b""
            try:
                found = self._inflate.decompress(packed)
            except _NOT_GZIP as error:
                self._find_next(packed[1:])
                raise DamagedError(f"it cannot be unpacked: {error}") from error
            self._is_inside = not self._inflate.eof
            if self._inflate.eof:
                self._packed = self._inflate.unused_data.lstrip(b"\0")
                self._inflate = isal_zlib.decompressobj(31)
            if found:
                return found
        if self._is_inside:
            self._is_inside = False
            raise DamagedError("the file ends in the middle")
        return b""

    def _read_packed(self) -> bool:
        self._packed = self._file.read(CHUNK_BYTES)
        return bool(self._packed)

    def _find_next(self, packed: bytes) -> None:
        self._inflate, self._is_inside = isal_zlib.decompressobj(31), False
        while (found := packed.find(GZIP)) < 0:
            more = self._file.read(CHUNK_BYTES)
            if not more:
                return
            packed = packed[-len(GZIP) + 1 :] + more
        self._packed = packed[found:]


class _Zstd:
    """What any number of frames hold. After a damaged one there is nothing."""

    def __init__(self, file: BinaryIO, first: bytes) -> None:
        self._source = _Plain(file, first)
        self._packed = b""
        self._frame = self._new_frame()
        self._is_inside = self._is_over = False

    def read(self) -> bytes:
        while not self._is_over and (packed := self._packed or self._source.read(ZSTD_BYTES)):
            try:
                found = self._frame.decompress(packed)
            except zstandard.ZstdError as error:
                self._is_over = True
                raise DamagedError(f"it cannot be unpacked: {error}") from error
            self._packed, self._is_inside = self._frame.unused_data, not self._frame.eof
            if self._frame.eof:
                self._frame = self._new_frame()
            if found:
                return found
        if self._is_inside and not self._is_over:
            self._is_over = True
            raise DamagedError("the file ends in the middle")
        return b""

    @staticmethod
    def _new_frame() -> "zstandard.ZstdDecompressionObj":
        return zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW_BYTES).decompressobj()
