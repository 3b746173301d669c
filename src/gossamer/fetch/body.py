"""SpooledBody: the bytes of one answer, in memory while there is room, else in a temporary file.

Every reader starts at the beginning. What was sent stays as it was sent; what the author wrote is
made from it on demand, once.
"""

import tempfile
from io import BytesIO
from typing import BinaryIO

from msgspec import Struct

from gossamer.config import MIB
from gossamer.fetch.decoding import (
    COMPILED_FROM_BYTES,
    COMPILED_FROM_CHUNKS,
    NEVER,
    Caps,
    Dechunker,
    Decoded,
    decode,
)
from gossamer.linux import reopened
from gossamer.model import Body

_READ_BYTES = MIB
_MAX_LARGE_BYTES = MIB
"""No body beyond this stays in memory: the archive takes such ones piece by piece anyway."""


class Framing(Struct, frozen=True):
    """How a body was wrapped for its way: chunked or not, and which content codings."""

    is_chunked: bool = False
    codings: tuple[str, ...] = ()


PLAIN = Framing()


class BodyMemory:
    """Memory that all larger bodies share: who finds it full, goes to a file."""

    __slots__ = ("free_bytes",)

    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes


class MemoryClaim:
    """A part of that memory. It is given back when nobody holds it any more, whatever happened."""

    __slots__ = ("_bytes", "_memory")

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._bytes = 0

    def grow(self, size: int) -> bool:
        """Claim so many bytes in all; return False if there is no room for them."""
        more = size - self._bytes
        if more > self._memory.free_bytes:
            return False
        self._memory.free_bytes -= more
        self._bytes = size
        return True

    def __del__(self) -> None:
        self._memory.free_bytes += self._bytes


