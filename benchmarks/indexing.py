"""What live indexing costs a crawl, and whether an index survives kills: `make bench-indexing`.

Crawls the real web to PAGES pages with one shard, with and without `--index`, PAIRS times each,
arms interleaved. CPU is that of the crawl's own processes: all that its command used, less what its
indexers used, which are sampled until they end. Then an indexer follows a crawl and is killed at
KILLS random moments; in the end the URLs of index and archive must be the same. Last, one full
build of that archive is measured, or of the crawl in the folder CRAWL (nothing in it is changed),
without graph and ranks; and beside it what the bare engine takes for the same texts, read from the
archive, with its own English analysis. PAIRS=0 measures these alone, and keeps nothing.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import tantivy
from laboratory.archived import archive_urls
from realweb import FLAGS, SEED, bring_up, save

from gossamer.search import read_manifest
from gossamer.search.manifest import index_folder, shard_folders
from gossamer.search.shard.schema import open_index
from gossamer.store import CrawlFolder, iter_pages

PAGES = int(os.environ.get("PAGES", "5000"))
PAIRS = int(os.environ.get("PAIRS", "5"))
KILLS = int(os.environ.get("KILLS", "10"))
CRAWL = os.environ.get("CRAWL", "")
SEED_OF_CHANCE = 6
SHORTEST_S, LONGEST_S = 0.3, 1.5
"""Of an indexer's life; it takes the first part of that to start."""
POLL_S = 0.02
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
GOSSAMER = [sys.executable, "-m", "gossamer"]
BARE = """
import sys
from pathlib import Path
import tantivy
from gossamer.store import Records
builder = tantivy.SchemaBuilder()
builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
builder.add_text_field("text", stored=True, tokenizer_name="en_stem", index_option="position")
writer = tantivy.Index(builder.build(), sys.argv[2]).writer(256 << 20, 1)
count = 0
for path in sorted(Path(sys.argv[1]).glob("archive/text-*")):
    for record in Records(path):
        if record.headers.get("warc-type") == "conversion":
            text = record.block.decode("utf-8", "replace")
            writer.add_document(tantivy.Document(url=record.record_id, text=text))
            count += 1
writer.commit()
writer.wait_merging_threads()
print(count)
"""
"""Every text as one document of one field."""


class Run(NamedTuple):
    """One crawl."""

    cpu_s: float
    """Of its own processes."""
    indexer_cpu_s: float
    pages_per_s: float
    html_kb: float


class Cost(NamedTuple):
    """What a build took."""

    cpu_s: float
    wall_s: float
    rss_mb: float


def crawl_command(folder: Path, *more: str) -> list[str]:
    """Return the words that crawl so many pages."""
    words = [*GOSSAMER, "crawl", SEED, "--into", str(folder), *FLAGS, "--shards", "1"]
    return [*words, "--concurrency", "64", "--max-pages", str(PAGES), "--json", *more]


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process that was not waited for yet."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def sample_indexers(parent: int, used: dict[int, float]) -> None:
    """Note what the indexers of a crawl have used so far."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return
    for child in map(int, children):
        try:
            if child in used or b"\0index\0" in Path(f"/proc/{child}/cmdline").read_bytes():
                used[child] = cpu_of(child)
        except (OSError, IndexError):
            continue


def one_crawl(folder: Path, *more: str) -> Run:
    """Crawl once; return what its own processes used, and its indexers."""
    used: dict[int, float] = {}
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            crawl_command(folder, *more), stdout=output, stderr=subprocess.DEVNULL
        )
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            sample_indexers(child.pid, used)
            time.sleep(POLL_S)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, child.returncode
        output.seek(0)
        told = json.loads(output.read().splitlines()[-1])
    assert told["pages"] == PAGES, told
    indexer_cpu_s = sum(used.values())
    cpu_s = usage.ru_utime + usage.ru_stime - indexer_cpu_s
    return Run(cpu_s, indexer_cpu_s, told["pages_per_s"], html_kb(folder))


def html_kb(folder: Path) -> float:
    """Return how much HTML a crawl has stored: its pages differ with the order of arrival."""
    crawl = CrawlFolder(folder)
    pages = (
        page
        for name in crawl.archive_names(kind="pages")
        for page in iter_pages(crawl.archive_path(name.file_name))
    )
    html = (page for page in pages if "html" in page.header("content-type"))
    return sum(len(page.decoded()) for page in html) / 1000


def index_urls(root: Path) -> list[str]:
    """Return the URLs of all pages of an index; one that is in it twice comes twice."""
    index = index_folder(root)
    manifest = read_manifest(index)
    assert manifest is not None
    urls: list[str] = []
    for folder in shard_folders(index, manifest, "high"):
        searcher = open_index(folder).searcher()
        hits = searcher.search(tantivy.Query.all_query(), max(searcher.num_docs, 1)).hits
        urls += [searcher.doc(place)["url"][0] for _, place in hits]
    return urls


def difference(root: Path) -> int:
    """Return how many URLs an index has too many, too few or twice."""
    found, wanted = index_urls(root), archive_urls(root)
    return len({*found} ^ wanted) + len(found) - len({*found})


def build_command(root: Path, *more: str) -> list[str]:
    """Return the words that build an index."""
    return [*GOSSAMER, "build", str(root), "index", *more]


def kill_often(folder: Path) -> tuple[int, int]:
    """Let indexers follow a crawl and kill them; return the kills, and what is wrong then."""
    chance = random.Random(SEED_OF_CHANCE)
    kills = 0
    crawl = subprocess.Popen(
        crawl_command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (folder / "archive").is_dir():
        time.sleep(POLL_S)
    while kills < KILLS:
        words = build_command(folder, "--follow" if crawl.poll() is None else "--full")
        indexer = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(SHORTEST_S, LONGEST_S))
        kills += indexer.poll() is None
        indexer.kill()
        indexer.wait()
    assert crawl.wait() == 0
    subprocess.run(build_command(folder), check=True, stdout=subprocess.DEVNULL)
    return kills, difference(folder)


def measured(command: list[str]) -> tuple[Cost, str]:
    """Run a command; return what it took, and what it printed."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(cpu_s, time.perf_counter() - began, usage.ru_maxrss / 1024), printed


