"""Pages of WARC files that others wrote (wget, Heritrix, Browsertrix) become pages of the crawl.

Each file in `archive/` that has none of our names is read once. Its pages are processed as if they
had just been fetched and are written as a set of our own files, so that everything which reads an
archive knows them; the file itself stays as it is, and is not needed any more. The set is written
aside, and a list of what it is made of, last, makes it count: a kill leaves nothing, or all of it.
"""

import asyncio
import io
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from random import Random, SystemRandom
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import Struct

from gossamer import __version__
from gossamer.clock import SystemClock
from gossamer.config import Config
from gossamer.crawl.reading import HelperDeath, HelperProcess
from gossamer.dedupe import content_fingerprint, words_fingerprint
from gossamer.durable import replace_file, sync, sync_files
from gossamer.model import (
    BuildProgress,
    BuildStep,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    LinkKind,
    Redirected,
    Task,
    Turn,
    Url,
    skipped,
)
from gossamer.process import (
    HELPER_COMMAND,
    HelperSetup,
    Registry,
    Tools,
    helper_request,
    label_of,
)
from gossamer.settings import load_crawl_config, save_crawl_config
from gossamer.store import (
    KINDS,
    ArchiveEntry,
    ArchiveKind,
    ArchiveName,
    Bad,
    CrawlFolder,
    ForeignRecord,
    Records,
    TurnWriter,
    Unpacked,
    decoded,
    header_fields,
    joined_field,
    read_warc,
    split_head,
    status_of,
)
from gossamer.urls import parse

ENDINGS = (".warc", ".warc.gz", ".warc.zst")
LIST, ASIDE = "imported.json", "import.new"
TOLD_EVERY = 500
MOST_KNOWN = 1_000_000
"""Contents that revisits may refer to."""
_ANSWERS = frozenset({"response", "revisit", "resource"})
_OF_STATUS = {404: FailureKind.NOT_FOUND, 410: FailureKind.GONE}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WEB = frozenset({"http", "https"})


class ImportedFiles(Struct, frozen=True, kw_only=True):
    """Which files of others were read, and which of ours hold their pages."""

    files: dict[str, int] = {}  # msgspec copies it
    """Length by name."""
    sets: list[str] = []  # msgspec copies it


class _Body:
    """A body that is in memory, as sent and as written."""

    def __init__(self, sent: bytes, plain: bytes) -> None:
        self._sent, self._plain = sent, plain
        self.sent_bytes = len(sent)
        self.is_spooled = False
        self.decode_note = ""

    def open_sent(self) -> BinaryIO:
        return io.BytesIO(self._sent)

    def sent(self) -> bytes:
        return self._sent

    def decoded(self) -> bytes:
        return self._plain

    def release(self) -> None:
        """Keep the bytes: they are those of one page at a time."""

    def close(self) -> None:
        self._sent = self._plain = b""


def foreign_files(folder: CrawlFolder) -> list[Path]:
    """Return the WARC files of others in a crawl's archive that were not read yet."""
    if not folder.archive.is_dir():
        return []
    known = _imported(folder.archive / LIST).files
    return [
        path
        for path in sorted(folder.archive.iterdir())
        if path.name.endswith(ENDINGS)
        and ArchiveName.parse(path.name) is None
        and path.is_file()
        and known.get(path.name) != path.stat().st_size
    ]


def configure_from(folder: CrawlFolder, files: list[Path]) -> None:
    """Write a crawl.toml for a folder that has none: seeds are the first pages of the files."""
    first = (_first_page(path) for path in files)
    seeds = tuple(dict.fromkeys(url for url in first if url))
    save_crawl_config(folder.root, Config(seeds=seeds))


def _first_page(path: Path) -> str:
    for record in _records(path, lambda _: None):
        if record.headers.get("warc-type") == "response":
            head, _ = split_head(record.block)
            url = _target(record)
            is_page = b"text/html" in head.lower() and not url.endswith("/robots.txt")
            if status_of(head) == HTTPStatus.OK and is_page:
                return url
    return ""


def import_files(folder: CrawlFolder, files: list[Path], tell: BuildProgress) -> int:
    """Read WARC files of others; return how many pages they brought. The folder is locked."""
    aside = folder.archive / ASIDE
    _settle(folder, aside)
    files = [path for path in files if path in foreign_files(folder)]
    if not files:
        return 0
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    config = load_crawl_config(folder.root)
    with asyncio.Runner() as runner:
        return _Import(folder, aside, config, runner, tell).run(files)


def _settle(folder: CrawlFolder, aside: Path) -> None:
    """Finish what was written and not moved; forget what was not finished."""
    if not (aside / LIST).exists():
        shutil.rmtree(aside, ignore_errors=True)
        return
    done, known = _imported(aside / LIST), _imported(folder.archive / LIST)
    for name in done.sets:
        if (aside / name).exists():
            (aside / name).rename(folder.archive / name)
    both = ImportedFiles(files=known.files | done.files, sets=known.sets + done.sets)
    replace_file(folder.archive / LIST, msgspec.json.encode(both))
    sync(folder.archive)
    shutil.rmtree(aside)


