"""Check a crawl: is everything in its folder what was written, and does it fit together?

Nothing is written. What counts is read first: the lengths that the states have committed. So a
crawl that runs is not in the way: what lies behind them, and what the state says of it later, is
not looked at. The archive is read once, set by set; of each page record its place, URL and digest
are remembered (40 bytes), and compared with its index and with the states.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import numpy as np

from gossamer.cluster import read_charter
from gossamer.config import Config
from gossamer.dedupe import NEAR_ROWS, verify_near
from gossamer.errors import CannotGoOn, ConfigError, CorruptFile
from gossamer.log import counted, warn
from gossamer.model import (
    BuildProgress,
    BuildStep,
    CheckedFolder,
    CheckFinding,
    CheckScope,
    FindingKind,
    Remedy,
    StoreRef,
)
from gossamer.report.checked_pages import (
    CheckedPages,
    Originals,
    hash_bytes,
    hash_text,
    is_garbage,
)
from gossamer.report.left_out import DroppedUrls, dropped_of
from gossamer.report.records import URL, decode_record
from gossamer.seen import check_seen
from gossamer.settings import load_crawl_config
from gossamer.store import (
    PAGE_TYPES,
    ROW_PREFIX,
    ArchiveName,
    BadRecord,
    BadStretches,
    CdxLine,
    CrawlFolder,
    FileRow,
    Lengths,
    Record,
    State,
    cdxj_line,
    count_of,
    ends_findings,
    is_locked,
    links_in,
    missing_ends,
    next_boundary,
    read_cdxj,
    read_file_row,
    read_record,
    scan_records,
)

HEAD_BYTES = 1 << 20
"""Of a page, so much is kept while it is looked at."""
TOLD_RECORDS = 500
ATTEMPTS = 5
"""Opening the state of a running crawl fails if a file is replaced at that moment."""
MOST_ALIKE = 1000
"""Of a file, so many findings of one kind are named."""
_IN_FILE = re.compile(r"(\d{6,}\.(?:sst|log)|MANIFEST-\d+|CURRENT)(?: offset (\d+))?")


def check(root: Path, scope: CheckScope, rng: Random, on_progress: BuildProgress) -> CheckedFolder:
    """Compare everything in a crawl's folder with what was written and with the rest."""
    done = _Check(CrawlFolder(root), scope, rng, on_progress)
    done.run()
    return CheckedFolder(
        findings=tuple(done.findings),
        files=done.files,
        records=done.records,
        pages=sum(len(table.offsets) for table in done.tables.values()),
        dated_back=sum(table.dated_back for table in done.tables.values()),
        bytes_read=done.bytes_read,
        bytes_all=done.bytes_all,
        is_running=done.is_running,
    )


