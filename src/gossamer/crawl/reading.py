"""Reading documents: here, or in a killable process if they are slow, dangerous or suspect.

A helper process reads one document at a time under limits on memory and on CPU and wall seconds.
It is started when it is first needed, killed when it exceeds a limit, and started again. What it
runs is `process`'s own `helper`: it knows nothing of the engine. Suspects have one of their own.
`PageReading` asks meanwhile whether the content is a copy.
"""

import asyncio
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from signal import Signals
from typing import TypeVar

import msgspec
from msgspec import Struct

from gossamer.clock import CrawlTime
from gossamer.crawl.alone import ALONE_COMMAND, AloneReading, alone_request, with_found
from gossamer.crawl.contents import ContentAnswer, answer_in_time
from gossamer.crawl.core import Core
from gossamer.crawl.pipeline import Reading, with_label
from gossamer.crawl.ports import Peers
from gossamer.crawl.sitemaps import SitemapProbes
from gossamer.dedupe import coded_fingerprint, content_fingerprint, words_fingerprint
from gossamer.model import (
    CopyOf,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
    Task,
)
from gossamer.process import (
    HELPER_COMMAND,
    HelperSetup,
    Registry,
    helper_request,
    importable,
    is_gate,
    label_of,
)
from gossamer.store import ReadingMark, digest_of

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

    def __init__(
        self, registry: Registry, mark: ReadingMark, time: CrawlTime, peers: Peers
    ) -> None:
        self._peers = peers
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
        if (large := self._registry.read_large(document, media_type)) is not None:
            return large
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
            await self._alone.begin()  # little but the page happens while it is named
            await self._peers.note_alone(document.url.key)
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


@dataclass(frozen=True, slots=True)
class PageReading:
    """Reads documents for the worker; who reads one tells the content station when it is done."""

    core: Core
    reader: DocumentReader
    probes: SitemapProbes
    time: CrawlTime

    async def read(
        self, task: Task, outcome: FetchOutcome, document: Document
    ) -> tuple[FetchOutcome, Reading | None]:
        """Read what an outcome brought: a page, or an error that may be a gate."""
        if task.url.key in self.core.suspects and not isinstance(outcome, Redirected):
            return await self._read_alone(outcome, document)
        if isinstance(outcome, Fetched):
            media_type = self.reader.media_type(document)
            if self.probes.found_none(task, media_type, self.time.now()):
                document.body.close()
                return Refused(kind=RefusalKind.NO_SITEMAP, detail=media_type), None
            return await self._read_page(outcome, media_type)
        if isinstance(outcome, Failed):
            outcome = with_label(outcome, is_gate(document.status, document.body.decoded()))
        return outcome, None

    async def _read_alone(
        self, outcome: FetchOutcome, document: Document
    ) -> tuple[FetchOutcome, Reading | None]:
        """Read a suspect where it can do no harm: what is found clears it."""
        told = await self.reader.read_alone(document)
        if isinstance(told, HelperDeath):
            document.body.close()
            detail = f"the helper process that read it alone {told.detail}"
            return Failed(kind=FailureKind.KILLED_US, detail=detail), None
        if isinstance(outcome, Failed):
            return with_label(outcome, told.is_gate), None
        if not self._wants(told.media_type):
            document.body.close()
            return Refused(kind=RefusalKind.CONTENT_TYPE, detail=told.media_type), None
        asked = self.core.stations.content_seen.ask(told.fingerprint)
        copy_of, coded = await self._original(asked, told.fingerprint, document)
        if told.decode_note:
            document.note_oddity(f"decoding: {told.decode_note}")
        if told.label:
            document.note_oddity(told.label)
        found, words, label = told.found, told.words, told.label
        return outcome, Reading(found, told.fingerprint, copy_of, words, label, coded)

    def _wants(self, media_type: str) -> bool:
        wanted = self.core.stations.process.media_types
        return not wanted or any(fnmatchcase(media_type, pattern) for pattern in wanted)

    async def _read_page(
        self, outcome: Fetched, media_type: str
    ) -> tuple[FetchOutcome, Reading | None]:
        """Read a document; whether it is a copy may be asked of another shard meanwhile."""
        document, contents = outcome.document, self.core.stations.content_seen
        if not self._wants(media_type):
            document.body.close()
            return Refused(kind=RefusalKind.CONTENT_TYPE, detail=media_type), None
        fingerprint = content_fingerprint(document)
        asked = contents.ask(fingerprint)
        try:
            found = await self.reader.read(document, media_type)
        except BaseException:
            if not isinstance(asked, CopyOf):
                contents.release(fingerprint)
            raise
        if note := document.body.decode_note:
            document.note_oddity(f"decoding: {note}")
        if label := label_of(found):
            document.note_oddity(label)
        words = words_fingerprint(found)
        copy_of, coded = await self._original(asked, fingerprint, document)
        return outcome, Reading(found, fingerprint, copy_of, words, label, coded)

    async def _original(
        self, asked: ContentAnswer, fingerprint: int | None, document: Document
    ) -> tuple[CopyOf | None, int | None]:
        """Return the page whose content a document repeats; None if it is to be stored in full.

        One that was sent in another coding is to be stored in full, too, if no other page came in
        the same one; then that content's fingerprint as sent is returned.
        """
        first = await self._answer(asked, fingerprint, document)
        is_other = first is not None and first.url != document.url.text
        if first is None or fingerprint is None or not is_other or document.body.is_spooled:
            return first, None
        digest = digest_of(document.body.sent())
        if digest == first.payload_digest:
            return first, None
        coded = coded_fingerprint(fingerprint, digest)
        like = await self._answer(self.core.stations.content_seen.ask(coded), coded, document)
        return (first, coded) if like is None else (like, None)

    async def _answer(
        self, asked: ContentAnswer, fingerprint: int | None, document: Document
    ) -> CopyOf | None:
        """Return what is known of a content, waited for if need be."""
        if asked is None or isinstance(asked, CopyOf):
            return asked
        contents = self.core.stations.content_seen
        contents.poll()
        if asked.future.done():
            return asked.future.result()
        self.reader.end()  # others are read meanwhile
        try:
            return await answer_in_time(asked, self.core.stations.content_wait_s)
        except BaseException:
            contents.release(fingerprint)
            raise
        finally:
            self.reader.begin(document)


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

    async def begin(self) -> None:
        """Start the process if need be; one that does not start is found out by `ask`."""
        with suppress(OSError, EOFError, TimeoutError, msgspec.DecodeError):
            await self._running()

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
