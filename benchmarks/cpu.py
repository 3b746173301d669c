"""CPU per page of the whole pipeline on the local real web: `make bench-cpu`.

Runs the command line itself with one shard, five times, to 5,000 pages from the hub, and asserts
the work: pages stored, and no page asked for twice in nginx's log. In turns with it run the code
before pages were read in one pass (BEFORE, a commit; made in the cache), an asyncio script that
stores nothing, and the bare HTML parser on pages just crawled: the ratios are medians of rounds.
CPU is user + system of all processes of the crawl, start-up included; start-up alone is the crawl
of one page, measured before and after. A further run in this process is sampled for each stage's
share. With ORDER=best (or another order) it compares that order with breadth first instead
(cpu_orders.py), with OLD=src that version with this one (cpu_versions.py).
"""

import json
import os
import platform
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import cpu_orders
import cpu_versions
import turbohtml
from measure import Measured, measured
from realweb import FLAGS, REPOSITORY, SEED, bring_up, html_kb_served, new_log, save, visits
from versus.arms import BROAD, SCRIPT
from versus.installed import GOSSAMER, gossamer_at, peer_python

from gossamer import Config, Crawl
from gossamer.config import FetchConfig, FilterConfig, LimitsConfig, PolitenessConfig
from gossamer.store import CrawlFolder, iter_pages

PAGES = int(os.environ.get("PAGES", "5000"))
ORDER = os.environ.get("ORDER", "bfs")
OLD = os.environ.get("OLD", "")
SOURCE = Path(os.environ.get("NEW") or REPOSITORY / "src").resolve()
BEFORE = os.environ.get("BEFORE", "aa60f01")
RUNS = int(os.environ.get("RUNS", "5"))
STARTS = 3


def agent_of(folder: Path) -> str:
    """Return the name under which a crawl asks: others may be in the server's log too."""
    return f"gossamer/0 ({folder.parent.name}-{folder.name})"


def crawl_cpu_s(
    folder: Path,
    pages: int,
    order: str = "bfs",
    source: Path | None = SOURCE,
    command_of: str = GOSSAMER,
) -> tuple[float, dict[str, int]]:
    """Crawl so many pages; return the CPU seconds of all its processes, and its last status."""
    took = crawl_measured(folder, pages, order, source, command_of)
    return took.cpu_s, json.loads(took.output.splitlines()[-1])


def crawl_measured(
    folder: Path, pages: int, order: str, source: Path | None, command_of: str
) -> Measured:
    """Crawl so many pages; return what that took, of this crawl's processes alone."""
    command = ["env", f"PYTHONPATH={source or ''}"]
    command += [command_of, "crawl", SEED, "--into", str(folder), *FLAGS, "--shards", "1"]
    command += ["--concurrency", "64", "--max-pages", str(pages), "--json"]
    command += ["--user-agent", agent_of(folder), "--order", order]
    took = measured(command, folder.parent)
    assert took.exit_code == 0, took.errors
    assert json.loads(took.output.splitlines()[-1])["pages"] == pages, took.output
    return took


def startup_cpu_s(base: Path) -> float:
    """Return the CPU seconds of a crawl that ends after its first page, the median of some."""
    return statistics.median(
        crawl_cpu_s(base / f"start{n}-{time.monotonic_ns()}", 1)[0] for n in range(STARTS)
    )


def one_run(
    folder: Path,
    order: str = "bfs",
    source: Path | None = SOURCE,
    command_of: str = GOSSAMER,
) -> dict[str, float]:
    """Crawl once; return pages, CPU and wall seconds, memory."""
    new_log()
    took = crawl_measured(folder, PAGES, order, source, command_of)
    status = json.loads(took.output.splitlines()[-1])
    time.sleep(0.2)
    agent = agent_of(folder)
    asked = [(visit.host, visit.target) for visit in visits(agent) if visit.is_page]
    assert len(asked) == len(set(asked)), "a page was asked for twice"
    return {
        "pages": status["pages"],
        "html_pages": status["html_pages"],
        "cpu_s": took.cpu_s,
        "wall_s": took.wall_s,
        "rss_mb": took.rss_mb,
        "html_kb": html_kb_served(agent),
    }


def script_run(folder: Path) -> dict[str, float]:
    """Let the asyncio script that stores nothing crawl once; return pages, CPU and kB of HTML."""
    folder.mkdir()
    agent = agent_of(folder)
    new_log()
    took = measured(SCRIPT.command(BROAD._replace(pages=PAGES), agent), folder)
    assert took.exit_code == 0, took
    time.sleep(0.2)
    pages = sum(visit.is_page for visit in visits(agent))
    return {"pages": pages, "cpu_s": took.cpu_s, "html_kb": html_kb_served(agent)}


def one_round(base: Path, number: int) -> dict[str, dict[str, float]]:
    """Let all arms crawl once, in turns; return what each took, and the bare parser's speed."""
    ours, script = base / f"run{number}", base / f"script{number}"
    arms = {"ours": lambda: one_run(ours), "script": lambda: script_run(script)}
    if BEFORE:
        then, old = base / f"before{number}", gossamer_at(BEFORE)
        arms["before"] = lambda: one_run(then, source=None, command_of=old)
    names = list(arms) if number % 2 == 0 else list(arms)[::-1]
    found = {name: arms[name]() for name in names}
    found["parser"] = {"us_per_kb": parse_us_per_kb(ours)}
    for folder in base.iterdir():
        shutil.rmtree(folder)
    return found


