"""ShardGroup: the indexes of several shards of a crawl's store, offered by one machine.

Each is offered by the number of its shard in the store, of which it has one part itself.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock

import msgspec
import xxhash

from gossamer.errors import CannotGoOn
from gossamer.search.remote.protocol import (
    MOST_REQUEST_BYTES,
    BadMessage,
    FactsRequest,
    OfferedShards,
    decoded,
)
from gossamer.search.remote.shard_server import ShardServer

IMAGES = "images-"
_ONLY = "00"
_ASKED = msgspec.msgpack.encode(FactsRequest())


class ShardGroup:
    """Answers requests to some shards of a store. Any thread may ask."""

    most_request_bytes = MOST_REQUEST_BYTES

    def __init__(self, folders: Callable[[], Mapping[int, Path]]) -> None:
        """Take what returns in which folders there are indexes, by shard; it may change."""
        self._folders = folders
        self._servers: dict[Path, ShardServer] = {}
        self._lock = Lock()

    def numbers(self) -> list[int]:
        """Return the shards that are offered now."""
        return sorted(self._folders())

    def answer(self, shard: str, name: str, body: bytes) -> bytes:
        """Return the answer to a request; "" as shard and name: which shards there are."""
        if not shard:
            decoded(body, FactsRequest)
            return msgspec.msgpack.encode(self._offer())
        number = shard.removeprefix(IMAGES)
        server = self._server(int(number)) if number.isdecimal() else None
        if server is None:
            raise BadMessage(f"there is no shard {shard[:20]!r}")
        prefix = IMAGES if shard.startswith(IMAGES) else ""
        return server.answer(prefix + _ONLY, name, body)

    def _server(self, number: int) -> ShardServer | None:
        folder = self._folders().get(number)
        if folder is None:
            return None
        with self._lock:
            return self._servers.setdefault(folder, ShardServer(folder))

    def _offer(self) -> OfferedShards:
        high: list[str] = []
        images: list[str] = []
        born = xxhash.xxh3_64()
        for number in self.numbers():
            server = self._server(number)
            if server is None:
                continue
            offer = decoded(server.answer("", "", _ASKED), OfferedShards)
            high.append(f"{number:04d}")
            images += [f"{IMAGES}{number:04d}"] if offer.images else []
            born.update(f"{number}:{offer.born};".encode())
        if not high:
            raise CannotGoOn("no index yet: run `gossamer build URL index` on this machine")
        return OfferedShards(high, [], images, born=born.intdigest() >> 1)
