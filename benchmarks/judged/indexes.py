"""Three indexes of the same pages: ours, one field analysed as ours is, and the engine as it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from gossamer.search.analysis import Analyser
from gossamer.search.analysis.prepare import TITLE_TIMES
from gossamer.search.build import IndexOptions, build_index
from gossamer.search.fields import CODE, MAIN, REST, TEXT_FIELDS, TITLE
from gossamer.search.page import IndexPage, Prepared
from gossamer.search.shard import ShardWriter
from gossamer.store import CrawlFolder, Records
from gossamer.urls import fingerprint_of
from judged.engine import build_engine
from judged.questions import Web, plain

_TITLE, _MAIN, _REST, _CODE = map(TEXT_FIELDS.index, (TITLE, MAIN, REST, CODE))


class Built(NamedTuple):
    """The indexes, and which pages say the same."""

    ours: Path
    plain: Path
    engine: Path
    class_of: dict[int, int]
    """Pages of one class have the same main text."""
    pages: int


def build(crawl: Path, web: Web, skip: frozenset[tuple[str, str]], into: Path) -> Built:
    """Build all indexes, unless they are there. Nothing is written into the crawl."""
    note = into / "classes.npy"
    if not note.exists():
        into.mkdir(parents=True, exist_ok=True)
        (into / "archive").symlink_to((crawl / "archive").resolve())

        def is_held_out(source: str, target: str, text: str) -> bool:
            del source
            return (target, plain(text)) in skip

        build_index(into, IndexOptions(shards=1, is_full=True, skip=is_held_out))
        np.save(note, _build_plain(into, web))
    engine = into / "engine"
    if not engine.exists():
        build_engine(engine, _texts(into, web))
    classes: NDArray[np.uint64] = np.load(note)
    ours, one_field = into / "index" / "00", into / "plain"
    return Built(ours, one_field, engine, dict(classes.tolist()), len(classes))


def _texts(into: Path, web: Web) -> Iterator[tuple[int, str, str]]:
    """Yield key, title and text of all pages that have one."""
    for path in sorted(CrawlFolder(into).archive.glob("text-*")):
        for record in Records(path):
            url = record.headers.get("warc-target-uri", "")
            if url in web.pages:
                text = record.block.decode("utf-8", "replace")
                yield fingerprint_of(url), web.pages[url].title, text


def _build_plain(into: Path, web: Web) -> NDArray[np.uint64]:
    """Write title and whole text of all pages that have one into the main field of an index."""
    analyser = Analyser()
    writer = ShardWriter(into / "plain", is_new=True)
    classes = []
    for path in sorted(CrawlFolder(into).archive.glob("text-*")):
        for record in Records(path):
            url = record.headers.get("warc-target-uri", "")
            if url in web.pages:
                page = analyser.prepare(_page(url, web, record.block.decode()))
                main = _own_text(page) or " ".join(page.words)
                classes.append((page.key, xxh3_64_intdigest(main.encode())))
                writer.add(_in_one_field(page))
    writer.close()
    return np.array(classes, np.uint64)


def _page(url: str, web: Web, text: str) -> IndexPage:
    facts = web.pages[url]
    return IndexPage(
        url=url,
        title=facts.title,
        headings=facts.headings,
        text=text,
        language=facts.language,
        media_type=facts.media_type,
        at=facts.at,
        link_texts=facts.link_texts,
    )


def _in_one_field(page: Prepared) -> Prepared:
    """Return a page with title and whole text in the main field, and nothing in the others."""
    words = [""] * len(TEXT_FIELDS)
    others = (page.words[_CODE], page.words[_REST])
    words[_MAIN] = " ".join((page.words[_TITLE], _own_text(page), *others))
    return msgspec.structs.replace(page, words=tuple(words), text="", title="")


def _own_text(page: Prepared) -> str:
    """Return the terms of a page's main text, without the title that ours counts there."""
    return page.words[_MAIN].removeprefix(" ".join([page.words[_TITLE]] * TITLE_TIMES)).lstrip()
