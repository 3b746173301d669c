"""Near-duplicates: what is found, what is wrongly found, and what it costs: `make bench-neardup`.

Pages are those of the local real web, read by our own processor; the functions measured are the
shipped ones (`Sketcher`, `NearSet`, `compare_pairs`). Edits replace words that the tokeniser sees.
A random pair is of two documentation sets; a same-site pair of one, and so of one template.
"Dropped" is what a page must be to leave the index: the same text, or near and the same title.
Pairs whose texts really are copies (four words in a row: Jaccard of .9 and more between sites, the
same text or Jaccard .9 and the same title within one) are counted apart and told.

PAGES (9000), SKETCHES (10000000) and CRAWLS (5, pairs of crawls with and without) may be set.
"""

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec import msgpack
from realweb import FLAGS, SEED, bring_up, save
from texts import Text, edited, jaccard, sample_texts, words_of

from gossamer import Config, Crawl
from gossamer.config import FetchConfig, FilterConfig, LimitsConfig, PolitenessConfig
from gossamer.crawl.copies import CopyLabeller
from gossamer.dedupe import Level, NearSet, PageText, Sketcher, Sketches, compare_pairs
from gossamer.dedupe.kernels.bands import LEAST_WORDS
from gossamer.dedupe.near import MANIFEST, RECORD_BYTES, run_path, write_run

PAGES = int(os.environ.get("PAGES", "9000"))
SKETCHES = int(os.environ.get("SKETCHES", "10000000"))
CRAWLS = int(os.environ.get("CRAWLS", "5"))
CRAWL_PAGES = 5000
RECALL_PAGES = 2500
PAGES_PER_SITE = 450
KB_30 = 30_000
ROUNDS = 25
COPY = 0.9
GOSSAMER = [sys.executable, "-m", "gossamer"]


class Sample:
    """Pages with words enough to be judged, their words and their sketches."""

    def __init__(self, texts: list[Text]) -> None:
        self.sketcher = Sketcher(seed=1)
        texts = [text for text in texts if len(words_of(text.text)) >= LEAST_WORDS]
        self.texts = texts
        self.words = [words_of(text.text) for text in texts]
        self.sites = np.unique([text.site for text in texts], return_inverse=True)[1]
        self.sketches = self.sketcher.sketches([page_of(n, t) for n, t in enumerate(texts)])
        joined = [
            page_of(n, t, " ".join(w))
            for n, (t, w) in enumerate(zip(texts, self.words, strict=True))
        ]
        again = self.sketcher.sketches(joined)
        assert np.array_equal(again.records, self.sketches.records), "the edits' words are not ours"

    def shares_band(self, pairs: np.ndarray) -> np.ndarray:
        """Tell for each pair whether a look-up of one would find the other at all."""
        bands = self.sketches.bands
        return (bands[pairs[:, 0]] == bands[pairs[:, 1]]).any(axis=1)

    def told(self, pairs: np.ndarray) -> np.ndarray:
        """Return the level of each pair, as the whole chain gives it."""
        levels = compare_pairs(self.sketches.records, pairs) & 255
        alike = np.flatnonzero(levels)
        levels[alike[~self.shares_band(pairs[alike])]] = 0
        return levels

    def likeness(self, pair: np.ndarray) -> float:
        """Return the exact similarity of a pair."""
        return jaccard(self.words[pair[0]], self.words[pair[1]])


def page_of(number: int, text: Text, words: str | None = None) -> PageText:
    """Return a page as the crawl hands it over; its number is key and age."""
    said = text.text if words is None else words
    return PageText(number + 1, text.host, text.title, said.encode(), number)


def recall(sample: Sample, folder: Path) -> dict[str, float]:
    """Return the share of edited pages that are found, by the share of words replaced."""
    near = NearSet.open(folder, ())
    near.label_and_add(sample.sketches)
    dice = random.Random(4)
    vocabulary = sorted({word for words in sample.words for word in words})
    kept = dice.sample(range(len(sample.texts)), min(RECALL_PAGES, len(sample.texts)))
    found = {}
    for share in (0.0, 0.01, 0.05, 0.2):
        copies = [
            page_of(
                len(sample.texts) + n,
                sample.texts[n],
                edited(sample.words[n], share, vocabulary, dice),
            )
            for n in kept
        ]
        sketches = sample.sketcher.sketches(copies)
        hits = sum(
            len(found_by(near, sketches.only(slice(n, n + 1)))) > 0 for n in range(len(kept))
        )
        found[f"recall_{share * 100:g}"] = round(hits / len(kept), 4)
    return found