def median_ratio(rounds: list[dict[str, dict[str, float]]], other: str) -> float | None:
    """Return the CPU per kB of HTML over that of another arm, the median of rounds.

    Runs meet somewhat different pages, so that a page is a poor unit.
    """
    if any(other not in found for found in rounds):
        return None
    ratios = [us_per_kb(found["ours"]) / us_per_kb(found[other]) for found in rounds]
    return round(statistics.median(ratios), 3)


def us_per_kb(took: dict[str, float]) -> float:
    """Return the CPU per kB of HTML."""
    return took["us_per_kb"] if "us_per_kb" in took else 1e6 * took["cpu_s"] / took["html_kb"]


def stages(folder: Path) -> tuple[dict[str, float], list[list[object]]]:
    """Crawl once here, under a CPU-time sampler; return shares by room and the top ten."""
    rooms: Counter[str] = Counter()
    functions: Counter[str] = Counter()

    def sample(_number: int, frame: FrameType | None) -> None:
        while frame is not None and "/gossamer/" not in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is None:
            rooms["python"] += 1
            return
        place = frame.f_code.co_filename.split("/gossamer/")[-1]
        rooms[place.partition("/")[0]] += 1
        functions[f"{place}:{frame.f_code.co_qualname}"] += 1

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, 0.002, 0.002)
    Crawl(
        folder,
        [SEED],
        Config(
            filter=FilterConfig(scope="any", allow=("*.test",)),
            fetch=FetchConfig(allow_private=True),
            politeness=PolitenessConfig(delay_s=0.0),
            limits=LimitsConfig(max_pages=PAGES),
            shards=1,
        ),
    ).run()
    signal.setitimer(signal.ITIMER_PROF, 0)
    total = sum(rooms.values())
    shares = {room: round(n / total, 3) for room, n in rooms.most_common()}
    return shares, [[name, round(n / total, 3)] for name, n in functions.most_common(10)]


def parse_us_per_kb(folder: Path) -> float:
    """Return what the HTML parser alone costs on pages just crawled: how quick this machine is."""
    crawl = CrawlFolder(folder)
    name = next(crawl.archive_names(kind="pages")).file_name
    pages = [page.decoded() for page in iter_pages(crawl.archive_path(name)) if page.status == 200]
    bodies = [body for body in pages[::10] if body[:1] == b"<"]
    began = time.process_time()
    for body in bodies:
        turbohtml.parse(body, positions=False)
    return 1e9 * (time.process_time() - began) / sum(map(len, bodies))


def main() -> None:
    """Measure, print a table, keep the result."""
    bring_up()
    if ORDER != "bfs":
        cpu_orders.compare(ORDER, one_run)
        return
    if OLD:
        cpu_versions.compare(Path(OLD).resolve(), SOURCE, lambda at, of: one_run(at, source=of))
        return
    peer_python()
    rounds: list[dict[str, dict[str, float]]] = []
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    try:
        if BEFORE:  # its first crawl compiles
            crawl_cpu_s(base / "first", 1, source=None, command_of=gossamer_at(BEFORE))
        starts = [startup_cpu_s(base)]
        for n in range(RUNS):
            rounds.append(one_round(base, n))
            print(
                {name: round(us_per_kb(took), 2) for name, took in rounds[-1].items()}, flush=True
            )
        starts.append(startup_cpu_s(base))
        shares, top = stages(base / "stages")
    finally:
        shutil.rmtree(base, ignore_errors=True)
    runs = [found["ours"] for found in rounds]
    parse_us = statistics.median(found["parser"]["us_per_kb"] for found in rounds)
    for name, share in top:
        print(f"{share:6.1%}  {name}")
    cpu_ms = [1000 * run["cpu_s"] / run["pages"] for run in runs]
    kb_per_page = statistics.median(run["html_kb"] / run["pages"] for run in runs)
    save(
        "cpu",
        {
            "cpu_ms_per_page": round(statistics.median(cpu_ms), 3),
            "cpu_ms_per_page_runs": [round(value, 3) for value in cpu_ms],
            "pages": PAGES,
            "pages_per_s": round(statistics.median(r["pages"] / r["wall_s"] for r in runs), 1),
            "rss_mb": round(max(run["rss_mb"] for run in runs), 1),
            "html_kb_per_page": round(kb_per_page, 1),
            "us_per_kb": round(statistics.median(map(us_per_kb, runs)), 2),
            "before": BEFORE,
            "before_ratio": median_ratio(rounds, "before"),
            "script_ratio": median_ratio(rounds, "script"),
            "bare_parses": median_ratio(rounds, "parser"),
            "us_per_kb_by_round": [
                {name: round(us_per_kb(took), 2) for name, took in found.items()}
                for found in rounds
            ],
            "startup_cpu_s": round(statistics.median(starts), 3),
            "parse_us_per_kb": round(parse_us, 2),
            "stages": shares,
            "top_functions": top,
            "python": platform.python_version(),
        },
    )


if __name__ == "__main__":
    main()
