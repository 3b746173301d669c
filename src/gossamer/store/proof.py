"""The proof that an object store can keep a crawl: who makes an object first has it, at once.

Two machines that look after one crawl depend on nothing else. A store that replaces an object where
it should refuse to, or that shows it to others only later, is refused.
"""

import subprocess
import sys
from secrets import token_hex

from gossamer.errors import CannotGoOn
from gossamer.store.objects import Objects

SEEN_S = 1.0
"""So long it may take until another process sees an object."""
START_S = 60.0
_OTHER = """
import sys, time
from gossamer.store.objects import Objects
objects, name, seconds = Objects(sys.argv[1]), sys.argv[2], float(sys.argv[3])
objects.exists(name)
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + seconds
while True:
    if objects.exists(name):
        sys.exit(0 if not objects.create(name, b"third") else 1)
    if time.monotonic() > end:
        sys.exit(2)
    time.sleep(0.02)
"""


def prove_exclusive(objects: Objects) -> None:
    """Refuse a store that makes an object twice: two machines would both believe to be alone."""
    name = f"proof/{token_hex(8)}"
    try:
        first, second = objects.create(name, b"first"), objects.create(name, b"second")
        is_kept = objects.read(name) == b"first"
    finally:
        objects.delete([name])
    if not (first and not second and is_kept):
        raise CannotGoOn(
            f"{objects.url} replaces an object where it should refuse to: two machines could run "
            "the same crawl. Use a store with conditional writes (S3, MinIO, GCS, Azure, a folder)"
        )


def prove_visible(objects: Objects) -> None:
    """Refuse a store where another process does not see an object within a second."""
    if objects.url.startswith("memory:"):
        return
    name = f"proof/{token_hex(8)}"
    words = [sys.executable, "-c", _OTHER, objects.url, name, str(SEEN_S)]
    with subprocess.Popen(  # noqa: S603 -- ourselves
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            if other.stdout is None or other.stdout.readline().strip() != "ready":
                return  # that it cannot start is no fault of the store
            objects.create(name, b"first")
            other.communicate("look\n", timeout=START_S)
        except subprocess.TimeoutExpired:
            other.kill()
        finally:
            objects.delete([name])
    if other.returncode:
        raise CannotGoOn(
            f"{objects.url} does not show another process within {SEEN_S:g} s what was made there: "
            "two machines could run the same crawl. Mount NFS with lookupcache=positive,actimeo=1, "
            "or use another store"
        )
