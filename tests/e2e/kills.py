"""Many kills: `make kills` (100 of them unless KILLS says otherwise; SEED for other moments).

Crawls of fake webs are killed with -9 at random moments and started again: one process, one of two
shards, the supervisor of two shards, all of them at once. Each crawl then ends by itself and is
judged by the server's log and the archive, read by warcio and FastWARC: nothing lost, nothing
stored twice, no revisit that points to nothing, no gap shorter than promised. The first crawl that
fails ends the run with its story. The last line of the output is a JSON summary.
"""

import itertools
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from gossamer.testing import FakeWeb, LoggedRequest, smallest_gap
from tests.e2e import test_kill, test_shards_kill, test_shared_contents
from tests.e2e.archive import read_archive
from tests.e2e.crawler import wait_until
from tests.e2e.judge import repeated
from tests.e2e.shards import is_alive, shards_of, slay

KILLS = int(os.environ.get("KILLS", "100"))
SEED = int(os.environ.get("SEED", "1300"))
PER_CRAWL = 8
"""Of a crawl of some 250 pages: a page in hand at three kills would be given up, as it should."""
DELAY_S = test_shards_kill.DELAY_S
LATE_S = 0.03
"""A kill comes up to so long after the request that it waited for, so that it falls anywhere."""


class Survived(NamedTuple):
    """A crawl that was killed, ended by itself, and was judged."""

    kills: Counter[str]
    pages: int
    repeated_requests: int
    smallest_gap_s: float


def kill_one_process(folder: Path, seed: int, kills: int) -> Survived:
    """Kill a crawl of one shard along its way, and during its starts."""
    web = FakeWeb(seed=seed, hosts=8, pages_per_host=30)
    with test_kill.ordeal(folder, web, "--delay", str(DELAY_S)) as trial:
        trial.learn_start()
        moments = trial.dice.sample(range(4, int(trial.requests() * 0.85)), kills - 1)
        for number, request in enumerate(sorted(moments)):
            if number % 3 == 1:
                trial.kill_early()
            else:
                trial.kill_at(request, late_s=trial.dice.uniform(0.0, LATE_S))
        visits = trial.finish()
        assert smallest_gap(visits) >= 0.95 * DELAY_S, trial.restarts
        return survived(folder, visits, Counter({"process": trial.kills}))


def kill_shards(folder: Path, seed: int, kills: int) -> Survived:
    """Kill one of two shards, again and again; the supervisor starts it again."""
    with test_shards_kill.ordeal(folder, web_of_shards(seed)) as trial:
        process = trial.crawler.start()
        for request in trial.moments(kills, until=0.85):
            trial.wait_for(request, process)
            time.sleep(trial.dice.uniform(0.0, LATE_S))
            victim = trial.dice.choice(shards_of(process.pid))
            slay([victim])
            trial.note("shard", victim, "at", request)
            assert wait_until(lambda victim=victim: not is_alive(victim))
        trial.judge(process)
        return survived(folder, trial.server.requests(), Counter({"shard": trial.kills}))


def kill_groups(folder: Path, seed: int, kills: int) -> Survived:
    """Kill the supervisor of two shards, or all three at once, and start the crawl again."""
    kinds: Counter[str] = Counter()
    with test_shards_kill.ordeal(folder, web_of_shards(seed)) as trial:
        for number, request in enumerate(trial.moments(kills, until=0.85)):
            process = trial.crawler.start()
            trial.wait_for(request, process)
            time.sleep(trial.dice.uniform(0.0, LATE_S))
            shards = shards_of(process.pid)
            kind = "supervisor" if number % 2 else "group"
            slay([process.pid] if number % 2 else [process.pid, *shards])
            process.communicate()
            trial.note(kind, "at", request)
            kinds[kind] += 1
            assert wait_until(lambda shards=shards: not any(map(is_alive, shards)))
        trial.judge(trial.crawler.start())
        return survived(folder, trial.server.requests(), kinds)


def kill_copies(folder: Path, seed: int, kills: int) -> Survived:
    """Kill shards, or all, while ten hosts with the same pages are crawled; split them anew."""
    _, visits = test_shared_contents.kill_and_finish(folder, seed, kills)
    return survived(folder, visits, Counter({"among copies": kills}))


def web_of_shards(seed: int) -> FakeWeb:
    """Return a web large enough for two shards."""
    return FakeWeb(seed=seed, hosts=12, pages_per_host=24)


def survived(folder: Path, visits: Sequence[LoggedRequest], kills: Counter[str]) -> Survived:
    """Return the figures of a crawl that has been judged."""
    pages = read_archive(folder / "crawl").page_urls.total()
    return Survived(kills, pages, repeated(visits), smallest_gap(visits))


KillCrawl: TypeAlias = Callable[[Path, int, int], Survived]
CRAWLS: tuple[KillCrawl, ...] = (kill_one_process, kill_shards, kill_groups, kill_copies)


def main() -> None:
    """Kill crawls of all kinds in turn until there were kills enough."""
    began = time.monotonic()
    kills: Counter[str] = Counter()
    crawls: list[Survived] = []
    for seed in itertools.count(SEED):
        if kills.total() >= KILLS:
            break
        with tempfile.TemporaryDirectory(prefix="gossamer-kills-") as folder:
            crawl = CRAWLS[len(crawls) % len(CRAWLS)](Path(folder), seed, PER_CRAWL)
        crawls.append(crawl)
        kills += crawl.kills
        print(
            f"seed {seed}: {dict(crawl.kills)}, {crawl.pages} pages, {kills.total()} kills so far"
        )
    summary = {
        "kills": kills.total(),
        "by_kind": kills,
        "lost": 0,
        "twice": 0,
        "short_gaps": 0,
        "crawls": len(crawls),
        "pages": sum(crawl.pages for crawl in crawls),
        "repeated_requests": sum(crawl.repeated_requests for crawl in crawls),
        "smallest_gap_s": round(min(crawl.smallest_gap_s for crawl in crawls), 4),
        "promised_gap_s": DELAY_S,
        "wall_s": round(time.monotonic() - began),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
