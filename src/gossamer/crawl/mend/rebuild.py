"""Rebuild the state from the archive, which is the source of truth.

Works in a new folder and renames it, so that a kill leaves either no state or a whole one. First
the archive is brought into order (what has no links record is cut off), then every record is
walked through twice: once for what became of each URL, once for the links, which go through the
same seen test and filters as when they were found.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from gossamer.clock import SystemClock
from gossamer.config import WatchConfig
from gossamer.crawl.core import Core, build_core
from gossamer.crawl.ledger import VISITS_KEPT, is_html, remarks
from gossamer.crawl.opening import ShardFolder, forget_boot, lock_folder, start_epoch
from gossamer.crawl.pipeline import Reading, followed_links, next_tasks
from gossamer.durable import sync
from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.model import (
    BuildProgress,
    BuildStep,
    CopyOf,
    Counters,
    Extraction,
    Link,
    LinkKind,
    StoreRef,
    Task,
    UrlRecord,
    UrlState,
    Visit,
)
from gossamer.process import LABELS
from gossamer.report import COUNTERS, encode_counters, encode_record, url_row_key
from gossamer.settings import load_config
from gossamer.store import (
    ArchiveName,
    CrawlFolder,
    FileRow,
    LinksRecord,
    Records,
    State,
    decode_links,
    file_row,
    repair,
)
from gossamer.urls import parse

COMMIT_RECORDS = 500
FOUND = frozenset({UrlState.ARCHIVED, UrlState.REDIRECTED})
STATES = {
    "fetched": UrlState.ARCHIVED,
    "redirected": UrlState.REDIRECTED,
    "failed": UrlState.FAILED,
    "refused": UrlState.REFUSED,
    "gone": UrlState.GONE,
    "unchanged": UrlState.ARCHIVED,
}


class RebuiltState(Struct, frozen=True, kw_only=True):
    """What a state that was built again holds."""

    pages: int
    queued: int


def build_state(root: Path | str, on_progress: BuildProgress | None = None) -> RebuiltState:
    """Make the state of a crawl anew from its archive; return what was found."""
    folder = CrawlFolder(Path(root))
    if not folder.config_path.exists() or not folder.has_archive():
        raise CannotGoOn(f"{root} is not a crawl folder: expected crawl.toml and an archive in it")
    config = load_config(folder.config_path)
    with lock_folder(folder, SystemClock()):
        fresh = folder.root / "state.new"
        shutil.rmtree(fresh, ignore_errors=True)
        state = State.open(fresh / "00")
        core = build_core(state, ShardFolder(folder=folder), config, Random(0), Counters())  # noqa: S311  # queue draws
        counters = _replay(folder, core, on_progress or (lambda _: None))
        state.sync()
        answer = RebuiltState(pages=counters.pages, queued=core.frontier.queued)
        core.url_seen.close()
        state.close()
        _put_in_place(folder, fresh)
    return answer


def _replay(folder: CrawlFolder, core: Core, on_progress: BuildProgress) -> Counters:
    for shard in sorted({name.shard for name in folder.archive_names()}):
        core.state.write(repair(folder, shard, _as_committed(folder, shard)).rows)
    _continue_epochs(folder, core)
    counters = core.counters
    read = 0
    for read, (record, ref, digest) in enumerate(_walk(folder), 1):
        _settle(record, ref, digest, core, counters)
        if read % COMMIT_RECORDS == 0:
            _commit(core, counters)
            on_progress(BuildStep(doing="reading", count=read))
    _commit(core, counters)
    on_progress(BuildStep(doing="reading", count=read))
    for followed, (record, _, _) in enumerate(_walk(folder), 1):
        _follow(record, core)
        if followed % COMMIT_RECORDS == 0:
            _commit(core, counters)
            on_progress(BuildStep(doing="adding", count=followed))
    _commit(core, counters)
    return counters


def _as_committed(folder: CrawlFolder, shard: int) -> list[tuple[bytes, bytes]]:
    """Return commit rows that claim every file whole: repair finds out what really is."""
    rows = []
    for name in folder.archive_names(shard=shard):
        length = folder.archive_path(name.file_name).stat().st_size
        row = FileRow(length=length, synced=0, is_closed=False)
        key, value = file_row(name.file_name, row)
        rows.append((key, value or b""))
    return rows


def _continue_epochs(folder: CrawlFolder, core: Core) -> None:
    """Begin after the last epoch that the archive has, so that no file name is used twice.

    The hosts' clocks are not in the archive: without a boot id every host waits at the next start.
    """
    last = max((name.epoch for name in folder.archive_names()), default=0)
    start_epoch(core.state, SystemClock(), after=last)
    forget_boot(core.state)


def _walk(folder: CrawlFolder) -> Iterator[tuple[LinksRecord, StoreRef | None, str]]:
    """Give every links record with the place and payload digest of its page record."""
    for name in folder.archive_names(kind="links"):
        pages = _page_places(folder, name.sibling("pages"))
        path = folder.archive_path(name.file_name)
        for record in Records(path):
            if record.headers.get("warc-type") == "metadata":
                try:
                    links = decode_links(record.block)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise CorruptFile(path, record.offset, str(error)) from error
                ref, digest = pages.get(links.page, (None, ""))
                yield links, ref, digest


def _page_places(folder: CrawlFolder, name: ArchiveName) -> dict[str, tuple[StoreRef, str]]:
    path = folder.archive_path(name.file_name)
    if not path.exists():
        return {}
    return {
        record.record_id: (
            StoreRef(name.file_name, record.offset, record.length),
            record.headers.get("warc-payload-digest", ""),
        )
        for record in Records(path)
        if record.headers.get("warc-type") in {"response", "revisit", "resource"}
    }


def _settle(
    links: LinksRecord, ref: StoreRef | None, digest: str, core: Core, counters: Counters
) -> None:
    """Write down what became of one URL."""
    url = parse(links.url, core.stations.urls)
    state = STATES.get(links.outcome)
    if url is None or state is None:
        return
    old = core.record_of(url.key)
    if old is None:
        core.url_seen.add([url.key])
        core.frontier.hosts.note_known(url.host)
        _count(links, state, counters)
    record = _record(links, state, ref)
    if old is not None:
        has_same = links.fp is not None and links.fp == old.fingerprint
        is_same = links.outcome == "unchanged" or has_same
        record = revisited(old, record, is_same=is_same, rules=core.watch)
        _count_revisit(counters, record, old)
        _forget_old_content(core, old, record)
    core.state.write([(url_row_key(url.key), encode_record(record))])
    if links.fp is not None and not links.copy_of and links.outcome == "fetched":
        core.content_seen.remember(links.fp, CopyOf(links.url, links.page, digest, links.at))


def revisited(old: UrlRecord, new: UrlRecord, *, is_same: bool, rules: WatchConfig) -> UrlRecord:
    """Return the record of a page that was stored before and is met once more.

    Revisits that left nothing in the archive are not known: the page seems to change a bit more
    often than it does, until it has been revisited a few times.
    """
    from gossamer.frontier.revisit import Belief, first_belief, learn  # noqa: PLC0415 - a crawl starts without it

    is_found = new.state in FOUND
    belief = Belief(*old.belief) if old.belief else first_belief(1.0 / rules.prior_s)
    if is_found:
        belief = learn(belief, new.seen_at - old.seen_at, changed=not is_same)
    return replace(
        old if is_same else new,
        depth=old.depth,
        via=old.via,
        kind=old.kind,
        visits=[*old.visits, *new.visits][-VISITS_KEPT:],
        page=old.stored if is_same or not is_found else None,
        looks=old.looks + is_found,
        changes=old.changes + (is_found and not is_same),
        misses=0 if is_found else 2,
        belief=astuple(belief),
    )


def _count_revisit(counters: Counters, record: UrlRecord, old: UrlRecord) -> None:
    """Add a revisit to the totals."""
    has_changed = record.changes > old.changes
    counters.count_revisit(
        is_changed=has_changed,
        is_unchanged=record.state in FOUND and not has_changed,
        gone=(record.state is UrlState.GONE) - (old.state is UrlState.GONE),
    )


def _forget_old_content(core: Core, old: UrlRecord, record: UrlRecord) -> None:
    """Drop the content that the page no longer has."""
    if old.fingerprint is not None and record.fingerprint != old.fingerprint:
        core.content_seen.forget(old.fingerprint, old.url)


def _record(links: LinksRecord, state: UrlState, ref: StoreRef | None) -> UrlRecord:
    """Return the record of a URL that is met for the first time."""
    return UrlRecord(
        url=links.url,
        state=state,
        depth=links.depth,
        via=links.via,
        kind=links.kind,
        reason=links.reason,
        detail=_detail(links, state),
        attempts=links.attempt + 1,
        target=links.links[0][0] if state is UrlState.REDIRECTED and links.links else "",
        copy_of=links.copy_of,
        fingerprint=links.fp,
        words=links.words,
        visits=[Visit(links.at, _said(links, state), links.reason, links.status, ref)],
    )


def _said(links: LinksRecord, state: UrlState) -> str:
    """Return what a visit is remembered as."""
    return links.outcome if links.outcome == "unchanged" else state.value


def _detail(links: LinksRecord, state: UrlState) -> str:
    """Return what the ledger wrote down beside a URL's state."""
    if state is UrlState.ARCHIVED:
        return remarks(links.truncated, links.oddities, links.errors)
    return "" if state is UrlState.REDIRECTED else links.detail


