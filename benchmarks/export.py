"""What an export of tables costs: CPU on the real web, memory by the number of pages.

`make bench-export`. CPU: `gossamer export` of pages and links of 6,000 pages of the real web (CRAWL
names a folder that is there; nothing in it is changed) to Parquet, without text and with Markdown,
the least of RUNS runs; its rows must be the stored pages. Memory: an archive of GENERATED pages
with 16 links each is written, then one of twice as many; pages and links are exported to Parquet
and the parts are built, each in a process of its own. What a million pages take is extrapolated
from the two, which is said in the result.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet
from realweb import FLAGS, SEED, bring_up, save

import gossamer
from gossamer.store import CrawlFolder, LinksRecord
from gossamer.store.entry import encode_links
from gossamer.store.warc import RecordIds, header, pack

CRAWL = os.environ.get("CRAWL", "")
PAGES = int(os.environ.get("PAGES", "6000"))
RUNS = int(os.environ.get("RUNS", "3"))
GENERATED = int(os.environ.get("GENERATED", "100000"))
MANY = 1_000_000
LINKS = 16
GOSSAMER = [sys.executable, "-m", "gossamer"]
DATE = "2026-01-01T00:00:00Z"


def crawled(place: Path) -> Path:
    """Return a crawl of the real web."""
    if CRAWL:
        shutil.copytree(CRAWL, place / "crawl")
        return place / "crawl"
    bring_up()
    command = [*GOSSAMER, "crawl", SEED, "--into", str(place / "crawl"), *FLAGS]
    subprocess.run([*command, "--max-pages", str(PAGES)], check=True, stdout=subprocess.DEVNULL)
    return place / "crawl"


def used_by(*words: str) -> tuple[float, float]:
    """Run a command; return its seconds of CPU and its most MiB of memory."""
    process = subprocess.Popen([*GOSSAMER, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cpu_of_export(crawl: Path, place: Path, *words: str) -> float:
    """Return the CPU seconds of an export whose rows are checked."""
    pages = gossamer.open(crawl).status().pages
    best = float("inf")
    for _ in range(RUNS):
        shutil.rmtree(place, ignore_errors=True)
        cpu_s, _ = used_by("export", str(crawl), "pages", "links", "--to", str(place), *words)
        best = min(best, cpu_s)
        urls = pyarrow.parquet.read_table(place / "pages.parquet", columns=["url"])["url"]
        assert len(urls) == len(set(urls.to_pylist())) == pages
    return best


def generate(root: Path, pages: int) -> None:
    """Write an archive of pages with text and links, as a crawl would."""
    archive = CrawlFolder(root).archive
    archive.mkdir(parents=True)
    rng, ids = random.Random(17), RecordIds(random.Random(1))
    words = [f"word{n}" for n in range(5000)]
    with (
        (archive / "links-00-0001-00000.warc.gz").open("wb") as links,
        (archive / "text-00-0001-00000.warc.wet.gz").open("wb") as texts,
        (archive / "pages-00-0001-00000.warc.gz").open("wb") as bodies,
    ):
        for number in range(pages):
            url = f"http://host{number // 500}.test/page/{number}"
            page, text = ids.next(), " ".join(rng.choices(words, k=60)).encode()
            body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>" + text
            bodies.write(pack(header("response", page, DATE, "", len(body)), body))
            refers = f"WARC-Refers-To: {page}\r\n"
            texts.write(pack(header("conversion", ids.next(), DATE, refers, len(text)), text))
            targets = [f"http://host{rng.randrange(200)}.test/page/{n}" for n in range(LINKS)]
            record = LinksRecord(
                url=url,
                outcome="fetched",
                at=float(number),
                status=200,
                media_type="text/html",
                page=page,
                fp=number,
                title=f"Page {number}",
                via=f"http://host0.test/page/{number // 2}" if number else "",
                links=[(target, "a", "some text", "") for target in targets],
            )
            block = encode_links(record)
            links.write(pack(header("metadata", ids.next(), DATE, "", len(block)), block))


def memory_of(place: Path, pages: int) -> dict[str, float]:
    """Return the MiB that an export and a build of the parts take at most."""
    root = place / f"generated-{pages}"
    generate(root, pages)
    _, export_mb = used_by("export", str(root), "pages", "links", "--to", str(place / "out"))
    rows = pyarrow.parquet.read_metadata(place / "out" / "pages.parquet").num_rows
    assert rows == pages
    _, build_mb = used_by("build", str(root), "tables")
    shutil.rmtree(root)
    return {"export_mb": round(export_mb, 1), "build_mb": round(build_mb, 1)}


def main() -> None:
    """Measure, and keep the result."""
    with tempfile.TemporaryDirectory(prefix="export-") as folder:
        place = Path(folder)
        crawl = crawled(place)
        plain_s = cpu_of_export(crawl, place / "out")
        markdown_s = cpu_of_export(crawl, place / "out", "--text", "markdown")
        pages = pyarrow.parquet.read_metadata(place / "out" / "pages.parquet").num_rows
        links = pyarrow.parquet.read_metadata(place / "out" / "links.parquet").num_rows
        small, large = memory_of(place, GENERATED), memory_of(place, 2 * GENERATED)
    many = {
        name: round(small[name] + (large[name] - small[name]) * (MANY / GENERATED - 1), 1)
        for name in small
    }
    result: dict[str, object] = {
        "pages": pages,
        "links": links,
        "cpu_s": round(plain_s, 2),
        "markdown_cpu_s": round(markdown_s, 2),
        "generated": {str(GENERATED): small, str(2 * GENERATED): large},
        "extrapolated_to": MANY,
        "rss_mb": max(many.values()),
        "extrapolated": many,
    }
    save("export", result)


if __name__ == "__main__":
    main()
