"""Raw servers for the fetch tests: they send exactly the bytes that a test wrote."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from gossamer.clock import SystemClock
from gossamer.config import FetchConfig, UrlConfig
from gossamer.fetch import Fetcher, HostRules, ProtocolModule, Validators
from gossamer.log import OnUserError, ignore_error
from gossamer.model import FetchOutcome, Url
from gossamer.urls import parse

LOOPBACK = ("127.0.0.1",)
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """A server on loopback, with what it was sent and how often it was connected to."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.port = 0
        self.connections = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def url(self, path: str = "/", host: str = "a.test") -> Url:
        url = parse(f"http://{host}:{self.port}{path}", UrlConfig())
        assert url is not None
        return url


@asynccontextmanager
async def serve(talk: Talk) -> AsyncIterator[RawServer]:
    raw = RawServer(talk)
    server = await asyncio.start_server(raw.handle, "127.0.0.1", 0)
    raw.port = server.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        server.close()


def says(*answers: bytes, then_close: bool = True) -> Talk:
    """Return a talk that gives one answer per request, then closes or waits for the client."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
        if not then_close:
            await reader.read()

    return talk


@asynccontextmanager
async def fetching(
    rules: HostRules | None = None,
    protocols: Mapping[str, ProtocolModule] | None = None,
    on_user_error: OnUserError = ignore_error,
    **knobs: object,
) -> AsyncIterator[Fetcher]:
    config = FetchConfig(**{"allow_net": ("127.0.0.0/8",), **knobs})  # type: ignore[arg-type]
    fetcher = Fetcher(config, SystemClock(), rules, protocols, on_user_error)
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def ask_once(
    talk: Talk, path: str = "/", validators: Validators | None = None, **knobs: object
) -> FetchOutcome:
    async with serve(talk) as server, fetching(**knobs) as fetcher:
        return await fetcher.fetch(server.url(path), LOOPBACK, validators=validators)
