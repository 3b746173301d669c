"""Compile the kernels that read pages, so that no crawl has to wait: `make setup` runs this.

With --beside a crawl runs it, which has locked out others already.
"""

import fcntl
import sys
from contextlib import nullcontext

from gossamer.process.onepass.loading import lock_path, natives


def main() -> None:
    """Compile, one process at a time."""
    with nullcontext() if "--beside" in sys.argv else lock_path().open("w") as lock:
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        natives()


if __name__ == "__main__":
    main()
