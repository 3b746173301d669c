"""What is under way in a shard, and why it pauses or ends: shared by engine, peers and helpers."""

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True)
class RunState:
    """The run of one engine. Others may wake it, stop it, or tell it that they failed."""

    in_flight: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    """Tasks under way, by the key of their URL."""
    stop_reason: str = ""
    paused: str = ""
    """Why no request is allowed at the moment; "" while the crawl runs freely."""
    error: BaseException | None = None
    """What work beside the engine has failed with."""
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Let the engine look again at what there is to do."""
        self._woken.set()

    def stop(self, reason: str) -> None:
        """Ask for no more pages; what is under way may end."""
        self.stop_reason = reason
        self._woken.set()

    def resume(self) -> None:
        """Forget an earlier stop: the engine is about to run again."""
        self.stop_reason = ""

    def pause(self, reason: str) -> None:
        """Begin nothing new for a reason; "" ends the pause."""
        self.paused = reason

    def ended(self, error: BaseException | None) -> None:
        """Be told that work beside the engine has ended; an error ends the crawl."""
        self.error = error or self.error
        self._woken.set()

    def begin_step(self) -> None:
        """Raise what work beside the engine has failed with; forget that we were woken."""
        self._woken.clear()
        if self.error is not None:
            raise self.error

    async def wait(self, seconds: float) -> None:
        """Sleep until somebody wakes us, at most for some seconds."""
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), self._woken.set)
        await self._woken.wait()
        timer.cancel()
