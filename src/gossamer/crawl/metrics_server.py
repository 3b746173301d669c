"""`--metrics-port`: the metrics of a crawl over HTTP, from the process that runs or supervises it.

No web framework and no thread: shards are forked from this process.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import NamedTuple

from gossamer.errors import ConfigError

LOOPBACK = "127.0.0.1"
PATIENCE_S = 10.0
MOST_BYTES = 16 * 1024


class MetricsPlace(NamedTuple):
    """Where metrics are served, and what is told there of the index, which a crawl knows not."""

    address: str = ""
    """As it was given; "" for nowhere."""
    unindexed_bytes: Callable[[], int | None] = lambda: None

    @classmethod
    def of(cls, given: str, unindexed_bytes: Callable[[], int | None] | None) -> "MetricsPlace":
        """Return a place, or raise `ConfigError` for what is none."""
        if given:
            host_and_port(given)
        return cls(given) if unindexed_bytes is None else cls(given, unindexed_bytes)


class MetricsServer:
    """Answers GET /metrics, and nothing else."""

    def __init__(self, place: str, metrics: Callable[[], str]) -> None:
        """Serve at "PORT" on loopback, or at "ADDRESS:PORT"."""
        self._place = place
        self._metrics = metrics
        self._server: asyncio.AbstractServer | None = None

    async def open(self) -> None:
        """Listen."""
        host, port = host_and_port(self._place)
        try:
            self._server = await asyncio.start_server(self._serve, host, port, limit=MOST_BYTES)
        except OSError as error:
            raise ConfigError(
                f"--metrics-port {self._place}: {error.strerror}: give another one"
            ) from error

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                asked = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(asked))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # who asked is gone, or said too much or too little
        finally:
            writer.close()

    def _answer(self, asked: bytes) -> bytes:
        method, _, rest = asked.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in {b"GET", b"HEAD"}:
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "")
        if path != b"/metrics":
            return _response(HTTPStatus.NOT_FOUND, "/metrics has the metrics\n")
        return _response(HTTPStatus.OK, self._metrics(), has_body=method == b"GET")

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()


def host_and_port(place: str) -> tuple[str, int]:
    """Return the address and port that were given."""
    host, _, port = place.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ConfigError(
            f"--metrics-port: expected a port from 1 to 65535, or ADDRESS:PORT, found {place!r}"
        )
    return host.strip("[]") or LOOPBACK, int(port)


def _response(status: HTTPStatus, text: str, *, has_body: bool = True) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nX-Content-Type-Options: nosniff\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (body if has_body else b"")


@asynccontextmanager
async def serving_metrics(place: MetricsPlace, metrics: Callable[[], str]) -> AsyncIterator[None]:
    """Serve metrics, and how far the index is behind, for the length of a block."""
    from gossamer.report import index_lag_text  # noqa: PLC0415 -- 0.01 s, if anybody asks

    server = MetricsServer(
        place.address, lambda: metrics() + index_lag_text(place.unindexed_bytes())
    )
    await server.open()
    try:
        yield
    finally:
        server.close()
