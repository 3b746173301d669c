"""The charter: into how many shards a crawl's state is split, and a split that is under way.

One small file beside the states, replaced as a whole. A re-split is written down here before the
first row moves, and each phase is such that it can be begun again after a kill.

Another number would silently give URLs to other shards, so the file has a checksum. One that is
missing, or older and without a checksum, is compared with the states that are there.
"""

from pathlib import Path
from typing import Literal, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Struct

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


class _Stored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: a charter with the checksum of its values."""

    shards: int = 1
    moving_to: int = 0
    phase: Phase = "settled"
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
    charter = Charter(shards=found.shards, moving_to=found.moving_to, phase=found.phase)
    if found.crc32 is None:
        _compare_with_states(path, charter)
    elif found.crc32 != _checksum(charter):
        raise _damaged(path, "its checksum does not match")
    return charter


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
    return crc32(msgspec.json.encode(charter))


def _damaged(path: Path, found: str) -> CorruptFile:
    return CorruptFile(path, 0, f"{found}; run {rebuild_state_command(path)}")


def write_charter(path: Path, charter: Charter) -> None:
    """Replace the charter, durably: what it says is true from here on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, _encoded(charter))


def renew_charter(path: Path, charter: Charter) -> None:
    """Give the file of an older version a checksum."""
    if path.exists() and path.read_bytes() != _encoded(charter):
        write_charter(path, charter)


def _encoded(charter: Charter) -> bytes:
    stored = _Stored(
        shards=charter.shards,
        moving_to=charter.moving_to,
        phase=charter.phase,
        crc32=_checksum(charter),
    )
    return msgspec.json.encode(stored)