def found_by(near: NearSet, page: Sketches) -> np.ndarray:
    """Return the numbers of the known pages that a page is near to: look-up, then verdict."""
    numbers = near.look_up(page.bands) & ((1 << 27) - 1)
    records = np.concatenate((page.records, near.records(numbers)))
    pairs = np.stack((np.zeros(len(numbers), np.int64), np.arange(1, len(numbers) + 1)), axis=1)
    return numbers[compare_pairs(records, pairs) > 0] if len(numbers) else numbers


def random_pairs(sample: Sample) -> dict[str, object]:
    """Return how often two pages of different sites are taken for near-duplicates."""
    count, copies, wrong = 0, [], []
    for n in range(len(sample.texts)):
        others = np.flatnonzero(sample.sites[:n] != sample.sites[n])
        pairs = np.stack((np.full(len(others), n), others), axis=1).astype(np.int64)
        count += len(pairs)
        for pair in pairs[sample.told(pairs) > 0]:
            (copies if sample.likeness(pair) >= COPY else wrong).append(pair)
    for pair in copies[:5] + wrong[:5]:
        told = " and ".join(sample.texts[n].url for n in pair)
        print(f"  random pair found, likeness {sample.likeness(pair):.2f}: {told}")
    return {
        "random_pairs": count,
        "random_real_copies": len(copies),
        "random_wrong": len(wrong),
        "false_positive_random": len(wrong) / (count - len(copies)),
    }


def same_site_pairs(sample: Sample) -> dict[str, object]:
    """Return how often different pages of one template would be dropped, or are called similar."""
    dice = np.random.default_rng(5)
    count, copies, dropped, similar = 0, 0, 0, 0
    for site in range(sample.sites.max() + 1):
        pages = np.flatnonzero(sample.sites == site)
        pages = np.sort(dice.permutation(pages)[:PAGES_PER_SITE])
        first, second = np.triu_indices(len(pages), 1)
        pairs = np.stack((pages[first], pages[second]), axis=1).astype(np.int64)
        levels = sample.told(pairs)
        count += len(pairs)
        similar += int((levels == Level.SIMILAR).sum())
        for pair, level in zip(
            pairs[levels >= Level.DUPLICATE], levels[levels >= Level.DUPLICATE], strict=True
        ):
            is_copy = level == Level.EXACT or sample.likeness(pair) >= COPY
            copies += is_copy
            dropped += not is_copy
            if not is_copy and dropped <= 5:
                told = " and ".join(sample.texts[n].url for n in pair)
                print(f"  dropped, likeness {sample.likeness(pair):.2f}: {told}")
    return {
        "same_site_pairs": count,
        "same_site_real_copies": int(copies),
        "same_site_dropped": int(dropped),
        "false_positive_same_site": dropped / (count - copies),
        "similar_same_site": similar / (count - copies),
    }


def cpu_us(work: Callable[[], object], pages: int) -> float:
    """Return CPU microseconds per page: the best of some rounds, since others may use the core."""
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return 1e6 * min(took) / pages


