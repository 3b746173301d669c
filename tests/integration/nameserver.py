"""A name server of our own on loopback, for tests in which names lie."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address

Zone = Callable[[str, int], list[str] | None]
"""(name, how often it was asked for before) → its addresses; None means that there is no such."""

_KINDS = {1: 4, 28: 6}
_OK, _NO_SUCH_NAME = 0x8180, 0x8183


class NameServer:
    """Answers A and AAAA questions with a time to live of 0."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self._line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._line.bind(("127.0.0.1", 0))
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        """Where it listens, as the crawler's `nameservers` wants it."""
        return f"127.0.0.1:{self._line.getsockname()[1]}"

    def serve(self) -> None:
        """Answer until the socket is closed."""
        while True:
            try:
                data, client = self._line.recvfrom(4096)
                if data:
                    self._line.sendto(self._answer(data), client)
            except OSError:
                return

    def close(self) -> None:
        """Stop: a blocked receive ends with it."""
        self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()

    def _answer(self, data: bytes) -> bytes:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        name = ".".join(labels).lower()
        (kind,) = struct.unpack_from("!H", data, at + 1)
        said = self._zone(name, self.asked.count(name)) if kind == 1 else self._zone(name, 0)
        if kind == 1:
            self.asked.append(name)
        found = [ip_address(text) for text in said or ()]
        fitting = [address for address in found if address.version == _KINDS.get(kind)]
        code = _OK if said is not None else _NO_SUCH_NAME
        answer = data[:2] + struct.pack("!HHHHH", code, 1, len(fitting), 0, 0) + data[12 : at + 5]
        for address in fitting:
            packed = address.packed
            answer += struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(packed)) + packed
        return answer


@contextmanager
def naming(zone: Zone) -> Iterator[NameServer]:
    """Run a name server in a thread for the length of a block."""
    server = NameServer(zone)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        try:
            server.close()
        except OSError:
            server._line.close()
        thread.join(1.0)
