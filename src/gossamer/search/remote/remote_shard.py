"""RemoteShard: a shard on another machine, asked over HTTP."""

from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from queue import Empty, Full, LifoQueue
from typing import Final, TypeVar
from urllib.parse import urlsplit
from weakref import finalize

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import escape
from gossamer.search.messages import (
    Bonus,
    Counts,
    Evidence,
    FacetCounts,
    Facts,
    ShardQuery,
    Stored,
    Term,
    TopCandidates,
)
from gossamer.search.remote import validation
from gossamer.search.remote.deadline import answered
from gossamer.search.remote.health import NodeHealth
from gossamer.search.remote.protocol import (
    MOST_ANSWER_BYTES,
    MOST_REQUEST_BYTES,
    BadMessage,
    CountsRequest,
    EvidenceRequest,
    FactsRequest,
    KeysRequest,
    NearRequest,
    OfferedShards,
    VocabularyRequest,
    decoded,
)

TIMEOUT_S = 4.0
"""For a whole answer, however it drips in; less than a broker waits."""
MOST_REASON_CHARS = 300
MOST_KEPT = 8
"""Connections that wait for the next question."""
_OK, _NOT_OFFERED = 200, (404, 405)
_HEADERS = {"Content-Type": "application/msgpack"}
Answer = TypeVar("Answer")


class SilentShard(CannotGoOn):
    """A shard on another machine that does not answer, or not with an answer."""

    def __init__(self, url: str, reason: str) -> None:
        self.reason = escape(reason)[:MOST_REASON_CHARS]
        """Without the URL, in one line, whatever the other machine has said."""
        super().__init__(f"{url} {self.reason}")


