"""Make a golden crawl folder of the version at hand: `python -m tests.golden.make v0.2`.

Run once per on-disk format, with the code that is released, and commit what comes out beside the
older ones. Folders are never made anew: later versions must open and finish each of them.

Two shards crawl the web of `tests.golden.web`. The first run ends by a page limit; graph and index
are built of what it stored. In the second run one shard is halted until the other has letters for
it that nobody takes, then all processes are killed, as by kill -9.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer.testing import FakeServer
from tests.e2e.crawler import Crawler, flags_for
from tests.golden.formats import READERS, made_records, write_golden_ranks
from tests.golden.web import HOSTS, SLOW, SLOW_PAGE, GoldenWeb, page_target, served, url_of

HERE = Path(__file__).parent
FIRST_PAGES = 50
KILL_AT = 165
"""Requests of both runs together after which one shard is halted."""
MORE = 20
"""Requests of the other shard alone before the kill."""
KNOBS = """
[store]
file_bytes = 60_000
commit_pages = 8
[seen]
run_keys = 60
fan_in = 2
[frontier]
lease_urls = 4
"""
"""So small that there are several archive files and seen runs."""
LEFT_OUT = ("LOG", "LOG.old.*", "LOCK", "*.sock", "lock", "*.lock")
"""What is no part of the format: RocksDB's diary, locks and sockets."""


def main() -> None:
    """Make the folder that is named on the command line."""
    target = HERE / sys.argv[1] / "crawl"
    if target.exists():
        raise SystemExit(f"{target} exists; golden folders stay as they are")
    with tempfile.TemporaryDirectory() as folder, served(GoldenWeb(is_down=True)) as server:
        made = Path(folder) / "crawl"
        _crawl_half(made, server, Path(folder) / "knobs.toml")
        crawler = Crawler(made, (), ())
        facts = crawler.status()
        _check(facts, made)
        shutil.copytree(made, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
        states = {url: crawler.why(url)["state"] for url in asked_about()}
    values = {name: read(target) for name, read in READERS.items()}
    for name, found in (("status", facts), ("states", states), ("values", values)):
        (target.parent / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n")
    keep_files(target.parent)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    sys.stdout.write(f"{target}: {size:,} bytes\n")


def keep_files(folder: Path) -> None:
    """Write files that a crawl folder has not."""
    write_golden_ranks(folder / "ranks")
    records = folder / "records"
    records.mkdir()
    for name, record in made_records().items():
        (records / f"{name}.warc").write_bytes(record)


def asked_about() -> list[str]:
    """Return the URLs of which `why` is asked: all that there are, and one that nobody knows."""
    rest = ("/old", "/out", "/gone", "/closed", "/missing", "/nowhere", "/private/diary")
    return [*GoldenWeb().wanted(), *(url_of(host, target) for host in HOSTS for target in rest)]


def _crawl_half(folder: Path, server: FakeServer[GoldenWeb], knobs: Path) -> None:
    knobs.write_text(KNOBS)
    words = ["crawl", *server.web.seeds, "--into", str(folder), "--config", str(knobs)]
    words += [*flags_for(server.resolve), "--shards", "2", "--concurrency", "6", "--delay", "0.15"]
    _gossamer(*words, "--max-pages", str(FIRST_PAGES)).wait(120)
    for part in ("graph", "index"):
        _gossamer("build", str(folder), part).wait(120)
    process = _gossamer(*words, "--max-pages", "100000")
    try:
        _wait(lambda: len(server.requests) >= KILL_AT and _has_asked_slow(server))
        first, second = _shards(process)
        os.kill(second, signal.SIGSTOP)
        _wait(lambda: len(server.requests) >= KILL_AT + MORE)
    finally:
        for number in [process.pid, *_shards(process)]:
            os.kill(number, signal.SIGKILL)
        process.wait()
    _wait(lambda: not any(Path(f"/proc/{number}").exists() for number in (first, second)))


def _has_asked_slow(server: FakeServer[GoldenWeb]) -> bool:
    """Return True if an answer is under way that takes its time."""
    target = page_target(SLOW_PAGE)
    return any(v.host in SLOW and v.target == target for v in server.requests)


def _gossamer(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "gossamer", *words])


def _shards(process: subprocess.Popen[bytes]) -> list[int]:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return sorted(map(int, path.read_text().split()))


def _wait(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit("waited in vain")
        time.sleep(0.005)


def _check(facts: dict[str, Any], folder: Path) -> None:
    """Insist on a folder in which something is in every state."""
    for name in ("pages", "queued", "outbox", "redirects", "failed", "refused", "retries"):
        if not facts[name]:
            raise SystemExit(f"nothing is {name}; try again: {facts}")
    if not any(any(path.read_bytes()) for path in folder.glob("state/*/flight")):
        raise SystemExit("nothing was in flight; try again")


if __name__ == "__main__":
    main()
