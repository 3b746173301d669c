"""RemoteShard: a shard on another machine, asked over HTTP."""

from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from queue import Empty, Full, LifoQueue
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search.broker.far import sound
from gossamer.search.broker.far.deadline import answered
from gossamer.search.broker.far.wire import (
    MOST_ANSWER_BYTES,
    MOST_REQUEST_BYTES,
    BadMessage,
    CountsWish,
    EvidenceWish,
    FactsWish,
    KeysWish,
    NearWish,
    Offer,
    VocabularyWish,
    decoded,
)
from gossamer.search.messages import Ask, Counts, Evidence, Facts, Stored, Term, Top

TIMEOUT_S = 5.0
"""For a whole answer, however it drips in."""
MOST_KEPT = 8
"""Connections that wait for the next question."""
_OK, _NOT_OFFERED = 200, (404, 405)
_HEADERS = {"Content-Type": "application/msgpack"}
Answer = TypeVar("Answer")


class SilentShard(CannotGoOn):
    """A shard on another machine that does not answer, or not with an answer."""


class RemoteShard:
    """A shard behind a URL, http://HOST:PORT/shard/00. Any thread may ask."""

    is_far: Final = True

    def __init__(
        self, url: str, *, timeout_s: float = TIMEOUT_S, clock: Clock | None = None
    ) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ConfigError(f"{url}: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise ConfigError(f"expected http://HOST:PORT of a shard server, found {url!r}")
        self._url = url
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._address = host, port
        self._path = parts.path.rstrip("/") + "/"
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._kept: LifoQueue[HTTPConnection] = LifoQueue(MOST_KEPT)
        self._generation = -1

    def facts(self) -> Facts:
        """Return how much there is, and of which commit."""
        found = self._asked("facts", FactsWish(), Facts)
        return self._if(sound.is_facts(found), found)

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""
        found = self._asked("counts", CountsWish(list(terms)), Counts)
        return self._if(sound.is_counts(found), found)

    def top(self, ask: Ask) -> Top:
        """Return the best candidates."""
        found = self._asked("top", ask, Top)
        return self._if(sound.is_top(found, ask), found)

    def evidence(self, keys: Sequence[int], ask: Ask) -> list[list[Evidence]]:
        """Return of each page what its score is made of; nothing of those that are gone."""
        found = self._asked("evidence", EvidenceWish(list(keys), ask), list[list[Evidence]])
        return self._one_each(keys, self._if(sound.is_evidence(found, ask), found))

    def near(self, keys: Sequence[int], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""
        wish = NearWish(list(keys), [list(row) for row in rows])
        found = self._asked("near", wish, list[float])
        return self._one_each(keys, self._if(sound.is_near(found), found))

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        found = self._asked("stored", KeysWish(list(keys)), list[Stored])
        return self._if(sound.is_stored(found, keys), found)

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them, the most frequent first."""
        wish = VocabularyWish(prefix, most)
        found = self._asked("vocabulary", wish, list[tuple[Term, int]])
        return self._if(sound.is_vocabulary(found, most), found)

    def renew(self) -> bool:
        """Return True if there was a commit since this was last asked."""
        before, self._generation = self._generation, self.facts().generation
        return before != self._generation

    def offer(self) -> Offer:
        """Return which shards there are, if the URL is that of all of them: http://HOST/shard."""
        return self._asked("", FactsWish(), Offer)

    def close(self) -> None:
        """Close the connections that wait."""
        while (connection := self._waiting()) is not None:
            connection.close()

    def _if(self, is_sound: bool, answer: Answer) -> Answer:  # noqa: FBT001 - said where it is asked
        if not is_sound:
            raise SilentShard(f"{self._url} says what cannot be: it may be of another version")
        return answer

    def _one_each(self, keys: Sequence[int], answers: list[Answer]) -> list[Answer]:
        if len(answers) != len(keys):
            raise SilentShard(f"{self._url} gave {len(answers)} answers about {len(keys)} pages")
        return answers

    def _asked(self, name: str, wish: object, kind: type[Answer]) -> Answer:
        """Return the answer to a request. A connection that was closed meanwhile is made anew."""
        body = msgspec.msgpack.encode(wish)
        if len(body) > MOST_REQUEST_BYTES:
            raise SilentShard(f"the question is too long for {self._url}: {len(body)} bytes")
        kept = self._waiting()
        if kept is not None:
            try:
                return decoded(self._exchanged(kept, name, body), kind)
            except (OSError, HTTPException, BadMessage) as error:
                kept.close()
                if isinstance(error, TimeoutError):
                    raise SilentShard(f"{self._url} does not answer: {error}") from error
        made = self._kind(*self._address, timeout=self._timeout_s)
        try:
            return decoded(self._exchanged(made, name, body), kind)
        except (OSError, HTTPException, BadMessage) as error:
            made.close()
            reason = str(error) or type(error).__name__
            raise SilentShard(f"{self._url} does not answer: {reason}") from error

    def _exchanged(self, connection: HTTPConnection, name: str, body: bytes) -> bytes:
        """Return what is answered; keep the connection for the next question."""
        until = self._clock.steady() + self._timeout_s
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout_s)
        connection.request("POST", self._path + name, body, _HEADERS)
        response = answered(connection, self._clock, until)
        content = self._read(response)
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
        try:
            return self._kept.get_nowait()
        except Empty:
            return None