class BodySpool:
    """Takes bytes as they come: a list of pieces first, a temporary file when they grow.

    Up to `max_memory_bytes` they are kept in memory anyway, and beyond if `memory` has room.
    """

    __slots__ = ("_claim", "_file", "_max_memory_bytes", "_memory", "_pieces", "size")

    def __init__(self, max_memory_bytes: int, memory: BodyMemory | None = None) -> None:
        self._pieces: list[bytes] = []
        self._file: BinaryIO | None = None
        self._max_memory_bytes = max_memory_bytes
        self._memory = memory
        self._claim: MemoryClaim | None = None
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Append a piece; raises OSError when the temporary file cannot be written."""
        self.size += len(piece)
        if self._file is not None:
            self._file.write(piece)
            return
        self._pieces.append(piece)
        if self.size > self._max_memory_bytes and not self._may_stay():
            self._file = _unlinked_file()
            self._file.writelines(self._pieces)
            self._pieces.clear()
            self._claim = None

    def _may_stay(self) -> bool:
        if self._memory is None or self.size > _MAX_LARGE_BYTES:
            return False
        if self._claim is None:
            self._claim = MemoryClaim(self._memory)
        return self._claim.grow(self.size)

    @property
    def is_file(self) -> bool:
        """Return True if the bytes lie in a temporary file."""
        return self._file is not None

    def in_memory(self) -> bytes:
        """Return what came so far, as long as it is little; b"" once it lies in a file."""
        return b"".join(self._pieces)

    def contents(self) -> bytes | BinaryIO:
        """Return the bytes, or the file that holds them; the spool lets go of them."""
        if self._file is not None:
            self._file.flush()
            return self._file
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def claim(self) -> MemoryClaim | None:
        """Return what is to be held as long as the bytes are; the spool lets go of it."""
        claim, self._claim = self._claim, None
        return claim


class SpooledBody:
    """A `model.Body`. `decode_note` says, after `decoded`, what stood in the way of decoding."""

    __slots__ = ("_caps", "_claim", "_decoded", "_framing", "_payload", "_sent", "_sent_bytes")

    def __init__(
        self,
        sent: bytes | BinaryIO,
        sent_bytes: int,
        framing: Framing,
        caps: Caps,
        claim: MemoryClaim | None = None,
    ) -> None:
        self._sent = sent
        self._claim = claim
        self._sent_bytes = sent_bytes
        self._framing = framing
        self._caps = caps
        self._payload: bytes | None = None
        """The body without chunk framing, if it was undone already."""
        self._decoded: Decoded | None = None

    @property
    def sent_bytes(self) -> int:
        """Return how many bytes were received."""
        return self._sent_bytes

    @property
    def is_spooled(self) -> bool:
        """Return True if the bytes as sent lie in a temporary file instead of memory."""
        return not isinstance(self._sent, bytes)

    @property
    def decode_note(self) -> str:
        """Return what went wrong in decoding; "" when nothing did."""
        return self._decode().note

    @property
    def is_cut(self) -> bool:
        """Return True if the decoded bytes were cut off at a cap."""
        return self._decode().is_cut

    def open_sent(self) -> BinaryIO:
        """Return a reader over the bytes as sent, at their beginning; closing it is harmless."""
        if isinstance(self._sent, bytes):
            return BytesIO(self._sent)
        return reopened(self._sent)

    def sent(self) -> bytes:
        """Return the bytes as sent, whole."""
        if isinstance(self._sent, bytes):
            return self._sent
        self._sent.seek(0)
        return self._sent.read()

    def decoded(self) -> bytes:
        """Return the decoded bytes, whole; made once and kept until `release` or `close`."""
        return self._decode().data

    def release(self) -> None:
        """Let go of the decoded bytes; they are made again when they are asked for."""
        self._decoded = None

    def close(self) -> None:
        """Release memory and temporary files."""
        if not isinstance(self._sent, bytes):
            self._sent.close()
        self._sent = b""
        self._claim = None
        self._payload = None
        self._decoded = Decoded(b"")

    def dechunk(self) -> Dechunker:
        """Undo the chunk framing and return what was met on the way; bytes after it are cut."""
        is_large = self._sent_bytes >= COMPILED_FROM_BYTES
        dechunker = Dechunker(compiled_from=COMPILED_FROM_CHUNKS if is_large else NEVER)
        payload: list[bytes] = []
        with self.open_sent() as reader:
            while not dechunker.is_done and (piece := reader.read(_READ_BYTES)):
                payload += dechunker.feed(piece)
        self._payload = b"".join(payload)
        if dechunker.end is not None and dechunker.end < self._sent_bytes:
            dechunker.oddities.add("bytes after the last chunk")
            self._cut(dechunker.end)
        return dechunker

    def packed(self) -> "PackedBody":
        """Return the body as it can be sent to another process."""
        return PackedBody(self.sent(), self._framing, self._caps)

    def _cut(self, size: int) -> None:
        if isinstance(self._sent, bytes):
            self._sent = self._sent[:size]
        else:
            self._sent.truncate(size)
            self._sent.flush()
        self._sent_bytes = size

    def _decode(self) -> Decoded:
        if self._decoded is None:
            if self._framing.is_chunked and self._payload is None:
                self.dechunk()
            payload = self._payload if self._payload is not None else self.sent()
            limit = self._caps.limit(self._sent_bytes)
            self._decoded = decode(payload, self._framing.codings, limit)
            self._payload = None
        return self._decoded


class PackedBody(Struct, frozen=True):
    """A body on its way to another process: the bytes as sent, and how to undo their codings."""

    sent: bytes
    framing: Framing
    caps: Caps | None
    """None if they are not coded at all."""

    def unpacked(self) -> SpooledBody:
        """Return the body."""
        size = len(self.sent)
        caps = self.caps or Caps(max_decoded_bytes=max(1, size), max_ratio=1)
        return SpooledBody(self.sent, size, self.framing, caps)


def pack_body(body: Body) -> PackedBody:
    """Return a body as it can be sent to another process; nothing is decoded for that."""
    if isinstance(body, SpooledBody):
        return body.packed()
    return PackedBody(body.decoded(), PLAIN, None)


def _unlinked_file() -> BinaryIO:
    return tempfile.TemporaryFile(prefix="gossamer-")
