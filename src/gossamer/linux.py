"""What only Linux has, each with a fallback for other systems: no other module asks for it.

With GOSSAMER_PORTABLE=1 in the environment the fallbacks are taken on Linux, too: that is how they
are tested. They are slower, or know less; none of them is less safe.

Not for: what every Unix has (`fcntl.flock`, `os.fork`, `resource`), and what may be missing of
memory or open files (`machine.py`).
"""

import mmap
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

if TYPE_CHECKING:
    import asyncio

PORTABLE = "GOSSAMER_PORTABLE"
"""The variable of the environment that asks for the fallbacks."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 -- for links that live as long as the process
PARENT_S = 0.5
"""How often a process looks whether its parent lives, where the kernel does not tell it."""
LOOK_S = 0.005
"""How often sockets are looked at where one set of them cannot be waited for as a whole."""
ZERO_BYTES = COPIED_BYTES = 1 << 20
READABLE, WRITABLE, BROKEN = select.POLLIN, select.POLLOUT, select.POLLERR | select.POLLHUP
"""Events of a socket: the same numbers for poll and for epoll."""
_RUN_ID = os.urandom(16).hex()
_TCP_INFO_BYTES = 256
_TCP_BYTES_RECEIVED = struct.Struct("=128xQ")
_PR_SET_PDEATHSIG = 1
_MIB = 1024 * 1024
_MALLOC = {-1: 64 * _MIB, -2: 16 * _MIB, -3: 32 * _MIB}
"""Of mallopt(3): M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD."""
PROCESSORS = Path("/proc/cpuinfo")
_MOST_LINES = 100
_WHAT_IT_IS = {
    *("vendor_id", "cpu family", "model", "model name", "flags"),
    *("CPU implementer", "CPU part", "CPU variant", "Features"),
}
"""Of the first processor of that file, on x86 and on ARM."""


def is_linux() -> bool:
    """Return True if what only Linux has may be used."""
    return sys.platform == "linux" and not os.environ.get(PORTABLE)


def cores() -> int:
    """Return how many cores this process may use; elsewhere, how many there are."""
    return len(os.sched_getaffinity(0)) if is_linux() else os.cpu_count() or 1


def boot_time() -> float:
    """Return seconds that go on while the machine sleeps.

    Elsewhere what the system calls monotonic: on a Mac that goes on, too.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME if is_linux() else time.CLOCK_MONOTONIC)


def boot_id() -> str:
    """Return what names the time since the machine was booted.

    Where nothing does, what names this process and its forks: then each start of a crawl is as one
    after a reboot, and every host waits its full gap.
    """
    if is_linux():
        with suppress(OSError):
            return BOOT_ID.read_text(encoding="ascii").strip()
    return _RUN_ID


def is_dead(pid: int) -> bool:
    """Return True if there is no such process, or only what its parent has not yet buried.

    Elsewhere the dead who were not buried count as living.
    """
    if is_linux():
        try:
            told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return True
        return told.rpartition(")")[2].split()[:1] in (["Z"], ["X"], [])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def has_threads() -> bool:
    """Return True if this process has several threads; elsewhere only those of Python are seen."""
    if is_linux():
        with suppress(OSError):
            return len(list(Path("/proc/self/task").iterdir())) > 1
    return threading.active_count() > 1


def show_as(words: Sequence[str]) -> None:
    """Let `ps` show other words for this process, if its own are as long; elsewhere nothing."""
    if not is_linux():
        return
    import ctypes  # noqa: PLC0415 -- the same as below

    facts = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(facts[45]), int(facts[46])  # where the kernel has put our arguments
    shown = b"".join(os.fsencode(word) + b"\0" for word in words)
    if len(shown) <= end - start:
        ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


def die_with(parent: int) -> None:
    """Let this process be killed when its parent dies; end it now if that has died already.

    Elsewhere a thread looks every half second.
    """
    if is_linux():
        import ctypes  # noqa: PLC0415 -- few processes need it

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    else:
        from threading import Thread  # noqa: PLC0415 -- Linux does without

        Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it died before we asked to die with it
        os.kill(os.getpid(), signal.SIGKILL)


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_S)
    os.kill(os.getpid(), signal.SIGKILL)


def keep_freed_memory() -> None:
    """Let the allocator keep what large pages free: a page is soon followed by another.

    By default glibc gives such memory back at once and asks for it again, page fault by page fault
    (a tenth of the CPU of pages of 500 kB). Elsewhere it does as it likes.
    """
    import ctypes  # noqa: PLC0415 -- as above

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if is_linux() else None
    if mallopt is not None:
        for parameter, size in _MALLOC.items():
            mallopt(parameter, size)


def mapped_code(descriptor: int, size: int) -> int:
    """Return the address of a file's first bytes, mapped as code for good; raise `OSError`.

    Processes that map the same file share its memory.
    """
    return _mapped(size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, descriptor)


