"""The control socket: how others ask a running crawl, and add seeds to it.

A Unix socket in the crawl's folder. One line of JSON asks, one line of JSON answers. Only the
process that holds the folder's lock listens; a socket file alone means a stopped crawl.
"""

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from gossamer.errors import CannotGoOn, GossamerError
from gossamer.linux import KEEPS_SOCKET_FILE, short_path
from gossamer.log import tell

ASK_TIMEOUT_S = 120.0
"""`why` may have to read the whole links archive."""
MAX_LINE_BYTES = 16 * 1024 * 1024

Answering = Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]]


class ControlSocket:
    """The listening end, inside a running crawl."""

    def __init__(self, path: Path, answering: Answering) -> None:
        self._path = path
        self._answering = answering
        self._server: asyncio.AbstractServer | None = None
        self.cpu_s = 0.0
        """CPU of this thread that was spent while questions were answered."""

    async def open(self) -> None:
        """Listen; a socket file that a dead crawl left behind is replaced."""
        self._path.unlink(missing_ok=True)
        with short_path(self._path) as short:
            self._server = await asyncio.start_unix_server(
                self._serve, path=short, limit=MAX_LINE_BYTES, **KEEPS_SOCKET_FILE
            )
        self._path.chmod(0o600)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = await _read_question(reader)
        before = time.thread_time()
        answer = await self._answer(question)
        self.cpu_s += time.thread_time() - before
        try:
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        except ConnectionError:
            return  # who asked is gone
        finally:
            writer.close()

    async def _answer(self, question: object) -> dict[str, object]:
        if not isinstance(question, dict):
            return {"error": "not a question that a crawl can answer: expected a JSON object"}
        try:
            return dict(await self._answering(question))
        except GossamerError as error:
            return {"error": str(error)}
        except Exception as error:  # noqa: BLE001  # a bug costs the answer, not the crawl
            tell("control.failed", question=question, error=repr(error))
            return {"error": f"internal error: {error!r}"}

    def close(self) -> None:
        """Stop listening and remove the socket file."""
        if self._server is not None:
            self._server.close()
        with suppress(OSError):  # the disk is gone; who opens next replaces the file
            self._path.unlink(missing_ok=True)


async def _read_question(reader: asyncio.StreamReader) -> object:
    """Return what was asked; None if that is no JSON, too long, too deep, or nothing."""
    try:
        return json.loads(await reader.readline())
    except (ValueError, RecursionError, OSError):
        return None


def ask_running(path: Path, question: Mapping[str, object]) -> dict[str, object] | None:
    """Return a running crawl's answer, or None if none is running (any more) in that folder."""
    if not path.exists():
        return None
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(ASK_TIMEOUT_S)
        try:
            with short_path(path) as short:
                line.connect(short)
            line.sendall(json.dumps(dict(question)).encode() + b"\n")
            with line.makefile("rb") as answers:
                said = answers.readline()
        except TimeoutError as error:
            raise CannotGoOn(
                f"the crawl in {path.parent} gave no answer in {ASK_TIMEOUT_S:g} s; ask again later"
            ) from error
        except OSError:  # nobody listens, or the crawl ended while we asked
            return None
    answer: dict[str, object] | None = json.loads(said) if said.endswith(b"\n") else None
    return answer
