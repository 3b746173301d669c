"""What the frontier costs: microseconds per URL to add, lease and settle, and bytes on disk.

Pages lead to twelve URLs each, eight on their own host, four on others, and are committed in groups
of 32 to a real state, as the ledger does. Then everything is taken out again. The packed rows alone
are measured beside it. Run it with `python benchmarks/micro/frontier.py`; the last line is one JSON
object.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.frontier import Frontier, HostAnswer
from gossamer.frontier.rows import pack_tasks, unpack_tasks
from gossamer.model import LinkKind, Task
from gossamer.store import State
from gossamer.urls import parse

PAGES, GROUP = 4000, 32
NEW, OWN = 12, 8
HOSTS = 2000
ROUNDS = 5
ANSWER = HostAnswer(latency_s=0.001)


def make_tasks(random: Random) -> list[list[Task]]:
    """Return the new tasks of each page: about 70 bytes per URL, ten of them random."""
    made = []
    for _ in range(PAGES):
        own = int(HOSTS ** random.random())
        hosts = [own] * OWN + [int(HOSTS ** random.random()) for _ in range(NEW - OWN)]
        via = f"https://www.some-host-{own}.example/section/an-article-{random.getrandbits(50)}"
        made.append([task(host, via, random) for host in hosts])
    return made


def task(host: int, via: str, random: Random) -> Task:
    """Return one task."""
    path = f"/section/another-article-{random.getrandbits(50):010x}.html"
    url = parse(f"https://www.some-host-{host}.example{path}", UrlConfig())
    assert url is not None
    return Task(url=url, depth=3, via=via, kind=LinkKind.ANCHOR)


def timed(work: Callable[[], object]) -> float:
    """Return the CPU seconds of the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def measure_rows(pages: list[list[Task]]) -> dict[str, float]:
    """Return what packing costs, for rows of eight and of one."""
    found: dict[str, float] = {}
    for name, rows in (
        ("8", [tasks[:OWN] for tasks in pages[:1000]]),
        ("1", [tasks[OWN : OWN + 1] for tasks in pages[:1000]]),
    ):
        packed = [pack_tasks(row) for row in rows]
        hosts = [row[0].url.host for row in rows]
        again = [unpack_tasks(value, host, 0) for value, host in zip(packed, hosts, strict=True)]
        assert again == rows
        count = sum(map(len, rows))
        pack_s = timed(lambda rows=rows: [pack_tasks(row) for row in rows])
        unpack_s = timed(
            lambda packed=packed, hosts=hosts: [
                unpack_tasks(value, host, 0) for value, host in zip(packed, hosts, strict=True)
            ]
        )
        found[f"us_per_pack_of_{name}"] = round(1e6 * pack_s / count, 3)
        found[f"us_per_unpack_of_{name}"] = round(1e6 * unpack_s / count, 3)
        found[f"bytes_per_url_of_{name}"] = round(sum(map(len, packed)) / count, 1)
    return found


def commit(frontier: Frontier, state: State) -> None:
    """Do what the ledger does."""
    state.write(frontier.rows_to_commit())
    frontier.committed()


def measure_frontier(pages: list[list[Task]], folder: Path) -> dict[str, float]:
    """Return what it costs to put everything in and to take it out again."""
    state = State.open(folder)
    rules = PolitenessConfig(delay_s=0.0)
    frontier = Frontier(FrontierConfig(), rules, state, Random(1), at_least=192)
    began = time.process_time()
    for at in range(0, len(pages), GROUP):
        for tasks in pages[at : at + GROUP]:
            frontier.add(tasks)
        commit(frontier, state)
    add_s = time.process_time() - began
    keys = {task.url.key for tasks in pages for task in tasks}
    taken: set[int] = set()
    began = time.process_time()
    while frontier.queued:
        for _ in range(GROUP):
            if (found := frontier.next(0.0)) is None:
                break
            taken.add(found.url.key)
            frontier.settle(found, 0.0, ANSWER)
            frontier.conclude(found)
        commit(frontier, state)
    take_s = time.process_time() - began
    assert taken == keys
    state.close()
    return {
        "us_per_add": round(1e6 * add_s / len(keys), 2),
        "us_per_take": round(1e6 * take_s / len(keys), 2),
    }


def main() -> None:
    """Measure, print a table, end with JSON."""
    pages = make_tasks(Random(7))
    folder = Path(tempfile.mkdtemp(prefix="bench-frontier-"))
    try:
        result = {**measure_rows(pages), **measure_frontier(pages, folder)}
    finally:
        shutil.rmtree(folder)
    for name, value in result.items():
        print(f"{name:>24} {value:>10}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