def _imported(path: Path) -> ImportedFiles:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ImportedFiles)
    except (FileNotFoundError, msgspec.DecodeError):
        return ImportedFiles()


class _Sets:
    """Our own files, set by set, in a folder aside."""

    def __init__(self, folder: Path, epoch: int, file_bytes: int, writer: TurnWriter) -> None:
        self._folder, self._epoch, self._file_bytes = folder, epoch, file_bytes
        self._writer = writer
        self._files: dict[ArchiveKind, BinaryIO] = {}
        self.names: list[str] = []

    def add(self, entry: ArchiveEntry) -> tuple[Path, int] | None:
        """Append the records of a page; return where its page record lies."""
        pages = self._files.get("pages")
        if pages is None or pages.tell() > self._file_bytes:
            self._next_set()
        place = None
        if entry.page_length:
            path = self._folder / self.names[-len(KINDS)]
            place = (path, self._files["pages"].tell() + entry.page_offset)
        self._files["pages"].write(entry.pages)
        self._files["text"].write(entry.text)
        links = entry.links
        if entry.ending is not None:
            links += self._writer.endings([entry.ending])
        self._files["links"].write(links)
        return place

    def flush(self) -> None:
        """Let what was written be read."""
        self._files["pages"].flush()

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}

    def _next_set(self) -> None:
        self.close()
        number, now = len(self.names) // len(KINDS), SystemClock().wall()
        for kind in KINDS:
            name = ArchiveName(kind, 0, self._epoch, number).file_name
            self._files[kind] = (self._folder / name).open("wb")
            self._files[kind].write(self._writer.warcinfo(name, now))
            self.names.append(name)


class _Answer(NamedTuple):
    url: Url
    document: Document
    digest: str


class _Import:
    """One reading of files of others."""

    def __init__(
        self,
        folder: CrawlFolder,
        aside: Path,
        config: Config,
        runner: asyncio.Runner,
        tell: BuildProgress,
    ) -> None:
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311  # record ids
        epoch = max((name.epoch for name in folder.archive_names()), default=0) + 1
        writer = TurnWriter(software=f"gossamer/{__version__}", rng=random)
        tools = Tools(
            urls=config.urls, process=config.process, robots_agent=config.fetch.robots_agent
        )
        self._folder, self._aside, self._config = folder, aside, config
        self._writer, self._runner, self._tell = writer, runner, tell
        self._sets = _Sets(aside, epoch, config.store.file_bytes, writer)
        self._registry = Registry.load(tools)
        self._helper = HelperProcess(HelperSetup(tools=tools), HELPER_COMMAND)
        self._seeds = frozenset(
            url.text for text in config.seeds if (url := parse(text, config.urls)) is not None
        )
        self._contents: dict[str, tuple[Path, int]] = {}
        """Where a content lies that a revisit may refer to, by its digest and its URL."""
        self._pages = 0

    def run(self, files: list[Path]) -> int:
        """Read the files, and let their pages count."""
        try:
            for path in files:
                self._read(path)
        finally:
            self._runner.run(self._helper.close())
            self._sets.close()
        sync_files(self._aside)
        sizes = {path.name: path.stat().st_size for path in files}
        done = ImportedFiles(files=sizes, sets=self._sets.names)
        replace_file(self._aside / LIST, msgspec.json.encode(done))
        _settle(self._folder, self._aside)
        self._tell(BuildStep(doing="adding", count=self._pages))
        return self._pages

    def _read(self, path: Path) -> None:
        request = ForeignRecord(0, {}, b"")
        for record in _records(path, self._tell):
            kind = record.headers.get("warc-type", "")
            if kind == "request":
                request = record
            elif kind in _ANSWERS:
                is_own = _target(request) == _target(record)
                self._take(record, request.block if is_own else b"")
                request = ForeignRecord(0, {}, b"")

    def _take(self, record: ForeignRecord, request: bytes) -> None:
        answer = self._answer(record, request)
        outcome = _outcome(answer.document) if answer is not None else None
        if answer is None or outcome is None:
            return
        entry = self._writer.entry(self._turn(answer, outcome))
        place = self._sets.add(entry)
        if place is not None and len(self._contents) < MOST_KNOWN:
            for name in filter(None, (answer.digest, answer.url.text)):
                self._contents.setdefault(name, place)
        if isinstance(outcome, Fetched):
            self._pages += 1
            if self._pages % TOLD_EVERY == 0:
                self._tell(BuildStep(doing="adding", count=self._pages))

    def _answer(self, record: ForeignRecord, request: bytes) -> _Answer | None:
        """Return what a server answered; None if that is no page of the web."""
        url = parse(_target(record), self._config.urls)
        if url is None or url.scheme not in _WEB or url.target == "/robots.txt":
            return None
        kind = record.headers.get("warc-type")
        is_plain = kind == "resource"  # a file without an HTTP header, and kept as such
        head, payload = (b"", record.block) if is_plain else split_head(record.block)
        digest = record.headers.get("warc-payload-digest", "")
        if kind == "revisit":
            first = parse(_url(record, "warc-refers-to-target-uri"), self._config.urls)
            found = self._content_of(digest, first.text if first is not None else "")
            if found is None:
                self._tell(skipped(f"{url.text}: what it repeats is not there"))
                return None
            payload = found
        document = _document(url, record, head, payload, request, self._config)
        return _Answer(url, document, digest)

    def _content_of(self, digest: str, url: str) -> bytes | None:
        place = self._contents.get(digest) or self._contents.get(url)
        if place is None:
            return None
        self._sets.flush()
        found = next(iter(Records(*place)), None)
        return split_head(found.block)[1] if found is not None else None

    def _turn(self, answer: _Answer, outcome: FetchOutcome) -> Turn:
        document, at = answer.document, answer.document.fetched_at
        is_seed = answer.url.text in self._seeds
        kind = LinkKind.SEED if is_seed else LinkKind.ANCHOR
        task = Task(url=answer.url, depth=0 if is_seed else 1, kind=kind)
        if not isinstance(outcome, Fetched):
            found = None
            if isinstance(outcome, Redirected):
                target = self._registry.tools.links(
                    answer.url.text, [(outcome.target, LinkKind.REDIRECT, "", "")]
                )
                found = Extraction(links=target)
            return Turn(task=task, outcome=outcome, at=at, found=found)
        found = self._found(document)
        if label := label_of(found):
            document.note_oddity(label)
        return Turn(
            task=task,
            outcome=outcome,
            at=at,
            found=found,
            fingerprint=content_fingerprint(document),
            words=words_fingerprint(found),
            label=label,
        )

    def _found(self, document: Document) -> Extraction:
        """Return what processors find; slow and dangerous documents are read by a helper."""
        media_type = self._registry.media_type(document)
        if not self._registry.needs_helper(document, media_type):
            return self._registry.read(document, media_type)
        if (large := self._registry.read_large(document, media_type)) is not None:
            return large
        asked = self._helper.ask(helper_request(document, media_type), Extraction)
        told = self._runner.run(asked)
        if isinstance(told, HelperDeath):
            return Extraction(media_type=media_type, errors=(f"helper: {told.detail}",))
        return told


