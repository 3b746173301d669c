"""Dechunker: undoes HTTP/1.1 chunk framing, and says where the answer really ended. Pure."""

import re

_STRICT = re.compile(
    rb"[0-9A-Fa-f]{1,16}"
    rb"(?:[ \t]*;[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
    rb"(?:[ \t]*=[ \t]*(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|\"(?:[^\"\\\r\n]|\\[^\r\n])*\"))?)*"
)
_LENIENT = re.compile(rb"[0-9A-Fa-f]{1,16}")
_MAX_LINE_BYTES = 16_384
_MAX_TRAILER_BYTES = 65_536

# What is expected when no bytes of a chunk are; above zero stands how many are.
_SIZE_LINE = 0
_AFTER_CHUNK = -1
_TRAILER = -2


class Dechunker:
    """Takes a chunked body piece by piece and gives back its payload.

    `end` is where the framing ended, in bytes from the start: what follows is not this answer's.
    `error` says what broke the framing; what was given back before it is good.
    """

    __slots__ = ("_left", "_pending", "_seen", "_trailer_bytes", "end", "error", "oddities")

    def __init__(self) -> None:
        self._pending = b""
        self._seen = 0
        self._left = _SIZE_LINE
        self._trailer_bytes = 0
        self.end: int | None = None
        self.error = ""
        self.oddities: set[str] = set()

    @property
    def is_done(self) -> bool:
        """Tell whether nothing more is expected: the end was reached or the framing broke."""
        return self.end is not None or bool(self.error)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payload in the next bytes as sent."""
        buffer = self._pending + data if self._pending else data
        payload: list[bytes] = []
        at = 0
        while not self.is_done:
            moved = self._payload(buffer, at, payload) if self._left > 0 else self._line(buffer, at)
            if moved == at:
                break
            at = moved
        self._seen += at
        self._pending = buffer[at:] if not self.is_done else b""
        if not self.is_done and self._left <= 0 and len(self._pending) > _MAX_LINE_BYTES:
            self.error = "a chunk size line has no end"
        return payload

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
        digits = _LENIENT.match(line)
        if digits is None:
            self.error = f"{line[:20]!r} is not a chunk size"
            return
        if _STRICT.fullmatch(line) is None:
            self.oddities.add("malformed chunk size line")
        self._left = int(digits.group(), 16) or _TRAILER

    def _trailer(self, line: bytes, after: int) -> None:
        self._trailer_bytes += len(line)
        if not line:
            self.end = after
        elif self._trailer_bytes > _MAX_TRAILER_BYTES:
            self.error = "the trailer is too long"
