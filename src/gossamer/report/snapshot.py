"""Snapshot: the states of all shards at one moment, and the links of the archive that they count.

A crawl that runs goes on meanwhile: what it commits later is not seen. Of each shard it is one
commit; those of several shards are moments apart.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from gossamer.cluster import OUTBOX, Ring, outbox_tasks, owner_in_state
from gossamer.config import Config
from gossamer.filter import FilterChain
from gossamer.model import Task
from gossamer.report.inquiry import (
    filters_of,
    folder_of,
    trap_detector,
)
from gossamer.report.states import all_states, ring_of_folder
from gossamer.settings import load_crawl_config
from gossamer.store import (
    ROW_PREFIX,
    BadRecord,
    CrawlFolder,
    LinkRow,
    Record,
    State,
    is_locked,
    read_file_row,
    scan_records,
)
from gossamer.traps import TrapDetector


class LinkingPage(Struct, frozen=True, kw_only=True):
    """Of a record of the links archive: what decides which of its links were judged."""

    url: str
    outcome: str
    depth: int = 0
    via: str = ""
    kind: str = "seed"
    nesting: int = 0
    media_type: str = ""
    copy_of: str = ""
    oddities: tuple[str, ...] = ()
    robots: tuple[str, ...] = ()
    links: list[LinkRow] = field(default_factory=list)


_decode = msgspec.json.Decoder(LinkingPage).decode


class ShardRules(NamedTuple):
    """What a shard judges links by."""

    filters: FilterChain
    traps: TrapDetector


class Snapshot:
    """All that is known of a crawl at one moment. `Snapshot.open` makes one."""

    def __init__(
        self, folder: CrawlFolder, config: Config, states: list[State], ring: Ring
    ) -> None:
        self.folder = folder
        self.config = config
        self.states = states
        self.ring = ring
        self._rules: list[ShardRules] | None = None
        self.may_miss_mail = len(states) > 1 and is_locked(folder)
        """A URL may have left one shard and not have reached the other: they are moments apart."""

    @classmethod
    @contextmanager
    def open(cls, folder: Path | str) -> "Iterator[Snapshot]":
        """Open a crawl's folder as it is at this moment, whether it runs or not."""
        place = folder_of(folder)
        config = load_crawl_config(place.root)
        with all_states(place) as states:
            yield cls(place, config, states, ring_of_folder(place))

    def owner_of(self, key: int) -> int:
        """Return the number of the shard that has a URL, by its key."""
        return owner_in_state(self.ring, key, lambda shard, row: self.states[shard].get(row))[0]

    def rules(self, shard: int) -> ShardRules:
        """Return what a shard judges links by; made when it is first asked for."""
        if self._rules is None:
            self._rules = [*map(self._rules_of, self.states)]
        return self._rules[shard]

    def _rules_of(self, state: State) -> ShardRules:
        traps = trap_detector(state, self.config, len(self.states))
        return ShardRules(filters_of(state, self.config, traps), traps)

    def on_their_way(self) -> Iterator[Task]:
        """Yield the URLs that a shard has found and its owner has not confirmed."""
        for state in self.states:
            for _, value in state.scan(OUTBOX):
                yield from outbox_tasks(value)

    def linking_pages(self) -> Iterator[LinkingPage]:
        """Yield the records of the links archive that have links, as far as the states count it."""
        counted: dict[str, int] = {}
        for state in self.states:
            rows = (read_file_row(key, value) for key, value in state.scan(ROW_PREFIX))
            counted.update((name, row.length) for name, row in rows)
        for name in self.folder.archive_names(kind="links"):
            path = self.folder.archive_path(name.file_name)
            end = min(counted.get(name.file_name, 0), path.stat().st_size)
            for record in scan_records(path, 0, end) if end else ():
                if not isinstance(record, BadRecord) and (page := _links_of(record)) is not None:
                    yield page


def _links_of(record: Record) -> LinkingPage | None:
    """Return the links in a record; None if it has none, or is not one of ours."""
    if b'"links":[[' not in record.block or record.headers.get("warc-type") != "metadata":
        return None
    try:
        return _decode(record.block)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
