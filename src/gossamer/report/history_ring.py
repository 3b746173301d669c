"""The history of a crawl: a sample every ten seconds for a day, in a small file that is a ring.

A sample lies where its time says, so nothing needs to be remembered between runs, and a slot that
was written a day or more ago is simply old. A slot that a kill has torn has a wrong checksum.
"""

import os
import shutil
import struct
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from gossamer.report.records import Status
from gossamer.store import CrawlFolder

EVERY_S = 10
SLOTS = 24 * 3600 // EVERY_S
_SLOT = struct.Struct("<11d")
_SUM = struct.Struct("<Q")
SLOT_BYTES = _SLOT.size + _SUM.size


class CrawlSample(Struct, frozen=True, kw_only=True):
    """How a crawl stood at one moment."""

    at: float
    pages: int
    """Stored so far, as in `Status`; the next three as well."""
    requests: int
    failed: int
    archive_bytes: int
    queued: int
    in_flight: int
    active_hosts: int
    parked_hosts: int
    disk_free_bytes: int
    freshness: float | None


@dataclass(slots=True)
class HistoryFile:
    """The ring of a crawl, where its only writer is the process that has the folder's lock."""

    folder: CrawlFolder
    _slot: int = -1

    def note(self, status: Status, now: float) -> None:
        """Write a sample, if it is time for one. A disk that refuses costs the sample."""
        slot = int(now // EVERY_S)
        if slot == self._slot:
            return
        self._slot = slot
        try:
            free = shutil.disk_usage(self.folder.root).free
            data = _packed(sample_of(status, now, free))
            descriptor = os.open(
                self.folder.history_path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644
            )
            try:
                os.pwrite(descriptor, data, slot % SLOTS * SLOT_BYTES)
            finally:
                os.close(descriptor)
        except OSError:
            return


def sample_of(status: Status, now: float, disk_free_bytes: int) -> CrawlSample:
    """Return the sample of a status."""
    return CrawlSample(
        at=now,
        pages=status.pages,
        requests=status.requests,
        failed=sum(status.failed.values()),
        archive_bytes=status.archive_bytes,
        queued=status.queued,
        in_flight=status.in_flight,
        active_hosts=status.active_hosts,
        parked_hosts=status.parked_hosts,
        disk_free_bytes=disk_free_bytes,
        freshness=status.watch.expected_freshness,
    )


def read_history(folder: Path | str, now: float) -> list[CrawlSample]:
    """Return the samples of the last day, the oldest first."""
    try:
        data = CrawlFolder(Path(folder)).history_path.read_bytes()
    except FileNotFoundError:
        return []
    oldest = now - SLOTS * EVERY_S
    slots = (data[at : at + SLOT_BYTES] for at in range(0, len(data), SLOT_BYTES))
    found = [sample for slot in slots if (sample := _unpacked(slot)) is not None]
    return sorted((one for one in found if oldest < one.at), key=lambda one: one.at)


def _packed(sample: CrawlSample) -> bytes:
    fresh = nan if sample.freshness is None else sample.freshness
    counts = (
        *(sample.at, sample.pages, sample.requests, sample.failed, sample.archive_bytes),
        *(sample.queued, sample.in_flight, sample.active_hosts, sample.parked_hosts),
        *(sample.disk_free_bytes, fresh),
    )
    data = _SLOT.pack(*map(float, counts))
    return data + _SUM.pack(crc32(data))


def _unpacked(slot: bytes) -> CrawlSample | None:
    """Return the sample in a slot; None if there is none, or only a part of one."""
    data = slot[: _SLOT.size]
    if len(slot) < SLOT_BYTES or _SUM.unpack(slot[_SLOT.size :])[0] != crc32(data):
        return None
    at, *counts, fresh = _SLOT.unpack(data)
    if not at:
        return None
    names = CrawlSample.__struct_fields__[1:-1]
    whole = {name: int(count) for name, count in zip(names, counts, strict=True)}
    return CrawlSample(at=at, freshness=None if isnan(fresh) else fresh, **whole)
