"""Reading documents: here, or in a killable process if they are slow, dangerous or suspect.

A helper process reads one document at a time under limits on memory and on CPU and wall seconds.
It is started when it is first needed, killed when it exceeds a limit, and started again. What it
runs is `process`'s own `helper`: it knows nothing of the engine. Suspects have one of their own.
"""

import asyncio
import struct
import sys
from signal import Signals
from typing import TypeVar

import msgspec
from msgspec import Struct

from gossamer.clock import CrawlTime
from gossamer.crawl.alone import ALONE_COMMAND, AloneReading, alone_request, with_found
from gossamer.model import Document, Extraction
from gossamer.process import (
    HELPER_COMMAND,
    HelperSetup,
    Registry,
    helper_request,
    importable,
)
from gossamer.store import ReadingMark

_LENGTH = struct.Struct(">I")
_PIECE_BYTES = 256 * 1024
"""Sent at a time: what the pipe does not take at once is copied."""
STARTUP_S = 30.0
_Answer = TypeVar("_Answer", bound=Struct)


class HelperDeath(Struct, frozen=True):
    """A helper process that gave no answer: it died, or it was killed at a limit."""

    detail: str


class DocumentReader:
    """Reads documents with the processors of their types, and marks whose content is being read."""

    def __init__(self, registry: Registry, mark: ReadingMark, time: CrawlTime) -> None:
        self._registry = registry
        self._mark = mark
        self._time = time
        tools, given = registry.tools, importable(registry.given)
        self._helper = HelperProcess(HelperSetup(tools=tools), HELPER_COMMAND)
        path = tuple(sys.path) if given else ()
        setup = HelperSetup(tools=tools, processors=given, path=path)
        self._alone = HelperProcess(setup, ALONE_COMMAND)

    def begin(self, document: Document) -> None:
        """Mark whose content is being read from now on. Nothing may be awaited until `end`.

        (Where a helper reads, the mark is lifted for as long.)
        """
        self._mark.begin(document.url.key, self._time.now())

    def end(self) -> None:
        """Note that nothing is being read here."""
        self._mark.end()

    def media_type(self, document: Document) -> str:
        """Return the media type of a document: declared, or as its bytes look."""
        return self._registry.media_type(document)

    async def read(self, document: Document, media_type: str) -> Extraction:
        """Return what the processors of a media type find in a document."""
        if not self._registry.needs_helper(document, media_type):
            return self._registry.read(document, media_type)
        # Large bodies may wait long for their turn: many of them must not wait in memory.
        document.body.release()
        self.end()  # what a helper reads cannot be what kills us
        async with self._helper.turn:
            request = helper_request(document, media_type)
            told = await self._helper.ask(request, Extraction)
        self.begin(document)
        if isinstance(told, HelperDeath):
            return Extraction(media_type=media_type, errors=(f"helper: {told.detail}",))
        return told

    async def read_alone(self, document: Document) -> AloneReading | HelperDeath:
        """Return what is to be known of a suspect's content, read by a helper process of its own.

        Only processors that no other process can import read it here, after all others.
        """
        self.end()
        async with self._alone.turn:
            told = await self._alone.ask(alone_request(document), AloneReading)
            loaded = self._alone.loaded
            await self._alone.close()
        self.begin(document)
        if isinstance(told, HelperDeath):
            return told
        more = self._registry.read_rest(told.found, document, told.media_type, loaded)
        return told if more is None else with_found(told, more)

    async def close(self) -> None:
        """End the helper processes."""
        await self._helper.close()
        await self._alone.close()


class HelperProcess:
    """The parent's end: sends a document, waits for what was found, kills what hangs."""

    def __init__(self, setup: HelperSetup, command: tuple[str, ...]) -> None:
        self._setup = setup
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self.turn = asyncio.Lock()
        """Held by whoever asks."""
        self.loaded = 0
        """How many of the processors that were given by hand it has."""

    async def ask(self, request: Struct, answer: type[_Answer]) -> _Answer | HelperDeath:
        """Return what the helper answers, or why it does not. Whoever asks has the turn."""
        limit_s = self._setup.tools.process.helper_seconds
        try:
            process = await self._running()
            async with asyncio.timeout(limit_s):
                await _send(process, msgspec.msgpack.encode(request))
                return msgspec.msgpack.decode(await _receive(process), type=answer)
        except TimeoutError:
            problem = f"not finished after {limit_s:g} s"
        except (OSError, EOFError, msgspec.DecodeError) as error:
            problem = f"ended before it answered ({await self._how_ended() or repr(error)})"
        await self.close()
        return HelperDeath(problem)

    async def _how_ended(self) -> str:
        """Return how the process ended, if it has: an exit code, or a signal."""
        process = self._process
        if process is None:
            return ""
        try:
            async with asyncio.timeout(1.0):
                code = await process.wait()
        except TimeoutError:
            return ""
        return f"exit code {code}" if code >= 0 else Signals(-code).name

    async def _running(self) -> asyncio.subprocess.Process:
        """Return the live helper process, started if need be."""
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(STARTUP_S):
                await _send(self._process, msgspec.msgpack.encode(self._setup))
                self.loaded = msgspec.msgpack.decode(await _receive(self._process), type=int)
        return self._process

    async def close(self) -> None:
        """End the helper process; it holds nothing that could be lost."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


async def _send(process: asyncio.subprocess.Process, message: bytes) -> None:
    if process.stdin is None:
        raise EOFError
    process.stdin.write(_LENGTH.pack(len(message)))
    whole = memoryview(message)
    for at in range(0, len(message), _PIECE_BYTES):
        process.stdin.write(whole[at : at + _PIECE_BYTES])
        await process.stdin.drain()


async def _receive(process: asyncio.subprocess.Process) -> bytes:
    if process.stdout is None:
        raise EOFError
    (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
    return await process.stdout.readexactly(length)
