"""The charter: which shard of a crawl's state has which part of the ring, and a split under way.

One small file beside the states, replaced as a whole. A re-split is written down here before the
first row moves, and each phase is such that it can be begun again after a kill.

Another ring would silently give URLs to other shards, so the file has a checksum. One that is
missing, or older and without a checksum, is compared with the states that are there. Of a ring of
equal parts in order, as all were in older versions, the file has the number of shards alone.
"""

from pathlib import Path
from typing import Literal, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from gossamer.cluster.regions import ShardRegions
from gossamer.cluster.ring import Ranges, Ring
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, CorruptFile, rebuild_state_command
from gossamer.log import counted

Phase: TypeAlias = Literal["settled", "copying", "dropping"]


class Charter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the state is split."""

    shards: int = 1
    moving_to: int = 0
    """So many shards there will be when the re-split is done; 0 if none is under way."""
    phase: Phase = "settled"
    ranges: Ranges = ()
    """Which shard has which range of the ring; empty for equal parts in order."""
    moving_ranges: Ranges = ()
    """The same of the shards that there will be."""
    regions: ShardRegions = ()
    """The region of each shard, by number, if machines of its cluster have any."""

    @classmethod
    def of(cls, ring: Ring, regions: ShardRegions = ()) -> "Charter":
        """Return the charter of a crawl that is split so, with nothing under way."""
        return cls(shards=ring.shards, ranges=_ranges_of(ring), regions=regions)

    @property
    def ring(self) -> Ring:
        """Return which shard owns what."""
        if self.shards == 1:
            return Ring()
        return Ring(self.ranges) if self.ranges else Ring.even(self.shards)

    @property
    def next_ring(self) -> Ring:
        """Return which shard will own what when the re-split under way is done."""
        return Ring(self.moving_ranges) if self.moving_ranges else Ring.even(self.moving_to)

    def moving(self, ring: Ring, phase: Phase) -> "Charter":
        """Return the charter of a re-split into another ring."""
        return replace(self, moving_to=ring.shards, moving_ranges=_ranges_of(ring), phase=phase)


def _ranges_of(ring: Ring) -> Ranges:
    return () if ring.is_even else ring.ranges


class _Stored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: a charter with the checksum of its values."""

    shards: int = 1
    moving_to: int = 0
    phase: Phase = "settled"
    ranges: Ranges = ()
    moving_ranges: Ranges = ()
    regions: ShardRegions = ()
    crc32: int | None = None
    """None in files of older versions."""


def read_charter(path: Path) -> Charter:
    """Return the charter of a crawl; one that was never split has one shard."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        if any(number for number in _states(path)):
            raise CannotGoOn(
                f"{path} is missing, but there are several states; nothing was changed. "
                f"Put it back, or run {rebuild_state_command(path)}"
            ) from None
        return Charter()
    try:
        found = msgspec.json.decode(raw, type=_Stored)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    values = {name: value for name, value in asdict(found).items() if name != "crc32"}
    charter = Charter(**values)
    if found.crc32 is None:
        _compare_with_states(path, charter)
    elif found.crc32 != _checksum(charter):
        raise _damaged(path, "its checksum does not match")
    if not _is_possible(charter):
        raise _damaged(path, "its ranges are not those of its shards")
    return charter


def _is_possible(charter: Charter) -> bool:
    """Return True if the ranges that a charter names are those of as many shards as it says."""
    rings = [(charter.shards, charter.ranges), (charter.moving_to, charter.moving_ranges)]
    return all(
        Ring(ranges).is_whole and Ring(ranges).shards == shards
        for shards, ranges in rings
        if ranges
    )


def _compare_with_states(path: Path, charter: Charter) -> None:
    """Refuse a charter without a checksum that does not fit what is there."""
    is_possible = charter.shards >= 1 and (charter.phase == "settled") == (charter.moving_to == 0)
    states = _states(path)
    if charter.phase == "settled" and states:
        is_possible = is_possible and states == set(range(charter.shards))
    if not is_possible:
        says, found = counted(charter.shards, "shard"), counted(len(states), "state")
        raise _damaged(path, f"it says {says}; found {found}")


def _states(path: Path) -> set[int]:
    """Return the numbers of the states that lie beside a charter."""
    found = (state.parent.name for state in path.parent.glob("*/CURRENT"))
    return {int(name) for name in found if name.isdecimal()}


def _checksum(charter: Charter) -> int:
    return crc32(msgspec.json.encode(_values(charter)))


def _values(charter: Charter) -> dict[str, object]:
    """Return what the file says: as older versions did, if they could read it."""
    return {
        name: value
        for name, value in asdict(charter).items()
        if value or name not in {"ranges", "moving_ranges", "regions"}
    }


def _damaged(path: Path, found: str) -> CorruptFile:
    return CorruptFile(path, 0, f"{found}; run {rebuild_state_command(path)}")


def write_charter(path: Path, charter: Charter) -> None:
    """Replace the charter, durably: what it says is true from here on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, encoded_charter(charter))


def renew_charter(path: Path, charter: Charter) -> None:
    """Give the file of an older version a checksum."""
    if path.exists() and path.read_bytes() != encoded_charter(charter):
        write_charter(path, charter)


def encoded_charter(charter: Charter) -> bytes:
    """Return the file of a charter."""
    return msgspec.json.encode({**_values(charter), "crc32": _checksum(charter)})
