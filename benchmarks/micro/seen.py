"""What "new to us?" costs: microseconds per page of 60 links and per key, at 1 M and 4 M keys.

A page's links belong to one registrable domain: 44 known ones and 16 new ones. The first row has
everything in the table and the runs of the default configuration; `table` has no run at all.
Run it with `python benchmarks/micro/seen.py`; the last line is one JSON object.
"""

import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.config import SeenConfig
from gossamer.model import Row
from gossamer.seen import UrlSeen, verify

LINKS, NEW = 60, 16
URLS_PER_DOMAIN = 200
PAGES = 3000
ROUNDS = 5


def domains(rng: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Return the keys of so many domains, one row each: ring bits first."""
    rings = rng.choice(2**24, count, replace=False).astype(np.uint64) << np.uint64(40)
    paths = rng.integers(0, 2**40, (count, URLS_PER_DOMAIN), dtype=np.uint64)
    return rings[:, None] | paths


def pages(rng: np.random.Generator, known: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Return the links of pages of random domains, known ones first."""
    made = []
    for row in rng.integers(0, len(known), PAGES):
        old = rng.choice(known[row], LINKS - NEW, replace=False)
        ring = known[row, 0] >> np.uint64(40) << np.uint64(40)
        made.append(np.append(old, ring | rng.integers(0, 2**40, NEW, dtype=np.uint64)))
    return made


def fill(seen: UrlSeen, known: NDArray[np.uint64]) -> tuple[dict[bytes, bytes], float, float]:
    """Add all keys in commits of a thousand; return the rows and the seconds of adding and work."""
    rows: dict[bytes, bytes] = {}
    add_s = work_s = 0.0
    for keys in np.array_split(known.ravel(), known.size // 1000):
        start = time.process_time()
        seen.add(keys)
        write(rows, seen.rows_to_commit())
        add_s += time.process_time() - start
        start = time.process_time()
        while work := seen.due():
            work.do()
            write(rows, seen.install(work))
            seen.discard_replaced()
        work_s += time.process_time() - start
    return rows, add_s, work_s


def write(rows: dict[bytes, bytes], changes: list[Row]) -> None:
    """Do what the ledger does with rows."""
    for key, value in changes:
        if value is None:
            del rows[key]
        else:
            rows[key] = value


def ask(seen: UrlSeen, made: list[NDArray[np.uint64]]) -> float:
    """Return CPU seconds per page, the best of some rounds, after checking every answer."""
    right = np.arange(LINKS) >= LINKS - NEW
    assert all(np.array_equal(seen.unknown(keys), right) for keys in made)
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for keys in made:
            seen.unknown(keys)
        best = min(best, time.process_time() - start)
    return best / len(made)


def measure(count: int, config: SeenConfig) -> dict[str, float]:
    """Build a set of so many keys in a folder of its own, ask it, restart it."""
    rng = np.random.default_rng(count)
    folder = Path(tempfile.mkdtemp(prefix="bench-seen-"))
    try:
        known = domains(rng, count // URLS_PER_DOMAIN)
        seen = UrlSeen.open(folder, config, [])
        rows, add_s, work_s = fill(seen, known)
        assert seen.known == known.size
        page_s = ask(seen, pages(rng, known))
        seen.close()
        start = time.process_time()
        seen = UrlSeen.open(folder, config, rows.items())
        open_s = time.process_time() - start
        assert seen.known == known.size
        assert not seen.unknown(known.ravel()).any()
        files = list(folder.iterdir())
        on_disk = sum(verify(path) for path in files)
        file_bytes = sum(path.stat().st_size for path in files)
    finally:
        shutil.rmtree(folder)
    return {
        "us_per_page": round(1e6 * page_s, 1),
        "us_per_test": round(1e6 * page_s / LINKS, 3),
        "us_per_add": round(1e6 * add_s / known.size, 3),
        "us_per_key_of_work": round(1e6 * work_s / known.size, 3),
        "open_ms": round(1e3 * open_s, 1),
        "runs": len(files),
        "bytes_per_key_on_disk": round(file_bytes / on_disk, 3) if on_disk else 0.0,
    }


def main() -> None:
    """Measure, print a table, end with JSON."""
    default = SeenConfig()
    cases = {
        "table": (default.run_keys // 2, default),
        "1M": (1_000_000, default),
        "4M": (4_000_000, default),
        "4M merged": (4_000_000, SeenConfig(fan_in=4)),
    }
    results = {name: measure(count, config) for name, (count, config) in cases.items()}
    columns = list(results["1M"])
    print(f"{'keys':>10}", *(f"{column:>22}" for column in columns))
    for name, result in results.items():
        print(f"{name:>10}", *(f"{result[column]:>22}" for column in columns))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
