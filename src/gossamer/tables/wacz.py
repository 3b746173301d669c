"""WACZ: the archive of a crawl, its index and a list of its pages, packed as one file for replay.

A zip file (WACZ 1.1.1) whose WARC files are stored, not compressed again, so that a viewer can read
single records out of it. The index is sorted and cut into gzip members with a small index of its
own; hashes of all files are in `datapackage.json`, and that of this one beside it.
"""

import gzip
import heapq
import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, BinaryIO

from msgspec import Struct

from gossamer.model import BuildProgress, StoreRef
from gossamer.tables.rows import Batch
from gossamer.tables.warcs import CopiedRecord, WarcCopy

WACZ_VERSION = "1.1.1"
INDEX, INDEX_OF_INDEX = "index.cdx.gz", "index.idx"
BLOCK_LINES = 1024
"""Lines of the index in one gzip member."""
SORTED_BYTES = 32 << 20
"""Of lines that are sorted in memory; more are merged from files."""
_TIME = (1980, 1, 1, 0, 0, 0)
"""Of the files in the zip: the same archive gives the same bytes."""
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/pdf", "text/plain"})
_OK = 200


class SortedLines:
    """Lines in order, however many: sorted in memory, piece by piece, and merged from files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[bytes] = []
        self._bytes = 0
        self._files: list[Path] = []

    def add(self, line: bytes) -> None:
        """Take a line without its end."""
        self._lines.append(line + b"\n")
        self._bytes += len(line)
        if self._bytes >= SORTED_BYTES:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        self._lines.sort()
        if not self._files:
            yield from self._lines
            return
        self._spill()
        files = [path.open("rb") for path in self._files]
        try:
            yield from heapq.merge(*files)
        finally:
            for file in files:
                file.close()

    def _spill(self) -> None:
        self._lines.sort()
        path = self._folder / f"lines-{len(self._files)}"
        with path.open("wb") as file:
            file.writelines(self._lines)
        self._files.append(path)
        self._lines, self._bytes = [], 0


class PackagedFile(Struct, frozen=True):
    """A file in the package, as `datapackage.json` lists it."""

    name: str
    path: str
    hash: str
    bytes: int


class _HashingFile:
    """Writes to a file of the zip, and knows length and hash of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = sha256()
        self.length = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._hash.update(data)
        self.length += len(data)

    @property
    def hash(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


class PageList:
    """The list of pages (`pages.jsonl`), gathered in a file."""

    def __init__(self, path: Path, *, has_text: bool) -> None:
        self._path = path
        self._has_text = has_text
        self.count = 0
        self.first = ""
        """The first seed that is a page: what a viewer shows at first."""
        title = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
        with path.open("wb") as file:
            file.write(_line({**title, "hasText": has_text}))

    def add(self, batch: Batch) -> None:
        """Take the documents among some rows of the table `pages`."""
        columns = batch.columns
        texts = columns["text"] if self._has_text else [""] * len(batch)
        rows = zip(
            *(columns[name] for name in ("url", "fetched_at", "title", "media_type", "status")),
            columns["depth"],
            texts,
            strict=True,
        )
        with self._path.open("ab") as file:
            for url, at, title, media_type, status, depth, text in rows:
                if media_type not in _PAGE_TYPES or status != _OK:
                    continue
                self.count += 1
                page = {"id": f"{self.count:x}", "url": url, "ts": _moment(at), "title": title}
                if self._has_text:
                    page["text"] = text
                file.write(_line(page))
                if not self.first and depth == 0:
                    self.first = url

    def parts(self) -> Iterator[bytes]:
        """Yield its bytes."""
        with self._path.open("rb") as file:
            while part := file.read(1 << 20):
                yield part


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class WaczFile:
    """A WACZ that is being written: records first, then `finish`."""

    def __init__(self, file: BinaryIO, folder: Path) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._lines = SortedLines(folder)
        self._resources: list[PackagedFile] = []

    def write(self, records: Iterable[CopiedRecord]) -> int:
        """Write all records to the WARC files that they come from; return how many are pages."""
        pages, waiting = 0, iter(records)
        first = next(waiting, None)
        while first is not None:
            name, upcoming = first.file, None
            with self._entry(f"archive/{name}") as out:
                record: CopiedRecord | None = first
                while record is not None and record.file == name:
                    pages += record.row is not None
                    self._copy(record, out)
                    record = next(waiting, None)
                upcoming = record
            first = upcoming
        return pages

    def finish(self, pages: PageList, *, software: str, at: float) -> None:
        """Write index, pages and hashes, and close the file."""
        self._write_index()
        with self._entry("pages/pages.jsonl", zipfile.ZIP_DEFLATED) as out:
            for part in pages.parts():
                out.write(part)
        package: dict[str, object] = {
            "profile": "data-package",
            "resources": [
                {"name": one.name, "path": one.path, "hash": one.hash, "bytes": one.bytes}
                for one in self._resources
            ],
            "created": _moment(at),
            "wacz_version": WACZ_VERSION,
            "software": software,
        }
        if pages.first:
            package["mainPageUrl"] = pages.first
        data = json.dumps(package, indent=2).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(data).hexdigest()}"}
        for name, content in (
            ("datapackage.json", data),
            ("datapackage-digest.json", json.dumps(digest, indent=2).encode()),
        ):
            self._zip.writestr(zipfile.ZipInfo(name, _TIME), content)
        self._zip.close()

    def close(self) -> None:
        """Give up a file that is not finished; else there is nothing left to do."""
        with suppress(OSError, ValueError):  # on a full disk it can have no end
            self._zip.close()

    def _copy(self, record: CopiedRecord, out: _HashingFile) -> None:
        offset = out.length
        out.write(record.member)
        for part in record.more:
            out.write(part)
        if record.row is not None:
            place = StoreRef(record.file, offset, out.length - offset)
            self._lines.add(record.row.line(place))

    def _write_index(self) -> None:
        meta = {"format": "cdxj-gzip-1.0", "filename": INDEX}
        blocks = [f"!meta 0 {json.dumps(meta)}\n".encode()]
        lines = iter(self._lines)
        with self._entry(f"indexes/{INDEX}") as out:
            while some := list(islice(lines, BLOCK_LINES)):
                member = gzip.compress(b"".join(some), mtime=0)
                key = some[0].partition(b" {")[0].decode("utf-8", "replace")
                digest = f"sha256:{sha256(member).hexdigest()}"
                place = {"offset": out.length, "length": len(member), "digest": digest}
                blocks.append(f"{key} {json.dumps({**place, 'filename': INDEX})}\n".encode())
                out.write(member)
        with self._entry(f"indexes/{INDEX_OF_INDEX}") as out:
            for line in blocks:
                out.write(line)

    @contextmanager
    def _entry(self, path: str, compression: int = zipfile.ZIP_STORED) -> Iterator[_HashingFile]:
        info = zipfile.ZipInfo(path, _TIME)
        info.compress_type = compression
        info.external_attr = 0o644 << 16
        with self._zip.open(info, "w", force_zip64=True) as file:
            out = _HashingFile(file)
            yield out
        name = path.rpartition("/")[2]
        self._resources.append(PackagedFile(name, path, out.hash, out.length))


def write_wacz(
    path: Path,
    copy: WarcCopy,
    pages: PageList,
    *,
    software: str,
    at: float,
    tell: BuildProgress,
) -> int:
    """Write a WACZ to a path; return how many pages are in it."""
    with (
        TemporaryDirectory(prefix=".wacz-", dir=path.parent) as folder,
        path.open("wb") as file,
    ):
        package = WaczFile(file, Path(folder))
        try:
            count = package.write(copy.records(tell))
            package.finish(pages, software=software, at=at)
        finally:
            package.close()
    return count
