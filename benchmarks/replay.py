"""Is this version slower than another one? A crawl without sockets: `make bench-replay OLD=src`.

OLD is the `src` folder of another version, such as that of a `git worktree` of an older commit; NEW
is this one unless told. Both crawl the same recorded answers of the local real web to the end, each
in a process of its own, in pairs that take turns in going first. A ratio is the CPU of all threads
and children, user + system: of the crawl alone, and with the start. Asserts that both stored the
same URLs. PAIRS, PAGES and RECORDING (a file; made once, from the real web) change the defaults.
Exits with 1 if a median is above the aim.
"""

import json
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from measure import measured
from realweb import DATA, REPOSITORY, bring_up, commit_of, save
from replayed.recording import begin

from gossamer.store import CrawlFolder, iter_pages

AIM = 1.03
PAIRS = int(os.environ.get("PAIRS", "15"))
PAGES = int(os.environ.get("PAGES", "3000"))
NEW = Path(os.environ.get("NEW") or REPOSITORY / "src").resolve()
KEPT = Path(tempfile.gettempdir()) / f"gossamer-recording-{PAGES}.bin"
RECORDING = Path(os.environ.get("RECORDING") or KEPT).resolve()


class Played(NamedTuple):
    """What one arm took, and what it stored."""

    cpu_s: float
    """Start-up included."""
    crawl_cpu_s: float
    wall_s: float
    others_cores: float
    stored: frozenset[tuple[str, int]]
    """URL and status of every answer in the archive."""

    @property
    def pages(self) -> int:
        """How many of them are pages."""
        return sum(status < 300 for _, status in self.stored)


def make_recording() -> None:
    """Choose hosts of the real web, and crawl them once over sockets."""
    bring_up()
    web = json.loads((DATA / "hosts.json").read_text())
    begin(web, PAGES, random.Random(PAGES)).save(RECORDING)
    try:
        play(NEW, RECORD="1")
    except BaseException:
        RECORDING.unlink()
        raise


def play(source: Path, **environment: str) -> Played:
    """Let a version crawl the recording in an empty folder."""
    paths = os.pathsep.join((str(source), str(REPOSITORY / "benchmarks")))
    words = [f"{name}={value}" for name, value in {**environment, "PYTHONPATH": paths}.items()]
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    folder = base / "crawl"
    try:
        arm = [sys.executable, "-m", "replayed.arm", str(RECORDING), str(folder), str(source)]
        took = measured(["env", *words, *arm], base)
        assert took.exit_code == 0, took.errors
        told = json.loads(took.output.splitlines()[-1])
        return Played(
            took.cpu_s, told["crawl_cpu_s"], took.wall_s, took.others_cores, stored(folder)
        )
    finally:
        shutil.rmtree(base, ignore_errors=True)


def stored(folder: Path) -> frozenset[tuple[str, int]]:
    """Return what is in the archive of a crawl, where nothing may be twice."""
    crawl = CrawlFolder(folder)
    names = [name.file_name for name in crawl.archive_names(kind="pages")]
    pages = [page for name in names for page in iter_pages(crawl.archive_path(name))]
    found = frozenset((page.url, page.status) for page in pages)
    assert len(found) == len(pages), "stored twice"
    return found


def is_guess(url: str) -> bool:
    """Return True if nobody named a URL: an answer to it was stored before, if it was an error."""
    return url.endswith("/sitemap.xml")


def main() -> None:
    """Play pairs, print them, keep the result."""
    if "OLD" not in os.environ:
        sys.exit("expected OLD=path/to/another/src, the version to compare with")
    old = Path(os.environ["OLD"]).resolve()
    if not RECORDING.exists():
        make_recording()
    pairs: list[tuple[Played, Played]] = []
    arms = {"old": old, "new": NEW}
    for number in range(-1, PAIRS):  # the first pair compiles what either keeps compiled
        names = ("old", "new") if number % 2 == 0 else ("new", "old")
        found = {name: play(arms[name]) for name in names}
        theirs, ours = found["old"], found["new"]
        differing = {url for url, _ in ours.stored ^ theirs.stored if not is_guess(url)}
        assert not differing, sorted(differing)[:20]
        if number >= 0:
            pairs.append((theirs, ours))
            print(
                f"old {theirs.crawl_cpu_s:.2f} s, new {ours.crawl_cpu_s:.2f} s, "
                f"ratio {ours.crawl_cpu_s / theirs.crawl_cpu_s:.3f}, "
                f"with start {ours.cpu_s / theirs.cpu_s:.3f}, "
                f"others {ours.others_cores:.2f} cores",
                flush=True,
            )
    report(old, pairs)


def report(old: Path, pairs: list[tuple[Played, Played]]) -> None:
    """Keep the medians; end with 1 if one of them is above the aim."""
    crawls = [ours.crawl_cpu_s / theirs.crawl_cpu_s for theirs, ours in pairs]
    wholes = [ours.cpu_s / theirs.cpu_s for theirs, ours in pairs]
    pages = pairs[0][0].pages
    medians = [statistics.median(crawls), statistics.median(wholes)]
    save(
        "replay",
        {
            "cpu_ratio": round(medians[0], 4),
            "cpu_ratio_with_start": round(medians[1], 4),
            "pairs": len(pairs),
            "pages": pages,
            "ratios": [round(ratio, 3) for ratio in crawls],
            "ratios_with_start": [round(ratio, 3) for ratio in wholes],
            "old_ms_per_page": ms_per_page(theirs.crawl_cpu_s / pages for theirs, _ in pairs),
            "new_ms_per_page": ms_per_page(ours.crawl_cpu_s / pages for _, ours in pairs),
            "others_cores": round(statistics.median(o.others_cores for p in pairs for o in p), 2),
            "old": commit_of(old),
            "new": commit_of(NEW),
            "python": platform.python_version(),
        },
    )
    sys.exit(1 if max(medians) > AIM else 0)


def ms_per_page(seconds: Iterable[float]) -> float:
    """Return the median in milliseconds."""
    return round(1000 * statistics.median(seconds), 3)


if __name__ == "__main__":
    main()
