"""URLs ↔ numbers: bytes per URL and µs per question: `make bench-urlmap`.

The URLs are those of a crawl of the real web, pages and targets of links: CRAWL names its folder,
otherwise one is made (PAGES, default 85,000). Then MANY (default 5,000,000) variants of them, other
hosts and other digits, go through the external sort into a larger map. Beside the map stands
marisa-trie, if it can be imported: the smallest trie that Python can have, whose numbers are not in
the order of the keys and whose keys must all be in memory.
"""

import gc
import importlib.util
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from realweb import FLAGS, SEED, bring_up, save

from gossamer.graph.names import NameSorter, UrlMap, UrlMapWriter, keys_of, urls_of
from gossamer.store import CrawlFolder, iter_links

PAGES = int(os.environ.get("PAGES") or 85_000)
MANY = int(os.environ.get("MANY") or 5_000_000)
CRAWL = os.environ.get("CRAWL")
SINGLE, BATCH, RUNS = 5_000, 100_000, 7
MEMORY_BYTES = 256 << 20


def crawled(folder: Path) -> CrawlFolder:
    """Return a crawl of the real web."""
    if CRAWL:
        return CrawlFolder(Path(CRAWL))
    bring_up()
    command = [sys.executable, "-m", "gossamer", "crawl", SEED, "--into", str(folder), *FLAGS]
    command += ["--max-pages", str(PAGES), "--shards", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return CrawlFolder(folder)


def urls_of_crawl(crawl: CrawlFolder) -> list[str]:
    """Return all distinct URLs that a crawl has met, in the order of their keys."""
    met = set()
    for _, record in iter_links(crawl):
        met.add(record.url)
        met.update(row[0] for row in record.links or ())
    return urls_of(sorted(keys_of(list(met))))


def variants(urls: list[str]) -> Iterator[list[str]]:
    """Yield MANY URLs like these, in no order, page by page."""
    drawn = random.Random(1)
    left, turn = MANY, 0
    while left:
        digits = str.maketrans("0123456789", "".join(drawn.sample("0123456789", 10)))
        some = drawn.sample(urls, min(left, len(urls)))
        left, turn = left - len(some), turn + 1
        for start in range(0, len(some), 64):
            parts = [url.split("/", 3) for url in some[start : start + 64] if url.count("/") > 2]
            yield [f"{s}//v{turn}.{h}/{path.translate(digits)}" for s, _, h, path in parts]


def us_per(many: int, work: Callable[[], object]) -> float:
    """Return the median CPU time of some work, in µs for each of many."""
    times = []
    for _ in range(RUNS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return round(1e6 * statistics.median(times) / many, 3)


def built(path: Path, batches: Iterator[list[bytes]]) -> tuple[int, float]:
    """Write a map; return how many keys it has and the CPU seconds of the writer alone."""
    new, many, took_s = UrlMapWriter(path), 0, 0.0
    for batch in batches:
        began = time.process_time()
        new.add(batch)
        took_s += time.process_time() - began
        many += len(batch)
    began = time.process_time()
    new.close()
    return many, took_s + time.process_time() - began


def asked(path: Path) -> dict[str, float]:
    """Return what questions to a map cost, at random places; all answers are checked."""
    found = UrlMap.open(path)
    drawn = np.random.default_rng(1).integers(0, len(found), BATCH)
    urls, nodes = found.urls(drawn), drawn.tolist()
    assert (found.nodes(urls) == drawn).all()
    assert found.nodes([f"{url}#" for url in urls[:SINGLE]]).tolist() == [-1] * SINGLE
    some, few = urls[:SINGLE], nodes[:SINGLE]
    assert [found.node(url) for url in some] == few
    assert [found.url(node) for node in few] == some
    keys = keys_of(urls)
    return {
        "bytes_per_url": round(path.stat().st_size / len(found), 3),
        "open_ms": us_per(1000, lambda: UrlMap.open(path)),
        "node_us": us_per(SINGLE, lambda: [found.node(url) for url in some]),
        "url_us": us_per(SINGLE, lambda: [found.url(node) for node in few]),
        "nodes_us": us_per(BATCH, lambda: found.nodes(urls)),
        "nodes_of_keys_us": us_per(BATCH, lambda: found.nodes_of_keys(keys)),
        "urls_us": us_per(BATCH, lambda: found.urls(drawn)),
        "keys_of_us": us_per(BATCH, lambda: keys_of(urls)),
        "in_order_us": us_per(len(found), lambda: sum(map(len, found.keys()))),
    }


def real(folder: Path, urls: list[str]) -> dict[str, float]:
    """Return size and costs of the map of the crawl's URLs."""
    keys = keys_of(urls)
    build_us = us_per(len(keys), lambda: built(folder / "web.urls", iter([keys])))
    return {"urls": len(keys), "build_us": build_us, **asked(folder / "web.urls")}


def large(folder: Path, urls: list[str]) -> dict[str, float]:
    """Return the same of many URLs that do not come in order."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    runs = folder / "runs"
    runs.mkdir()
    names, add_s, given = NameSorter(runs, MEMORY_BYTES), 0.0, 0
    for page in variants(urls):
        keys = keys_of(page)
        began = time.process_time()
        names.add(keys)
        add_s += time.process_time() - began
        given += len(keys)
    began = time.process_time()
    many, write_s = built(folder / "large.urls", names.merged())
    merge_s = time.process_time() - began - write_s
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shutil.rmtree(runs)
    gc.collect()
    assert many == given
    return {
        "urls": many,
        "sort_us": round(1e6 * add_s / given, 3),
        "merge_us": round(1e6 * merge_s / many, 3),
        "build_us": round(1e6 * write_s / many, 3),
        "rss_mb": round(peak / 1024),
        "rss_before_mb": round(before / 1024),
        **asked(folder / "large.urls"),
    }


def marisa(folder: Path, urls: list[str]) -> dict[str, float] | None:
    """Return size and costs of marisa-trie with the same keys; None if it is not there."""
    if importlib.util.find_spec("marisa_trie") is None:
        return None
    import marisa_trie  # noqa: PLC0415  # only for comparison

    keys = [key.decode() for key in keys_of(urls)]
    build_us = us_per(len(keys), lambda: marisa_trie.Trie(keys))
    trie = marisa_trie.Trie(keys)
    trie.save(str(folder / "marisa"))
    drawn = random.Random(1).sample(keys, SINGLE)
    ids = [trie[key] for key in drawn]
    return {
        "bytes_per_url": round((folder / "marisa").stat().st_size / len(keys), 3),
        "permutation_bytes": round(len(keys).bit_length() / 8, 2),
        "build_us": build_us,
        "node_us": us_per(SINGLE, lambda: [trie.get(key) for key in drawn]),
        "url_us": us_per(SINGLE, lambda: [trie.restore_key(number) for number in ids]),
    }


def main() -> None:
    """Measure, print a table, and keep the figures."""
    folder = Path(tempfile.mkdtemp(prefix="bench-urlmap-"))
    try:
        urls = urls_of_crawl(crawled(folder / "crawl"))
        arms = {"real": real(folder, urls), "large": large(folder, urls)}
        other = marisa(folder, urls)
    finally:
        shutil.rmtree(folder)
    columns = {**arms, **({"marisa": other} if other else {})}
    figures = list(dict.fromkeys(figure for arm in columns.values() for figure in arm))
    print(f"{'':18}" + "".join(f"{name:>12}" for name in columns))
    for figure in figures:
        told = (arm.get(figure) for arm in columns.values())
        cells = ("-" if value is None else f"{value:,}" for value in told)
        print(f"{figure:18}" + "".join(f"{cell:>12}" for cell in cells))
    save("urlmap", {**arms["real"], "large": arms["large"], "marisa": other})


if __name__ == "__main__":
    main()
