"""How well is found what is like something? Pages by parts of their text, images by changed copies.

    python benchmarks/like.py pages CRAWL [200]       a crawl's folder with an index
    python benchmarks/like.py images FOLDER [250]     any folder with PNG, JPEG and GIF files
    python benchmarks/like.py shards CRAWL WORK       the same index in 1, 4 and 16 shards

Pages: the middle third of the text, 100 words in a row of which 20 were replaced, and all of it;
mean reciprocal rank of the page, or of one that says the same. Images: half and twice the size,
JPEG of quality 30, grey, 5 % cut off; how often the original comes first of all.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gossamer import IndexOptions, open_search
from gossamer.process.image import perceptual_hash
from gossamer.search import build_index, index_folder
from gossamer.search.analysis import COPY_BITS
from gossamer.search.shard import LocalShard
from gossamer.urls import fingerprint_of

LEAST_WORDS, PARAGRAPH, REPLACED = 150, 100, 20
LEAST_SIDE, ALIKE_BITS = 48, 12
Hashes = NDArray[np.uint64]


class Sampled(NamedTuple):
    """A page of the index."""

    url: str
    words: list[str]


def sampled(crawl: Path, most: int, rng: random.Random) -> tuple[list[Sampled], list[str]]:
    """Return pages with enough words of main content, and words of many pages."""
    shard = LocalShard(index_folder(crawl) / "00")
    urls = sorted(shard.urls())
    pages: list[Sampled] = []
    others: list[str] = []
    for url in rng.sample(urls, min(len(urls), 15 * most)):
        (page,) = shard.stored([fingerprint_of(url)])
        words = page.text.partition("\n\n")[0].split()
        others += rng.sample(words, min(5, len(words)))
        if len(words) >= LEAST_WORDS and page.language and len(pages) < most:
            pages.append(Sampled(url, words))
    return pages, others


def third(words: list[str], _others: list[str], _rng: random.Random) -> str:
    """Return the middle third."""
    return " ".join(words[len(words) // 3 : 2 * len(words) // 3])


def changed(words: list[str], others: list[str], rng: random.Random) -> str:
    """Return some words in a row, of which some were replaced."""
    start = rng.randrange(len(words) - PARAGRAPH)
    part = words[start : start + PARAGRAPH]
    for place in rng.sample(range(PARAGRAPH), REPLACED):
        part[place] = rng.choice(others)
    return " ".join(part)


def whole(words: list[str], _others: list[str], _rng: random.Random) -> str:
    """Return all."""
    return " ".join(words)


def measure_pages(crawl: Path, most: int) -> None:
    """Print ranks of pages that are asked for by parts of their text."""
    rng = random.Random(7)
    pages, others = sampled(crawl, most, rng)
    with open_search(crawl) as index:
        for part in (third, changed, whole):
            ranks, took, copies, near = [], [], 0, []
            for page in pages:
                text = part(page.words, others, rng)
                began = time.perf_counter()
                answer = index.search_like(text, per_page=100, without=["copies"])
                took.append(1000 * (time.perf_counter() - began))
                urls = [hit.url for hit in answer.hits]
                ranks.append(1 / (urls.index(page.url) + 1) if page.url in urls else 0.0)
                copies += any(hit.is_near_copy and hit.url == page.url for hit in answer.hits)
                ten = [url for url in urls if url != page.url][:10]
                near.append(
                    sum(url.rpartition("/")[0] == page.url.rpartition("/")[0] for url in ten)
                )
            took.sort()
            print(
                f"{part.__name__:8} {len(pages)} pages, MRR {statistics.mean(ranks):.3f}, first "
                f"{ranks.count(1.0) / len(ranks):.3f}, told as near-copy {copies}, same folder of "
                f"ten {statistics.mean(near):.1f}, p50 {took[len(took) // 2]:.0f} ms, p95 "
                f"{took[int(0.95 * len(took))]:.0f} ms"
            )


def measure_shards(crawl: Path, work: Path) -> None:
    """Print how far the first ten agree with those of one shard."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "archive").unlink(missing_ok=True)
    (work / "archive").symlink_to((crawl / "archive").resolve())
    lists: dict[int, list[list[str]]] = {}
    texts: list[str] = []
    for shards in (1, 4, 16):
        build_index(work, IndexOptions(shards=shards, is_full=True))
        rng = random.Random(7)
        if not texts:
            pages, others = sampled(work, 60, rng)
            texts = [changed(page.words, others, rng) for page in pages]
        with open_search(work) as index:
            answers = [index.search_like(text) for text in texts]
        lists[shards] = [[hit.url for hit in answer.hits] for answer in answers]
        same = [len({*a} & {*b}) / len(a) for a, b in zip(lists[1], lists[shards], strict=True)]
        equal = sum(a == b for a, b in zip(lists[1], lists[shards], strict=True))
        print(f"{shards} shards: {statistics.mean(same):.4f} of ten, {equal} of {len(same)} equal")


