"""ShardFanout: one question to many shards, and what came back in time."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn, GossamerError
from gossamer.search.remote import SilentShard
from gossamer.search.shard import IndexShard

Answer = TypeVar("Answer")
Question = Callable[[IndexShard], Answer]
MOST_THREADS = 64
THREADS_PER_SHARD = 4
"""Questions that may wait for one far shard at a time; further ones wait for their turn."""


class ShardAnswers(Struct, Generic[Answer], frozen=True):
    """What shards said, by number, and of how many nothing was heard."""

    of: dict[int, Answer]
    missing: int = 0


def _forget(_shard: IndexShard, _reason: str) -> None:
    """Note nothing."""


class ShardFanout:
    """Asks shards. Near ones take their turns here, far ones are waited for in threads.

    A question to a shard on this machine takes a few tenths of a millisecond; two threads with two
    cores do not answer it sooner.
    """

    def __init__(
        self,
        shards: Sequence[IndexShard],
        clock: Clock,
        limit_s: float,
        note: Callable[[IndexShard, str], None] = _forget,
    ) -> None:
        """Take whom to ask. `note` is told, in the thread that asks, who did not answer and why."""
        self.shards = shards
        self._note = note
        self._clock = clock
        self._limit_s = limit_s
        self._threads: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def ask_all(self, question: Question[Answer]) -> ShardAnswers[Answer]:
        """Ask every shard the same."""
        return self.ask(dict.fromkeys(range(len(self.shards)), question))

    def ask(
        self, questions: Mapping[int, Question[Answer]], *, is_extra: bool = False
    ) -> ShardAnswers[Answer]:
        """Ask some shards, each its own question; raise only if not one of them answers.

        `is_extra`: not even then, the question is about something that was found before.
        """
        until = self._clock.steady() + self._limit_s
        far = {n: self._sent(n, ask) for n, ask in questions.items() if self.shards[n].is_far}
        found: dict[int, Answer] = {}
        problems: dict[int, GossamerError] = {}
        for number, question in questions.items():
            if number in far:
                continue
            if found and self._clock.steady() > until:
                problems[number] = self._late()
                continue
            try:
                found[number] = question(self.shards[number])
            except GossamerError as error:
                problems[number] = error
        for number, waited in far.items():
            try:
                found[number] = waited.result(max(0.0, until - self._clock.steady()))
            except TimeoutError:
                waited.cancel()
                problems[number] = self._late()
            except GossamerError as error:
                problems[number] = error
        for number, problem in problems.items():
            self._note(self.shards[number], reason_of(problem))
        if problems and not found and not is_extra:
            raise _nobody([(self.shards[n], problem) for n, problem in problems.items()])
        return ShardAnswers(found, len(problems))

    def close(self) -> None:
        """Let the threads and the shards go."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        for shard in self.shards:
            shard.close()

    def _late(self) -> CannotGoOn:
        return CannotGoOn(f"does not answer within {self._limit_s:g} s")

    def _sent(self, number: int, question: Question[Answer]) -> "Future[Answer]":
        with self._lock:
            if self._threads is None:
                most = min(MOST_THREADS, THREADS_PER_SHARD * len(self.shards))
                self._threads = ThreadPoolExecutor(most, "gossamer-far-shard")
        return self._threads.submit(question, self.shards[number])


def reason_of(error: GossamerError) -> str:
    """Return why somebody did not answer, without saying who."""
    return error.reason if isinstance(error, SilentShard) else str(error)


def _nobody(problems: Sequence[tuple[IndexShard, GossamerError]]) -> GossamerError:
    """Return what to raise if nobody answers: one line that names each place once."""
    if len(problems) == 1:
        return problems[0][1]
    reasons = {shard.place: reason_of(error) for shard, error in problems}
    return CannotGoOn("; ".join(f"{place}: {reason}" for place, reason in reasons.items()))
