"""How well `gossamer copies --of` finds quotations: planted ones, in pages of a stored crawl.

python benchmarks/text_reuse.py DIR [--seed N] [--show N]

Given texts are pages of the crawl, drawn at random. Passages of 40 to 400 words of them are planted
into pages of other hosts, with 1 to 10 % of the words substituted, deleted or inserted, and in a
third of the cases a sentence moved. All other pages are honest: what is told of them is counted,
and --show lists what pages of other sites share. DIR is only read.
"""

import argparse
import json
import re
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from gossamer.dedupe import TextReuse
from gossamer.store import CrawlFolder, RecordRange, counted_lengths

LENGTHS, EDITS = (40, 80, 150, 400), (0.01, 0.03, 0.05, 0.1)
GIVEN, PER_CELL = 100, 60
WORD = re.compile(r"[^\W_]+")
Page: TypeAlias = tuple[str, str]


def texts_of(folder: Path) -> list[tuple[str, str]]:
    """Return URL and text of every page."""
    place = CrawlFolder(folder)
    return [
        (record.headers.get("warc-target-uri", ""), record.block.decode("utf-8", "replace"))
        for name, end in counted_lengths(place, "text").items()
        for record in RecordRange(place.archive_path(name), 0, end, [])
        if record.headers.get("warc-type") == "conversion"
    ]


def edited(words: list[str], share: float, vocabulary: list[str], rng: Random) -> list[str]:
    """Return words with a share of them substituted, deleted, or others inserted."""
    made = list(words)
    for _ in range(max(1, round(share * len(words)))):
        at = rng.randrange(len(made))
        kind = rng.randrange(3)
        if kind == 0:
            made[at] = rng.choice(vocabulary)
        elif kind == 1 and len(made) > 1:
            del made[at]
        else:
            made.insert(at, rng.choice(vocabulary))
    return made


def with_moved_sentence(words: list[str], rng: Random) -> list[str]:
    """Return words of which 8 to 25 in a row stand elsewhere."""
    size = min(rng.randint(8, 25), len(words) // 3)
    at = rng.randrange(len(words) - size)
    moved, rest = words[at : at + size], words[:at] + words[at + size :]
    to = rng.randrange(len(rest) + 1)
    return rest[:to] + moved + rest[to:]


class Planted(NamedTuple):
    """A page with a quotation in it."""

    cell: str
    url: str
    before: str
    quoted: str
    after: str
    original: str
    source: int


def plant(
    pages: list[Page], given: list[Page], length: int, share: float, rng: Random, *, is_moved: bool
) -> Planted:
    """Put a passage of a given text into a page of another host."""
    source = rng.randrange(len(given))
    words = WORD.findall(given[source][1])
    start = rng.randrange(max(len(words) - length, 1))
    original = words[start : start + length]
    quoted = with_moved_sentence(original, rng) if is_moved else original
    quoted = edited(quoted, share, WORD.findall(rng.choice(pages)[1]) or ["x"], rng)
    carrier = rng.choice(pages)
    while host_of(carrier[0]) == host_of(given[source][0]):
        carrier = rng.choice(pages)
    around = WORD.findall(carrier[1])
    at = rng.randrange(len(around) + 1)
    return Planted(
        f"{length} words, {share:.0%}{' and a sentence moved' * is_moved}",
        carrier[0],
        " ".join(around[:at]),
        " ".join(quoted),
        " ".join(around[at:]),
        " ".join(original),
        source,
    )


def is_found(reuse: TextReuse, case: Planted, quoted: str) -> bool:
    """Return True if a passage is found that lies where one was planted."""
    page = reuse.split(f"{case.before} {quoted} {case.after}")
    first = len(reuse.split(case.before).words)
    span = range(first, first + len(reuse.split(quoted).words))
    return any(
        2 * sum(at in span for at, _ in passage.pairs) >= len(passage.pairs)
        for found in reuse.passages(page, host_of(case.url))
        if found.text == case.source
        for passage in found.passages
    )


def measure(pages: list[Page], min_words: int, rng: Random, told: int) -> dict[str, object]:
    """Return the share of planted quotations that is found, and what other pages share."""
    given = rng.sample([page for page in pages if len(WORD.findall(page[1])) > 600], GIVEN)
    cases = [
        plant(pages, given, length, share, rng, is_moved=n % 3 == 0)
        for length in LENGTHS
        for share in EDITS
        for n in range(PER_CELL)
    ]
    began = time.process_time()
    reuse = TextReuse([text for _, text in given], min_words)
    maybe = [page for page in pages if reuse.note(reuse.split(page[1]), host_of(page[0]))]
    walked_s = time.process_time() - began
    for case in cases:
        text = f"{case.before} {case.quoted} {case.after}"
        reuse.note(reuse.split(text), host_of(case.url))
    tried: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for case in cases:
        is_common = not is_found(reuse, case, case.original)  # word for word, and yet not told
        cell = "drawn from what is common in the crawl" if is_common else case.cell
        tried[cell] += 1
        found[cell] += is_found(reuse, case, case.quoted)
    began = time.process_time()
    others = [
        (passage.words, given[found.text][0], url, text[split.spans[passage.pairs[0][0], 0] :])
        for url, text in maybe
        for split in [reuse.split(text)]
        for found in reuse.passages(split, host_of(url))
        for passage in found.passages
    ]
    aligned_s = time.process_time() - began
    foreign = [one for one in others if site_of(one[1]) != site_of(one[2])]
    for words, source, url, text in rng.sample(foreign, min(told, len(foreign))):
        print(f"{words} words of {source} in {url}: {text[:300]!r}")
    return {
        "found": {cell: f"{found[cell]} of {count}" for cell, count in tried.items()},
        "pages": len(pages),
        "pages read again": len(maybe),
        "pages that share a passage": len({one[2] for one in others}),
        "of another site": len({one[2] for one in foreign}),
        "cpu_s": {"first walk": round(walked_s, 2), "second walk": round(aligned_s, 2)},
    }


def site_of(url: str) -> str:
    """Return what the hosts of one body have in common: docs-jdk and jdk-java-base have "jdk"."""
    return host_of(url).removeprefix("docs-").partition(":")[0].partition(".")[0].partition("-")[0]


def host_of(url: str) -> str:
    """Return the host of a URL."""
    return urlsplit(url).netloc


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--min-words", type=int, default=25)
    parser.add_argument(
        "--show", type=int, default=0, help="So many passages that pages of other sites share."
    )
    given = parser.parse_args()
    pages = texts_of(given.folder)
    print(json.dumps(measure(pages, given.min_words, Random(given.seed), given.show), indent=1))


if __name__ == "__main__":
    main()
