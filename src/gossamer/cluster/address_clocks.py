"""One clock per IP address for all shards of a crawl: a file that each shard maps into memory.

Who is about to ask an address moves its clock on, under a lock, before the request is sent. So no
two requests of any shards are granted closer together than the gap, and a grant survives kill -9
of whoever has it: what was written to the map is the kernel's, which also releases the locks of a
process that dies. Moments are those of the steady clock, which all processes of a machine share;
after a reboot, when they mean nothing, every address is left alone for a whole gap first.

A shard pays two short locks per request, each on a byte that it seldom shares with anybody
(ADR 47). Shards on several machines need another implementation of the same methods.
"""

import fcntl
import mmap
import os
import struct
from pathlib import Path

from xxhash import xxh3_64_intdigest

from gossamer.errors import CannotGoOn
from gossamer.linux import reserve

BUCKETS, ENTRIES = 4096, 8
"""A bucket holds the clocks of so many addresses: in all, of 32,768 that were asked just now."""
TRIES = 500
"""A lock is held for microseconds, unless its holder is stopped: then nobody waits for it."""
BUSY_S = 0.002
"""When to try again if somebody holds a lock for long."""
_MAGIC = b"address1"
_FLOOR = struct.Struct("<d")
_FLOOR_AT, _KEYS_AT = 48, 64
"""Before the floor stand magic and boot id."""
_SIZE = _KEYS_AT + 16 * BUCKETS * ENTRIES


class FileAddressClocks:
    """The earliest next moment of each IP address, kept in a file for all shards of a crawl.

    An entry whose moment has passed is free for any address. If none of a bucket is free, an
    address that has none waits for the first of them: rather too long than too short.
    """

    def __init__(
        self,
        path: Path,
        now: float,
        *,
        boot_id: str,
        offset_s: float,
        longest_s: float,
        is_first: bool,
    ) -> None:
        """Map the file; make it if it is not there, or is of another boot.

        Times are crawl time, `offset_s` ahead of the steady clock; no gap is longer than
        `longest_s`. Unless it is the crawl's first start, a new file makes every address wait.
        """
        self._offset_s = offset_s
        self._longest_s = longest_s
        floor = 0.0 if is_first else now - offset_s + longest_s
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.lockf(self._fd, fcntl.LOCK_EX, _KEYS_AT)
            is_cut = os.fstat(self._fd).st_size < _SIZE
            reserve(self._fd, _SIZE)
            self._map = mmap.mmap(self._fd, _SIZE)
            self._floor = _begin(self._map, boot_id.encode(), floor, is_new=is_cut)
            fcntl.lockf(self._fd, fcntl.LOCK_UN, _KEYS_AT)
        except OSError as error:
            raise CannotGoOn(
                f"cannot write {path}: {error.strerror}; free some disk space, then run it again"
            ) from error
        entries = memoryview(self._map)[_KEYS_AT:]
        self._keys = entries[: len(entries) // 2].cast("Q")
        self._moments = entries[len(entries) // 2 :].cast("d")

    async def take(self, address: str, gap_s: float, now: float) -> float | None:
        """Take an address for a request that begins now, or return the moment to wait for."""
        return self.grant(address, gap_s, now)

    def grant(self, address: str, gap_s: float, now: float) -> float | None:
        """Do the same at once.

        Once it is taken nobody takes it again before `gap_s` have passed.
        """
        key, at = xxh3_64_intdigest(address.encode()), now - self._offset_s
        if not self._lock(key):
            return now + BUSY_S
        try:
            place, until = self._find(key, at)
            if until > at:
                return until + self._offset_s
            self._set(place, key, at + gap_s)
            return None
        finally:
            self._unlock(key)

    def touch(self, address: str, gap_s: float, now: float) -> None:
        """Let an address that has just answered be left alone for `gap_s` from now on.

        If its bucket is full of others by now, what was promised when it was taken must do.
        """
        key, at = xxh3_64_intdigest(address.encode()), now - self._offset_s
        if not self._lock(key):
            return
        try:
            place, until = self._find(key, at)
            if until <= at or (self._keys[place] == key and until < at + gap_s):
                self._set(place, key, at + gap_s)
        finally:
            self._unlock(key)

    def close(self) -> None:
        """Release map and file; what they say stays."""
        self._keys.release()
        self._moments.release()
        self._map.close()
        os.close(self._fd)

    def _find(self, key: int, at: float) -> tuple[int, float]:
        """Return an address's entry, or the one that is free first, and when it may be taken.

        A moment further away than any gap is damaged, or of a run with longer gaps.
        """
        first = key % BUCKETS * ENTRIES
        keys = self._keys[first : first + ENTRIES].tolist()
        if key in keys:
            place = first + keys.index(key)
        else:
            moments = self._moments[first : first + ENTRIES].tolist()
            place = first + moments.index(min(moments))
        if not self._moments[place] <= at + self._longest_s:
            self._moments[place] = at + self._longest_s
        return place, max(self._moments[place], self._floor)

    def _set(self, place: int, key: int, moment: float) -> None:
        self._moments[place] = moment  # one store: a kill leaves no half of it
        self._keys[place] = key

    def _lock(self, key: int) -> bool:
        """Lock the bucket of a key against all other shards; False if that takes too long."""
        for _ in range(TRIES):
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _KEYS_AT + key % BUCKETS)
            except BlockingIOError:
                continue
            return True
        return False

    def _unlock(self, key: int) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, _KEYS_AT + key % BUCKETS)


def _begin(file: mmap.mmap, boot_id: bytes, floor: float, *, is_new: bool) -> float:
    """Make a file usable that is new or of another boot; return its floor.

    No address may be asked before the floor. The header comes last: killed before, it is begun
    again by the next start.
    """
    wanted = _MAGIC + boot_id.ljust(_FLOOR_AT - len(_MAGIC), b"\0")
    if file[:_FLOOR_AT] == wanted and not is_new:
        return float(_FLOOR.unpack_from(file, _FLOOR_AT)[0])
    file[:] = bytes(_SIZE)
    _FLOOR.pack_into(file, _FLOOR_AT, floor)
    file[:_FLOOR_AT] = wanted
    return floor
