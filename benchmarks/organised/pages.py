"""The pages of a crawl, prepared once and kept in a file; indexes that are made of that file."""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from gossamer.search.analysis import Analyser
from gossamer.search.build import DocumentSink, PageSink
from gossamer.search.manifest import Manifest
from gossamer.search.page import IndexPage, Prepared
from gossamer.search.shard import VERSION
from gossamer.search.terms import TermsWriter
from gossamer.store import CrawlFolder, Records, iter_links

MOST_ANCHORS = 20
MEMORY_BYTES = 256 << 20
LENGTH_BYTES = 4
CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from organised.pages import fill
fill(*sys.argv[2:])
"""
_decode = msgspec.msgpack.Decoder(Prepared).decode


def spool(crawl: Path, into: Path, most: int) -> int:
    """Write the pages of a crawl, prepared, into a file; return how many."""
    folder = CrawlFolder(crawl)
    anchors: defaultdict[str, Counter[str]] = defaultdict(Counter)
    said = {}
    for _, record in iter_links(folder):
        if record.outcome == "fetched":
            said[record.url] = record
        for target, _, text, _ in record.links:
            if text:
                anchors[target][text] += 1
    analyser, many = Analyser(), 0
    with into.open("wb") as file:
        for url, text in _texts(folder):
            record = said.pop(url, None)
            if record is None or many == most:
                continue
            page = IndexPage(
                url=url,
                title=record.title,
                headings=record.headings,
                text=text,
                language=record.language,
                media_type=record.media_type,
                at=record.at,
                anchors=tuple(text for text, _ in anchors[url].most_common(MOST_ANCHORS)),
                link_texts=frozenset(link[2] for link in record.links if link[2]),
            )
            block = msgspec.msgpack.encode(analyser.prepare(page))
            file.write(len(block).to_bytes(LENGTH_BYTES, "little") + block)
            many += 1
    return many


def _texts(folder: CrawlFolder) -> Iterator[tuple[str, str]]:
    for name in folder.archive_names(kind="text"):
        for record in Records(folder.archive / name.file_name):
            url = record.headers.get("warc-target-uri")
            if url:
                yield url, record.block.decode(errors="replace")


def spooled(path: Path) -> Iterator[Prepared]:
    """Yield the pages of a file."""
    with path.open("rb") as file:
        while length := file.read(LENGTH_BYTES):
            yield _decode(file.read(int.from_bytes(length, "little")))


def thinned(path: Path, into: Path, step: int) -> int:
    """Write every so many-th page of a file into another; return how many these are."""
    many = 0
    with into.open("wb") as file:
        for page in islice(spooled(path), 0, None, step):
            block = msgspec.msgpack.encode(page)
            file.write(len(block).to_bytes(LENGTH_BYTES, "little") + block)
            many += 1
    return many


def fill(pages: str, into: str, kind: str, shards: str, placed: str) -> None:
    """Make an index of a file of pages; of the kind "nothing", only read them."""
    sink = _sink(Path(into), kind, int(shards), json.loads(placed))
    for page in spooled(Path(pages)):
        if sink is not None:
            sink.add(page)
    if sink is not None:
        sink.close()


def _sink(into: Path, kind: str, shards: int, placed: Mapping[str, int]) -> PageSink | None:
    if kind == "documents":
        return DocumentSink(into, Manifest(version=VERSION, shards=shards), MEMORY_BYTES)
    return TermsWriter(into, shards, placed=placed) if kind == "terms" else None


def build_cpu_s(
    pages: Path, into: Path, kind: str, shards: int, placed: Mapping[str, int] | None = None
) -> float:
    """Make an index in a process of its own; return the CPU that took."""
    into.mkdir(parents=True, exist_ok=True)
    here = str(Path(__file__).resolve().parents[1])
    given = [str(pages), str(into), kind, str(shards), json.dumps(dict(placed or {}))]
    process = subprocess.Popen([sys.executable, "-c", CHILD, here, *given])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"an index of {kind} could not be made"
    return usage.ru_utime + usage.ru_stime


def size_bytes(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
