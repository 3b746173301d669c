"""Reads a crawl's archive with two readers that are not ours, and compares what they say."""

import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # FastWARC warns of its own old names
    from fastwarc.warc import ArchiveIterator as FastIterator


@dataclass(frozen=True)
class Record:
    """One record of the archive, as warcio read it."""

    file: str
    kind: str
    url: str
    id: str
    status: int
    payload: bytes
    """Content of the HTTP message, chunks and codings undone; of other records, the block."""
    headers: dict[str, str]


@dataclass
class Archive:
    """All records of a crawl's archive."""

    records: list[Record] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Record]:
        """Return the records of one WARC type."""
        return [record for record in self.records if record.kind == kind]

    @property
    def pages(self) -> list[Record]:
        """The response records of 2xx answers."""
        return [r for r in self.of_kind("response") if 200 <= r.status < 300]

    @property
    def revisits(self) -> list[Record]:
        """The records of pages whose content is stored under another URL."""
        return self.of_kind("revisit")

    @property
    def page_count(self) -> int:
        """Pages and revisits that were stored, but for sitemaps of a fake web."""
        return sum(times for url, times in self.page_urls.items() if "/sitemap" not in url)

    @property
    def page_urls(self) -> Counter[str]:
        """How often each URL is in the archive as a page, copies included."""
        return Counter(record.url for record in [*self.pages, *self.revisits])

    def metadata(self) -> Iterator[dict[str, Any]]:
        """Return the links archive's JSON objects; those that ended together one by one."""
        for record in self.of_kind("metadata"):
            row = json.loads(record.payload)
            yield from row["records"] if row.get("outcome") == "endings" else [row]

    def text_of(self, url: str) -> str:
        """Return the extracted text of a URL, or ""."""
        found = [r for r in self.of_kind("conversion") if r.url == url]
        return found[0].payload.decode() if found else ""


def read_archive(folder: Path) -> Archive:
    """Read every archive file to its end with both readers; all digests must be right."""
    files = sorted((folder / "archive").glob("*.gz"))
    assert files, f"no archive in {folder}"
    _warcio_check(files)
    archive = Archive()
    for path in files:
        ours = list(_read_by_warcio(path))
        theirs = list(_read_by_fastwarc(path))
        assert [(r.kind, r.url, r.id) for r in ours] == theirs, path.name
        archive.records += ours
    ids = Counter(record.id for record in archive.records)
    assert not [id_ for id_, times in ids.items() if times > 1], "record ids repeat"
    return archive


def _warcio_check(files: list[Path]) -> None:
    command = [str(Path(sys.executable).with_name("warcio")), "check", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _read_by_warcio(path: Path) -> Iterator[Record]:
    with path.open("rb") as stream:
        reader = ArchiveIterator(stream, check_digests="raise")
        for record in reader:
            payload = record.content_stream().read()
            rest = record.raw_stream.read()
            assert not rest or record.http_headers.get_header("transfer-encoding"), path.name
            headers = {name.lower(): value for name, value in record.rec_headers.headers}
            http = record.http_headers
            yield Record(
                file=path.name,
                kind=record.rec_type,
                url=headers.get("warc-target-uri", ""),
                id=headers["warc-record-id"],
                status=int(http.get_statuscode()) if record.rec_type == "response" else 0,
                payload=payload,
                headers=headers,
            )
        assert reader.err_count == 0, path.name


def _read_by_fastwarc(path: Path) -> Iterator[tuple[str, str, str]]:
    with path.open("rb") as stream:
        for record in FastIterator(stream, parse_http=False):
            kind = str(record.headers["WARC-Type"])
            if "WARC-Block-Digest" in record.headers:
                assert record.verify_block_digest(), f"{path.name}: {record.record_id}"
            if kind == "response":
                record.parse_http()
                assert record.verify_payload_digest(), f"{path.name}: {record.record_id}"
            url = record.headers.get("WARC-Target-URI", "")
            yield kind, url, record.headers["WARC-Record-ID"]
