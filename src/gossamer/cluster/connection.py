"""A connection: whole messages over a stream socket, each with its length before it."""

import asyncio
import socket
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
LENGTH_BYTES = 4
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
_encode = msgspec.msgpack.Encoder().encode


class Connection(Generic[T]):
    """One end of a connection on which messages of type T arrive."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, incoming: object
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(incoming)

    @classmethod
    async def over(cls, end: socket.socket, incoming: object) -> "Connection[T]":
        """Return a connection over one end of a socket pair."""
        reader, writer = await asyncio.open_connection(sock=end)
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
        except ConnectionError:
            return

    async def receive(self) -> T | None:
        """Return the next message; None when the connection has ended."""
        try:
            size = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            if size > MAX_MESSAGE_BYTES:
                return None
            return self._decoder.decode(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()
