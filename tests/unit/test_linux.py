"""What only Linux has, and what takes its place elsewhere: both keep the same promises."""

import asyncio
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer import linux


@pytest.fixture(params=["linux", "portable"], autouse=True)
def is_portable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "linux" and sys.platform != "linux":
        pytest.skip("this is no Linux")
    monkeypatch.setenv(linux.PORTABLE, "1" if request.param == "portable" else "")
    assert linux.is_linux() is (request.param == "linux")
    return request.param == "portable"


def test_there_is_a_core_at_least() -> None:
    assert 1 <= linux.cores() <= (os.cpu_count() or 1)


def test_boot_time_goes_on() -> None:
    before = linux.boot_time()
    assert before <= linux.boot_time() < before + 60


def test_a_boot_has_one_name_for_this_process_and_its_forks() -> None:
    name = linux.boot_id()
    assert 32 <= len(name) <= 36
    assert name == linux.boot_id()
    ours, theirs = os.pipe()
    if (pid := os.fork()) == 0:
        os.write(theirs, linux.boot_id().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(ours, 100).decode() == name
    os.close(ours)
    os.close(theirs)


def test_another_run_has_another_name_where_nothing_names_the_boot(*, is_portable: bool) -> None:
    code = "from gossamer.linux import boot_id; print(boot_id())"
    names = {subprocess.check_output([sys.executable, "-c", code]) for _ in range(2)}
    assert len(names) == (2 if is_portable else 1)


def test_a_process_that_is_there_is_not_dead() -> None:
    assert not linux.is_dead(os.getpid())
    assert not linux.is_dead(1)


def test_a_process_that_was_buried_is_dead() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert linux.is_dead(gone.pid)


def test_a_process_dies_with_its_parent(tmp_path: Path) -> None:
    child = (
        "import os, sys, time; from gossamer import linux; linux.PARENT_S = 0.02\n"
        "linux.die_with(int(sys.argv[1])); print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', sys.argv[1], str(os.getpid())]); time.sleep(60)"
    )
    with (tmp_path / "out").open("wb") as out:
        started = subprocess.Popen([sys.executable, "-c", parent, child], stdout=out)
    pid = 0
    for _ in range(3000):
        if pid := int((tmp_path / "out").read_text() or "0"):
            break
        time.sleep(0.01)
    assert pid
    assert not linux.is_dead(pid)
    started.kill()
    started.wait()
    for _ in range(3000):
        if _has_ended(pid):
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("it outlived its parent")


def _has_ended(pid: int) -> bool:
    """Return True if a process is dead or a zombie, whoever has to bury it."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return told.rpartition(")")[2].split()[0] in {"Z", "X"}


def test_a_process_whose_parent_has_died_before_it_asked_ends_at_once() -> None:
    code = "from gossamer.linux import die_with; die_with(1 << 22); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")


def test_limits_of_control_groups_are_numbers(*, is_portable: bool) -> None:
    found = linux.control_group_limits()
    assert all(size > 0 for size in found)
    assert not (is_portable and found)


def test_keeping_freed_memory_harms_nothing() -> None:
    code = "from gossamer.linux import keep_freed_memory as keep; keep(); bytes(10_000_000)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_file_is_reserved_whole_and_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"kept")
    size = linux.ZERO_BYTES + 5
    with path.open("r+b") as file:
        linux.reserve(file.fileno(), size)
        linux.reserve(file.fileno(), 10)
        linux.sync_data(file.fileno())
    assert path.read_bytes() == b"kept" + bytes(size - 4)
    assert path.stat().st_blocks * 512 >= size - 8192


def test_advice_on_mapped_memory_changes_nothing_in_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * mmap.PAGESIZE * 2)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    linux.expect_random(mapped)
    linux.let_go(mapped, 0, mmap.PAGESIZE)
    assert mapped[:] == path.read_bytes()
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    linux.use_small_pages(memory)
    assert memory[:] == bytes(mmap.PAGESIZE)


def test_readers_of_a_file_without_a_name_do_not_disturb_each_other() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"0123456789" * 1000)
        file.flush()
        with linux.reopened(file) as first:  # type: ignore[arg-type]
            assert first.read(3) == b"012"
            with linux.reopened(file) as second:  # type: ignore[arg-type]
                assert second.read() == b"0123456789" * 1000
                assert second.read() == b""
            assert first.read(3) == b"345"
            assert first.seek(-2, os.SEEK_END) == 9998
            assert first.read() == b"89"
            first.seek(0)
            assert first.tell() == 0
            assert first.readline() == b"0123456789" * 1000
        assert file.tell() == 10_000
        file.seek(0)
        assert file.read(2) == b"01"


def test_a_socket_deep_in_folders_can_be_bound_and_found(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        with linux.short_path(deep / "control.sock") as short:
            assert len(short) < 100
            server.bind(short)
        server.listen()
        assert (deep / "control.sock").is_socket()
        with linux.short_path(deep / "control.sock") as short:
            client.connect(short)


def test_what_came_over_a_connection_is_counted(*, is_portable: bool) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as line,
    ):
        client.sendall(b"x" * 1000)
        assert len(line.recv(1000, socket.MSG_WAITALL)) == 1000
        assert linux.received_bytes(line) == (0 if is_portable else 1000)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert linux.received_bytes(ours) == 0


def test_a_folder_in_memory_is_a_folder(*, is_portable: bool) -> None:
    folder = linux.memory_folder()
    assert folder is None or (folder.is_dir() and not is_portable)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


async def test_a_set_of_sockets_tells_what_is_ready(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    one, other = pair
    sockets = linux.socket_set()
    came = asyncio.Event()
    sockets.attach(asyncio.get_running_loop(), came.set)
    assert not sockets.change(one.fileno(), linux.READABLE)
    assert not sockets.remove(one.fileno())
    assert sockets.add(one.fileno(), linux.READABLE)
    assert not sockets.add(one.fileno(), linux.READABLE)
    assert not sockets.add(-1, linux.READABLE)
    assert sockets.ready() == []
    other.send(b"x")
    await asyncio.wait_for(came.wait(), 30)
    assert sockets.ready() == [(one.fileno(), linux.READABLE)]
    assert sockets.change(one.fileno(), linux.WRITABLE)
    assert sockets.ready() == [(one.fileno(), linux.WRITABLE)]
    other.close()
    assert sockets.ready()[0][1] & linux.BROKEN
    assert sockets.remove(one.fileno())
    assert sockets.ready() == []
    sockets.close()


async def test_a_socket_that_was_closed_is_never_told(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    one, other = pair
    sockets = linux.socket_set()
    sockets.add(one.fileno(), linux.READABLE)
    other.send(b"x")
    one.close()
    assert sockets.ready() == []
    sockets.close()