def measured_build(root: Path) -> tuple[Cost, int]:
    """Build from nothing; return what that took, and how many pages it has."""
    cost, _ = measured(build_command(root, "--full", "--no-ranks"))
    manifest = read_manifest(index_folder(root))
    assert manifest is not None
    return cost, manifest.pages


def bare_docs_per_cpu_s(root: Path) -> float:
    """Return how many texts of an archive the bare engine indexes per CPU second."""
    (root / "bare").mkdir()
    cost, printed = measured([sys.executable, "-c", BARE, str(root), str(root / "bare")])
    return int(printed) / cost.cpu_s


def linked(crawl: Path, into: Path) -> Path:
    """Return a folder with the archive of a crawl in it, without its index."""
    into.mkdir()
    (into / "archive").symlink_to((crawl / "archive").resolve())
    return into


def compare(base: Path) -> tuple[list[Run], list[Run]]:
    """Crawl in pairs, without and with live indexing, whichever comes first."""
    without: list[Run] = []
    live: list[Run] = []
    for n in range(PAIRS):
        arms = [(without, base / f"without{n}", ()), (live, base / f"live{n}", ("--index",))]
        for runs, folder, more in arms if n % 2 == 0 else reversed(arms):
            runs.append(one_crawl(folder, *more))
            if more:
                assert difference(folder) == 0
            shutil.rmtree(folder)
        print(f"pair {n + 1}: without {without[-1]}\n        live    {live[-1]}")
    return without, live


def ratio(live: list[Run], without: list[Run], *, is_per_kb: bool = False) -> float:
    """Return the median over pairs of the crawl's own CPU, with live indexing over without."""
    return statistics.median(
        (one.cpu_s / (one.html_kb if is_per_kb else 1))
        / (other.cpu_s / (other.html_kb if is_per_kb else 1))
        for one, other in zip(live, without, strict=True)
    )


def live_figures(base: Path) -> dict[str, object]:
    """Return what live indexing costs a crawl, and whether an index survives kills."""
    without, live = compare(base)
    kills, wrong = kill_often(base / "killed")
    median = statistics.median
    return {
        "cpu_ratio": round(ratio(live, without), 3),
        "cpu_ratio_per_kb": round(ratio(live, without, is_per_kb=True), 3),
        "cpu_ms_per_page": round(median(1000 * run.cpu_s / PAGES for run in without), 3),
        "cpu_ms_per_page_live": round(median(1000 * run.cpu_s / PAGES for run in live), 3),
        "indexer_cpu_ms_per_page": round(median(1000 * r.indexer_cpu_s / PAGES for r in live), 3),
        "pages_per_s": round(median(run.pages_per_s for run in without), 1),
        "pages_per_s_live": round(median(run.pages_per_s for run in live), 1),
        "pairs": PAIRS,
        "pages": PAGES,
        "kills": kills,
        "difference_after_kills": wrong,
    }


def main() -> None:
    """Measure, print a table, keep the result."""
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    try:
        figures: dict[str, object] = {}
        if PAIRS:
            bring_up()
            figures = live_figures(base)
        root = linked(Path(CRAWL or base / "killed"), base / "full")
        cost, pages = measured_build(root)
        bare = bare_docs_per_cpu_s(root)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    result: dict[str, object] = {
        **figures,
        "full_pages": pages,
        "docs_per_cpu_s": round(pages / cost.cpu_s, 1),
        "bare_docs_per_cpu_s": round(bare, 1),
        "share_of_bare": round(pages / cost.cpu_s / bare, 3),
        "full_wall_s": round(cost.wall_s, 1),
        "rss_mb": round(cost.rss_mb, 1),
    }
    for name, value in result.items():
        print(f"{name:>26}  {value}")
    if PAIRS:
        save("indexing", result)


if __name__ == "__main__":
    main()
