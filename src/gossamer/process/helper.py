"""The helper process: reads one document at a time where it can be killed.

What crosses the pipe are msgspec structs, so nothing that a page contains can become code. This
module is what the process runs: it imports this room and nothing of the engine, because every
process that was killed is started anew. Limits and killing are the parent's business, see `crawl`.
"""

import io
import os
import resource
import struct
import sys
from collections.abc import Callable
from typing import BinaryIO, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.model import Document, Url
from gossamer.process.api import Processor, ProcessorReference, Tools
from gossamer.process.registry import Registry

HELPER_COMMAND = (sys.executable, "-P", "-c", "from gossamer.process.helper import serve; serve()")
"""Starts a helper. (-P: it must not import what lies in the folder where the crawl was started.)"""

_LENGTH = struct.Struct(">I")


class HelperRequest(Struct):
    """A document on its way to the helper, as far as processors may look at it."""

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    media_type: str
    charset: str
    read_as: str
    body: bytes


def helper_request(document: Document, media_type: str) -> HelperRequest:
    """Return what a helper is sent of a document."""
    return HelperRequest(
        url=document.url,
        status=document.status,
        headers=document.headers,
        media_type=document.media_type,
        charset=document.charset,
        read_as=media_type,
        body=document.body.decoded(),
    )


class CarriedBody:
    """A body that crossed the pipe: decoded, whole, in memory."""

    def __init__(self, decoded: bytes) -> None:
        self._decoded = decoded

    @property
    def sent_bytes(self) -> int:
        """Return the size of what is at hand."""
        return len(self._decoded)

    @property
    def is_spooled(self) -> bool:
        """Return False: the bytes are in memory."""
        return False

    @property
    def decode_note(self) -> str:
        """Return "": nothing had to be decoded here."""
        return ""

    def open_sent(self) -> BinaryIO:
        """Return a reader over the decoded bytes: the bytes as sent did not cross the pipe."""
        return io.BytesIO(self._decoded)

    def sent(self) -> bytes:
        """Return the decoded bytes: the bytes as sent did not cross the pipe."""
        return self._decoded

    def decoded(self) -> bytes:
        """Return the decoded bytes."""
        return self._decoded

    def release(self) -> None:
        """Keep the bytes: there are no others to make them from."""

    def close(self) -> None:
        """Release the bytes."""
        self._decoded = b""


class HelperSetup(Struct, kw_only=True):
    """What a helper is told when it starts."""

    tools: Tools
    processors: tuple[ProcessorReference, ...] = ()
    """Given by hand, besides those that are installed."""
    path: tuple[str, ...] = ()
    """Where their modules are looked for."""


Answering: TypeAlias = Callable[[bytes, Registry], bytes]
"""Returns the answer to a request, both as they cross the pipe."""


def read_request(message: bytes, registry: Registry) -> bytes:
    """Return what the processors find in the document of a `HelperRequest`."""
    request = msgspec.msgpack.decode(message, type=HelperRequest)
    found = registry.read(_document(request), request.read_as)
    return msgspec.msgpack.encode(found, enc_hook=list)  # of links in columns


def serve(answer: Answering = read_request) -> None:
    """Be the helper process: answer requests from standard input until it ends."""
    try:
        _serve(sys.stdin.buffer, sys.stdout.buffer, answer)
    except BrokenPipeError:  # the parent was killed: end without a word, also when flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _serve(source: BinaryIO, sink: BinaryIO, answer: Answering) -> None:
    started = _read_message(source)
    if not started:
        return
    setup = msgspec.msgpack.decode(started, type=HelperSetup)
    given = _loaded(setup)
    registry = Registry.load(setup.tools, extra=given)
    memory = setup.tools.process.helper_memory_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    _write_message(sink, msgspec.msgpack.encode(len(given)))
    while message := _read_message(source):
        _limit_cpu(setup.tools.process.helper_seconds)
        _write_message(sink, answer(message, registry))


def _loaded(setup: HelperSetup) -> list[Processor]:
    """Return the first of the processors given by hand, as many as can be imported here."""
    sys.path += [folder for folder in setup.path if folder not in sys.path]
    found: list[Processor] = []
    for reference in setup.processors:
        if (one := reference.load()) is None:
            break
        found.append(one)
    return found


def _limit_cpu(seconds: float) -> None:
    """Allow so many seconds of CPU from now on; beyond them the kernel ends the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _document(request: HelperRequest) -> Document:
    return Document(
        url=request.url,
        status=request.status,
        head=b"",
        headers=request.headers,
        body=CarriedBody(request.body),
        request=b"",
        address="",
        fetched_at=0.0,
        latency_s=0.0,
        media_type=request.media_type,
        charset=request.charset,
    )


def _read_message(source: BinaryIO) -> bytes:
    """Return the next message; b"" if the parent ended before all of it was written."""
    header = source.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return b""
    (length,) = _LENGTH.unpack(header)
    message = source.read(length)
    return message if len(message) == length else b""


def _write_message(sink: BinaryIO, message: bytes) -> None:
    sink.write(_LENGTH.pack(len(message)) + message)
    sink.flush()
