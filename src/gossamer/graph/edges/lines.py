"""Lines of a text, many at a time: from a file, packed or not, or from standard input."""

import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, Protocol

import zstandard
from isal import igzip
from isal.igzip_lib import IsalError

from gossamer.errors import CannotGoOn, ConfigError

CHUNK_BYTES = 1 << 22
LONGEST_LINE = 1 << 20
STDIN = "-"
_PACKED_BYTES = 1 << 10
"""Read at once of a packed file: little, since each byte may become thirty thousand."""
_BOM = b"\xef\xbb\xbf"
_BROKEN: Any = (EOFError, OSError, zlib.error, IsalError, zstandard.ZstdError)
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Readable(Protocol):
    """What bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return about so many bytes; none at the end only."""


def chunks(name: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield a text in pieces of whole lines; the last one ends with a line's end, too.

    `name` is a path, or `-`. gzip and zstd are known by their first bytes. A file that cannot be
    unpacked raises `CannotGoOn`, a line that never ends `ConfigError`.
    """
    file = FileIO(sys.stdin.fileno(), closefd=False) if name == STDIN else FileIO(name)
    with BufferedReader(file) as stream:
        yield from whole_lines(_unpacked(stream), chunk_bytes, name)


def whole_lines(stream: Readable, chunk_bytes: int, name: str) -> Iterator[bytes]:
    """Yield what a stream has, cut behind ends of lines; one is added where the last is missing."""
    more = _read(stream, max(chunk_bytes, len(_BOM)), name)
    rest, lines = more.removeprefix(_BOM), 0
    while more:
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            lines += rest.count(b"\n", 0, end)
            rest = rest[end:]
        elif len(rest) > LONGEST_LINE:
            raise ConfigError(
                f"{name}: line {lines + 1} is longer than {LONGEST_LINE:,} bytes: is it text?"
            )
        more = _read(stream, chunk_bytes, name)
        rest += more
    if rest:
        yield rest + b"\n"


def kept(name: str, folder: Path) -> str:
    """Return a name under which a text can be read more than once: what flows by is copied."""
    if name != STDIN and (Path(name).is_file() or not Path(name).exists()):
        return name
    copy = folder / "copy"
    source = FileIO(sys.stdin.fileno(), closefd=False) if name == STDIN else FileIO(name)
    with source, copy.open("wb") as file:
        shutil.copyfileobj(source, file, CHUNK_BYTES)
    return str(copy)


class _Zstd:
    """Frames of zstd, unpacked. (The library's own reader takes a file that was cut as whole.)"""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._is_within = False

    def read(self, size: int) -> bytes:
        """Return at least so many bytes unless the end comes first."""
        found = bytearray()
        while len(found) < size and (packed := self._stream.read(_PACKED_BYTES)):
            while packed:
                found += self._frame.decompress(packed)
                packed, self._is_within = self._frame.unused_data, not self._frame.eof
                if self._frame.eof:
                    self._frame = zstandard.ZstdDecompressor().decompressobj()
        if not found and self._is_within:
            msg = "it ends in the middle"
            raise EOFError(msg)
        return bytes(found)


def _unpacked(stream: "BufferedReader[FileIO]") -> Readable:
    start = stream.peek(len(_ZSTD))
    if start.startswith(_GZIP):
        return _gzip(stream)
    if start.startswith(_ZSTD):
        return _Zstd(stream)
    return stream


def _gzip(stream: Readable) -> Readable:
    opened: Callable[..., Readable] = igzip.GzipFile
    return opened(fileobj=stream)


def _read(stream: Readable, size: int, name: str) -> bytes:
    try:
        return stream.read(size)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise CannotGoOn(f"cannot decompress {name}: {error}") from error
