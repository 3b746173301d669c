"""Deadline: an answer over HTTP that comes in time as a whole, or not at all.

The library waits anew for every piece, so that a byte now and then would keep it waiting for ever.
"""

import io
from http.client import HTTPConnection, HTTPResponse
from socket import socket

from gossamer.clock import Clock


def answered(connection: HTTPConnection, clock: Clock, until: float) -> HTTPResponse:
    """Return the answer to what was asked, of which nothing is read after a moment."""

    def response(sock: socket, method: str | None = None) -> HTTPResponse:
        timed = _Timed(sock, clock, until)
        return HTTPResponse(timed, method=method)  # type: ignore[arg-type]  # all that it needs of a socket

    connection.response_class = response  # type: ignore[assignment]  # called as the class is
    return connection.getresponse()


class _Timed:
    """A socket as an answer reads it."""

    def __init__(self, sock: socket, clock: Clock, until: float) -> None:
        self._sock, self._clock, self._until = sock, clock, until
        self._file = sock.makefile("rb", buffering=0)
        """Keeps the socket open for as long as somebody reads."""
        self.closed = False

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)  # type: ignore[arg-type]  # all that it needs of a file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        left_s = self._until - self._clock.steady()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left_s)
        return self._sock.recv_into(buffer)

    def flush(self) -> None:
        """Do nothing: nothing is written here."""

    def close(self) -> None:
        self.closed = True
        self._file.close()
