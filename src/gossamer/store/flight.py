"""The flight board: which URLs were in hand when the process died.

A small file mapped into memory: writing to it is a store to a page that the kernel keeps, so it
survives kill -9 at no cost per URL. It is only ever used to blame: a death while a page's content
was being read is blamed on that page alone, any other death on all URLs in flight. (Blaming all
leased URLs instead would fail innocent ones: a host that is asked once a minute holds the same
lease through many restarts.)

A new start keeps what the last one left on the board until it has committed the blame for it, then
clears it: killed in between, the next start blames the same URLs.
"""

import mmap
import os
from pathlib import Path

from gossamer.errors import CannotGoOn

SLOT_BYTES = 8


class FlightBoard:
    """Keys of URLs in flight, one slot each, and the key of the URL that is being read."""

    def __init__(self, path: Path, slots: int) -> None:
        self.lost = _read(path)
        """Keys to blame for the last death; empty after a clean stop."""
        try:
            self._map = _mapped(path, slots + 1)
        except OSError as error:
            raise CannotGoOn(
                f"cannot write {path}: {error.strerror}; free some disk space, then run it again"
            ) from error
        self._slots = memoryview(self._map).cast("Q")
        self._free = list(range(1, slots + 1))
        self._slot_of: dict[int, int] = {}

    def clear(self) -> None:
        """Forget what the last start left: its blame is committed. Before anything takes off."""
        self._map[:] = bytes(len(self._map))

    def take_off(self, key: int) -> None:
        """Note that a URL is being asked for."""
        if self._free:
            self._slot_of[key] = slot = self._free.pop()
            self._slots[slot] = key

    def land(self, key: int) -> None:
        """Note that a URL's turn is over."""
        slot = self._slot_of.pop(key, None)
        if slot is not None:
            self._slots[slot] = 0
            self._free.append(slot)

    def reading(self, key: int | None) -> None:
        """Note whose content is being read now; None when nobody's is."""
        self._slots[0] = key or 0

    def close(self) -> None:
        """Release the map; what is still noted on it would be blamed at the next start."""
        self._slots.release()
        self._map.close()


def _mapped(path: Path, slots: int) -> mmap.mmap:
    """Return the file in memory, with so many slots at least.

    Never smaller: what the last start left may lie in slots that we do not use. And without holes:
    a store to one on a full disk would be a SIGBUS.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        size = max(slots, os.fstat(descriptor).st_size // SLOT_BYTES) * SLOT_BYTES
        os.posix_fallocate(descriptor, 0, size)
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


def _read(path: Path) -> list[int]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    keys = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw) - 7, SLOT_BYTES)]
    if keys and keys[0]:
        return [keys[0]]
    return [key for key in keys[1:] if key]
