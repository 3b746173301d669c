"""Open the desk of a shard: its seed, its mark, and whether what it kept is whole."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, msgpack

from gossamer.cluster import PARCELS
from gossamer.crawl.copies.desk import CopyDesk
from gossamer.crawl.ledger import Ledger
from gossamer.dedupe import (
    LABEL_ROW,
    NEAR_ROWS,
    VERSION,
    Copies,
    named_key,
    open_copies,
    read_labels,
    verify_near,
)
from gossamer.errors import CorruptFile
from gossamer.log import tell
from gossamer.model import Row
from gossamer.store import CrawlFolder, State

ABOUT_ROW = b"NA"
SEED_BYTES = 8


class About(Struct, frozen=True, array_like=True):
    """What the sketches of a state were made with: those of others cannot be compared."""

    version: int
    seed: int
    shards: int


def open_desk(folder: CrawlFolder, shard: int, shards: int, ledger: Ledger, sync: str) -> CopyDesk:
    """Return the desk of a shard; `recover` lets it know what its last start left to do."""
    state = ledger.state
    about = About(VERSION, crawl_seed(folder), shards)
    place = near_folder(state)
    ensure_whole(state, about)

    def open_station() -> Copies:
        return open_copies(state, place, about.seed, (shard, shards), is_synced=sync != "never")

    return CopyDesk(
        open_station=open_station,
        state=state,
        folder=folder,
        shard=shard,
        archive=ledger.archive,
        counts=ledger.counters.copies,
    )


def near_folder(state: State) -> Path:
    """Return where a shard's sketches lie."""
    return state.path / "near"


def ensure_whole(state: State, about: About) -> None:
    """Let go of sketches that are damaged or not comparable: the archive has the texts."""
    value = state.get(ABOUT_ROW)
    if value is not None and msgpack.decode(value, type=About) == about:
        with suppress(CorruptFile):
            verify_near(near_folder(state), state.scan(NEAR_ROWS))
            return
    if value is not None:
        tell("near.reset", path=str(state.path))
    reset_near(state, about)


def reset_near(state: State, about: About) -> None:
    """Forget all sketches; the labels stay until better ones are found."""
    rows: list[Row] = [
        (key, None) for table in (NEAR_ROWS, PARCELS) for key, _ in state.scan(table)
    ]
    labels = read_labels(state.scan(LABEL_ROW))
    rows += [(named_key(label.original, key), b"") for key, label in labels]
    state.write([*rows, (ABOUT_ROW, msgpack.encode(about))])
    shutil.rmtree(near_folder(state), ignore_errors=True)


def crawl_seed(folder: CrawlFolder) -> int:
    """Return the crawl's own number, drawn by whichever shard asks first."""
    path = folder.root / "state" / "near.seed"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_bytes(os.urandom(SEED_BYTES))
        with suppress(FileExistsError):
            os.link(new, path)
        new.unlink()
    return int.from_bytes(path.read_bytes(), "big")
