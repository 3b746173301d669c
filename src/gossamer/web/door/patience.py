"""Patience: how long and how much a client may talk before it has asked something.

The HTTP parser itself waits for ever and takes headers of any size. One connection more or less is
nothing, a thousand of them would keep everybody else out. So whoever comes when all places are
taken gets that of the client that has asked nothing for the longest time.
"""

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

MOST_REQUEST_BYTES = 64 * 1024
"""Of a request line, headers and a body that nobody reads; checked after each piece received."""
PATIENCE_S = 10.0
"""A client that asks nothing between two looks at it, so far apart, is let go."""


READING_S = 30.0
"""A client that takes nothing of its answer for so long is let go."""


class OpenConnections:
    """All connections of a server, that which asked last at the end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._connections: OrderedDict[Patient, None] = OrderedDict()

    def add(self, one: "Patient") -> None:
        """Take a new one in; if there are too many, drop the one that was idle for longest."""
        if len(self._connections) >= self._most:
            idle = next((other for other in self._connections if other.is_idle), None)
            if idle is not None:
                self.discard(idle)
                idle.drop()
        self._connections[one] = None

    def note_question(self, one: "Patient") -> None:
        """Note that one has asked something."""
        if one in self._connections:
            self._connections.move_to_end(one)

    def discard(self, one: "Patient") -> None:
        """Let one go."""
        self._connections.pop(one, None)


class Patient:
    """A connection of uvicorn's, and how much it has received for the request under way."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        others: OpenConnections,
    ) -> None:
        self._others = others
        self._reading: asyncio.TimerHandle | None = None
        self._inner = HttpToolsProtocol(config, server_state, app_state, _loop)
        self._look: asyncio.TimerHandle | None = None
        self._request: object = None
        self._received_bytes = 0
        self._answered: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin."""
        self._others.add(self)
        self._inner.connection_made(transport)
        self._look = self._inner.loop.call_later(PATIENCE_S, self._look_again, False)  # noqa: FBT003 - a callback

    def data_received(self, data: bytes) -> None:
        """Take a piece of what a client says."""
        inner = self._inner
        inner.data_received(data)
        if inner.headers is not self._request:  # a new request began within the piece
            self._request, self._received_bytes = inner.headers, 0
            if not self.is_idle:
                self._others.note_question(self)
            return
        self._received_bytes += len(data)
        if self._received_bytes > MOST_REQUEST_BYTES and not inner.transport.is_closing():
            inner.send_400_response("The request is too long.")

    def eof_received(self) -> None:
        """Hear that the client has said everything."""
        self._inner.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self._others.discard(self)
        for timer in (self._look, self._reading):
            if timer is not None:
                timer.cancel()
        self._inner.connection_lost(error)

    @property
    def is_idle(self) -> bool:
        """Return True if the client has no question here that is whole."""
        cycle: RequestResponseCycle | None = self._inner.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def drop(self) -> None:
        """Hang up at once."""
        self._inner.transport.abort()

    def pause_writing(self) -> None:
        """Wait for a client that reads slowly, but not for ever."""
        self._inner.pause_writing()
        self._reading = self._inner.loop.call_later(READING_S, self.drop)

    def resume_writing(self) -> None:
        """Go on."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        self._inner.resume_writing()

    def _look_again(self, was_waiting: bool) -> None:  # noqa: FBT001 - a callback
        """Let a client go that had no question at the last look and has none since."""
        cycle: RequestResponseCycle | None = self._inner.cycle
        is_waiting = self.is_idle
        if is_waiting and was_waiting and cycle is self._answered:
            self._inner.transport.close()
            return
        self._answered = cycle
        self._look = self._inner.loop.call_later(PATIENCE_S, self._look_again, is_waiting)
