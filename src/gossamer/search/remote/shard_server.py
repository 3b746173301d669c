"""ShardServer: the shards of an index, for a broker on another machine."""

from pathlib import Path
from threading import Lock

import msgspec

from gossamer.errors import CannotGoOn
from gossamer.ranks import NewestRanks, ranks_path
from gossamer.search.manifest import image_folders, index_folder, read_manifest, shard_folders
from gossamer.search.remote.protocol import (
    MOST_REQUEST_BYTES,
    BadMessage,
    FactsRequest,
    OfferedShards,
    answer_shard,
    decoded,
)
from gossamer.search.shard import VERSION, BadShard, LocalShard


class ShardServer:
    """ShardAnswers requests to the shards of a crawl's index. Any thread may ask."""

    most_request_bytes = MOST_REQUEST_BYTES
    """Larger requests are not worth reading."""

    def __init__(self, folder: Path | str) -> None:
        self._index = index_folder(Path(folder))
        self._ranks = NewestRanks(ranks_path(Path(folder)))
        self._open: dict[str, LocalShard] = {}
        self._born = -1
        self._lock = Lock()

    def answer(self, shard: str, name: str, body: bytes) -> bytes:
        """Return the answer to a request; "" as shard and name: which shards there are."""
        if not shard:
            decoded(body, FactsRequest)
            offer = self._offer()
            self._forget_others(offer.born)
            return msgspec.msgpack.encode(offer)
        try:
            return answer_shard(self._shard(shard), name, body)
        except BadShard:
            self._open.pop(shard, None)  # so that it is opened again, when it is mended
            raise

    def _offer(self) -> OfferedShards:
        manifest = read_manifest(self._index)
        if manifest is None:
            raise CannotGoOn("no index yet: run `gossamer build DIR index`")
        if manifest.organisation != "documents":
            raise CannotGoOn("the index is split by terms and cannot be searched remotely")
        if manifest.version != VERSION:
            raise CannotGoOn(
                "the index was built by another version: run `gossamer build DIR index --full`"
            )
        low = shard_folders(self._index, manifest, "low") if manifest.high_share else []
        high = shard_folders(self._index, manifest, "high")
        images = image_folders(self._index, manifest) if manifest.images else []
        names = [[path.name for path in some] for some in (high, low, images)]
        return OfferedShards(names[0], names[1], names[2], born=manifest.born)

    def _forget_others(self, born: int) -> None:
        """Close shards that a full build has replaced; whoever asks them opens the new ones."""
        with self._lock:
            if born != self._born:
                self._born = born
                self._open.clear()

    def _shard(self, name: str) -> LocalShard:
        with self._lock:
            found = self._open.get(name)
            if found is None:
                offer = self._offer()
                if name not in (*offer.high, *offer.low, *offer.images):
                    raise BadMessage(f"there is no shard {name[:20]!r}")
                found = self._open[name] = LocalShard(self._index / name, self._ranks)
            return found
