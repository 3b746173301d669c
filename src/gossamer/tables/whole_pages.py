"""Formats that hold whole pages, not rows: WARC, WACZ and a mirror of files.

Which pages are wanted is asked of their rows in the table `pages`; without a filter an archive has
everything that counts, answers without a page included.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from gossamer import __version__
from gossamer.clock import SystemClock
from gossamer.config import UrlConfig
from gossamer.errors import ConfigError
from gossamer.process import TextKind
from gossamer.settings import load_crawl_config
from gossamer.store import counted_lengths
from gossamer.tables.filters import RowFilters, row_filter
from gossamer.tables.mirror import GENERATOR, write_mirror
from gossamer.tables.mirror_names import MirroredUrl, MirrorNames
from gossamer.tables.options import ArchiveFormat, Exported, ExportRequest
from gossamer.tables.places import (
    STDOUT,
    ExportPlace,
    FilePlace,
    file_place,
    is_store,
    names_file,
    standard_output,
)
from gossamer.tables.rows import Batch
from gossamer.tables.streams import table_stream
from gossamer.tables.wacz import PageList, write_wacz
from gossamer.tables.warcs import CopiedRecord, PageSet, WarcCopy

SOFTWARE = f"gossamer {__version__}"
_WARC, _WACZ = ".warc.gz", ".wacz"
_WHOLE = f"crawl{_WACZ}"


def export_warc(request: ExportRequest) -> Exported:
    """Copy records as they are, into files named like those of the archive, one file, or a stream.

    A copy whose original is left out is written with its content.
    """
    kept = _kept(request)
    copy = WarcCopy(request.folder, counted_lengths(request.folder, "pages"), kept)
    records = copy.records(request.tell)
    if request.place == STDOUT:
        pages = _write_records(records, standard_output())
        standard_output().flush()
        return Exported(rows={"records": pages}, files=[])
    if names_file(request.place, (_WARC,)):
        target = file_place(request.place)
        with target.place.new_file(target.name) as path, path.open("wb") as file:
            pages = _write_records(records, file)
        return Exported(rows={"records": pages}, files=[target.shown])
    place, pages, files = ExportPlace(request.place), 0, []
    for name, some in groupby(records, key=attrgetter("file")):
        with place.new_file(name) as path, path.open("wb") as file:
            pages += _write_records(some, file)
        files.append(place.shown(name))
    return Exported(rows={"records": pages}, files=files)


def _write_records(records: Iterator[CopiedRecord], file: BinaryIO) -> int:
    pages = 0
    for record in records:
        file.write(record.member)
        file.writelines(record.more)
        pages += record.row is not None
    return pages


def export_wacz(request: ExportRequest) -> Exported:
    """Pack the archive, its index and a list of its pages as one file."""
    if request.place == STDOUT:
        raise ConfigError("--format wacz cannot go to standard output: give --to FILE.wacz")
    text = request.options.text
    kind: TextKind | None = None if text == "none" else text
    is_file = names_file(request.place, (_WACZ,))
    target = file_place(request.place) if is_file else FilePlace(ExportPlace(request.place), _WHOLE)
    with target.place.new_file(target.name) as path, _beside(path) as folder:
        pages = PageList(folder / "pages.jsonl", has_text=kind is not None)
        kept = PageSet() if _has_filters(request) else None
        for batch in _wanted_rows(request, kind):
            pages.add(batch)
            if kept is not None:
                kept.add(batch)
        copy = WarcCopy(request.folder, counted_lengths(request.folder, "pages"), kept)
        now = SystemClock().wall()
        count = write_wacz(path, copy, pages, software=SOFTWARE, at=now, tell=request.tell)
    return Exported(rows={"records": count}, files=[target.shown])


def export_mirror(request: ExportRequest) -> Exported:
    """Write a folder of files that opens without a server."""
    if request.place == STDOUT:
        raise ConfigError("--format mirror cannot go to standard output: give --to FOLDER")
    _expect_own_folder(request.place)
    target = file_place(request.place)
    names, kept, urls = MirrorNames(), PageSet(), list[MirroredUrl]()
    wanted = row_filter("pages", request.options.filters)
    for table, batch in table_stream(request.folder, ("pages", "links"), None, request.tell):
        if table == "links":
            _note_redirects(names, batch)
            continue
        rows = wanted(batch)
        kept.add(rows)
        urls += map(MirroredUrl, rows.columns["url"], rows.columns["media_type"])
    names.assign(urls)
    urls.clear()
    copy = WarcCopy(request.folder, counted_lengths(request.folder, "pages"), kept)
    rules, seeds = _rules(request)
    with target.place.new_file(target.name) as folder:
        folder.mkdir()
        records = copy.pages(request.tell)
        totals = write_mirror(folder, records, names, rules, seeds, request.tell)
    return Exported(rows={"files": totals.files}, files=[target.shown])


def _note_redirects(names: MirrorNames, batch: Batch) -> None:
    columns = batch.columns
    rows = zip(columns["source"], columns["target"], columns["kind"], strict=True)
    for source, target, kind in rows:
        if kind == "redirect":
            names.add_redirect(source, target)


def _rules(request: ExportRequest) -> tuple[UrlConfig, tuple[str, ...]]:
    """Return how the crawl spells URLs, and its seeds."""
    if not request.folder.config_path.exists():
        return UrlConfig(), ()
    config = load_crawl_config(request.folder.root)
    return config.urls, config.seeds


def _expect_own_folder(place: str) -> None:
    """Refuse to replace a folder that is no mirror."""
    folder = Path(place)
    if is_store(place) or not folder.exists():
        return
    front = folder / "index.html"
    if folder.is_dir() and not any(folder.iterdir()):
        return
    is_mirror = front.is_file() and GENERATOR in front.read_text("utf-8", "replace")[:4096]
    if not is_mirror or folder.is_symlink():
        raise ConfigError(f"{place} exists and is no mirror: give --to a new folder")


def _has_filters(request: ExportRequest) -> bool:
    return request.options.filters != RowFilters()


def _kept(request: ExportRequest) -> PageSet | None:
    """Return the pages that filters keep; None if there are no filters."""
    if not _has_filters(request):
        return None
    kept = PageSet()
    for batch in _wanted_rows(request, None):
        kept.add(batch)
    return kept


def _wanted_rows(request: ExportRequest, text: TextKind | None) -> Iterator[Batch]:
    wanted = row_filter("pages", request.options.filters)
    for _, batch in table_stream(request.folder, ("pages",), text, request.tell):
        yield wanted(batch)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give a folder for what is gathered, on the same disk."""
    with TemporaryDirectory(prefix=".gossamer-", dir=path.parent) as folder:
        yield Path(folder)


ARCHIVE_FORMATS: Mapping[str, ArchiveFormat] = {
    "warc": export_warc,
    "wacz": export_wacz,
    "mirror": export_mirror,
}
"""One more format of whole pages is one more entry."""
