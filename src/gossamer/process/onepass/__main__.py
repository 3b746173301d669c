"""Compile the kernels that read pages, so that no crawl has to wait: `make setup` runs this."""

import fcntl
import os
import tempfile
from pathlib import Path

from gossamer.process.onepass.loading import natives

if __name__ == "__main__":
    path = Path(tempfile.gettempdir()) / f"gossamer-compiling-{os.getuid()}"
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process compiles, the others find its code
        natives()
