"""Do the indexes of shards in a store answer as one index would? `make bench-index-shards`.

Three machines (process groups on loopback) crawl PAGES (3,000) pages of the real web with three
shards into a store of files. Each shard gets its graph, ranks and index from the store, in a cache
of its own, as on a machine of its own; a restored folder gets one graph and one index of all pages.
QUERIES (400) questions, one to five words in a row of titles, headings and anchor texts, are asked
of both through the public door: `agreement` is the share of first tens in common. It is taken again
while the index of one shard is built anew, and after KILLS (10) of such builds, at random moments.
"""

import os
import random
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

from fleet_costs import GOSSAMER
from fleet_run import LONG_S, said
from graph_shards import crawl
from realweb import bring_up, save
from search import questions

import gossamer

PAGES = int(os.environ.get("PAGES", "3000"))
QUERIES = int(os.environ.get("QUERIES", "400"))
KILLS = int(os.environ.get("KILLS", "10"))
SHARDS = 3
AT_ONCE = 20
"""Questions of a round while something is built."""
TOLD = 5
"""So many questions with other answers are printed."""

Tens = dict[str, list[str]]


def main() -> None:
    """Crawl, build both, compare, kill, compare, and keep the result."""
    bring_up()
    with tempfile.TemporaryDirectory(prefix="index-shards-") as folder:
        place = Path(folder)
        os.environ["GOSSAMER_CACHE"] = str(place / "cache")
        crawl(place, pages=PAGES, shards=SHARDS)
        url, one = f"file://{place / 'store'}", place / "one"
        said("restore", url, "--into", str(one))
        said("build", str(one), "graph")
        said("rank", str(one))
        built = said("build", str(one), "index")
        said("build", url, "graph")
        said("rank", url)
        pages = [pages_of(build(place, url, shard)) for shard in range(SHARDS)]
        texts = questions(one, QUERIES)
        expected = {text: ten for text, ten in tens(one, texts).items() if ten}
        found = tens(url, expected)
        result: dict[str, object] = {
            "pages": built["pages"],
            "shards": SHARDS,
            "shard_pages": pages,
            "queries": len(expected),
            "agreement": agreement(expected, found),
            "agreement_while_built": agreement(*while_built(place, url, expected)),
        }
        killed(place, url)
        result |= {
            "kills": KILLS,
            "agreement_after_kills": agreement(expected, tens(url, expected)),
        }
        tell_differences(expected, found)
    save("index-shards", result)


def pages_of(told: dict[str, object]) -> int:
    """Return the pages that a build of shards has told."""
    pages = told["pages"]
    assert isinstance(pages, int)
    return pages


def build_words(url: str, shard: int) -> list[str]:
    """Return the words that build the index of a shard."""
    return ["build", url, "index", "--shard", str(shard)]


def build(place: Path, url: str, shard: int) -> dict[str, object]:
    """Build the index of a shard on a machine of its own."""
    os.environ["GOSSAMER_CACHE"] = str(place / f"cache-{shard}")
    try:
        return said(*build_words(url, shard))
    finally:
        os.environ["GOSSAMER_CACHE"] = str(place / "cache")


def started(place: Path, url: str, shard: int) -> "subprocess.Popen[bytes]":
    """Begin to build the index of a shard anew."""
    return subprocess.Popen(
        [*GOSSAMER, *build_words(url, shard), "--full"],
        env={**os.environ, "GOSSAMER_CACHE": str(place / f"cache-{shard}")},
        stdout=subprocess.DEVNULL,
    )


def tens(place: Path | str, texts: Iterable[str]) -> Tens:
    """Return the first ten of each question."""
    with gossamer.open_search(place) as index:
        return {text: ten_of(index, text) for text in texts}


def ten_of(index: gossamer.SearchIndex, text: str) -> list[str]:
    """Return the first ten of a question, of all shards."""
    found = index.search(text, verbatim=True)
    assert not found.missing, found.missing
    return [hit.url for hit in found.hits]


def agreement(expected: Tens, found: Tens) -> float:
    """Return the mean share of first tens that two have in common."""
    assert found
    shares = (
        len(set(ten) & set(expected[text])) / max(len(ten), len(expected[text]))
        for text, ten in found.items()
    )
    return round(mean(shares), 4)


def while_built(place: Path, url: str, expected: Tens) -> tuple[Tens, Tens]:
    """Return what is expected and found of questions that are asked while one shard is built."""
    texts, found = list(expected), Tens()
    going = started(place, url, 1)
    while going.poll() is None:
        some = [texts[n % len(texts)] for n in range(len(found), len(found) + AT_ONCE)]
        found |= tens(url, some)
    assert going.returncode == 0
    return expected, found


def killed(place: Path, url: str) -> None:
    """Kill builds of shards at random moments; then let all of them end."""
    dice = random.Random(23)
    began = time.monotonic()
    started(place, url, 0).wait(timeout=LONG_S)
    longest_s = time.monotonic() - began
    kills = 0
    while kills < KILLS:
        going = started(place, url, kills % SHARDS)
        time.sleep(dice.uniform(0.3, longest_s))
        kills += going.poll() is None
        going.kill()
        going.wait()
    for shard in range(SHARDS):
        build(place, url, shard)


def tell_differences(expected: Tens, found: Tens) -> None:
    """Print some questions whose answers differ, with what was lost and what came instead."""
    others = [text for text in expected if set(expected[text]) != set(found[text])]
    print(f"{len(others)} of {len(expected)} questions have other first tens")
    for text in others[:TOLD]:
        lost, new = set(expected[text]) - set(found[text]), set(found[text]) - set(expected[text])
        print(f"  {text!r}: without {sorted(lost)}, with {sorted(new)}")


if __name__ == "__main__":
    main()