def map_code(code: bytes) -> int:
    """Return the address of a copy of some code that may be run, but no longer be written."""
    import ctypes  # noqa: PLC0415 -- as above

    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = _mapped(len(code), mmap.PROT_READ | mmap.PROT_WRITE, flags, -1)
    ctypes.memmove(address, code, len(code))
    room, kind = ctypes.c_void_p(address), mmap.PROT_READ | mmap.PROT_EXEC
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(room, ctypes.c_size_t(len(code)), kind):
        raise OSError(ctypes.get_errno(), "this machine does not let code be made at run time")
    return address


def _mapped(size: int, kind: int, flags: int, descriptor: int) -> int:
    """Return the address of new memory: mmap(2) itself, since Python's tells none."""
    import ctypes  # noqa: PLC0415 -- as above

    call = ctypes.CDLL(None, use_errno=True).mmap
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address: int | None = call(None, size, kind, flags, descriptor, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "cannot map code")
    return address


def processor(told: Path = PROCESSORS) -> str:
    """Return what this machine's processor is and can do, as the system tells; "" elsewhere."""
    try:
        with told.open(encoding="utf-8", errors="replace") as lines:
            first = takewhile(str.strip, islice(lines, _MOST_LINES))
            pairs = [line.partition(":") for line in first]
    except OSError:
        return ""
    return "\n".join(value.strip() for key, _, value in pairs if key.strip() in _WHAT_IT_IS)


def control_group_limits(root: Path = CONTROL_GROUPS) -> list[int]:
    """Return the limits on memory of the control group that this process is in, and those above.

    There are none elsewhere.
    """
    if not is_linux():
        return []
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    paths = [line.split(":", 2)[2] for line in lines if line.startswith("0::")]
    group = root / (paths[0] if paths else "").lstrip("/")
    files = [folder / "memory.max" for folder in (group, *group.parents)]
    sizes = [_size_in(file) for file in files if file.is_relative_to(root)]
    return [size for size in sizes if size]


def _size_in(file: Path) -> int | None:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def memory_folder() -> Path | None:
    """Return a folder of files that are never on a disk; None if there is none."""
    return SHARED_MEMORY if is_linux() and SHARED_MEMORY.is_dir() else None


def sync_data(descriptor: int) -> None:
    """Bring what a file holds to the disk; elsewhere all that is known of it, too."""
    if is_linux():
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def reserve(descriptor: int, size: int) -> None:
    """Give a file this size at least, without holes: a store to a hole on a full disk is a SIGBUS.

    Elsewhere zeros are written behind its end; what was there before is taken to have no holes.
    """
    if is_linux():
        os.posix_fallocate(descriptor, 0, size)
        return
    at = os.fstat(descriptor).st_size
    while at < size:
        at += os.pwrite(descriptor, bytes(min(ZERO_BYTES, size - at)), at)


def expect_random(mapped: mmap.mmap) -> None:
    """Tell the system that a mapped file is read here and there; elsewhere it finds out."""
    if is_linux():
        mapped.madvise(mmap.MADV_RANDOM)


def let_go(mapped: mmap.mmap, start: int, length: int) -> None:
    """Give pages of a mapped file back: they stay in the system's cache; elsewhere, ours, too."""
    if is_linux():
        mapped.madvise(mmap.MADV_DONTNEED, start, length)


def use_small_pages(mapped: mmap.mmap) -> None:
    """Let memory be touched a small page at a time, where the system has others."""
    if is_linux():
        mapped.madvise(mmap.MADV_NOHUGEPAGE)


def reopened(file: BinaryIO) -> BinaryIO:
    """Return another reader of an open file, from its beginning, though it may have no name.

    Elsewhere of a copy: two descriptors of one open file share their place in it.
    """
    if is_linux():
        return Path(f"/proc/self/fd/{file.fileno()}").open("rb")
    from tempfile import TemporaryFile  # noqa: PLC0415 -- Linux does without

    at = 0
    copy = TemporaryFile()  # noqa: SIM115 -- the reader closes it
    while piece := os.pread(file.fileno(), COPIED_BYTES, at):
        at += copy.write(piece)
    copy.seek(0)
    return copy


