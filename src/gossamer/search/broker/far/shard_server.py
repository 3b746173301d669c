"""ShardServer: the shards of an index, for a broker on another machine."""

from pathlib import Path
from threading import Lock

import msgspec

from gossamer.errors import CannotGoOn
from gossamer.search.broker.far.wire import (
    MOST_REQUEST_BYTES,
    BadMessage,
    FactsWish,
    Offer,
    answer_shard,
    decoded,
)
from gossamer.search.manifest import index_folder, read_manifest, shard_folders
from gossamer.search.shard import BadShard, LocalShard


class ShardServer:
    """Answers requests to the shards of a crawl's index. Any thread may ask."""

    most_request_bytes = MOST_REQUEST_BYTES
    """Larger requests are not worth reading."""

    def __init__(self, folder: Path | str) -> None:
        self._index = index_folder(Path(folder))
        self._open: dict[str, LocalShard] = {}
        self._lock = Lock()

    def answer(self, shard: str, name: str, body: bytes) -> bytes:
        """Return the answer to a request; "" as shard and name: which shards there are."""
        if not shard:
            decoded(body, FactsWish)
            return msgspec.msgpack.encode(self._offer())
        try:
            return answer_shard(self._shard(shard), name, body)
        except BadShard:
            self._open.pop(shard, None)  # so that it is opened again, when it is mended
            raise

    def _offer(self) -> Offer:
        manifest = read_manifest(self._index)
        if manifest is None:
            raise CannotGoOn("no index yet: run `gossamer build DIR index`")
        if manifest.organisation != "documents":
            raise CannotGoOn("the index is split by terms and cannot be searched remotely")
        low = shard_folders(self._index, manifest, "low") if manifest.high_share else []
        high = shard_folders(self._index, manifest, "high")
        return Offer([path.name for path in high], [path.name for path in low])

    def _shard(self, name: str) -> LocalShard:
        with self._lock:
            found = self._open.get(name)
            if found is None:
                offer = self._offer()
                if name not in (*offer.high, *offer.low):
                    raise BadMessage(f"there is no shard {name[:20]!r}")
                found = self._open[name] = LocalShard(self._index / name)
            return found
