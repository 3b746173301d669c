"""What the archive says of settings: each change, in a warcinfo record of the links file.

The first shard compares crawl.toml with the settings that the archive has on record, when it starts
and when it is told of others. So what was set while the crawl stood still, given with a start or
written into crawl.toml is on record, too, and a kill takes nothing.
Readers pass over such records (ADR 83). Seeds have records of their own, and secrets have none.
"""

import re
from hashlib import sha1

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.config import Config
from gossamer.crawl.assembly import Shard
from gossamer.crawl.dropping import settle_dropped
from gossamer.crawl.opening import lacks_drops
from gossamer.secrets import separate
from gossamer.settings import changed, load_crawl_config
from gossamer.store import ArchiveEntry, State

SETTINGS_ON_RECORD = b"mc"
"""The row with the settings that the archive has on record, without seeds and secrets."""
_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")


class _OnRecord(Struct, frozen=True):
    """The settings on record, and a checksum of the crawl.toml that said so."""

    digest: bytes
    config: Config


async def settle_record(shard: Shard) -> None:
    """Let queue and archive of a shard that starts follow what crawl.toml says by now."""
    dropped = shard.engine.config.filter.drop
    if lacks_drops(shard.core.state, dropped) or shard.ledger.uncounted.lacks(dropped):
        await settle_dropped(shard)
    note_settings(shard)


def note_settings(shard: Shard) -> None:
    """Let the archive say how crawl.toml differs from the settings it has on record.

    Of the first start nothing is said: later changes are measured from it.
    """
    path = shard.place.folder.root / "crawl.toml"
    if shard.place.shard != 0 or not path.exists():
        return
    before = _on_record(shard.core.state)
    digest = sha1(path.read_bytes(), usedforsecurity=False).digest()
    if before is not None and before.digest == digest:
        return
    kept = separate(load_crawl_config(path.parent)).config
    now = _OnRecord(digest, replace(kept, seeds=(), seed_labels={}))
    changes = changed(before.config, now.config) if before is not None else []
    row = (SETTINGS_ON_RECORD, msgspec.msgpack.encode(now))
    if not changes:
        shard.core.state.write([row])
        return
    lines = [_in_a_line(one) for one in changes]
    info = shard.ledger.writer.warcinfo("", shard.engine.time.now(), lines)
    shard.ledger.add_entry(ArchiveEntry(links=info))
    shard.ledger.add_rows([row])
    shard.ledger.commit()


def _on_record(state: State) -> _OnRecord | None:
    """Return the settings on record; None if there are none, or only another version reads them."""
    value = state.get(SETTINGS_ON_RECORD)
    try:
        return None if value is None else msgspec.msgpack.decode(value, type=_OnRecord)
    except msgspec.DecodeError:
        return None


def _in_a_line(change: str) -> str:
    return _USER_INFO.sub("", " ".join(change.splitlines()))