def _count(links: LinksRecord, state: UrlState, counters: Counters) -> None:
    """Add one URL to the totals, as the ledger did when it was fetched."""
    is_seed = links.kind == LinkKind.SEED
    match state:
        case UrlState.ARCHIVED:
            counters.count_page(
                is_copy=bool(links.copy_of),
                is_html=is_html(links.media_type),
                is_seed=is_seed,
                label=next((label for label in LABELS if label in links.oddities), ""),
            )
        case UrlState.GONE:
            counters.count_gone()
        case UrlState.REDIRECTED:
            counters.count_redirect(is_seed=is_seed)
        case UrlState.FAILED:
            counters.count_failure(links.reason, is_final=True)
        case _:
            counters.count_refused({links.reason: 1})
    if is_seed:
        counters.count_seed()
    if links.outcome != "refused":
        counters.count_request()


def _follow(links: LinksRecord, core: Core) -> None:
    """Queue the links of one record that were never fetched."""
    url = parse(links.url, core.stations.urls)
    if url is None:
        return
    task = Task(
        url=url,
        depth=links.depth,
        via=links.via,
        kind=LinkKind(links.kind),
        hops=links.hops,
        nesting=links.nesting,
    )
    if links.outcome == "seed":
        found = [Link(target=url, kind=LinkKind.SEED)]
        task = Task(url=url, depth=-1)
    else:
        targets = ((parse(row[0], core.stations.urls), row) for row in links.links)
        found = [
            Link(target=target, kind=LinkKind(row[1]), text="", rel=row[3])
            for target, row in targets
            if target is not None
        ]
    if links.outcome == "fetched":
        extraction = Extraction(links=found, robots=links.robots, media_type=links.media_type)
        copy_of = CopyOf(links.copy_of, "", "", 0.0) if links.copy_of else None
        label = next((label for label in LABELS if label in links.oddities), "")
        reading = Reading(found=extraction, copy_of=copy_of, label=label)
        found = followed_links(task, reading, core.stations)
    following = next_tasks(task, found, core.stations)
    core.frontier.add(following.new)
    core.frontier.promote(following.promoted)


def _commit(core: Core, counters: Counters) -> None:
    rows = core.rows_to_commit()
    core.state.write([*rows, (COUNTERS, encode_counters(counters))])
    core.frontier.committed()


def _put_in_place(folder: CrawlFolder, fresh: Path) -> None:
    """Replace the old state, if there is one, by the new one."""
    state, old = folder.root / "state", folder.root / "state.old"
    shutil.rmtree(old, ignore_errors=True)
    if state.exists():
        state.rename(old)
    fresh.rename(state)
    sync(folder.root)
    shutil.rmtree(old, ignore_errors=True)
