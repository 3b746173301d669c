"""What do checkpoints cost a large crawl? `make bench-checkpoints URLS=10000000`.

The real engine and shipper over states of 1 M known URLs, and of URLS if that is more, with pages
that are answered from memory, and a store that is a folder: how long the loop stands still for each
cut, a checkpoint each second. Then the crawl is restored from the store, with its archive and
without it. Pauses are wall time; `own` is without waiting for a core that others kept busy. States
are made in bulk and kept in GROWTH_DIR.
"""

import asyncio
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from random import Random
from typing import Any, ParamSpec, TypeVar

import uvloop
from grown.ingest import make_state
from grown.shard import Rounds, config_of
from msgspec.structs import replace
from realweb import save

from gossamer.clock import SystemClock
from gossamer.cluster import Ring
from gossamer.config import SeenConfig, StoreConfig
from gossamer.crawl.assembly import Extras, assemble
from gossamer.crawl.keeper import KeepRequest, keeping
from gossamer.crawl.opening import ShardFolder
from gossamer.crawl.restoring import restore_manifests
from gossamer.crawl.shipping import Shipper, ShippingOrders
from gossamer.settings import save_crawl_config
from gossamer.store import CrawlFolder, CrawlStore, Objects

P = ParamSpec("P")
T = TypeVar("T")
URLS = int(os.environ.get("URLS") or 1_000_000)
SIZES = sorted({1_000_000, URLS})
RUN_S = float(os.environ.get("RUN_S") or 60.0)
FOLDER = Path(os.environ.get("GROWTH_DIR") or Path(tempfile.gettempdir()) / "growth")
PAGES = 2_000
SHIP_S, LEASE_S = 1.0, 60.0
ON_THE_LOOP = "_cut"


class Cuts:
    """How long the loop stood still for each checkpoint."""

    def __init__(self) -> None:
        self.wall_s: list[float] = []
        self.own_s: list[float] = []
        self._waits = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def queued_s(self) -> float:
        """Return how long this thread has waited for a core."""
        return int(os.pread(self._waits, 64, 0).split()[1]) / 1e9

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note what happens as the pause of a checkpoint."""
        queued = self.queued_s()
        began = time.perf_counter()  # last: reading the queue lets go of the interpreter's lock
        yield
        wall = time.perf_counter() - began
        self.wall_s.append(wall)
        self.own_s.append(wall - (self.queued_s() - queued))


def watch(cuts: Cuts) -> None:
    """Let the shipper tell how long the step on the loop takes."""

    def timed(step: Callable[P, T]) -> Callable[P, T]:
        @wraps(step)
        def taken(*given: P.args, **named: P.kwargs) -> T:
            with cuts.timed():
                return step(*given, **named)

        return taken

    setattr(Shipper, ON_THE_LOOP, timed(getattr(Shipper, ON_THE_LOOP)))


def size_of(folder: Path) -> int:
    """Return how many bytes the files of a folder have."""
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def percentile(values: list[float], part: float) -> float:
    """Return a percentile in milliseconds."""
    return round(1e3 * sorted(values)[min(len(values) - 1, int(part * len(values)))], 2)


async def crawl(place: ShardFolder, orders: ShippingOrders, urls: int) -> int:
    """Crawl for a while, and ship; return how many pages there were."""
    config = replace(config_of(SeenConfig()), store=StoreConfig(url=orders.url))
    shard = assemble(place, config, SystemClock(), Random(1), Extras(), shipping=orders)
    rounds, pages, until = Rounds(shard, urls, 1), 0, time.monotonic() + RUN_S
    while time.monotonic() < until:
        pages += (await rounds.run(PAGES))["pages"]
    await shard.close()
    return pages


def measure(urls: int) -> dict[str, Any]:
    """Return what checkpoints and a restore cost with so many known URLs."""
    made, work = FOLDER / str(urls), FOLDER / f"shipped-{urls}"
    make_state(made, urls)
    shutil.rmtree(work, ignore_errors=True)
    folder = CrawlFolder(work / "crawl")
    shutil.copytree(made, folder.state())
    url = f"file://{work}/store"
    save_crawl_config(folder.root, replace(config_of(SeenConfig()), store=StoreConfig(url=url)))
    (folder.root / "archive").mkdir()
    request = KeepRequest(root=str(folder.root), url=url, lease_s=LEASE_S, ship_s=SHIP_S)
    cuts = Cuts()
    watch(cuts)
    with keeping(request) as keeper:
        orders = keeper.orders(Ring())
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            pages = runner.run(crawl(ShardFolder(folder=folder), orders, urls))
        keeper.end()
    result = {"pages": pages, "cuts": len(cuts.wall_s), "load": round(os.getloadavg()[0], 1)}
    for name, values in (("pause", cuts.wall_s), ("own_pause", cuts.own_s)):
        result |= {
            f"{name}_p50_ms": percentile(values, 0.5),
            f"{name}_p99_ms": percentile(values, 0.99),
        }
    result["mean_own_pause_ms"] = round(1e3 * statistics.mean(cuts.own_s), 2)
    store = CrawlStore(Objects(url))
    found = store.charter()
    assert found is not None
    manifests = store.consistent_manifests(found[1])
    for name, leaves in (("restore", False), ("restore_without_archive", True)):
        to = CrawlFolder(work / name)
        to.root.mkdir()
        began, cpu = time.perf_counter(), time.process_time()
        restore_manifests(store, manifests, to, leaves_archive=leaves)
        result[f"{name}_s"] = round(time.perf_counter() - began, 2)
        result[f"{name}_cpu_s"] = round(time.process_time() - cpu, 2)
        result[f"{name}_bytes"] = sum(
            one.stat().st_blocks * 512 for one in to.root.rglob("*") if one.is_file()
        )
    result["archive_bytes"] = size_of(work / "store" / "archive")
    result["state_bytes"] = sum(file.size for one in manifests for file in one.state_objects())
    shutil.rmtree(work)
    return result


def main() -> None:
    """Measure every size in a process of its own: a keeper is forked, and a state was opened."""
    results: dict[str, Any] = {}
    for urls in SIZES:
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.write(write, json.dumps(measure(urls)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as told:
            results[str(urls)] = json.loads(told.read())
        os.waitpid(child, 0)
        print(f"{urls:>12,}", results[str(urls)], flush=True)
    small, large = results[str(SIZES[0])], results[str(SIZES[-1])]
    save(
        "checkpoints",
        {
            "urls": SIZES[-1],
            "pause_ms": small["own_pause_p99_ms"],
            "large_pause_ms": large["own_pause_p99_ms"],
            "sizes": results,
        },
    )


if __name__ == "__main__":
    main()
