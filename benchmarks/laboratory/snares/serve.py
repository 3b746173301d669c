"""Serve a web of snares, and the names of all its hosts, from a thread."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from gossamer.testing.responses import Web
from gossamer.testing.server import FakeServer, ServerOptions
from laboratory.crowd import NameServer


class NamedWeb(Web, Protocol):
    """A web that knows the addresses of hosts when they are asked for."""

    def address_of(self, name: str) -> str | None:
        """Return the address of a host, if there is such a host."""


W = TypeVar("W", bound=NamedWeb)


@dataclass(frozen=True, slots=True)
class ServedSnares(Generic[W]):
    """A web of snares that is being served."""

    server: FakeServer[W]
    nameserver: str
    """ADDR:PORT, as the crawler's `nameservers` wants it."""

    @property
    def web(self) -> W:
        """The web as it is served: with its port."""
        return self.server.web


@contextlib.contextmanager
def serve_snares(web: W) -> Iterator[ServedSnares[W]]:
    """Serve a web of snares for the length of a block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="snares", daemon=True)
    thread.start()
    server = FakeServer(web, ServerOptions(cache_bytes=0))
    names = NameServer(web.address_of)
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        where = asyncio.run_coroutine_threadsafe(names.open(), loop).result()
        yield ServedSnares(server, where)
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server, names), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(server: FakeServer[W], names: NameServer) -> None:
    await server.stop()
    names.close()
    # A closed transport lets go of its socket in the loop's next round.
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
