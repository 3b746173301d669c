"""Captures: all stored answers of one URL, found through the CDXJ indexes of the pages files.

An index is sorted, so a URL is found by bisection: no WARC file is read. A pages file that is still
open has no index yet; whoever writes it has the lines in memory.
"""

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.model import StoreRef
from gossamer.store.layout import ArchiveName, CrawlFolder
from gossamer.store.reader import cdxj_lines
from gossamer.store.warc import plain, surt

REVISIT_TYPE = "warc/revisit"


class _CdxFacts(Struct, frozen=True):
    """The JSON of an index line."""

    url: str
    filename: str
    offset: str
    length: str
    mime: str = ""
    status: str = ""
    digest: str = ""


_decode = msgspec.json.Decoder(_CdxFacts).decode


class Capture(Struct, frozen=True, gc=False):
    """One stored answer of a URL, as an index line has it."""

    url: str
    timestamp: str
    """When it was asked for: 14 digits, UTC."""
    media_type: str
    """As the server said; `warc/revisit` if the payload lies in another record."""
    status: int
    digest: str
    """Of the payload as sent, or of the one that it repeats."""
    ref: StoreRef

    @property
    def is_revisit(self) -> bool:
        """Return True if the payload lies in another record."""
        return self.media_type == REVISIT_TYPE


def captures_among(lines: Iterable[bytes], url: str) -> Iterator[Capture]:
    """Yield the captures of a URL among index lines; lines that cannot be read are left out."""
    text = plain(url)
    prefix = f"{surt(text)} ".encode("utf-8", "replace")
    for line in lines:
        if not line.startswith(prefix):
            continue
        capture = _capture(line[len(prefix) :])
        if capture is not None and capture.url == text:
            yield capture


def indexed_captures(path: Path, url: str) -> Iterator[Capture]:
    """Yield the captures of a URL in a CDXJ file, found by bisection."""
    prefix = f"{surt(plain(url))} ".encode("utf-8", "replace")
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as lines:
            yield from captures_among(_lines_from(lines, prefix), url)


def unindexed_captures(path: Path, url: str) -> Iterator[Capture]:
    """Yield the captures of a URL in a pages file that has no index; all of it is read."""
    yield from captures_among(cdxj_lines(path), url)


def files_without_index(folder: CrawlFolder) -> list[ArchiveName]:
    """Return the pages files that have no CDXJ file: those that are open, or were at a kill."""
    names = folder.archive_names(kind="pages")
    return [name for name in names if not (folder.archive / name.cdxj_name).exists()]


def _lines_from(lines: mmap.mmap, prefix: bytes) -> Iterator[bytes]:
    """Yield the lines that begin with a prefix."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high) // 2
        before = lines.rfind(b"\n", low, middle)
        start = before + 1 if before >= 0 else low
        if lines[start : start + len(prefix)] < prefix:
            end = lines.find(b"\n", start)
            low = end + 1 if end >= 0 else high
        else:
            high = start
    while lines[low : low + len(prefix)] == prefix:
        end = lines.find(b"\n", low)
        end = end if end >= 0 else len(lines)
        yield lines[low:end]
        low = end + 1


def _capture(rest: bytes) -> Capture | None:
    """Return what stands behind the sort key of a line."""
    timestamp, _, facts = rest.partition(b" ")
    try:
        found = _decode(facts)
        ref = StoreRef(found.filename, int(found.offset), int(found.length))
        status = int(found.status)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return None
    stamp = timestamp.decode("ascii", "replace")
    return Capture(found.url, stamp, found.mime, status, found.digest, ref)
