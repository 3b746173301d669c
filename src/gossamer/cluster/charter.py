"""The charter: into how many shards a crawl's state is split, and a split that is under way.

One small file beside the states, replaced as a whole. A re-split is written down here before the
first row moves, and each phase is such that it can be begun again after a kill.
"""

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.durable import replace_file
from gossamer.errors import CorruptFile, rebuild_state_command

Phase: TypeAlias = Literal["settled", "copying", "dropping"]


class Charter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the state is split."""

    shards: int = 1
    moving_to: int = 0
    """So many shards there will be when the re-split is done; 0 if none is under way."""
    phase: Phase = "settled"


def read_charter(path: Path) -> Charter:
    """Return the charter of a crawl; one that was never split has one shard."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Charter)
    except FileNotFoundError:
        return Charter()
    except msgspec.DecodeError as error:
        raise CorruptFile(path, 0, f"{error}; run {rebuild_state_command(path)}") from error


def write_charter(path: Path, charter: Charter) -> None:
    """Replace the charter, durably: what it says is true from here on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, msgspec.json.encode(charter))
