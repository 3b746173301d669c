"""Reading documents: here, or in a killable process if they are slow or dangerous.

A helper process reads one document at a time under limits on memory and on CPU and wall seconds.
It is started when it is first needed, killed when it exceeds a limit, and started again. What it
runs is `process`'s own `helper`: it knows nothing of the engine.
"""

import asyncio
import struct

import msgspec

from gossamer.model import Document, Extraction
from gossamer.process import HELPER_COMMAND, HelperRequest, Registry, Tools, helper_request
from gossamer.store import FlightBoard

_LENGTH = struct.Struct(">I")
STARTUP_S = 30.0


class DocumentReader:
    """Reads documents with the processors of their types, and notes whose content is being read."""

    def __init__(self, registry: Registry, helper: "HelperProcess", board: FlightBoard) -> None:
        self._registry = registry
        self._helper = helper
        self._board = board

    def media_type(self, document: Document) -> str:
        """Return the media type of a document: declared, or as its bytes look."""
        return self._registry.media_type(document)

    async def read(self, document: Document, media_type: str) -> Extraction:
        """Return what the processors of a media type find in a document."""
        key = document.url.key
        if self._registry.needs_helper(document, media_type):
            self._board.land(key)  # what a helper reads cannot be what kills us
            return await self._helper.read(document, media_type)
        self._board.reading(key)
        try:
            return self._registry.read(document, media_type)
        finally:
            self._board.reading(None)

    async def close(self) -> None:
        """End the helper process."""
        await self._helper.close()


class HelperProcess:
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
                    return await _exchange(process, helper_request(document, media_type))
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
                *HELPER_COMMAND,
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


async def _exchange(process: asyncio.subprocess.Process, request: HelperRequest) -> Extraction:
    await _send(process, msgspec.msgpack.encode(request))
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
