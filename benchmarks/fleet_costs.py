"""What a page, a letter and a checkpoint cost, measured for `benchmarks/fleet.py`.

`make bench-fleet-costs`. The real web is crawled by two shards with a store (PAGES pages): what
lies in the store is looked at five times a second, so that each object is counted once, also if it
is swept. Then the archive's links are read: of the URLs on a page, those are mail that belong to
another shard and that the page's own shard has not met before. That is counted for several numbers
of shards as if the same pages had been crawled by so many.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Self

import msgspec
from realweb import FLAGS, SEED, bring_up, save

import gossamer
from gossamer.cluster import Ring
from gossamer.model import LinkKind, Task
from gossamer.report import URL
from gossamer.store import CrawlFolder, State, iter_links
from gossamer.urls import read_canonical

PAGES = int(os.environ.get("PAGES", "3000"))
SHARDS = (2, 16, 150, 1000)
LOOK_S = 0.2
GOSSAMER = [sys.executable, "-m", "gossamer"]
FOLLOWED = {LinkKind.ANCHOR, LinkKind.AREA, LinkKind.FRAME, LinkKind.REDIRECT, LinkKind.CANONICAL}


class StoreWatch:
    """Counts the objects that appear in a store of files."""

    def __init__(self, root: Path) -> None:
        self.sizes: dict[str, int] = {}
        self._root = root
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = Path(folder, name)
                key = str(path.relative_to(self._root))
                if key not in self.sizes:
                    try:
                        self.sizes[key] = path.stat().st_size
                    except FileNotFoundError:
                        continue

    def totals(self) -> dict[str, tuple[int, int]]:
        """Return how many objects of each kind there were, and their bytes."""
        counts, sizes = Counter[str](), Counter[str]()
        for name, size in self.sizes.items():
            kind = kind_of(name)
            counts[kind] += 1
            sizes[kind] += size
        return {kind: (count, sizes[kind]) for kind, count in counts.items()}


def kind_of(name: str) -> str:
    """Return what an object of a store is."""
    if name.startswith("archive/"):
        return "archive"
    parts = name.split("/")
    return parts[2] if parts[0].isdecimal() else parts[0]


def crawl(folder: Path, store: Path) -> tuple[dict[str, tuple[int, int]], float]:
    """Crawl the real web with two shards and a store; return what was put there, and seconds."""
    store.mkdir()
    command = [*GOSSAMER, "crawl", SEED, "--into", str(folder), *FLAGS, "--shards", "2"]
    command += ["--store", f"file://{store}", "--max-pages", str(PAGES)]
    began_at = time.monotonic()
    with StoreWatch(store) as watch:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return watch.totals(), time.monotonic() - began_at


def mail(folder: Path) -> dict[int, float]:
    """Return how many tasks leave their shard for each page, by the number of shards."""
    met: dict[int, list[set[int]]] = {n: [set() for _ in range(n)] for n in SHARDS}
    rings = {n: Ring.even(n) for n in SHARDS}
    sent, pages, size, tasks = defaultdict[int, int](int), 0, 0, 0
    for _, record in iter_links(CrawlFolder(folder)):
        if record.outcome not in {"fetched", "redirected"}:
            continue
        pages += record.outcome == "fetched"
        owner = read_canonical(record.url).key
        urls = [read_canonical(row[0]) for row in record.links if row[1] in FOLLOWED]
        for url in urls:
            if tasks < 10_000:
                task = Task(url=url, depth=record.depth + 1, via=record.url)
                size, tasks = size + len(msgspec.msgpack.encode(task)), tasks + 1
        for n, ring in rings.items():
            own = ring.owner_of(owner)
            for url in urls:
                if url.key not in met[n][own]:
                    met[n][own].add(url.key)
                    sent[n] += ring.owner_of(url.key) != own
    return {**{n: sent[n] / pages for n in SHARDS}, 0: size / max(tasks, 1)}


def record_bytes(folder: Path) -> float:
    """Return the mean size of the row of a URL, before compression."""
    sizes = []
    for path in sorted((folder / "state").glob("[0-9]*")):
        state = State.open(path, is_read_only=True)
        sizes += [len(key) + len(value) for key, value in state.scan(URL)]
        state.close()
    return sum(sizes) / len(sizes)


def size_of(folder: Path) -> int:
    """Return how many bytes lie in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Measure, and keep the result."""
    bring_up()
    with tempfile.TemporaryDirectory(prefix="fleet-") as place:
        folder = Path(place) / "crawl"
        put, seconds = crawl(folder, Path(place) / "store")
        with gossamer.open(folder) as opened:
            status = opened.status()
        letters, record = mail(folder), record_bytes(folder)
        state, archive = size_of(folder / "state"), size_of(folder / "archive")
    print({kind: list(one) for kind, one in put.items()}, file=sys.stderr)
    checkpoints = put["manifest"][0]
    result: dict[str, object] = {
        "pages": status.pages,
        "known_urls": status.known_urls,
        "seconds": round(seconds, 1),
        "checkpoints": checkpoints,
        "puts_per_checkpoint": round(sum(n for n, _ in put.values()) / checkpoints, 2),
        "manifest_bytes": round(put["manifest"][1] / checkpoints),
        "state_bytes_sent_per_page": round(put["files"][1] / status.pages),
        "archive_bytes_per_page": round(archive / status.pages),
        "archive_sent_share": round(put["archive"][1] / archive, 2),
        "state_bytes_kept": state,
        "record_bytes": round(record, 1),
        "letter_bytes_per_task": round(letters.pop(0), 1),
        "tasks_mailed_per_page": {str(n): round(one, 2) for n, one in letters.items()},
        "objects": {kind: list(one) for kind, one in put.items()},
    }
    save("fleet-costs", result)


if __name__ == "__main__":
    main()
