"""Fan: one question to many shards, and what came back in time."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn, GossamerError
from gossamer.search.shard import Shard

Answer = TypeVar("Answer")
Question = Callable[[Shard], Answer]
MOST_THREADS = 64
THREADS_PER_SHARD = 4
"""Questions that may wait for one far shard at a time; further ones wait for their turn."""


class Answers(Struct, Generic[Answer], frozen=True):
    """What shards said, by number, and of how many nothing was heard."""

    of: dict[int, Answer]
    missing: int = 0


class Fan:
    """Asks shards. Near ones take their turns here, far ones are waited for in threads.

    A question to a shard on this machine takes a few tenths of a millisecond; two threads with two
    cores do not answer it sooner.
    """

    def __init__(self, shards: Sequence[Shard], clock: Clock, limit_s: float) -> None:
        self.shards = shards
        self._clock = clock
        self._limit_s = limit_s
        self._threads: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def ask_all(self, question: Question[Answer]) -> Answers[Answer]:
        """Ask every shard the same."""
        return self.ask(dict.fromkeys(range(len(self.shards)), question))

    def ask(
        self, questions: Mapping[int, Question[Answer]], *, is_extra: bool = False
    ) -> Answers[Answer]:
        """Ask some shards, each its own question; raise only if not one of them answers.

        `is_extra`: not even then, the question is about something that was found before.
        """
        until = self._clock.steady() + self._limit_s
        far = {n: self._sent(n, ask) for n, ask in questions.items() if self.shards[n].is_far}
        found: dict[int, Answer] = {}
        problems: list[GossamerError] = []
        for number, question in questions.items():
            if number in far or (found and self._clock.steady() > until):
                continue
            try:
                found[number] = question(self.shards[number])
            except GossamerError as error:
                problems.append(error)
        for number, waited in far.items():
            try:
                found[number] = waited.result(max(0.0, until - self._clock.steady()))
            except TimeoutError:
                waited.cancel()
                problems.append(CannotGoOn(f"no answer within {self._limit_s:g} s"))
            except GossamerError as error:
                problems.append(error)
        if problems and not found and not is_extra:
            raise problems[0]
        return Answers(found, len(questions) - len(found))

    def close(self) -> None:
        """Let the threads and the shards go."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        for shard in self.shards:
            shard.close()

    def _sent(self, number: int, question: Question[Answer]) -> "Future[Answer]":
        with self._lock:
            if self._threads is None:
                most = min(MOST_THREADS, THREADS_PER_SHARD * len(self.shards))
                self._threads = ThreadPoolExecutor(most, "gossamer-far-shard")
        return self._threads.submit(question, self.shards[number])
