"""A shard's line to its supervisor: one that breaks for good, or one that is taken up again."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.cluster.connection import Connection
from gossamer.cluster.messages import Downward, MeetCoordinator


class SupervisorLine(Protocol):
    """What a shard says to its supervisor, and hears of it."""

    def send(self, message: object) -> None:
        """Send a message; a broken line takes it silently."""

    async def flush(self) -> None:
        """Wait until everything sent is with the kernel."""

    async def receive(self) -> Downward | None:
        """Return the next message; None if there will be none any more."""

    def close(self) -> None:
        """Close the line."""


class Uplink:
    """A line to whoever coordinates the crawl: when it breaks, a coordinator is looked for.

    Meanwhile the shard goes on. What it would say is lost: whoever hears it next hears it join.
    """

    def __init__(
        self,
        connection: Connection[Downward],
        redial: Callable[[], Awaitable[Connection[Downward] | None]],
    ) -> None:
        """Talk over a connection; `redial` gives the next, None if there is to be none."""
        self._connection = connection
        self._redial = redial
        self._is_closed = False

    @property
    def host(self) -> str:
        """Return under which address the coordinator sees this machine."""
        return self._connection.host

    def send(self, message: object) -> None:
        """Send a message; a broken line takes it silently."""
        self._connection.send(message)

    async def flush(self) -> None:
        """Wait until everything sent is with the kernel."""
        await self._connection.flush()

    async def receive(self) -> Downward | None:
        """Return the next message; the first of a new line is that a coordinator was met."""
        message = await self._connection.receive()
        if message is not None or self._is_closed:
            return message
        self._connection.close()
        connection = await self._redial()
        if connection is None:
            return None
        self._connection = connection
        return MeetCoordinator(0)

    def close(self) -> None:
        """Close the line."""
        self._is_closed = True
        self._connection.close()