def pictures(folder: Path) -> Iterator[Image.Image]:
    """Yield distinct images that are large enough, in the order of their names."""
    seen: set[bytes] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in {".png", ".jpg", ".jpeg", ".gif"}:
            continue
        body = path.read_bytes()
        digest = sha1(body).digest()
        try:
            image = Image.open(BytesIO(body))
            image.load()
        except (OSError, SyntaxError, ValueError):
            continue
        if min(image.size) >= LEAST_SIDE and digest not in seen:
            seen.add(digest)
            yield image


def on_white(image: Image.Image) -> Image.Image:
    """Return an image as somebody sees it on a white page."""
    seen = Image.new("RGBA", image.size, (255, 255, 255, 255))
    seen.alpha_composite(image.convert("RGBA"))
    return seen.convert("RGB")


def scaled(image: Image.Image, factor: float) -> Image.Image:
    """Return an image in another size."""
    size = [max(1, round(side * factor)) for side in image.size]
    return on_white(image).resize((size[0], size[1]), Image.Resampling.LANCZOS)


def recompressed(image: Image.Image) -> Image.Image:
    """Return an image as a JPEG of poor quality."""
    file = BytesIO()
    on_white(image).save(file, "JPEG", quality=30)
    return Image.open(BytesIO(file.getvalue()))


def cropped(image: Image.Image) -> Image.Image:
    """Return an image without a fortieth at each side."""
    left, top = image.width // 40, image.height // 40
    return on_white(image).crop((left, top, image.width - left, image.height - top))


CHANGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "half the size": lambda image: scaled(image, 0.5),
    "twice the size": lambda image: scaled(image, 2.0),
    "JPEG 30": recompressed,
    "half, JPEG 30": lambda image: recompressed(scaled(image, 0.5)),
    "grey": lambda image: on_white(image).convert("L"),
    "5 % cut off": cropped,
}


def measure_images(folder: Path, most: int) -> None:
    """Print how often the original of a changed image comes first."""
    images = list(pictures(folder))
    hashes = np.array([int(perceptual_hash(image) or "0", 16) for image in images], np.uint64)
    sample = [n for n in random.Random(5).sample(range(len(images)), len(images)) if hashes[n]]
    sample = sample[:most]
    print(f"{len(images)} images, {int((hashes == 0).sum())} plain, {len(sample)} asked for")
    for name, change in CHANGES.items():
        first = alike = false = 0
        for number in sample:
            given = np.uint64(int(perceptual_hash(change(images[number])) or "0", 16))
            bits = np.bitwise_count(hashes ^ given)
            same = np.bitwise_count(hashes ^ hashes[number]) <= COPY_BITS
            first += bool(same[bits == bits.min()].any())
            alike += bool(bits[number] <= ALIKE_BITS)
            false += int(((bits <= ALIKE_BITS) & (hashes != 0) & ~_like(hashes, number)).sum())
        count = len(sample)
        print(
            f"{name:16} first {first / count:.3f}, within {ALIKE_BITS} bits {alike / count:.3f}, "
            f"false {false / count:.2f} of {len(images)}"
        )


def _like(hashes: Hashes, number: int) -> NDArray[np.bool_]:
    """Return which images are alike by themselves: they are no false matches of a copy."""
    like: NDArray[np.bool_] = np.bitwise_count(hashes ^ hashes[number]) <= ALIKE_BITS
    return like


def main() -> None:
    """Measure what was asked for."""
    what, place, *more = sys.argv[1:]
    if what == "pages":
        measure_pages(Path(place), int(more[0]) if more else 200)
    elif what == "shards":
        measure_shards(Path(place), Path(more[0]))
    else:
        measure_images(Path(place), int(more[0]) if more else 250)


if __name__ == "__main__":
    main()
