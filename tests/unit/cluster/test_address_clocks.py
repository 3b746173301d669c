"""One clock per address for all shards: what one takes no other gets before the gap is over."""

import fcntl
import os
import resource
import signal
import struct
import time
from collections.abc import Iterator
from itertools import pairwise
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from xxhash import xxh3_64_intdigest

from gossamer.cluster import FileAddressClocks
from gossamer.crawl.requester import NoAddressGap
from gossamer.errors import CannotGoOn

HERE, THERE = "127.0.0.1", "::1"
GAP_S = 0.25
RACERS, TAKEN = 4, 50
"""Processes that want one address, and how often each of them takes it."""
PATIENCE_S = 120.0
BUCKETS, ENTRIES = 4096, 8
FLOOR_AT, KEYS_AT = 48, 64
MOMENTS_AT = KEYS_AT + 8 * BUCKETS * ENTRIES


def opened(path: Path, now: float = 1000.0, **more: Any) -> FileAddressClocks:
    options = {"boot_id": "one", "offset_s": 0.0, "longest_s": 1.0, "is_first": True, **more}
    return FileAddressClocks(path, now, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "addresses"


@pytest.fixture
def clocks(path: Path) -> Iterator[FileAddressClocks]:
    clocks = opened(path)
    yield clocks
    clocks.close()


def take(
    clocks: FileAddressClocks | NoAddressGap, at: float, address: str = HERE, gap_s: float = GAP_S
) -> float | None:
    """Take an address; that waits for nothing, so no loop is needed."""
    taking = clocks.take(address, gap_s, at)
    with pytest.raises(StopIteration) as end:
        taking.send(None)
    found: float | None = end.value.value
    return found


def key_of(address: str) -> int:
    return xxh3_64_intdigest(address.encode())


def of_one_bucket(count: int) -> list[str]:
    """Return addresses whose clocks lie in one bucket."""
    wanted = key_of(HERE) % BUCKETS
    found = [HERE]
    number = 0
    while len(found) < count:
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        if key_of(address) % BUCKETS == wanted:
            found.append(address)
        number += 1
    return found


def place_of(address: str, path: Path) -> int:
    """Return where the moment of an address lies in the file."""
    data, key = path.read_bytes(), key_of(address)
    keys = struct.unpack_from(f"<{BUCKETS * ENTRIES}Q", data, KEYS_AT)
    return MOMENTS_AT + 8 * keys.index(key)


def damage(path: Path, address: str, moment: float) -> None:
    """Write a moment into the file that is not one."""
    at = place_of(address, path)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(struct.pack("<d", moment))


# One after the other


def test_an_address_is_taken_once_per_gap(clocks: FileAddressClocks) -> None:
    assert take(clocks, 1000.0) is None
    assert take(clocks, 1000.0) == 1000.25
    assert take(clocks, 1000.249) == 1000.25
    assert take(clocks, 1000.25) is None
    assert take(clocks, 1000.3) == 1000.5


def test_addresses_do_not_wait_for_each_other(clocks: FileAddressClocks) -> None:
    for address in of_one_bucket(ENTRIES):
        assert take(clocks, 1000.0, address) is None
    for address in of_one_bucket(ENTRIES):
        assert take(clocks, 1000.1, address) == 1000.25


def test_who_asks_for_it_says_how_long_an_address_is_left_alone(clocks: FileAddressClocks) -> None:
    assert take(clocks, 1000.0, gap_s=0.0) is None
    assert take(clocks, 1000.0, gap_s=0.1) is None
    assert take(clocks, 1000.05, gap_s=0.0) == 1000.1
    assert take(clocks, 1000.1, gap_s=0.5) is None
    assert take(clocks, 1000.3, gap_s=0.1) == 1000.6


def test_an_address_that_answers_late_is_left_alone_from_then_on(
    clocks: FileAddressClocks,
) -> None:
    take(clocks, 1000.0)
    clocks.touch(HERE, GAP_S, 1000.2)
    assert take(clocks, 1000.3) == 1000.45
    clocks.touch(HERE, GAP_S, 1007.0)
    assert take(clocks, 1007.0) == 1007.25


def test_an_answer_never_shortens_what_somebody_was_promised(clocks: FileAddressClocks) -> None:
    take(clocks, 1000.0, gap_s=1.0)
    clocks.touch(HERE, 0.1, 1000.2)
    assert take(clocks, 1000.5) == 1001.0


def test_several_shards_share_one_clock(path: Path, clocks: FileAddressClocks) -> None:
    other = opened(path)
    assert take(clocks, 1000.0) is None
    assert take(other, 1000.1) == 1000.25
    other.touch(HERE, GAP_S, 1000.2)
    assert take(clocks, 1000.3) == 1000.45
    other.close()


def test_shards_whose_crawl_time_differs_mean_the_same_moment(path: Path) -> None:
    one, other = opened(path, 1000.0, offset_s=0.0), opened(path, 5000.0, offset_s=4000.0)
    assert take(one, 1000.0) is None
    assert take(other, 5000.1) == 5000.25
    other.touch(HERE, GAP_S, 5000.2)
    assert take(one, 1000.3) == pytest.approx(1000.45, abs=1e-6)
    one.close()
    other.close()


def test_without_a_gap_no_address_waits() -> None:
    clocks = NoAddressGap()
    for _ in range(3):
        assert take(clocks, 1.0, gap_s=0.0) is None
        clocks.touch(HERE, 0.0, 1.0)
    clocks.close()


# A full bucket


def test_an_address_without_room_waits_for_the_first_that_has_some(
    clocks: FileAddressClocks,
) -> None:
    *others, last = of_one_bucket(ENTRIES + 1)
    for number, address in enumerate(others):
        assert take(clocks, 1000.0 + 0.01 * number, address) is None
    assert take(clocks, 1000.2, last) == 1000.25
    assert take(clocks, 1000.25, last) is None
    assert take(clocks, 1000.255, others[1]) == 1000.26
    assert take(clocks, 1000.3, last) == 1000.5


def test_an_answer_that_finds_its_bucket_full_takes_no_other_clock_away(
    clocks: FileAddressClocks,
) -> None:
    *others, last = of_one_bucket(ENTRIES + 1)
    for address in others:
        take(clocks, 1000.0, address)
    clocks.touch(last, GAP_S, 1000.1)
    for address in others:
        assert take(clocks, 1000.2, address) == 1000.25
    clocks.touch(last, GAP_S, 1000.25)
    assert take(clocks, 1000.3, last) == 1000.5


# Deaths


def test_what_was_taken_stays_taken_after_a_start(path: Path) -> None:
    before = opened(path)
    take(before, 1000.0)
    before.close()
    after = opened(path, 1000.1, is_first=False)
    assert take(after, 1000.1) == 1000.25
    assert take(after, 1000.1, THERE) is None
    after.close()


def test_what_was_taken_stays_taken_when_the_taker_is_killed(path: Path) -> None:
    child = os.fork()
    if child == 0:
        take(opened(path), 1000.0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    clocks = opened(path, 1000.1, is_first=False)
    assert take(clocks, 1000.1) == 1000.25
    clocks.close()


def test_after_a_reboot_every_address_waits_a_whole_gap(path: Path) -> None:
    before = opened(path)
    take(before, 1000.0)
    before.close()
    after = opened(path, 3.0, boot_id="two", is_first=False)
    assert take(after, 3.0) == 4.0
    assert take(after, 3.9, THERE) == 4.0
    other = opened(path, 3.5, boot_id="two", is_first=False)
    assert take(other, 3.9) == 4.0
    assert take(other, 4.0) is None
    assert take(after, 4.0) == 4.25
    after.close()
    other.close()


def test_nothing_of_another_boot_makes_an_address_wait(path: Path) -> None:
    before = opened(path)
    take(before, 1000.0)
    before.close()
    after = opened(path, 3.0, boot_id="two", is_first=False)
    assert take(after, 50.0) is None
    after.close()


def test_a_crawl_that_has_asked_before_and_does_not_know_whom_waits(path: Path) -> None:
    clocks = opened(path, 1000.0, is_first=False)
    assert take(clocks, 1000.5) == 1001.0
    clocks.touch(HERE, 0.1, 1000.6)
    assert take(clocks, 1000.9) == 1001.0
    assert take(clocks, 1001.0) is None
    clocks.close()


def test_the_first_start_of_a_crawl_waits_for_nothing_however_young_the_clock(path: Path) -> None:
    clocks = opened(path, 0.5)
    assert take(clocks, 0.5) is None
    clocks.close()


def test_a_file_whose_making_was_killed_is_made_again(path: Path) -> None:
    for cut in (0, 3, 40, 4000):
        whole = opened(path)
        take(whole, 1000.0)
        whole.close()
        data = path.read_bytes()
        path.write_bytes(data[:cut] if cut else b"\0" * len(data))
        clocks = opened(path, 1000.0, is_first=False)
        assert (take(clocks, 1000.0) or 0) > 1000.0
        assert take(clocks, 1001.0) is None
        clocks.close()
        path.unlink()


@pytest.mark.parametrize("moment", [nan, inf, 1e300, 2000.0, 1001.01])
def test_a_moment_further_away_than_any_gap_makes_an_address_wait_no_longer_than_one(
    path: Path, moment: float, clocks: FileAddressClocks
) -> None:
    take(clocks, 900.0)
    damage(path, HERE, moment)
    assert take(clocks, 1000.0) == 1001.0
    assert take(clocks, 1000.5) == 1001.0
    assert take(clocks, 1001.0) is None


def test_a_damaged_bucket_is_usable_again_after_a_gap(
    path: Path, clocks: FileAddressClocks
) -> None:
    *others, last = of_one_bucket(ENTRIES + 1)
    for address in others:
        take(clocks, 900.0, address)
        damage(path, address, inf)
    assert take(clocks, 1000.0, last) == 1001.0
    assert take(clocks, 1001.0, last) is None


def test_a_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match=r"^cannot write .*; free some disk space"):
        opened(tmp_path / "absent" / "addresses")


def test_the_file_has_no_holes(path: Path, clocks: FileAddressClocks) -> None:
    assert take(clocks, 1000.0) is None
    found = path.stat()
    assert found.st_size == MOMENTS_AT + 8 * BUCKETS * ENTRIES
    assert found.st_blocks * 512 >= found.st_size


def test_nothing_is_kept_open(path: Path) -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    clocks = opened(path)
    assert str(path) in Path("/proc/self/maps").read_text()
    clocks.close()
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert str(path) not in Path("/proc/self/maps").read_text()


def test_the_file_is_laid_out_as_it_always_was(path: Path) -> None:
    mask = os.umask(0)
    clocks = opened(path, 1000.0, boot_id="b" * 36, is_first=False)
    os.umask(mask)
    assert take(clocks, 1001.0) is None
    data, key = path.read_bytes(), key_of(HERE)
    assert len(data) == 64 + 16 * 4096 * 8
    assert data[:FLOOR_AT] == b"address1" + b"b" * 36 + bytes(4)
    assert struct.unpack_from("<d", data, FLOOR_AT) == (1001.0,)
    place = (key % 4096) * 8
    assert struct.unpack_from("<Q", data, KEYS_AT + 8 * place) == (key,)
    assert struct.unpack_from("<d", data, MOMENTS_AT + 8 * place) == (1001.25,)
    assert path.stat().st_mode & 0o777 == 0o644
    clocks.close()


# Locks


def lock_of(address: str) -> int:
    """Return the byte that is locked for an address."""
    return KEYS_AT + key_of(address) % BUCKETS


def hold_lock(path: Path, byte: int) -> int:
    """Hold the lock of a byte in another process, which is returned."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        file = os.open(path, os.O_RDWR)
        fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
        os.write(write, b".")
        time.sleep(600)
        os._exit(0)
    os.read(read, 1)
    os.close(read)
    os.close(write)
    return child


def test_a_shard_that_is_stopped_while_it_holds_a_lock_holds_nobody_up(
    path: Path, clocks: FileAddressClocks
) -> None:
    take(clocks, 900.0)
    holder = hold_lock(path, lock_of(HERE))
    try:
        assert take(clocks, 1000.0) == 1000.002
        clocks.touch(HERE, GAP_S, 1000.0)
        assert take(clocks, 1000.0, THERE) is None
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    assert take(clocks, 1000.0) is None


def test_who_opens_the_file_waits_until_another_has_made_it(
    path: Path, clocks: FileAddressClocks
) -> None:
    holder = hold_lock(path, 0)
    child = os.fork()
    if child == 0:
        opened(path)
        os._exit(0)
    time.sleep(0.2)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert take(clocks, 1000.0) is None


def test_a_lock_is_given_back_whatever_was_found(path: Path, clocks: FileAddressClocks) -> None:
    take(clocks, 1000.0)
    take(clocks, 1000.1)
    clocks.touch(HERE, GAP_S, 1000.1)
    child = os.fork()
    if child == 0:
        other = opened(path)
        is_free = take(other, 1000.9) is None
        os._exit(0 if is_free else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def race(path: Path, write: int) -> None:
    """Take one address a few times, as soon as it can be had by the steady clock; tell when."""
    clocks = opened(path, time.monotonic())
    left, until = TAKEN, time.monotonic() + PATIENCE_S
    while left and (now := time.monotonic()) < until:
        if take(clocks, now, gap_s=0.002) is None:
            os.write(write, struct.pack("<d", now))
            left -= 1


def test_shards_that_race_for_one_address_never_have_it_closer_together_than_the_gap(
    path: Path,
) -> None:
    read, write = os.pipe()
    children = []
    for _ in range(RACERS):
        child = os.fork()
        if child == 0:
            race(path, write)
            os._exit(0)
        children.append(child)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        data = told.read()
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    moments = sorted(moment for (moment,) in struct.iter_unpack("<d", data))
    assert len(moments) == RACERS * TAKEN
    assert min(later - earlier for earlier, later in pairwise(moments)) >= 0.002 - 1e-9


def test_a_disk_without_room_is_told_at_the_start(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            opened(tmp_path / "addresses")
        except CannotGoOn:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
