"""What a page, a letter, a start and a checkpoint cost, measured for `benchmarks/fleet.py`.

`make bench-fleet-costs`. One machine crawls the real web with SHARDS shards and a store that counts
what it is asked for: a third of PAGES, all of them, and all of them with checkpoints a quarter as
often. What a start, a second, a checkpoint and a page cost follows (`fleets/calibration.py`). Then
the archive's links are read: of the URLs on a page, those are mail that belong to another shard and
that the page's own shard has not met before. That is counted for several numbers of shards as if
the same pages had been crawled by so many. `make bench-fleet-run` measures the same, and a crawl by
three machines in the same minutes.
"""

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from fleets.calibration import Calibration, calibrated
from fleets.machines import GOSSAMER, LONG_S
from fleets.runs import Plan, Run, crawled
from fleets.store_meter import BUCKET, metered
from realweb import bring_up, save

import gossamer
from gossamer.cluster import Ring
from gossamer.model import LinkKind, Task
from gossamer.report import URL
from gossamer.store import CrawlFolder, State, iter_links
from gossamer.urls import read_canonical

PAGES = int(os.environ.get("PAGES", "4000"))
SHARDS = int(os.environ.get("SHARDS", "6"))
COUNTED = (2, SHARDS, 16, 150, 1000)
FOLLOWED = {LinkKind.ANCHOR, LinkKind.AREA, LinkKind.FRAME, LinkKind.REDIRECT, LinkKind.CANONICAL}
FEW = Plan("few", 1, SHARDS, PAGES // 3)
SELDOM = Plan("seldom", 1, SHARDS, PAGES, ship_s=20.0)
MANY = Plan("many", 1, SHARDS, PAGES)


def mail(folder: Path, numbers: Sequence[int] = COUNTED) -> dict[int, float]:
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


def restored(place: Path, plan: Plan) -> Path:
    """Return a folder with the crawl that is in a store."""
    into = place / f"restored-{plan.name}"
    words = ["restore", f"s3://{BUCKET}/{plan.name}", "--into", str(into)]
    subprocess.run([*GOSSAMER, *words], check=True, stdout=sys.stderr, timeout=LONG_S)
    return into


def costs_of(few: Run, many: Run, seldom: Run, folder: Path) -> tuple[Calibration, dict[str, Any]]:
    """Return what three crawls have cost; the folder is that of the second."""
    found = calibrated(few, many, seldom)
    letters, record = mail(folder), record_bytes(folder)
    archive = size_of(folder / "archive")
    with gossamer.open(folder) as opened:
        known = opened.status().known_urls
    told = found._asdict()
    for name in ("requests", "objects"):
        told[name] = {kind: share._asdict() for kind, share in told[name].items()}
    for name in ("state", "archive"):
        told[name] = told[name]._asdict()
    runs = [
        {**one._asdict(), "checkpoints": round(found.checkpoints(one))}
        for one in (few, seldom, many)
    ]
    objects = sum(share.of_a_checkpoint for share in found.objects.values())
    return found, {
        "runs": runs,
        "known_urls": known,
        **told,
        "checkpoint": {
            "objects": {"fixed": round(objects, 3), "of_a_page": 0.0},
            "state_bytes": {
                "fixed": found.state.of_a_checkpoint,
                "of_a_page": found.state.of_a_page,
            },
        },
        "cpu_ms_per_page": round(1000 * found.page_cpu_s, 2),
        "archive_bytes_per_page": round(archive / many.pages),
        "archive_sent_share": round(many.bytes["archive"] / archive, 2),
        "record_bytes": round(record, 1),
        "letter_bytes_per_task": round(letters.pop(0), 1),
        "tasks_mailed_per_page": {str(n): round(one, 2) for n, one in letters.items()},
    }


def main() -> None:
    """Measure, and keep the result."""
    bring_up()
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder, metered() as (meter, variables):
        os.environ |= variables
        place = Path(folder)
        few, seldom, many = (crawled(place, meter, plan) for plan in (FEW, SELDOM, MANY))
        _, result = costs_of(few, many, seldom, restored(place, MANY))
    save("fleet-costs", result)


if __name__ == "__main__":
    main()
