"""What an existing crawl needs before a cluster runs it: to be in the store, in enough shards.

Both are done once, by a crawl of no seconds on this machine, in a process of its own: a crawl of a
folder is shipped from there; one that is in the store already is split in a folder beside, which is
removed then. Whoever dies over it begins anew: until all new shards are shipped the old ones count.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.store import CrawlFolder, CrawlStore, Objects

SPLITTING = "splitting"
NO_TIME = "--max-time=0.000001"
"""A limit that is reached before the first request; none at all is refused."""
USAGE = 2
"""The exit code of what is the operator's to mend."""


def make_ready(
    folder: CrawlFolder,
    url: str,
    wanted: int,
    usual: int,
    say: Callable[[str], None],
    *,
    is_forced: bool,
) -> int:
    """Bring a crawl of one machine into the store, in as many shards as are wanted, or are usual.

    Return how many are wanted now; 0 if a crawl keeps its number, or is new.
    """
    found = CrawlStore(Objects(url, is_made=url.startswith("file://"))).charter()
    shards = max(wanted, usual) if wanted <= 1 else wanted
    if found is None and folder.has_archive():
        say(f"shipping {folder.root} to {url}, in {shards} shards; from now on the crawl is there")
        _crawl_nothing(folder.root, url, shards)
        return shards
    is_of_one_machine = found is not None and found[1].generation and not found[1].address
    if found is None or not is_of_one_machine:
        return wanted
    has = found[1].shards
    if has == wanted or (wanted <= 1 and has >= usual):
        return 0
    place = folder.root / SPLITTING
    say(f"splitting {url} into {shards} shards, once: it has {has}")
    shutil.rmtree(place, ignore_errors=True)
    more = ["--no-local-archive", *(["--take-over"] if is_forced else [])]
    _crawl_nothing(place, url, shards, *more)
    shutil.rmtree(place, ignore_errors=True)
    return shards


def _crawl_nothing(into: Path, url: str, shards: int, *more: str) -> None:
    """Let a folder have so many shards, and ship them; no request is made."""
    words = [sys.executable, "-m", "gossamer", "crawl", f"--into={into}", f"--store={url}"]
    words += [f"--shards={shards}", NO_TIME, "--json", *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 -- ourselves
    if done.returncode:
        told = done.stderr.strip().rpartition("gossamer: ")[2] or f"exit code {done.returncode}"
        raise (ConfigError if done.returncode == USAGE else CannotGoOn)(told)
