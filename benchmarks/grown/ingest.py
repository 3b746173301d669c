"""A state that knows N URLs, all of them queued, as a crawl would have left it, made in bulk.

Rows go in by large batches, fingerprints as runs of the sizes that flushes and merges would have
made.
"""

import itertools
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import msgpack
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from gossamer.config import SeenConfig
from gossamer.frontier.rows import HostState, Span, encode_host, host_row_key
from gossamer.seen.runs import run_path, write_run
from gossamer.seen.url_seen import LOG, MANIFEST
from gossamer.store import State
from gossamer.urls import host_key
from grown.pack import KEY_BYTES, QUEUES, grades_of_pages, pack, rings
from grown.web import HOSTS, NEW, OWN, ROWS, Ints, host_names, hosts_of_rows

Keys = NDArray[np.uint64]
FORMAT = "2"
"""Part of a state's stamp: raise it when the same number of URLs must be made anew."""
CHUNK_ROWS = 500_000
TABLE_KEYS = 400_000
"""Newest fingerprints, which lie in the log and, once the state is open, in the table."""
LOG_KEYS = 1000
TEXT_MASK = np.uint64((1 << 40) - 1)


def make_state(folder: Path, urls: int) -> None:
    """Make the state of a shard that knows so many URLs, or keep the one that is there."""
    stamp = folder / f"stamp-{FORMAT}-{urls}"
    if stamp.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.perf_counter()
    pages = urls // NEW
    state = State.open(folder)
    keys = np.empty(pages * NEW, np.uint64)
    rows = _rows(pages, keys)
    while some := list(itertools.islice(rows, CHUNK_ROWS)):
        state.write(some)
    state.sync()
    _write_seen(folder / "seen", state, keys)
    state.close()
    stamp.touch()
    print(f"made {pages * NEW:,} URLs in {time.perf_counter() - began:.0f} s")


def _rows(pages: int, keys: Keys) -> Iterator[tuple[bytes, bytes]]:
    """Yield host rows, then queue rows, in key order; put each URL's fingerprint into its place."""
    host_keys = np.array([host_key(name) for name in host_names()], "S11")
    rank = np.argsort(np.argsort(host_keys))
    grades = np.repeat(grades_of_pages(pages), ROWS)
    queue = (rank[hosts_of_rows(pages * ROWS)] * QUEUES + (QUEUES - 1 - grades)).astype(np.int32)
    rows_of = np.bincount(queue, minlength=HOSTS * QUEUES)
    urls_of = np.bincount(queue, np.where(np.arange(len(queue)) % ROWS, 1, OWN), HOSTS * QUEUES)
    for host in np.argsort(rank).tolist():
        queues = slice(rank[host] * QUEUES, (rank[host] + 1) * QUEUES)
        if known := int(urls_of[queues].sum()):
            spans = {QUEUES - 1 - n: Span(0, int(c)) for n, c in enumerate(rows_of[queues]) if c}
            row = HostState(name=host_names()[host], known=known, queued=known, spans=spans)
            yield host_row_key(bytes(rings()[host])), encode_host(row)
    order = np.argsort(queue, kind="stable")
    firsts = np.cumsum(rows_of) - rows_of
    for at in range(0, len(order), CHUNK_ROWS):
        rows = order[at : at + CHUNK_ROWS]
        sequences = np.arange(at, at + len(rows)) - firsts[queue[rows]]
        yield from _chunk(rows, sequences, grades[rows], keys)


def _chunk(rows: Ints, sequences: Ints, grades: Ints, keys: Keys) -> Iterator[tuple[bytes, bytes]]:
    """Yield one chunk of queue rows, packed as the frontier packs them."""
    made = pack(rows, sequences, grades)
    texts = memoryview(made.texts)
    starts, ends = itertools.chain((0,), made.text_ends.tolist()), made.text_ends.tolist()
    digests = [xxh3_64_intdigest(texts[a:b]) for a, b in zip(starts, ends, strict=False)]
    keys[made.numbers] = made.ring_bits | (np.array(digests, np.uint64) & TEXT_MASK)
    places, values = made.places.tobytes(), made.values.tobytes()
    start = 0
    for n, end in enumerate(made.value_ends.tolist()):
        yield places[n * KEY_BYTES : (n + 1) * KEY_BYTES], values[start:end]
        start = end


def _write_seen(folder: Path, state: State, keys: Keys) -> None:
    """Write fingerprints as the runs and log rows that flushes and merges would have left."""
    folder.mkdir()
    config = SeenConfig()
    runs = max(0, len(keys) - TABLE_KEYS)
    number = at = 0
    while at < runs:
        size = config.run_keys
        while size * config.fan_in <= runs - at:
            size *= config.fan_in
        number += 1
        part = np.sort(keys[at : min(at + size, runs)])
        run = write_run(run_path(folder, number), [part], len(part))
        entry = msgpack.encode((run.count, run.checksum))
        state.write([(MANIFEST + number.to_bytes(8, "big"), entry)])
        at += len(part)
    state.write(
        [
            (LOG + n.to_bytes(8, "big"), keys[at : at + LOG_KEYS].tobytes())
            for n, at in enumerate(range(at, len(keys), LOG_KEYS))
        ]
    )
    state.sync()
