"""Undo what a server did to a body for its way over the wire: chunk framing, content codings."""

import io
import zlib
from collections.abc import Callable
from typing import TypeAlias

import brotli
import zstandard

Decoder: TypeAlias = Callable[[bytes, int], bytes]

_PIECE_BYTES = 16 * 1024


def decoded(payload: bytes, *, is_chunked: bool, codings: str, max_bytes: int) -> bytes:
    """Return the body without its framing and codings, at most `max_bytes` of it.

    An unknown coding, or bytes that are not in it, leave the body as it is at that point.
    """
    body = _without_chunks(payload) if is_chunked else payload
    for coding in reversed([word.strip() for word in codings.split(",") if word.strip()]):
        if coding == "identity":
            continue
        decoder = _DECODERS.get(coding)
        if decoder is None:
            return body[:max_bytes]
        try:
            body = decoder(body, max_bytes)
        except (zlib.error, brotli.error, zstandard.ZstdError):
            return body[:max_bytes]
    return body[:max_bytes]


def _without_chunks(payload: bytes) -> bytes:
    """Return the data of all whole chunks, and of one that was cut off."""
    parts: list[bytes] = []
    at = 0
    while (line_end := payload.find(b"\n", at)) >= 0:
        size_text = payload[at:line_end].partition(b";")[0].strip()
        try:
            size = int(size_text, 16)
        except ValueError:
            return b"".join(parts) if parts else payload
        if size <= 0:
            break
        parts.append(payload[line_end + 1 : line_end + 1 + size])
        at = line_end + 1 + size
        at = payload.find(b"\n", at) + 1 or len(payload)
    return b"".join(parts)


def _gunzip(body: bytes, max_bytes: int) -> bytes:
    return _inflate(body, max_bytes, zlib.MAX_WBITS | 32)


def _inflate_any(body: bytes, max_bytes: int) -> bytes:
    """Undo "deflate": zlib as the standard says, or raw as some servers send it."""
    try:
        return _inflate(body, max_bytes, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate(body, max_bytes, -zlib.MAX_WBITS)


def _inflate(body: bytes, max_bytes: int, window_bits: int) -> bytes:
    """Return what inflates, all gzip members, up to a cap; a cut-off tail is no error."""
    parts: list[bytes] = []
    left = max_bytes
    while body and left:
        inflate = zlib.decompressobj(window_bits)
        try:
            part = inflate.decompress(body, left)
        except zlib.error:
            if not parts:
                raise
            break
        parts.append(part)
        left -= len(part)
        body = inflate.unused_data if inflate.eof else b""
    return b"".join(parts)


def _unbrotli(body: bytes, max_bytes: int) -> bytes:
    inflate = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    for start in range(0, len(body), _PIECE_BYTES):
        part = inflate.process(body[start : start + _PIECE_BYTES])
        parts.append(part)
        size += len(part)
        if size >= max_bytes:
            break
    return b"".join(parts)


def _unzstd(body: bytes, max_bytes: int) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(body), read_across_frames=True
    ) as reader:
        return reader.read(max_bytes)


_DECODERS: dict[str, Decoder] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate_any,
    "br": _unbrotli,
    "zstd": _unzstd,
}