class RemoteShard:
    """A shard behind a URL, http://HOST:PORT/shard/00. Any thread may ask."""

    is_far: Final = True

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        clock: Clock | None = None,
        health: NodeHealth | None = None,
    ) -> None:
        """Take where it is. `health`: what is known of its machine, for all shards of that."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ConfigError(f"{url}: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise ConfigError(f"expected http://HOST:PORT of a shard server, found {url!r}")
        if parts.username is not None or parts.password is not None:
            raise ConfigError("no user and password are sent to a shard server: leave them out")
        self._url = url
        self.place, _, self.name = url.rpartition("/shard/")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._address = host, port
        self._path = parts.path.rstrip("/") + "/"
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._health = health or NodeHealth(self._clock)
        self._kept: LifoQueue[HTTPConnection] = LifoQueue(MOST_KEPT)
        # A broker that has other shards by now drops this one while somebody may still ask it.
        finalize(self, _close_all, self._kept)
        self._generation = -1

    def facts(self) -> Facts:
        """Return how much there is, and of which commit."""
        found = self._asked("facts", FactsRequest(), Facts)
        return self._if(validation.is_facts(found), found)

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""
        found = self._asked("counts", CountsRequest(list(terms)), Counts)
        return self._if(validation.is_counts(found), found)

    def top(self, ask: ShardQuery) -> TopCandidates:
        """Return the best candidates."""
        found = self._asked("top", ask, TopCandidates)
        return self._if(validation.is_top(found, ask), found)

    def evidence(self, keys: Sequence[int], ask: ShardQuery) -> list[list[Evidence]]:
        """Return of each page what its score is made of; nothing of those that are gone."""
        found = self._asked("evidence", EvidenceRequest(list(keys), ask), list[list[Evidence]])
        return self._one_each(keys, self._if(validation.is_evidence(found, ask), found))

    def near(self, keys: Sequence[int], bonuses: Sequence[Bonus]) -> list[float]:
        """Return of each page the sum of what the phrases are worth that it has."""
        options = NearRequest(list(keys), list(bonuses))
        found = self._asked("near", options, list[float])
        return self._one_each(keys, self._if(validation.is_near(found), found))

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        found = self._asked("stored", KeysRequest(list(keys)), list[Stored])
        return self._if(validation.is_stored(found, keys), found)

    def facets(self, ask: ShardQuery) -> FacetCounts:
        """Return how many matches have each value."""
        found = self._asked("facets", ask, FacetCounts)
        return self._if(validation.is_facets(found), found)

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them, the most frequent first."""
        options = VocabularyRequest(prefix, most)
        found = self._asked("vocabulary", options, list[tuple[Term, int]])
        return self._if(validation.is_vocabulary(found, most), found)

    def renew(self) -> bool:
        """Return True if there was a commit since this was last asked."""
        before, self._generation = self._generation, self.facts().generation
        return before != self._generation

    def offer(self) -> OfferedShards:
        """Return which shards there are, if the URL is that of all of them: http://HOST/shard."""
        self._health.begin_try(2 * self._timeout_s)
        try:
            return self._exchange("", FactsRequest(), OfferedShards)
        except SilentShard as error:
            self._health.end_try(error.reason)
            raise

    def close(self) -> None:
        """Close the connections that wait."""
        _close_all(self._kept)

    def _if(self, is_sound: bool, answer: Answer) -> Answer:  # noqa: FBT001 - said where it is asked
        if not is_sound:
            raise SilentShard(self._url, "says what cannot be: it may be of another version")
        return answer

    def _one_each(self, keys: Sequence[int], answers: list[Answer]) -> list[Answer]:
        if len(answers) != len(keys):
            said = f"gave {len(answers)} answers about {len(keys)} pages"
            raise SilentShard(self._url, said)
        return answers

    def _asked(self, name: str, options: object, kind: type[Answer]) -> Answer:
        """Return the answer to a request; a machine that is away is not asked."""
        refusal = self._health.refusal()
        if refusal:
            raise SilentShard(self._url, refusal)
        return self._exchange(name, options, kind)

    def _exchange(self, name: str, options: object, kind: type[Answer]) -> Answer:
        """Return the answer to a request. A connection that was closed meanwhile is made anew."""
        body = msgspec.msgpack.encode(options)
        if len(body) > MOST_REQUEST_BYTES:
            raise SilentShard(self._url, f"takes no question of {len(body)} bytes")
        kept = self._waiting()
        if kept is not None:
            try:
                return decoded(self._exchanged(kept, name, body), kind)
            except (OSError, HTTPException, BadMessage) as error:
                kept.close()
                if isinstance(error, TimeoutError):
                    raise self._silent(error) from error
        made = self._kind(*self._address, timeout=self._timeout_s)
        try:
            return decoded(self._exchanged(made, name, body), kind)
        except (OSError, HTTPException, BadMessage) as error:
            made.close()
            raise self._silent(error) from error

    def _silent(self, error: Exception) -> SilentShard:
        """Return what went wrong; a machine without any answer is left alone for a while."""
        told = (error.strerror if isinstance(error, OSError) else None) or str(error)
        found = SilentShard(self._url, f"does not answer: {told or type(error).__name__}")
        if not isinstance(error, BadMessage):
            self._health.note_failure(found.reason)
        return found

    def _exchanged(self, connection: HTTPConnection, name: str, body: bytes) -> bytes:
        """Return what is answered; keep the connection for the next question."""
        until = self._clock.steady() + self._timeout_s
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout_s)
        connection.request("POST", self._path + name, body, _HEADERS)
        response = answered(connection, self._clock, until)
        content = self._read(response)
        self._health.note_answer()
        if response.status in _NOT_OFFERED:
            raise BadMessage("its index is not offered; `gossamer serve DIR --shard` offers one")
        if response.status != _OK:
            said = content[:200].decode(errors="replace")
            raise BadMessage(f"it said {response.status} to {name or 'what it has'}: {said!r}")
        if not response.will_close:
            with suppress(Full):
                self._kept.put_nowait(connection)
                return content
        connection.close()
        return content

    @staticmethod
    def _read(response: HTTPResponse) -> bytes:
        content = response.read(MOST_ANSWER_BYTES + 1)
        if len(content) > MOST_ANSWER_BYTES:
            raise BadMessage(f"it sent more than {MOST_ANSWER_BYTES} bytes")
        return content

    def _waiting(self) -> HTTPConnection | None:
        return _taken(self._kept)


def _taken(kept: "LifoQueue[HTTPConnection]") -> HTTPConnection | None:
    try:
        return kept.get_nowait()
    except Empty:
        return None


def _close_all(kept: "LifoQueue[HTTPConnection]") -> None:
    while (connection := _taken(kept)) is not None:
        connection.close()