def _records(path: Path, tell: BuildProgress) -> Iterator[ForeignRecord]:
    stream = Unpacked(str(path))
    try:
        for found in read_warc(stream):
            if isinstance(found, Bad):
                tell(skipped(f"{path.name}: byte {found.at}: {found.reason}"))
            else:
                yield found
    finally:
        stream.close()


def _target(record: ForeignRecord) -> str:
    return _url(record, "warc-target-uri")


def _url(record: ForeignRecord, field: str) -> str:
    """Return a URL of a record's header; wget puts it into brackets."""
    return record.headers.get(field, "").strip("<>")


def _document(
    url: Url, record: ForeignRecord, head: bytes, payload: bytes, request: bytes, config: Config
) -> Document:
    fields = header_fields(head)
    plain = decoded(
        payload,
        transfer=joined_field(fields, "transfer-encoding"),
        codings=joined_field(fields, "content-encoding"),
        max_bytes=config.fetch.max_decoded_bytes,
    )
    said = next((value for name, value in fields if name == "content-type"), "")
    if not head:
        said = record.headers.get("content-type", "")
    media_type, _, rest = said.partition(";")
    _, _, charset = rest.lower().partition("charset=")
    return Document(
        url=url,
        status=status_of(head),
        head=head,
        headers=fields,
        body=_Body(payload, plain),
        request=request,
        address=record.headers.get("warc-ip-address", ""),
        fetched_at=_moment(record.headers.get("warc-date", "")),
        latency_s=0.0,
        media_type=media_type.strip().lower(),
        charset=charset.partition(";")[0].strip().strip("\"'"),
        truncated=record.headers.get("warc-truncated", ""),
    )


def _moment(date: str) -> float:
    try:
        found = datetime.fromisoformat(date)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _outcome(document: Document) -> FetchOutcome | None:
    """Return what an answer means; None if it is to be asked for again."""
    status = document.status
    if not document.head:
        return Fetched(document=document)
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Fetched(document=document)
    if status in _REDIRECTS and (target := document.header("location")):
        return Redirected(document=document, target=target)
    kind = _OF_STATUS.get(status)
    return None if kind is None else Failed(kind=kind, detail=str(status), document=document)