KEEPS_SOCKET_FILE: Final[dict[str, Any]] = (
    {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
)
"""For asyncio's servers of socket files, which remove these themselves from Python 3.13 on: they
know them by the short path only, which is gone by then, and complain."""


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Give a path of bounded length: a Unix socket's may have 107 bytes, a crawl's folder more.

    Elsewhere by a link in the folder for temporary files.
    """
    if not is_linux():
        from tempfile import TemporaryDirectory  # noqa: PLC0415 -- Linux does without

        with TemporaryDirectory(prefix="goss-") as folder:
            link = Path(folder, "d")
            link.symlink_to(path.parent.absolute())
            yield str(link / path.name)
        return
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def received_bytes(line: socket.socket) -> int:
    """Return how many bytes have come over a connection; 0 elsewhere, where that is not told."""
    if not is_linux():
        return 0
    try:
        info = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        (received,) = _TCP_BYTES_RECEIVED.unpack_from(info)
    except (OSError, struct.error):
        return 0
    return int(received)


def stay_on_device(line: socket.socket, device: bytes) -> None:
    """Let a socket take connections from one network device alone; not so elsewhere."""
    if is_linux():
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)


class SocketSet(Protocol):
    """Sockets whose events a loop wants to know, all at once."""

    forgets_closed: bool
    """A socket leaves it when it is closed; otherwise its number may come back as another's."""

    def attach(self, loop: "asyncio.AbstractEventLoop", ready: Callable[[], None]) -> None:
        """Call `ready` whenever there are events, until `close`."""

    def add(self, descriptor: int, events: int) -> bool:
        """Watch a socket; return False if it is watched already, or cannot be."""

    def change(self, descriptor: int, events: int) -> bool:
        """Watch a socket for other events; return False if it is not watched."""

    def remove(self, descriptor: int) -> bool:
        """Watch a socket no more; return False if it was not watched."""

    def ready(self) -> list[tuple[int, int]]:
        """Return the sockets that have events, and which."""

    def close(self) -> None:
        """Watch nothing any more."""


def socket_set() -> SocketSet:
    """Return a set of sockets: one wake-up of the loop for all of them, where that can be had."""
    return EpollSockets() if is_linux() else PolledSockets()


class EpollSockets:
    """An epoll set, whose own descriptor the loop watches."""

    forgets_closed = True

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self, loop: "asyncio.AbstractEventLoop", ready: Callable[[], None]) -> None:
        """Call `ready` whenever there are events, until `close`."""
        self._loop = loop
        loop.add_reader(self._epoll.fileno(), ready)

    def add(self, descriptor: int, events: int) -> bool:
        """Watch a socket; return False if it is watched already, or cannot be."""
        try:
            self._epoll.register(descriptor, events)
        except (OSError, ValueError):
            return False
        return True

    def change(self, descriptor: int, events: int) -> bool:
        """Watch a socket for other events; return False if it is not watched."""
        try:
            self._epoll.modify(descriptor, events)
        except (OSError, ValueError):
            return False
        return True

    def remove(self, descriptor: int) -> bool:
        """Watch a socket no more; return False if it was not watched."""
        try:
            self._epoll.unregister(descriptor)
        except (OSError, ValueError):
            return False
        return True

    def ready(self) -> list[tuple[int, int]]:
        """Return the sockets that have events, and which."""
        return self._epoll.poll(0, 1024)

    def close(self) -> None:
        """Watch nothing any more."""
        if self._loop is not None:
            self._loop.remove_reader(self._epoll.fileno())
        self._loop = None
        self._epoll.close()


class PolledSockets:
    """The sockets as poll(2) sees them, looked at every few milliseconds while there are any."""

    forgets_closed = False

    def __init__(self) -> None:
        self._poll = select.poll()
        self._watched: set[int] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, loop: "asyncio.AbstractEventLoop", ready: Callable[[], None]) -> None:
        """Call `ready` whenever there are events, until `close`."""
        self._loop, self._ready = loop, ready
        self._look_later()

    def add(self, descriptor: int, events: int) -> bool:
        """Watch a socket; return False if it is watched already, or cannot be."""
        if descriptor in self._watched or descriptor < 0:
            return False
        self._poll.register(descriptor, events)
        self._watched.add(descriptor)
        self._look_later()
        return True

    def change(self, descriptor: int, events: int) -> bool:
        """Watch a socket for other events; return False if it is not watched."""
        if descriptor not in self._watched:
            return False
        self._poll.modify(descriptor, events)
        return True

    def remove(self, descriptor: int) -> bool:
        """Watch a socket no more; return False if it was not watched."""
        if descriptor not in self._watched:
            return False
        self._watched.discard(descriptor)
        self._poll.unregister(descriptor)
        return True

    def ready(self) -> list[tuple[int, int]]:
        """Return the sockets that have events, and which."""
        found = self._poll.poll(0) if self._watched else []
        for descriptor, events in found:
            if events & select.POLLNVAL:
                self.remove(descriptor)
        return [one for one in found if not one[1] & select.POLLNVAL]

    def close(self) -> None:
        """Watch nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop = self._ready = None
        for descriptor in list(self._watched):
            self.remove(descriptor)

    def _look_later(self) -> None:
        if self._loop is not None and self._timer is None and self._watched:
            self._timer = self._loop.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._ready is not None:
            self._ready()
        self._look_later()
