"""A connection: whole messages over a stream socket, each with its length before it."""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

import msgspec

from gossamer.errors import CannotGoOn
from gossamer.log import tell

T = TypeVar("T")
LENGTH_BYTES = 4
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
STRANGER_BYTES = 4096
"""The longest first message of who has no certificate."""
KEEPALIVE_S, PROBES = 2, 3
GONE_S = 8.0
"""Seconds after which a connection ends whose other side acknowledges nothing."""
DIAL_S = 5.0
BEHIND_BYTES = 16 * 1024 * 1024
"""Unsent bytes beyond which the other side is too slow for more."""
NOWHERE = "192.0.2.1"
"""An address that stands for none: a datagram socket that is told to send there sends nothing, and
knows from which address of this machine it would have."""
_encode = msgspec.msgpack.Encoder().encode


class Connection(Generic[T]):
    """One end of a connection on which messages of type T arrive."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, incoming: object
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(incoming)
        self.received = 0
        """How many messages have come."""

    @classmethod
    async def over(cls, end: socket.socket, incoming: object) -> "Connection[T]":
        """Return a connection over one end of a socket pair."""
        reader, writer = await asyncio.open_connection(sock=end)
        return cls(reader, writer, incoming)

    @classmethod
    async def dial(cls, address: str, context: ssl.SSLContext, incoming: object) -> "Connection[T]":
        """Return a connection to HOST:PORT of another machine; OSError if there is none."""
        host, port = split_address(address)
        try:
            async with asyncio.timeout(DIAL_S):
                reader, writer = await asyncio.open_connection(host, port, ssl=context)
        except TimeoutError as error:
            raise ConnectionError(f"{address} does not answer") from error
        keep_watch(writer)
        return cls(reader, writer, incoming)

    def send(self, message: object) -> None:
        """Send a message; a broken connection takes it silently: its reader will notice."""
        if not self._writer.is_closing():
            data = _encode(message)
            self._writer.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)

    async def flush(self) -> None:
        """Wait until everything sent is with the kernel, as far as the other side still listens."""
        try:
            await self._writer.drain()
        except (ConnectionError, ssl.SSLError):
            return

    async def receive(self) -> T | None:
        """Return the next message; None when the connection has ended.

        What is no message of ours ends it, too: whoever says that is of another version, or worse.
        """
        try:
            size = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            if size > (MAX_MESSAGE_BYTES if self.is_trusted else STRANGER_BYTES):
                return None
            message = self._decoder.decode(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError):  # a broken TLS connection is an OSError
            return None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            tell("connection.damaged", peer=self.peer, error=str(error))
            return None
        self.received += 1
        return message

    @property
    def is_trusted(self) -> bool:
        """Return True if the other side is of this machine, or has a certificate of the cluster."""
        tls = self._writer.get_extra_info("ssl_object")
        return tls is None or tls.getpeercert(binary_form=True) is not None

    @property
    def certificate(self) -> bytes:
        """Return the certificate of the other side, in binary form; b"" if it has none."""
        tls = self._writer.get_extra_info("ssl_object")
        return (tls.getpeercert(binary_form=True) or b"") if tls is not None else b""

    @property
    def is_closing(self) -> bool:
        """Return True if the connection has ended, or was closed here."""
        return self._writer.is_closing()

    @property
    def is_behind(self) -> bool:
        """Return True if so much was sent and not taken that more would only fill memory."""
        return self._writer.transport.get_write_buffer_size() > BEHIND_BYTES

    @property
    def host(self) -> str:
        """Return under which address this machine is seen on this connection."""
        name = self._writer.get_extra_info("sockname")
        return str(name[0]) if isinstance(name, tuple) else ""

    @property
    def peer(self) -> str:
        """Return the address of the other side, for people."""
        name = self._writer.get_extra_info("peername")
        return join_address(name[0], name[1]) if isinstance(name, tuple) else "this machine"

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def end(self) -> None:
        """Close the connection at once; nothing of it is left when this returns."""
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


def reason_of(error: OSError | ValueError) -> str:
    """Return why there is no connection, as the system says it."""
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number is not None and number > 0 else str(error)


async def listen(
    end: socket.socket,
    context: ssl.SSLContext,
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> asyncio.Server:
    """Take connections of other machines at a socket that is bound."""

    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        keep_watch(writer)
        await serve(reader, writer)

    return await asyncio.start_server(begin, sock=end, ssl=context, ssl_handshake_timeout=DIAL_S)


def bound_socket(host: str, port: int = 0) -> socket.socket:
    """Return a socket that is bound to an address of this machine; port 0 is any that is free."""
    try:
        family, _, _, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        end = socket.socket(family, socket.SOCK_STREAM)
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            end.bind(place)
        except OSError:
            end.close()
            raise
    except OSError as error:
        where = join_address(host, port) if port else host
        raise CannotGoOn(f"cannot listen at {where}: {error.strerror or error}") from error
    return end


def own_address() -> str:
    """Return the address by which this machine reaches others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end, suppress(OSError):
        end.connect((NOWHERE, 9))
        return str(end.getsockname()[0])
    return "127.0.0.1"


def address_of(end: socket.socket) -> str:
    """Return HOST:PORT of a socket that is bound."""
    name = end.getsockname()
    return join_address(name[0], name[1])


def keep_watch(writer: asyncio.StreamWriter) -> None:
    """Let the kernel notice within seconds that the machine of the other side is gone."""
    end = writer.get_extra_info("socket")
    for level, option, value in (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(GONE_S * 1000)),
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    ):
        with suppress(OSError):  # it has ended already
            end.setsockopt(level, option, value)


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT or [IPV6]:PORT; ValueError if it is neither."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise ValueError(f"expected HOST:PORT, found {address!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def join_address(host: str, port: int) -> str:
    """Return host and port as one writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
