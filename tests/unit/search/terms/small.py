"""Small pages, made of numbers, in both organisations."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.page import Prepared
from gossamer.search.shard import LocalShard, ShardWriter
from gossamer.search.terms import TermIndexReader, TermsWriter
from gossamer.urls import fingerprint_of

LEAST_HEAP_BYTES = 15_000_000


def page(number: int, words: Sequence[str], *, language: str = "en", at: int = 0) -> Prepared:
    """Return a page with some words in its fields; the fields left out are empty."""
    host = f"h{number % 3}.test"
    url = f"http://{host}/{number}"
    return Prepared(
        url=url,
        key=fingerprint_of(url),
        host=number % 3,
        sketch=number,
        at=at,
        language=language,
        media_type="text/html",
        sites=(host, "test"),
        types=("text/html", "html"),
        title=f"Title {number}",
        text=f"Text of {number}",
        words=(*words, *("" for _ in range(len(TEXT_FIELDS) - len(words)))),
    )


def some_pages(many: int, seed: int = 1) -> list[Prepared]:
    """Return pages of a few words each, of which some are rare and some everywhere."""
    chance = random.Random(seed)
    vocabulary = [f"w{rank}" for rank in range(40)]

    def text() -> str:
        few = vocabulary[: chance.choice([3, 10, 40])]
        return " ".join(chance.choices(few, k=chance.choice([0, 4, 50])))

    return [
        page(
            number,
            [text() for _ in TEXT_FIELDS],
            language=chance.choice(["en", "de", "de"]),
            at=number * 10,
        )
        for number in range(many)
    ]


def by_terms(folder: Path, pages: Iterable[Prepared], shards: int = 3) -> TermIndexReader:
    """Return pages split by terms; the runs are small, so that there are several."""
    writer = TermsWriter(folder, shards, run_tokens=1 << 10)
    for one in pages:
        writer.add(one)
    writer.close()
    return TermIndexReader(folder)


def in_one_index(folder: Path, pages: Iterable[Prepared]) -> LocalShard:
    """Return pages in one index of the engine."""
    writer = ShardWriter(folder, heap_bytes=LEAST_HEAP_BYTES, is_new=True)
    for one in pages:
        writer.add(one)
    writer.close()
    return LocalShard(folder)