class _Check:
    """One check of one folder."""

    def __init__(
        self, folder: CrawlFolder, scope: CheckScope, rng: Random, tell: BuildProgress
    ) -> None:
        self._folder = folder
        self._scope = scope
        self._rng = rng
        self._tell = tell
        self.is_running = is_locked(folder)
        self.findings: list[CheckFinding] = []
        self.files = self.records = self.bytes_read = self.bytes_all = 0
        self.tables: dict[str, CheckedPages] = {}
        self._rows: dict[str, FileRow] = {}
        self._lengths: dict[str, int] = {}
        """How much of each archive file counted when the check began."""
        self._missing_ends: Lengths = {}
        """Files that lost what was committed and not yet synced, and what is left of them."""
        self._far_or_missing = set[str]()
        self._originals = Originals()
        self._lacking: list[tuple[str, int, str, str]] = []
        """Records that name others which are not there: file, byte, URL, what is to be said."""
        self._is_state_known, self._dropped = True, DroppedUrls()
        self._in_flight = Config().concurrency
        """A tail of so many pages is what a kill leaves."""

    def run(self) -> None:
        """Look at everything, from the small to the large."""
        self._check_settings()
        shards = self._check_shard_map()
        for shard in range(shards):
            self._read_rows(shard)
        names = list(self._folder.archive_names())
        self._note_missing_ends()
        self._check_lengths(names)
        self._check_ends(range(shards))
        self._lengths = {name.file_name: self._counted(name) for name in names}
        self.bytes_all = sum(self._lengths.values())
        self.files = len(names)
        if self._scope.is_quick:
            for name in (one for one in names if one.kind == "pages"):
                self._check_index_alone(name)
            return
        if self._scope.sample:
            for name in names:
                self._check_sample(name)
            return
        for first in sorted({name.sibling("pages") for name in names}):
            self._check_set(first)
        self._check_lacking()
        urls = array("Q")
        for shard in range(shards):
            self._check_state(shard, urls)
        if self._is_state_known:
            self._check_known(urls)

    def _add(
        self,
        kind: FindingKind,
        file: str,
        found: str,
        remedy: Remedy,
        byte: int = 0,
        url: str = "",
    ) -> None:
        self.findings.append(
            CheckFinding(kind=kind, file=file, byte=byte, url=url, found=found, remedy=remedy)
        )

    # ---- what is small

    def _check_settings(self) -> None:
        path = self._folder.config_path
        try:
            self._in_flight = load_crawl_config(self._folder.root).concurrency
            self._dropped = dropped_of(self._folder)
        except (CannotGoOn, ConfigError, OSError) as error:
            self._add("bad_config", path.name, str(error), "backup")

    def _check_shard_map(self) -> int:
        """Return how many shards the state has; what the map cannot say the folders do."""
        folder, path = self._folder, self._folder.charter_path
        name = path.relative_to(folder.root).as_posix()
        there = 0
        while folder.state(there).exists():
            there += 1
        if not path.exists() and there > 1:
            self._add(
                "bad_shard_map", name, f"it is missing; found {counted(there, 'state')}", "state"
            )
            return there
        try:
            charter = read_charter(path)
        except CannotGoOn as error:
            self._add("bad_shard_map", name, str(error), "state")
            return there
        if charter.phase == "settled" and charter.shards != max(there, 1) and not self.is_running:
            told = f"it says {counted(charter.shards, 'shard')}; found {counted(there, 'state')}"
            self._add("bad_shard_map", name, told, "state")
        return max(charter.shards, there)

    def _read_rows(self, shard: int) -> None:
        """Read what a state says of the archive files."""
        path = self._folder.state(shard)
        if not State.exists(path):
            if path.exists() or self._folder.has_archive():
                self._is_state_known = False
                self._add("bad_state", f"state/{path.name}", "there is no state", "state")
            return
        with self._reading(shard):
            self._rows |= _rows_of(path, ATTEMPTS if self.is_running else 1)

    @contextmanager
    def _reading(self, shard: int) -> Iterator[None]:
        """Turn what is wrong with a state into a finding."""
        try:
            yield
        except CannotGoOn as error:
            self._is_state_known = False
            if self.is_running and "incomplete" in str(error):
                return  # its files are replaced while it is read
            file, byte = f"state/{shard:02d}", 0
            if place := _IN_FILE.search(str(error)):
                file, byte = f"{file}/{place[1]}", int(place[2] or 0)
            if not any((one.kind, one.file) == ("bad_state", file) for one in self.findings):
                self._add("bad_state", file, str(error), "state", byte)

    def _counted(self, name: ArchiveName) -> int:
        """Return how much of a file counts: all of it, where there is no state to ask."""
        size = self._folder.archive_path(name.file_name).stat().st_size
        if name.file_name in self._rows:
            length = self._rows[name.file_name].length
            return min(size, self._missing_ends.get(name.file_name, length))
        return 0 if self._is_state_known else size

    def _note_missing_ends(self) -> None:
        """Find what a power loss left: no damage, since the next start mends it, but it is told."""
        self._far_or_missing = {file for file, row in self._rows.items() if row.is_far}
        if self.is_running:
            return
        self._missing_ends = missing_ends(self._folder, self._rows)
        self._far_or_missing.update(self._missing_ends)
        if self._missing_ends:
            found = "committed and not yet synced; the next start fetches these pages again"
            warn("archive.end_missing", files=sorted(self._missing_ends), found=found)

    def _check_lengths(self, names: list[ArchiveName]) -> None:
        there = {name.file_name for name in names}
        for file, row in sorted(self._rows.items()):
            if file not in there and row.length and file not in self._far_or_missing:
                self._add("missing_file", f"archive/{file}", "the file is missing", "backup")
        for name in names:
            file = name.file_name
            if file in self._far_or_missing:
                continue
            size = self._folder.archive_path(file).stat().st_size
            counted = self._rows[file].length if file in self._rows else 0
            if size < counted:
                told = f"expected {counted} bytes, found {size}"
                self._add("bad_length", f"archive/{file}", told, "state", size)
            elif size > counted and self._is_state_known and not self.is_running:
                self._check_tail(name, counted)

    def _check_ends(self, shards: Iterable[int]) -> None:
        """Compare what the archive says of its own lengths with the states, and with the files."""
        told = {finding.file for finding in self.findings}
        try:
            found = ends_findings(self._folder, shards)
        except CannotGoOn:
            return  # the state cannot be read: that was told
        for finding in found:
            expected, there = finding.expected, finding.found
            if finding.kind == "rows_missing":
                what = f"rows are missing: expected {expected}, found {there}"
                self._add("old_state", f"state/{Path(finding.file).name}", what, "state")
            elif finding.kind == "state_older":
                what = f"the state is older than the archive: it knows {there} of {expected} bytes"
                self._add("old_state", f"archive/{finding.file}", what, "state", there)
            elif f"archive/{finding.file}" not in told:
                what = f"expected {expected} bytes, found {there}"
                self._add("bad_length", f"archive/{finding.file}", what, "backup", there)

    def _check_tail(self, name: ArchiveName, start: int) -> None:
        """Look at what lies behind the end that was committed: a kill leaves only a few pages."""
        path = self._folder.archive_path(name.file_name)
        pages = 0
        for found in scan_records(path, start, kept_bytes=0):
            if is_garbage(found, path):
                told = "what lies behind the end that the state knows is no record"
                self._add("tail", f"archive/{name.file_name}", told, "backup", found.offset)
                return
            kind = found.headers.get("warc-type") if isinstance(found, Record) else ""
            pages += kind in {*PAGE_TYPES, "metadata", "conversion"}
            if pages > self._in_flight:
                is_known = name.file_name in self._rows
                told = (
                    f"more than {self._in_flight} records lie behind the end that the state knows"
                    if is_known
                    else "the state does not know this file"
                )
                kind_of: FindingKind = "tail" if is_known else "unknown_file"
                self._add(kind_of, f"archive/{name.file_name}", told, "state", start)
                return

    # ---- the archive

    def _check_set(self, first: ArchiveName) -> None:
        """Read the three files of a set, and compare them with each other."""
        table, ids, bad_pages = CheckedPages(), {}, BadStretches()
        for found in self._scan(first, HEAD_BYTES):
            if isinstance(found, BadRecord):
                bad_pages.add(found)
                table.bad.append(found)
            elif found.headers.get("warc-type") in PAGE_TYPES:
                table.add(found, first.file_name)
                self._originals.add(found, first.file_name)
                bad_pages.pass_over(count_of(found.record_id))
                ids[found.record_id] = found.headers.get("warc-target-uri", "")
        self.tables[first.file_name] = table
        self._check_texts(first, ids, bad_pages)
        self._check_links(first, ids, bad_pages)
        bad_pages.note_index(self._folder.archive / first.cdxj_name, first.file_name)
        self._name(bad_pages)
        if self._folder.archive_path(first.file_name).exists():
            self._check_index(first, table)

    def _check_lacking(self) -> None:
        """Note what names a record that is lost, unless its URL was fetched again."""
        for one in self._originals.bare():
            self.tables[one.file].bare.add(one.offset)
            self._lacking.append((one.file, one.offset, one.url, one.told))
        tables = self.tables.values() if self._lacking else ()
        whole = {url for table in tables for url in table.whole_urls()}
        for file, offset, url, told in self._lacking:
            if hash_text(url) not in whole:
                self._add("bad_set", f"archive/{file}", told, "backup", offset, url)

    def _check_texts(
        self, first: ArchiveName, ids: dict[str, str], bad_pages: BadStretches
    ) -> None:
        name, bad = first.sibling("text"), BadStretches()
        for found in self._scan(name, 0):
            if isinstance(found, BadRecord):
                bad.add(found)
                continue
            bad.pass_over(count_of(found.record_id))
            self._expect_page(name, found, found.headers.get("warc-refers-to", ""), ids, bad_pages)
        self._name(bad)

    def _check_links(
        self, first: ArchiveName, ids: dict[str, str], bad_pages: BadStretches
    ) -> None:
        name, bad, named = first.sibling("links"), BadStretches(), set[str]()
        for found in self._scan(name, None):
            if isinstance(found, BadRecord):
                bad.add(found)
                continue
            bad.pass_over(count_of(found.record_id))
            if found.headers.get("warc-type") != "metadata":
                continue
            links = links_in(found)
            if links is None:
                told = "it is not a links record"
                self._add("bad_record", f"archive/{name.file_name}", told, "backup", found.offset)
                continue
            named.add(links.page)
            self._expect_page(name, found, links.page, ids, bad_pages)
        for record_id in ids.keys() - named if bad else ():
            bad.note_url(count_of(record_id), ids[record_id])
        self._name(bad)

    def _expect_page(
        self,
        name: ArchiveName,
        record: Record,
        page: str,
        ids: dict[str, str],
        bad_pages: BadStretches,
    ) -> None:
        """Note that the page of a text or links record is not there."""
        if not page or page in ids:
            return
        url = record.headers.get("warc-target-uri", "")
        bad_pages.note_url(count_of(page), url)
        if not bad_pages and self._folder.archive_path(name.sibling("pages").file_name).exists():
            told = f"its page record {page} is not in {name.sibling('pages').file_name}"
            self._lacking.append((name.file_name, record.offset, url, told))

    def _scan(self, name: ArchiveName, kept_bytes: int | None) -> Iterator[Record | BadRecord]:
        """Give every record of a file as far as it counts, and every bad stretch."""
        path = self._folder.archive_path(name.file_name)
        if not path.exists():
            return
        more = {} if kept_bytes is None else {"kept_bytes": kept_bytes}
        for found in scan_records(
            path, 0, self._lengths.get(name.file_name, 0), digests="all", **more
        ):
            self.bytes_read += (
                found.length if isinstance(found, Record) else found.end - found.offset
            )
            self._count()
            yield found

    def _count(self) -> None:
        self.records += 1
        if self.records % TOLD_RECORDS == 0:
            left = max(self.bytes_all - self.bytes_read, 0)
            self._tell(BuildStep(doing="reading", count=self.records, bytes_left=left))

    def _name(self, stretches: BadStretches) -> None:
        for bad in stretches.named():
            self._add("bad_record", f"archive/{bad.file}", bad.found, "backup", bad.offset, bad.url)

    # ---- the indexes of pages files

    def _check_index(self, name: ArchiveName, table: CheckedPages) -> None:
        """Compare the index of a pages file with the file."""
        if not self._expect_index(name):
            return
        index, met = self._folder.archive / name.cdxj_name, 0
        file = f"archive/{name.cdxj_name}"
        wrong = 0
        for at, raw, line in read_cdxj(index):
            place = table.at(int(line.offset)) if line is not None else -1
            is_gone = line is not None and place < 0 and self._is_gone(name, line.ref, table)
            if is_gone:
                continue
            found = "" if place >= 0 and table.lines[place] == hash_bytes(raw) else "damaged"
            if found:
                found = self._line_flaw(name, raw, line, table)
            met += not found
            wrong += bool(found)
            if found and wrong <= MOST_ALIKE:
                url = line.url if line is not None else ""
                self._add("bad_cdxj", file, found, "cdxj", at, url)
        row = self._rows.get(name.file_name)
        is_whole = row is None or row.is_closed
        if is_whole and not wrong and met != len(table.offsets) and not self.is_running:
            told = f"it has {met} of {len(table.offsets)} pages"
            self._add("bad_cdxj", file, told, "cdxj", index.stat().st_size)

    def _is_gone(self, name: ArchiveName, ref: StoreRef, table: CheckedPages) -> bool:
        """Return True if it is no wonder that a line leads nowhere: its record is bad, or newer.

        A power loss may take the commit of a file that was just closed and leave its index.
        """
        row = self._rows.get(name.file_name)
        is_ahead = row is not None and row.cdxj_length is None and ref.offset >= row.length
        return is_ahead or table.is_bad_at(ref.offset) or self._is_behind(name, ref)

    def _line_flaw(
        self, name: ArchiveName, raw: bytes, line: CdxLine | None, table: CheckedPages
    ) -> str:
        """Return what is wrong with a line that is not what the record makes us expect, or "".

        Only the media type may be another one, if the server gave several.
        """
        if line is None:
            return "it is not a line of an index"
        if found := table.flaw(line.ref, line.url):
            return found
        record = read_record(self._folder, StoreRef(name.file_name, int(line.offset), 0))
        expected = cdxj_line(record, name.file_name)
        mime = f'"mime": "{line.mime}"'.encode()
        same = re.sub(rb'"mime": "[^"]*"', lambda _: mime, expected) + b"\n" == raw
        is_said = line.mime.encode() in record.block[:HEAD_BYTES].lower()
        return "" if same and is_said else "it does not say what the record does"

    def _is_behind(self, name: ArchiveName, ref: StoreRef) -> bool:
        """Return True if a record lies behind what counted when the check began, or is left."""
        may_be = self.is_running or name.file_name in self._far_or_missing
        return may_be and ref.offset >= self._lengths.get(name.file_name, 0)

    def _expect_index(self, name: ArchiveName) -> bool:
        """Return True if a file has an index; note if it should have one."""
        index = self._folder.archive / name.cdxj_name
        row = self._rows.get(name.file_name)
        if index.exists():
            size = index.stat().st_size
            if row is not None and row.cdxj_length not in {None, size} and not self.is_running:
                told = f"expected {row.cdxj_length} bytes, found {size}"
                self._add("bad_cdxj", f"archive/{index.name}", told, "cdxj", size)
            return True
        if row is not None and row.cdxj_length is not None and not self.is_running:
            self._add("bad_cdxj", f"archive/{index.name}", "the file is missing", "cdxj")
        return False

    def _check_index_alone(self, name: ArchiveName) -> None:
        """Look at an index without its file: do its lines lie inside it?"""
        if not self._expect_index(name):
            return
        size = self._folder.archive_path(name.file_name).stat().st_size
        for at, _, line in read_cdxj(self._folder.archive / name.cdxj_name):
            found = "it is not a line of an index"
            if line is not None:
                is_inside = int(line.offset) + int(line.length) <= size
                is_its = line.filename == name.file_name
                found = "" if is_inside and is_its else "its page does not lie in the file"
            if found:
                url = line.url if line is not None else ""
                self._add("bad_cdxj", f"archive/{name.cdxj_name}", found, "cdxj", at, url)

    # ---- some records only

    def _check_sample(self, name: ArchiveName) -> None:
        """Read some records of a file, drawn at random."""
        path, end = self._folder.archive_path(name.file_name), self._lengths.get(name.file_name, 0)
        index = self._folder.archive / name.cdxj_name
        if name.kind == "pages" and self._expect_index(name):
            lines = [line for _, _, line in read_cdxj(index) if line is not None]
            starts = [int(line.offset) for line in lines if int(line.offset) < end]
        else:
            drawn = sorted(
                self._rng.randrange(end) for _ in range(self._scope.sample if end else 0)
            )
            starts = [at for at in {next_boundary(path, at, end) for at in drawn} if at < end]
        for start in sorted(self._rng.sample(starts, min(self._scope.sample, len(starts)))):
            found = next(scan_records(path, start, end, digests="all", kept_bytes=HEAD_BYTES))
            self._count()
            if isinstance(found, BadRecord):
                file = f"archive/{found.file}"
                self._add("bad_record", file, found.found, "backup", found.offset, found.url)
            else:
                self.bytes_read += found.length

    # ---- the states

    def _check_state(self, shard: int, urls: "array[int]") -> None:
        """Read every row of a state; what it says of pages must be in the archive."""
        path = self._folder.state(shard)
        if not State.exists(path):
            return
        with self._reading(shard), _opened(path) as state:
            rows = list(state.scan(b"s")) + list(state.scan(b"S"))
            for error in check_seen(path / "seen", rows):
                if not (self.is_running and not error.path.exists()):
                    self._add_corrupt("bad_seen", error, "state")
            try:
                verify_near(path / "near", state.scan(NEAR_ROWS))
            except CorruptFile as error:
                if not self.is_running:
                    self._add_corrupt("bad_near", error, "near")
            for key, value in state.scan(b""):
                if key[:1] == URL:
                    self._check_url(value, urls)
                    self._count()

    def _add_corrupt(self, kind: FindingKind, error: CorruptFile, remedy: Remedy) -> None:
        file = error.path.relative_to(self._folder.root).as_posix()
        self._add(kind, file, str(error), remedy, error.offset)

    def _check_url(self, value: bytes, urls: "array[int]") -> None:
        record = decode_record(value)
        urls.append(hash_text(record.url))
        refs = {visit.ref for visit in record.visits if visit.ref is not None}
        refs |= {record.page} if record.page is not None else set()
        for ref in refs:
            table, name = self.tables.get(ref.file), ArchiveName.parse(ref.file)
            if name is not None and self._is_behind(name, ref):
                found = ""
            elif name is None or table is None or not self._folder.archive_path(ref.file).exists():
                found = "" if self.is_running else "the state refers to it, and it is missing"
            else:
                found = table.flaw(ref, record.url)
            if found:
                told = f"the state refers to a record: {found}"
                self._add(
                    "bad_reference", f"archive/{ref.file}", told, "state", ref.offset, record.url
                )

    def _check_known(self, urls: "array[int]") -> None:
        """Note the pages that no state knows."""
        known = np.unique(np.frombuffer(urls, np.uint64)) if urls else np.empty(0, np.uint64)
        for file, table in [one for one in self.tables.items() if one[1].urls]:
            met = np.frombuffer(table.urls, np.uint64)
            for place in np.flatnonzero(~np.isin(met, known))[:MOST_ALIKE]:
                offset = table.offsets[int(place)]
                found = next(scan_records(self._folder.archive_path(file), offset, kept_bytes=0))
                url = found.headers.get("warc-target-uri", "") if isinstance(found, Record) else ""
                told = "the state does not know this page"
                if not self._dropped.has(url):
                    self._add("unknown_page", f"archive/{file}", told, "state", offset, url)


def _rows_of(path: Path, attempts: int) -> dict[str, FileRow]:
    """Return the commit table of a state."""
    for attempt in range(1, attempts + 1):
        try:
            with _opened(path) as state:
                rows = [read_file_row(*row) for row in state.scan(ROW_PREFIX)]
        except CannotGoOn:
            if attempt == attempts:
                raise
        else:
            return dict(rows)
    return {}


@contextmanager
def _opened(path: Path) -> Iterator[State]:
    state = State.open(path, is_read_only=True)
    try:
        yield state
    finally:
        state.close()