def speed(sample: Sample) -> dict[str, float]:
    """Return what a sketch costs: of 30 kB of text, and of the text of 30 kB of HTML."""
    whole = " ".join(text.text for text in sample.texts[::7]).encode()
    size = min(100, len(whole) // KB_30) * KB_30
    texts = [(whole[n : n + KB_30], b"A title of a few words") for n in range(0, size, KB_30)]
    pages = [t for t in sample.texts if 0.8 * KB_30 < t.html_bytes < 1.2 * KB_30]
    of_html = [(page.text.encode(), page.title.encode()) for page in pages]
    sketcher = sample.sketcher
    return {
        "us_per_page": round(cpu_us(lambda: sketcher.of_texts(texts), len(texts)), 1),
        "us_per_page_30kb_html": round(cpu_us(lambda: sketcher.of_texts(of_html), len(pages)), 1),
        "text_bytes_of_30kb_html": round(statistics.median(len(text) for text, _ in of_html)),
    }


def look_up(folder: Path) -> dict[str, float]:
    """Return what looking a page up costs among millions, in files that the system has cached."""
    dice = np.random.default_rng(6)
    folder.mkdir()
    numbers = np.arange(SKETCHES, dtype=np.uint64)
    planted: list[np.ndarray] = []

    def bands() -> "np.ndarray":
        for _ in range(12):
            keys = dice.integers(1, 1 << 37, SKETCHES, dtype=np.uint64) << np.uint64(27)
            planted.append(keys[:1000])
            yield np.sort(keys | numbers)

    write_run(run_path(folder, 1), bands(), SKETCHES, is_synced=False)
    with (folder / "records").open("wb") as file:
        file.truncate(SKETCHES * RECORD_BYTES)
    row = (MANIFEST + (1).to_bytes(8, "big"), near_row(SKETCHES))
    near = NearSet.open(folder, [row], is_synced=False)
    known = np.ascontiguousarray(np.stack(planted, axis=1))
    assert len(near.look_up(known)) >= len(known)
    batches = [
        dice.integers(1, 1 << 37, (256, 12), dtype=np.uint64) << np.uint64(27) for _ in range(40)
    ]
    for batch in batches:
        near.look_up(batch)

    def work() -> None:
        for batch in batches:
            near.look_up(batch)

    def work_alone() -> None:
        for batch in batches:
            near.look_up(batch[:1])

    return {
        "lookup_us": round(cpu_us(work, 40 * 256), 2),
        "lookup_alone_us": round(cpu_us(work_alone, 40), 1),
        "lookup_sketches": SKETCHES,
    }


def near_row(pages: int) -> bytes:
    """Return a line of the manifest."""
    return msgpack.encode([pages, pages])


def crawls(base: Path) -> dict[str, object]:
    """Return what near-duplicates add to the CPU of a crawl: pairs of crawls at the same moment.

    One after the other they would meet another load of the machine, and differ by a third. Pairs
    of two crawls without are the control: how far from 1 is chance.
    """
    ratios = [pair_ratio(base, "true") for _ in range(CRAWLS)]
    control = [pair_ratio(base, "false") for _ in range(CRAWLS)]
    return {
        "crawl_cpu_ratio": round(statistics.median(ratios), 4),
        "crawl_cpu_ratios": [round(ratio, 3) for ratio in ratios],
        "crawl_cpu_ratios_of_control": [round(ratio, 3) for ratio in control],
    }


def pair_ratio(base: Path, near: str) -> float:
    """Crawl twice at once, with `near` and without; return the ratio of the CPU seconds."""
    started = []
    for name, knob in (("one", near), ("other", "false")):
        knobs = base / f"{name}.toml"
        knobs.write_text(f"[dedupe]\nnear = {knob}\n")
        command = [*GOSSAMER, "crawl", SEED, "--into", str(base / name), "--config", str(knobs)]
        command += [*FLAGS, "--shards", "1", "--max-pages", str(CRAWL_PAGES), "--json"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, **quiet))
    took = []
    for process in started:
        _, ended, usage = os.wait4(process.pid, 0)
        assert ended == 0, ended
        took.append(usage.ru_utime + usage.ru_stime)
    for name in ("one", "other"):
        shutil.rmtree(base / name)
    print(f"  near = {near:5} over without: {took[0] / took[1]:.3f}")
    return took[0] / took[1]


def share(folder: Path) -> dict[str, float]:
    """Return the share of a crawl's CPU that goes into near-duplicates, measured inside it.

    A lower bound of what it adds: the thread's work, the kernels' loading and the handing over are
    in it; rows that are written, and threads that wait for each other, are not.
    """
    spent = [0.0]

    def timed(name: str) -> None:
        inner = getattr(CopyLabeller, name)

        def outer(*given: object) -> object:
            began = time.thread_time()
            try:
                return inner(*given)
            finally:
                spent[0] += time.thread_time() - began

        setattr(CopyLabeller, name, outer)

    for name in ("_do", "_ended", "offer"):
        timed(name)
    config = Config(
        filter=FilterConfig(scope="any", allow=("*.test",)),
        fetch=FetchConfig(allow_private=True),
        politeness=PolitenessConfig(delay_s=0.0),
        limits=LimitsConfig(max_pages=CRAWL_PAGES),
        shards=1,
    )
    began = time.process_time()
    ending = Crawl(folder, [SEED], config).run()
    whole = time.process_time() - began
    assert ending.status.pages == CRAWL_PAGES, ending.status
    return {"crawl_cpu_share": round(spent[0] / whole, 4)}


def main() -> None:
    """Measure, print a table, keep the result."""
    bring_up()
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    result: dict[str, object] = {}
    try:
        sample = Sample(sample_texts(PAGES))
        result |= {"pages": len(sample.texts)}
        result |= recall(sample, base / "near")
        result |= random_pairs(sample)
        result |= same_site_pairs(sample)
        result |= speed(sample)
        result |= look_up(base / "large") if SKETCHES else {}
        result |= crawls(base) if CRAWLS else {}
        result |= share(base / "share")
    finally:
        shutil.rmtree(base, ignore_errors=True)
    for name, value in result.items():
        print(f"{name:28} {value}")
    assert result["random_pairs"] >= 5_000_000 or PAGES < 9000
    assert result["same_site_pairs"] >= 500_000 or PAGES < 9000
    save("neardup", {**result, "pairs": result["random_pairs"]})


if __name__ == "__main__":
    main()
