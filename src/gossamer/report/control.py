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
from gossamer.linux import short_path
from gossamer.log import tell

ASK_TIMEOUT_S = 120.0
"""`why` may have to read the whole links archive."""
MAX_LINE_BYTES = 16 * 1024 * 1024
MOST_AT_ONCE = 64 * 1024
BACKLOG = 100

Answering = Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]]
AtOnce = Callable[[Mapping[str, object]], Mapping[str, object] | None]


def _never(_question: Mapping[str, object]) -> None:
    """Stand in where nothing is answered at once."""


class ControlSocket:
    """The listening end, inside a running crawl.

    The loop of a crawl that reads pages takes some 15 ms for each round. So a question is taken,
    read and, if possible, answered in the round in which it is there: ADR 115.
    """

    def __init__(self, path: Path, answering: Answering, at_once: AtOnce = _never) -> None:
        """Answer by `at_once`, or by `answering` where that returns None."""
        self._path = path
        self._answering = answering
        self._at_once = at_once
        self._listening: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.cpu_s = 0.0
        """CPU of this thread that was spent while questions were answered."""

    async def open(self) -> None:
        """Listen; a socket file that a dead crawl left behind is replaced.

        Under its name it is found when it listens: who is refused takes the crawl for stopped.
        """
        fresh = self._path.with_name(f"{self._path.name}.new")
        fresh.unlink(missing_ok=True)
        listening = self._listening = socket.socket(socket.AF_UNIX)
        listening.settimeout(0.0)
        with short_path(fresh) as short:
            listening.bind(short)
        fresh.chmod(0o600)
        listening.listen(BACKLOG)
        fresh.replace(self._path)
        asyncio.get_running_loop().add_reader(listening.fileno(), self._take, listening)

    def _take(self, listening: socket.socket) -> None:
        """Take what has come: mostly the question is there already."""
        for _ in range(BACKLOG):
            try:
                line, _ = listening.accept()
            except OSError:  # nobody, or nobody any more, or no descriptor is left
                return
            before = time.thread_time()
            if self._is_served(line):
                line.close()
            else:
                task = asyncio.ensure_future(self._serve(line, b""))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            self.cpu_s += time.thread_time() - before

    def _is_served(self, line: socket.socket) -> bool:
        """Answer what can be answered at once, and return True; else nothing was read."""
        line.settimeout(0.0)
        try:
            asked = line.recv(MOST_AT_ONCE, socket.MSG_PEEK)
        except OSError:
            return False
        question = _question_in(asked) if asked.endswith(b"\n") else None
        if not isinstance(question, dict):
            return False
        try:
            answer = self._at_once(question)
        except Exception as error:  # noqa: BLE001  # a bug costs the answer, not the crawl
            answer = _told(question, error)
        if answer is None:
            return False
        said = json.dumps(dict(answer)).encode() + b"\n"
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(said))
        with suppress(OSError):  # who asked is gone
            if (sent := line.send(said)) < len(said):
                rest = asyncio.ensure_future(self._finish(line.dup(), said[sent:]))
                self._tasks.add(rest)
                rest.add_done_callback(self._tasks.discard)
        return True

    async def _serve(self, line: socket.socket, asked: bytes) -> None:
        loop = asyncio.get_running_loop()
        with line:
            with suppress(OSError):
                while not asked.endswith(b"\n") and len(asked) < MAX_LINE_BYTES:
                    if not (piece := await loop.sock_recv(line, MOST_AT_ONCE)):
                        break
                    asked += piece
            question = _question_in(asked)
            before = time.thread_time()
            answer = await self._answer(question)
            self.cpu_s += time.thread_time() - before
            with suppress(OSError):  # who asked is gone
                await loop.sock_sendall(line, json.dumps(answer).encode() + b"\n")

    async def _finish(self, line: socket.socket, rest: bytes) -> None:
        with line, suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(line, rest)

    async def _answer(self, question: object) -> dict[str, object]:
        if not isinstance(question, dict):
            return {"error": "not a question that a crawl can answer: expected a JSON object"}
        try:
            return dict(await self._answering(question))
        except Exception as error:  # noqa: BLE001  # a bug costs the answer, not the crawl
            return _told(question, error)

    def close(self) -> None:
        """Stop listening and remove the socket file."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening.fileno())
            self._listening.close()
            self._listening = None
        with suppress(OSError):  # the disk is gone; who opens next replaces the file
            self._path.unlink(missing_ok=True)


def _told(question: object, error: Exception) -> dict[str, object]:
    """Return an error as an answer."""
    if isinstance(error, GossamerError):
        return {"error": str(error)}
    tell("control.failed", question=question, error=repr(error))
    return {"error": f"internal error: {error!r}"}


def _question_in(line: bytes) -> object:
    """Return what was asked; None if that is no JSON, too long, too deep, or nothing."""
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
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
