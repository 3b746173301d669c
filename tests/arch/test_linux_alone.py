"""What only Linux has is asked for in one module, which has a fallback for each."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from house import SOURCE, name_of, sources, tree_of

PLATFORM = SOURCE / "linux.py"
NAMES = frozenset(
    {
        *("epoll", "fdatasync", "sched_getaffinity", "sched_setaffinity", "posix_fallocate"),
        *("posix_fadvise", "copy_file_range", "sendfile", "splice", "memfd_create", "eventfd"),
        *("pidfd_open", "pidfd_send_signal", "setns", "unshare", "getrandom", "prctl", "mallopt"),
        *("malloc_trim", "madvise", "prlimit", "getxattr", "setxattr", "sysinfo", "O_TMPFILE"),
        *("O_DIRECT", "O_PATH", "RTLD_DEEPBIND", "SO_PEERCRED", "SO_BINDTODEVICE", "TCP_INFO"),
        *("F_OFD_SETLK", "F_OFD_SETLKW", "F_SETPIPE_SZ", "SCM_CREDENTIALS", "pipe2", "accept4"),
        *("timerfd_create", "inotify_init", "waitid", "EPOLLIN", "EPOLLOUT", "EPOLLERR"),
    }
)
"""Names of calls and constants; those that begin as follows are of Linux, too."""
BEGINNINGS = ("MADV_", "CLOCK_BOOT", "CLOCK_TAI", "EPOLL", "SCHED_", "PR_SET_", "PR_GET_")
PATHS = re.compile(r"/(proc|sys|dev/shm)(/|$)")


def linux_in(tree: ast.Module) -> Iterator[str]:
    """Give what a module asks of Linux."""
    said: set[ast.AST] = set()
    for node in ast.walk(tree):
        names: list[str] = []
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name):
                names = [name]
            case ast.ImportFrom():
                names = [one.name for one in node.names]
            case ast.Expr(value=ast.Constant() as words):
                said.add(words)  # a docstring may speak of it
            case ast.Constant(value=str(text)) if node not in said and PATHS.match(text):
                yield f"line {node.lineno}: {text}"
            case _:
                pass
        for name in names:
            if name in NAMES or name.startswith(BEGINNINGS):
                yield f"line {getattr(node, 'lineno', 0)}: {name}"


@pytest.mark.parametrize("path", [p for p in sources() if p != PLATFORM], ids=name_of)
def test_only_the_platform_module_asks_for_what_is_of_linux(path: Path) -> None:
    assert list(linux_in(tree_of(path))) == []


def test_what_the_platform_module_asks_for_would_be_found() -> None:
    found = " ".join(linux_in(tree_of(PLATFORM)))
    wanted = ("epoll", "fdatasync", "sched_getaffinity", "posix_fallocate", "CLOCK_BOOTTIME")
    for word in (*wanted, "madvise", "MADV_RANDOM", "prctl", "/proc/", "/dev/shm", "/sys/"):
        assert word in found
