"""The one door from the loop to a killable process: for documents that are slow or dangerous.

A helper process reads one document at a time under limits on memory and on CPU and wall seconds.
It is started when it is first needed, killed when it exceeds a limit, and started again. What
crosses the pipe are msgspec structs, so nothing that a page contains can become code.
"""

import asyncio
import io
import resource
import struct
import sys
from typing import BinaryIO

import msgspec
from msgspec import Struct

from gossamer.model import Document, Extraction, Url
from gossamer.process import Registry, Tools

_LENGTH = struct.Struct(">I")
STARTUP_S = 30.0
ENTRY = "from gossamer.crawl.offload import serve; serve()"


class Errand(Struct):
    """A document on its way to the helper, as far as processors may look at it."""

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    media_type: str
    charset: str
    read_as: str
    body: bytes


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
        """Tell that the bytes are in memory."""
        return False

    @property
    def decode_note(self) -> str:
        """Tell that nothing had to be decoded here."""
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


class SafeReader:
    """The parent's end: sends a document, waits for what was found, kills what hangs."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._process: asyncio.subprocess.Process | None = None
        self._one_at_a_time = asyncio.Lock()

    async def read(self, document: Document, media_type: str) -> Extraction:
        """Return what the helper's processors found, or an empty extraction that says why not."""
        limit_s = self._tools.process.helper_seconds
        # Large bodies may wait long for their turn: many of them must not wait in memory.
        document.body.release()
        async with self._one_at_a_time:
            try:
                process = await self._running()
                async with asyncio.timeout(limit_s):
                    return await _exchange(process, _errand(document, media_type))
            except TimeoutError:
                problem = f"helper: not finished after {limit_s:g} s"
            except (OSError, EOFError, msgspec.DecodeError) as error:
                problem = f"helper: ended before it answered ({error!r})"
            await self.close()
        return Extraction(media_type=media_type, errors=(problem,))

    async def _running(self) -> asyncio.subprocess.Process:
        """Return the live helper process, started if need be."""
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", ENTRY),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(STARTUP_S):
                await _send(self._process, msgspec.msgpack.encode(self._tools))
                await _receive(self._process)
        return self._process

    async def close(self) -> None:
        """End the helper process; it holds nothing that could be lost."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


def _errand(document: Document, media_type: str) -> Errand:
    return Errand(
        url=document.url,
        status=document.status,
        headers=document.headers,
        media_type=document.media_type,
        charset=document.charset,
        read_as=media_type,
        body=document.body.decoded(),
    )


async def _exchange(process: asyncio.subprocess.Process, errand: Errand) -> Extraction:
    await _send(process, msgspec.msgpack.encode(errand))
    return msgspec.msgpack.decode(await _receive(process), type=Extraction)


async def _send(process: asyncio.subprocess.Process, message: bytes) -> None:
    if process.stdin is None:
        raise EOFError
    process.stdin.write(_LENGTH.pack(len(message)))
    process.stdin.write(message)
    await process.stdin.drain()


async def _receive(process: asyncio.subprocess.Process) -> bytes:
    if process.stdout is None:
        raise EOFError
    (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
    return await process.stdout.readexactly(length)


def serve() -> None:
    """Be the helper process: read errands from standard input until it ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    tools = msgspec.msgpack.decode(_take(source), type=Tools)
    registry = Registry.load(tools)
    memory = tools.process.helper_memory_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    _give(sink, b"ready")
    while message := _take(source):
        _limit_cpu(tools.process.helper_seconds)
        errand = msgspec.msgpack.decode(message, type=Errand)
        found = registry.read(_document(errand), errand.read_as)
        _give(sink, msgspec.msgpack.encode(found))


def _limit_cpu(seconds: float) -> None:
    """Allow so many seconds of CPU from now on; beyond them the kernel ends the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _document(errand: Errand) -> Document:
    return Document(
        url=errand.url,
        status=errand.status,
        head=b"",
        headers=errand.headers,
        body=CarriedBody(errand.body),
        request=b"",
        address="",
        fetched_at=0.0,
        latency_s=0.0,
        media_type=errand.media_type,
        charset=errand.charset,
    )


def _take(source: BinaryIO) -> bytes:
    header = source.read(_LENGTH.size)
    return source.read(_LENGTH.unpack(header)[0]) if len(header) == _LENGTH.size else b""


def _give(sink: BinaryIO, message: bytes) -> None:
    sink.write(_LENGTH.pack(len(message)) + message)
    sink.flush()
