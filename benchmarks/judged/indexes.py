"""Two indexes of the same pages, with the same analysis: ours, and one field for everything."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from gossamer.search.analysis import Analyser
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.page import IndexPage, Prepared
from gossamer.search.shard import ShardWriter
from gossamer.store import CrawlFolder, Records
from judged.questions import Web, anchors_of

_TITLE, _HEADS, _MAIN, _REST = (
    TEXT_FIELDS.index(name) for name in ("title", "heads", "main", "rest")
)


class Built(NamedTuple):
    """The indexes, and which pages say the same."""

    ours: Path
    plain: Path
    class_of: dict[int, int]
    """Pages of one class have the same main text."""
    pages: int


def build(folder: CrawlFolder, web: Web, skip: frozenset[tuple[str, str]], into: Path) -> Built:
    """Write both indexes, unless they are there."""
    note = into / "classes.npy"
    if not note.exists():
        analyser = Analyser()
        writers = [ShardWriter(into / name, is_new=True) for name in ("ours", "plain")]
        rows = []
        for page in _pages(folder, web, skip):
            ready = analyser.prepare(page)
            main = ready.words[_MAIN] or " ".join(ready.words)
            rows.append((ready.key, xxh3_64_intdigest(main.encode())))
            writers[0].add(ready)
            writers[1].add(_in_one_field(ready))
        for writer in writers:
            writer.close()
        np.save(note, np.array(rows, np.uint64))
    classes: NDArray[np.uint64] = np.load(note)
    class_of = dict(classes.tolist())
    return Built(into / "ours", into / "plain", class_of, len(class_of))


def _in_one_field(page: Prepared) -> Prepared:
    """Return a page with title and whole text in the main field, and nothing in the others."""
    words = [""] * len(TEXT_FIELDS)
    words[_MAIN] = " ".join((page.words[_TITLE], page.words[_MAIN], page.words[_REST]))
    return msgspec.structs.replace(page, words=tuple(words), text="", title="")


def _pages(folder: CrawlFolder, web: Web, skip: frozenset[tuple[str, str]]) -> Iterator[IndexPage]:
    for path in sorted(folder.archive.glob("text-*")):
        for record in Records(path):
            url = record.headers.get("warc-target-uri", "")
            facts = web.pages.get(url)
            if facts is None:
                continue
            yield IndexPage(
                url=url,
                title=facts.title,
                headings=facts.headings,
                text=record.block.decode(),
                language=facts.language,
                media_type=facts.media_type,
                at=facts.at,
                anchors=anchors_of(web, url, skip),
                link_texts=facts.link_texts,
            )
