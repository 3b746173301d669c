"""Compile the kernels that read pages, so that no crawl has to wait: `make setup` runs this.

With --beside it leaves that to whoever is at it already. With --second it compiles a part of them,
beside the process that has started it for that.
"""

import fcntl
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from gossamer.process.onepass.loading import compile_all, compile_second


def main() -> None:
    """Compile, one process at a time."""
    if "--second" in sys.argv:
        compile_second()
        return
    waits = 0 if "--beside" not in sys.argv else fcntl.LOCK_NB
    path = Path(tempfile.gettempdir()) / f"gossamer-compiling-{os.getuid()}"
    with path.open("w") as lock, suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | waits)
        compile_all()


if __name__ == "__main__":
    main()
