"""A process that waits to be a shard: what it becomes, and that nothing is left of it."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster.machines import wait_for

from gossamer.cluster.spares import ROOM, handed_to_spare, spare_words
from gossamer.linux import is_linux

pytestmark = pytest.mark.slow


def spare() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        spare_words(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_spare_becomes_the_command_that_it_is_handed() -> None:
    waiting = spare()
    out, err = waiting.communicate(
        handed_to_spare([sys.executable, "-m", "gossamer", "shard", "--number", "x"])
    )
    assert (waiting.returncode, out) == (2, b"")
    assert b"--number" in err, "its arguments are checked as they would be"


def test_a_spare_that_nobody_wants_any_more_ends() -> None:
    waiting = spare()
    assert waiting.communicate()[0] == b""
    assert waiting.returncode == 0


@pytest.mark.skipif(not is_linux(), reason="elsewhere a process shows what it was started with")
def test_a_spare_shows_what_it_has_become() -> None:
    words = [sys.executable, "-m", "gossamer", "shard", "--number=7"]
    code = f"from gossamer.linux import show_as; show_as({words!r}); input(); input()"
    shown = subprocess.Popen(
        [sys.executable, "-c", code, ROOM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert shown.stdin is not None
    shown.stdin.write(b"\n")
    shown.stdin.flush()
    try:
        path = Path(f"/proc/{shown.pid}/cmdline")
        assert wait_for(lambda: path.read_bytes().rstrip(b"\0").decode().split("\0") == words)
    finally:
        shown.kill()
        shown.communicate()
