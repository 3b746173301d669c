"""Indexes whose messages are bytes and whose shards' work is measured, of each organisation."""

from collections.abc import Sequence
from pathlib import Path
from time import thread_time_ns
from typing import Any, Final

import msgspec

from gossamer.search.broker import Broker, Tiers
from gossamer.search.index_reader import IndexReader
from gossamer.search.manifest import Manifest, shard_folders
from gossamer.search.messages import (
    Counts,
    Evidence,
    Facts,
    ShardQuery,
    Stored,
    Term,
    TopCandidates,
)
from gossamer.search.remote import answer_shard
from gossamer.search.shard import VERSION, LocalShard
from gossamer.search.terms import TermIndexReader, Transport


class Scale:
    """What one question moved and cost."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.clear()

    def clear(self) -> None:
        """Begin the next question."""
        self.bytes = self.messages = 0
        self.work_ns = [0] * self.shards
        self.asked = [0] * self.shards

    def add(self, shard: int, took_ns: int, *messages: bytes) -> None:
        """Note what a shard did, and messages from and to it."""
        self.work_ns[shard] += took_ns
        self.asked[shard] += 1
        self.bytes += sum(map(len, messages))
        self.messages += len(messages)


class WeighedShard:
    """A shard of documents as over a network: every question and answer is bytes between."""

    is_far: Final = False

    def __init__(self, path: Path, number: int, scale: Scale) -> None:
        self._shard = LocalShard(path)
        self.place, self.name = self._shard.place, self._shard.name
        self._number = number
        self._scale = scale

    def facts(self) -> Facts:
        """Return how much there is."""
        return self._shard.facts()

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""
        return self._asked("counts", {"terms": list(terms)}, Counts)

    def top(self, ask: ShardQuery) -> TopCandidates:
        """Return the best candidates."""
        return self._asked("top", ask, TopCandidates)

    def evidence(self, keys: Sequence[int], ask: ShardQuery) -> list[list[Evidence]]:
        """Return of each page what its score is made of."""
        return self._asked("evidence", {"keys": list(keys), "ask": ask}, list[list[Evidence]])

    def near(self, keys: Sequence[int], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has."""
        return self._asked("near", {"keys": list(keys), "rows": list(rows)}, list[float])

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown."""
        return self._shard.stored(keys)

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so."""
        return self._shard.vocabulary(prefix, most)

    def renew(self) -> bool:
        """Take up nothing: nothing is new."""
        return False

    def _asked(self, name: str, options: object, kind: Any) -> Any:  # noqa: ANN401 - many kinds
        body = msgspec.msgpack.encode(options)
        began = thread_time_ns()
        answer = answer_shard(self._shard, name, body)
        self._scale.add(self._number, thread_time_ns() - began, body, answer)
        return msgspec.msgpack.decode(answer, type=kind)


class WeighedCourier:
    """Carries parcels between term shards, and weighs them; answers as well."""

    def __init__(self, inner: Transport, scale: Scale) -> None:
        self._inner = inner
        self._scale = scale
        self.words = inner.words

    def carry(self, shard: int, message: bytes) -> tuple[int, bytes]:
        """Let a shard do a leg."""
        began = thread_time_ns()
        after, left = self._inner.carry(shard, message)
        took_ns = thread_time_ns() - began
        # what leaves for a shard is weighed when it gets there; an answer is weighed here
        self._scale.add(shard, took_ns, *((message,) if after >= 0 else (message, left)))
        return after, left

    def counts(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for statistics."""
        began = thread_time_ns()
        answer = self._inner.counts(shard, message)
        self._scale.add(shard, thread_time_ns() - began, message, answer)
        return answer


def of_documents(index: Path, shards: int) -> tuple[IndexReader, Scale]:
    """Open an index that is split by documents."""
    scale = Scale(shards)
    folders = shard_folders(index, Manifest(version=VERSION, shards=shards), "high")
    opened = [WeighedShard(path, number, scale) for number, path in enumerate(folders)]
    return Broker(Tiers(opened)), scale


def of_terms(index: Path, shards: int) -> tuple[IndexReader, Scale]:
    """Open an index that is split by terms."""
    scale = Scale(shards)
    return TermIndexReader(index, lambda courier: WeighedCourier(courier, scale)), scale
