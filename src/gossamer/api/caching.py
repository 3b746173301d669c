"""Where a machine keeps its copies of what is in stores."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.store import CacheRoom

CACHE = "GOSSAMER_CACHE"


def cache_room() -> "CacheRoom":
    """Return where mirrors are kept, and how much they may take."""
    from gossamer.store import CacheRoom, cache_bytes

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get(CACHE) or home / "gossamer")
    return CacheRoom(folder, cache_bytes())
