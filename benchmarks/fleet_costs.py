"""What a page, a letter and a checkpoint cost, measured for `benchmarks/fleet.py`.

`make bench-fleet-costs`. The real web is crawled with a store by two shards, then by six (PAGES
pages each): what a checkpoint takes is a line through the two, by its pages. What lies in the store
is looked at five times a second, so that each object is counted once, also if it is swept. Then the
archive's links are read: of the URLs on a page, those are mail that belong to another shard and
that the page's own shard has not met before. That is counted for several numbers of shards as if
the same pages had been crawled by so many.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
from realweb import FLAGS, SEED, bring_up, save

import gossamer
from gossamer.cluster import Ring
from gossamer.model import LinkKind, Task
from gossamer.report import URL
from gossamer.store import CrawlFolder, State, iter_links
from gossamer.urls import read_canonical

PAGES = int(os.environ.get("PAGES", "6000"))
SHARDS = (2, 6, 16, 150, 1000)
RUNS = (2, 6)
LOOK_S = 0.2
GOSSAMER = [sys.executable, "-m", "gossamer"]
FOLLOWED = {LinkKind.ANCHOR, LinkKind.AREA, LinkKind.FRAME, LinkKind.REDIRECT, LinkKind.CANONICAL}


class StoreWatch:
    """Counts the objects that appear in a store of files."""

    def __init__(self, root: Path) -> None:
        self.sizes: dict[str, int] = {}
        self.began_at = 0.0
        """When the first object was seen."""
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
                        self.began_at = self.began_at or time.monotonic()
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


class Run(NamedTuple):
    """A crawl with a store: what was put there, and what it took."""

    shards: int
    pages: int
    seconds: float
    """From the first object in the store to the end."""
    cpu_s: float
    checkpoints: int
    objects: int
    state_bytes: int
    archive_bytes: int
    """Sent."""

    @property
    def pages_of_one(self) -> float:
        """Return the pages of a checkpoint."""
        return self.pages / self.checkpoints


def crawl(folder: Path, store: Path, shards: int) -> Run:
    """Crawl the real web with some shards and a store."""
    store.mkdir()
    command = [*GOSSAMER, "crawl", SEED, "--into", str(folder), *FLAGS, "--shards", str(shards)]
    command += ["--store", f"file://{store}", "--max-pages", str(PAGES)]
    with StoreWatch(store) as watch:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        ended_at = time.monotonic()
    assert status == 0, command
    put = watch.totals()
    print(shards, put, file=sys.stderr, flush=True)
    with gossamer.open(folder) as opened:
        pages = opened.status().pages
    return Run(
        shards=shards,
        pages=pages,
        seconds=round(ended_at - watch.began_at, 1),
        cpu_s=round(usage.ru_utime + usage.ru_stime, 2),
        checkpoints=put["manifest"][0],
        objects=sum(count for count, _ in put.values()),
        state_bytes=put["files"][1] + put["manifest"][1],
        archive_bytes=put["archive"][1],
    )


def line_through(few: tuple[float, float], many: tuple[float, float]) -> dict[str, float]:
    """Return the line through two points; a part that would be negative is left out."""
    slope = (many[1] - few[1]) / (many[0] - few[0])
    fixed = few[1] - slope * few[0]
    if slope < 0 or fixed < 0:
        return {"fixed": 0.0, "of_a_page": round((few[1] / few[0] + many[1] / many[0]) / 2, 4)}
    return {"fixed": round(fixed, 3), "of_a_page": round(slope, 4)}


def mail(folder: Path, numbers: Sequence[int] = SHARDS) -> dict[int, float]:
    """Return how many tasks leave their shard for each page, by the number of shards."""
    met: dict[int, list[set[int]]] = {n: [set() for _ in range(n)] for n in numbers}
    rings = {n: Ring.even(n) for n in numbers}
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
    return {**{n: sent[n] / pages for n in numbers}, 0: size / max(tasks, 1)}


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
        folder = Path(place) / "crawl-2"
        few, many = (crawl(Path(place) / f"crawl-{n}", Path(place) / f"store-{n}", n) for n in RUNS)
        with gossamer.open(folder) as opened:
            known = opened.status().known_urls
        letters, record = mail(folder), record_bytes(folder)
        archive = size_of(folder / "archive")
    start_s = max(many.cpu_s - few.cpu_s, 0.0) / (many.shards - few.shards)
    lines = {
        "objects": [one.objects / one.checkpoints for one in (many, few)],
        "state_bytes": [one.state_bytes / one.checkpoints for one in (many, few)],
    }
    by_pages = {
        name: line_through((many.pages_of_one, more), (few.pages_of_one, less))
        for name, (more, less) in lines.items()
    }
    result: dict[str, object] = {
        "runs": [one._asdict() for one in (few, many)],
        "known_urls": known,
        "checkpoint": by_pages,
        "start_cpu_s": round(start_s, 2),
        "cpu_ms_per_page": round(1000 * (few.cpu_s - (few.shards + 1) * start_s) / few.pages, 2),
        "archive_bytes_per_page": round(archive / few.pages),
        "archive_sent_share": round((few.archive_bytes + many.archive_bytes) / (2 * archive), 2),
        "record_bytes": round(record, 1),
        "letter_bytes_per_task": round(letters.pop(0), 1),
        "tasks_mailed_per_page": {str(n): round(one, 2) for n, one in letters.items()},
    }
    save("fleet-costs", result)


if __name__ == "__main__":
    main()
