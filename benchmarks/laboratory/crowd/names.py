"""NameServer: a DNS server on loopback that answers by a function."""

import asyncio
import struct
from collections.abc import Callable
from ipaddress import IPv4Address

_A = 1
_HEAD_BYTES = 12
_OK, _NO_SUCH_NAME = 0x8180, 0x8183
_NAME_ABOVE = 0xC00C


class NameServer:
    """Answers questions for IPv4 addresses, in the shape of asyncio.DatagramProtocol."""

    def __init__(self, address_of: Callable[[str], str | None], ttl_s: int = 3600) -> None:
        self._address_of = address_of
        self._ttl_s = ttl_s
        self._transport: asyncio.DatagramTransport | None = None
        self.asked = 0
        """Questions so far."""

    async def open(self) -> str:
        """Listen; return where, as the crawler's `nameservers` wants it."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(  # type: ignore[type-var] # fits by shape
            lambda: self, local_addr=("127.0.0.1", 0)
        )
        host, port = transport.get_extra_info("sockname")[:2]
        return f"{host}:{port}"

    def close(self) -> None:
        """Stop listening."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        """Remember the way back."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        del exc
        self._transport = None

    def error_received(self, exc: Exception) -> None:
        """Leave a client alone that is gone."""

    def datagram_received(self, data: bytes, client: tuple[str, int]) -> None:
        """Answer one question."""
        if self._transport is not None:
            self.asked += 1
            self._transport.sendto(answer_to(data, self._address_of, self._ttl_s), client)


def answer_to(question: bytes, address_of: Callable[[str], str | None], ttl_s: int) -> bytes:
    """Return the answer to a question; a name without the record asked for has no records."""
    labels, at = [], _HEAD_BYTES
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode("ascii", "replace"))
        at += 1 + question[at]
    (kind,) = struct.unpack_from("!H", question, at + 1)
    address = address_of(".".join(labels).lower())
    code = _NO_SUCH_NAME if address is None else _OK
    count = int(address is not None and kind == _A)
    answer = question[:2] + struct.pack("!HHHHH", code, 1, count, 0, 0)
    answer += question[_HEAD_BYTES : at + 5]
    if address is None or not count:
        return answer
    packed = IPv4Address(address).packed
    return answer + struct.pack("!HHHIH", _NAME_ABOVE, kind, 1, ttl_s, len(packed)) + packed
