"""Rebuild the state from the archive, which is the source of truth.

Works in a new folder and renames it, so that a kill leaves either no state or a whole one. No byte
of the archive is changed: a record that cannot be read is skipped and named, and its URL is queued
again unless another record of it is sound. Every record is walked through twice: once for what
became of each URL, once for the links, which go through the same seen test and filters as when they
were found.

A page that is stored whole and lacks only its links or its text is fetched again, too, but its body
is remembered: if it is the same, a revisit record is stored that names it, with links and text. The
end of a file that cannot be read does not count: the next start treats it like any other tail.
"""

import shutil
from collections.abc import Iterable, Iterator
from http.client import MULTIPLE_CHOICES, OK
from pathlib import Path
from random import Random

from msgspec import Struct
from msgspec.structs import astuple, replace

from gossamer.clock import SystemClock
from gossamer.config import Config, WatchConfig
from gossamer.crawl.core import Core, build_core
from gossamer.crawl.dropping import DropRequest, dropped_in, on_record_rows, save_dropped
from gossamer.crawl.ledger import VISITS_KEPT, is_html, kept_first_at, remarks
from gossamer.crawl.mend.importing import configure_from, foreign_files, import_files
from gossamer.crawl.mend.walking import (
    FoundPage,
    LostRecords,
    StoredRecord,
    walk_archive,
    walk_links,
)
from gossamer.crawl.opening import (
    REQUISITES_KNOWN,
    ShardFolder,
    forget_boot,
    lock_folder,
    start_epoch,
)
from gossamer.crawl.pipeline import Reading, accept, followed_links, next_tasks
from gossamer.crawl.requeue import RETRIED
from gossamer.crawl.shipping import SHIPPED
from gossamer.crawl.sitemaps import claim_rows
from gossamer.dedupe import answer_fingerprint, body_fingerprint, coded_fingerprint
from gossamer.durable import replace_file, sync
from gossamer.errors import CannotGoOn
from gossamer.log import counted, warn
from gossamer.model import (
    EMBEDDED,
    SITEMAP_TYPES,
    BuildProgress,
    BuildStep,
    CopyOf,
    Counters,
    Extraction,
    Link,
    LinkKind,
    Row,
    StoreRef,
    Task,
    Url,
    UrlRecord,
    UrlState,
    Visit,
    add_labels,
    read_labels,
)
from gossamer.process import LABELS
from gossamer.report import (
    COUNTERS,
    dropped_of,
    encode_counters,
    encode_record,
    url_row_key,
)
from gossamer.settings import load_crawl_config
from gossamer.store import (
    ROW_PREFIX,
    BadRecord,
    CrawlFolder,
    FileRow,
    LinksRecord,
    State,
    cdxj_lines,
    expect_no_purge,
    far_files,
    file_row,
    read_file_row,
    read_original,
    read_page,
    replace_ends,
    set_aside_lone_indexes,
    write_cdxj,
)
from gossamer.urls import parse

COMMIT_RECORDS = 500
FOUND = frozenset({UrlState.ARCHIVED, UrlState.REDIRECTED})
GIVES_LABELS = frozenset({"seed", "labelled"})
"""Outcomes whose records may bring labels to a URL that has another record."""
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
    queued_again: int = 0
    """URLs among them that were stored, and whose records are damaged."""
    imported: int = 0
    """Pages among them that were read from WARC files of others, this time."""
    damaged: tuple[BadRecord, ...] = ()
    """Records that could not be read, one for each URL that is known to be in them."""


def build_state(root: Path | str, on_progress: BuildProgress | None = None) -> RebuiltState:
    """Make the state of a crawl anew from its archive; return what was found."""
    folder = CrawlFolder(Path(root))
    foreign = foreign_files(folder)
    is_crawl = folder.config_path.exists() and folder.has_archive()
    if not is_crawl and not foreign:
        raise CannotGoOn(f"{root} is not a crawl folder: expected crawl.toml and an archive in it")
    tell = on_progress or (lambda _: None)
    if folder.config_path.exists():
        load_crawl_config(folder.root)  # if it is damaged, nothing is touched
    with lock_folder(folder, SystemClock()):
        expect_no_purge(folder)
        return build_locked(folder, tell)


def build_locked(folder: CrawlFolder, tell: BuildProgress) -> RebuiltState:
    """Do the same in a folder that is ours."""
    foreign = foreign_files(folder)
    if not folder.config_path.exists():
        configure_from(folder, foreign)
    config = load_crawl_config(folder.root)
    _expect_whole_archive(folder, config)
    imported = import_files(folder, foreign, tell)
    fresh = folder.root / "state.new"
    core, lost, again = _rebuilt(folder, config, fresh, tell)
    if missing := [one for one in dropped_in(lost.rules) if one not in config.filter.drop]:
        core.url_seen.close()
        core.state.close()
        warn("rules.restored", dropped=missing)  # of a crawl.toml that was lost, say
        config = save_dropped(folder.root, DropRequest(patterns=tuple(missing)))
        core, lost, again = _rebuilt(folder, config, fresh, tell)
    state = core.state
    state.write(on_record_rows(dropped_in(lost.rules)))
    state.sync()
    committed = (read_file_row(*row) for row in state.scan(ROW_PREFIX))
    replace_ends(folder, {name: row.length for name, row in committed})
    answer = RebuiltState(
        pages=core.counters.pages,
        queued=core.frontier.queued,
        queued_again=again,
        imported=imported,
        damaged=tuple(lost.bad),
    )
    core.url_seen.close()
    state.close()
    _put_in_place(folder, fresh)
    for bad in answer.damaged:
        warn("record.damaged", file=bad.file, byte=bad.offset, url=bad.url, found=bad.found)
    return answer


def _rebuilt(
    folder: CrawlFolder, config: Config, fresh: Path, tell: BuildProgress
) -> tuple[Core, LostRecords, int]:
    """Fill a new state; return its stations, what was lost, and how many URLs are queued again."""
    shutil.rmtree(fresh, ignore_errors=True)
    state = State.open(fresh / "00")
    core = build_core(state, ShardFolder(folder=folder), config, Random(0), Counters())  # noqa: S311  # queue draws
    lost = LostRecords()
    return core, lost, _replay(folder, core, lost, tell)


def _expect_whole_archive(folder: CrawlFolder, config: Config) -> None:
    """Refuse an archive of which files are in the object store only: their pages would be lost."""
    if far := far_files(folder):
        url = config.store.url or "URL"
        raise CannotGoOn(
            f"{counted(len(far), 'archive file')} of {folder.root} ({far[0]}, ...) are in its "
            f"object store only; nothing was changed. Run `gossamer restore {url} --into DIR`, and "
            "build there"
        )


def _replay(folder: CrawlFolder, core: Core, lost: LostRecords, on_progress: BuildProgress) -> int:
    """Fill the stations with what the archive says; return how many URLs are queued again."""
    for name in set_aside_lone_indexes(folder):
        warn("archive.moved", file=name, why="the file that it is an index of is gone")
    core.state.write(_rows_as_they_are(folder))
    _continue_epochs(folder, core)
    dropped, read = dropped_of(folder), 0
    for read, found in enumerate(walk_archive(folder, lost), 1):
        if not dropped.has(found.links.url):
            _settle(found, folder, core)
        if read % COMMIT_RECORDS == 0:
            _commit(core)
            on_progress(BuildStep(doing="reading", count=read))
    _commit(core)
    on_progress(BuildStep(doing="reading", count=read))
    core.state.write(_rows_of_torn(core, lost.torn))
    again = _queue_pages((one for one in lost.pages if not dropped.has(one.url)), core)
    lost_texts = (one for one in lost.texts if not dropped.has(one.links.url))
    again += _queue_pages(_pages_without_text(lost_texts, folder, core), core)
    _remember_orphans(lost.orphans, folder, core)
    for followed, links in enumerate(walk_links(folder), 1):
        if not dropped.has(links.url):
            _follow(links, core)
        if followed % COMMIT_RECORDS == 0:
            _commit(core)
            on_progress(BuildStep(doing="adding", count=followed))
    if core.stations.process.requisites:
        core.state.write([(REQUISITES_KNOWN, b"1")])
    again += _queue_urls([*(one.url for one in lost.orphans), *lost.urls], core)
    _commit(core)
    return again


def _rows_as_they_are(folder: CrawlFolder) -> list[Row]:
    """Return a commit table that says of every file what it is: no start has anything to cut."""
    rows = []
    for name in folder.archive_names():
        path = folder.archive_path(name.file_name)
        is_far = folder.is_far(name.file_name)
        if not is_far:
            sync(path)
        length, index = path.stat().st_size, folder.archive / name.cdxj_name
        indexed = None
        if name.kind == "pages" and not index.exists():  # it was open when the crawl died
            indexed = write_cdxj(index, cdxj_lines(path), is_synced=True)
        rows.append(
            file_row(
                name.file_name,
                FileRow(length, length, is_closed=True, cdxj_length=indexed, is_far=is_far),
            )
        )
    return rows


def _rows_of_torn(core: Core, torn: dict[str, int]) -> list[Row]:
    """Return rows of the commit table that leave out the ends of files that cannot be read."""
    known = dict(read_file_row(*row) for row in core.state.scan(ROW_PREFIX))
    return [
        file_row(name, replace(known[name], length=length, synced=length))
        for name, length in torn.items()
        if name in known
    ]


def _pages_without_text(
    found: Iterable[FoundPage], folder: CrawlFolder, core: Core
) -> Iterator[LinksRecord]:
    """Yield the pages that are fetched again for their text, their content remembered."""
    for one in found:
        links, page = one.links, one.page
        url = parse(links.url, core.stations.urls)
        old = core.record_of(url.key) if url is not None else None
        if old is not None and old.seen_at < links.at:
            _settle(one, folder, core)  # a version that came later: better than the one before
        elif old is None and page is not None and links.fp is not None:
            original = CopyOf(links.url, links.page, page.digest, links.at)
            _remember(links.fp, original, core)
            yield links


def _remember_orphans(orphans: Iterable[StoredRecord], folder: CrawlFolder, core: Core) -> None:
    """Remember the answers that are stored and will be asked for again."""
    for orphan in orphans:
        url = parse(orphan.url, core.stations.urls)
        original = read_original(folder, orphan.ref)
        if url is None or original is None or orphan.original or core.record_of(url.key):
            continue
        page = read_page(folder, orphan.ref)
        is_whole = not page.warc_headers.get("warc-truncated") and page.payload
        is_content = is_whole and OK <= page.status < MULTIPLE_CHOICES
        fingerprint = body_fingerprint(page.decoded()) if is_content else None
        if fingerprint is None:
            fingerprint = answer_fingerprint(url, page.status, page.payload)
        _remember(fingerprint, replace(original, url=url.text), core)


def _remember(fingerprint: int, original: CopyOf, core: Core) -> None:
    if core.content_seen.first_copy(fingerprint) is None:
        core.content_seen.remember(fingerprint, original)


def _queue_pages(lost: Iterable[LinksRecord], core: Core) -> int:
    """Queue the pages again whose records are bad; what led to them is known."""
    tasks = {}
    for links in lost:
        url = parse(links.url, core.stations.urls)
        if url is not None and core.record_of(url.key) is None:
            task = _task(links, url)
            is_revisit = task.kind is LinkKind.REVISIT
            tasks[url.key] = replace(task, kind=LinkKind.ANCHOR) if is_revisit else task
    core.url_seen.add(list(tasks))
    core.frontier.add(tasks.values())
    _commit(core)
    return len(tasks)


def _queue_urls(texts: Iterable[str], core: Core) -> int:
    """Queue URLs of which nothing else is known: no page that links to one was met, either."""
    found = (parse(text, core.stations.urls) for text in dict.fromkeys(texts))
    urls = [url for url in found if url is not None and core.record_of(url.key) is None]
    new = accept([Task(url=url, depth=1) for url in urls], core.stations).new
    core.frontier.add(new)
    return len(urls)


def _continue_epochs(folder: CrawlFolder, core: Core) -> None:
    """Begin after the last epoch that the archive has, so that no file name is used twice.

    The hosts' clocks are not in the archive: without a boot id every host waits at the next start.
    """
    last = max((name.epoch for name in folder.archive_names()), default=0)
    start_epoch(core.state, SystemClock(), after=last)
    forget_boot(core.state)


def _settle(found: FoundPage, folder: CrawlFolder, core: Core) -> None:
    """Write down what became of one URL."""
    links, counters = found.links, core.counters
    ref = found.page.ref if found.page else None
    url = parse(links.url, core.stations.urls)
    state = STATES.get(links.outcome)
    if url is None or state is None:
        return
    old = core.record_of(url.key)
    if old is not None and state in RETRIED and old.state not in RETRIED:
        return  # tried again with success by another shard: that was met first
    if found.is_late and old is not None and links.at < old.seen_at:
        return  # an earlier version than the one that was met
    if old is None:
        core.url_seen.add([url.key])
        core.frontier.hosts.note_known(url.host)
    if old is None or old.state in RETRIED:
        _count(links, state, counters, is_new=old is None)
    record = _record(links, state, ref)
    if old is not None and old.state in RETRIED:
        counters.uncount(old.state.value, old.reason, old.detail)
        record.visits[:0] = old.visits[1 - VISITS_KEPT :]
        record = replace(record, first_at=kept_first_at(old, len(old.visits) + 1))
    elif old is not None:
        has_same = links.fp is not None and links.fp == old.fingerprint
        is_same = links.outcome == "unchanged" or has_same
        record = revisited(old, record, is_same=is_same, rules=core.watch)
        _count_revisit(counters, record, old)
        _forget_old_content(core, old, record)
    core.state.write([(url_row_key(url.key), encode_record(record))])
    if links.fp is not None and links.outcome == "fetched":
        _remember_content(found, links.fp, folder, core)


def _remember_content(found: FoundPage, fingerprint: int, folder: CrawlFolder, core: Core) -> None:
    """Remember a page as the first of its content, or of its coding if it is a copy."""
    links, page = found.links, found.page
    original = CopyOf(links.url, links.page, page.digest if page else "", links.at)
    if not links.copy_of:
        if page is not None and page.original:  # of the page itself
            original = read_original(folder, page.ref) or original
        core.content_seen.remember(fingerprint, original)
    elif page is not None and not page.original:
        _remember(coded_fingerprint(fingerprint, page.digest), original, core)


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
        first_at=kept_first_at(old, len(old.visits) + len(new.visits)),
        labels=add_labels(old.labels, new.labels),
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
        labels=links.label,
        is_sitemap=state is UrlState.ARCHIVED and links.media_type in SITEMAP_TYPES,
    )


def _said(links: LinksRecord, state: UrlState) -> str:
    """Return what a visit is remembered as."""
    return links.outcome if links.outcome == "unchanged" else state.value


def _detail(links: LinksRecord, state: UrlState) -> str:
    """Return what the ledger wrote down beside a URL's state."""
    if state is UrlState.ARCHIVED:
        return remarks(links.truncated, links.oddities, links.errors)
    return "" if state is UrlState.REDIRECTED else links.detail


def _count(links: LinksRecord, state: UrlState, counters: Counters, *, is_new: bool) -> None:
    """Add one URL to the totals, as the ledger did when it was fetched."""
    counters.note_latest(links.at if links.page else 0.0)
    is_seed = links.kind == LinkKind.SEED
    match state:
        case UrlState.ARCHIVED if links.media_type in SITEMAP_TYPES:
            counters.count_sitemap(is_copy=bool(links.copy_of), is_seed=is_seed)
        case UrlState.ARCHIVED:
            counters.count_page(
                is_copy=bool(links.copy_of),
                is_html=is_html(links.media_type),
                is_seed=is_seed,
                label=next((label for label in LABELS if label in links.oddities), ""),
            )
            counters.count_seed_labels(links.label)
        case UrlState.GONE:
            counters.count_gone()
        case UrlState.REDIRECTED:
            counters.count_redirect(is_seed=is_seed)
        case UrlState.FAILED:
            counters.count_failure(links.reason, links.detail, is_final=True)
        case _:
            counters.count_refused({links.reason: 1})
    if is_seed and is_new:
        counters.count_seed()
    if links.outcome != "refused":
        counters.count_request()


def _follow(links: LinksRecord, core: Core) -> None:
    """Queue the links of one record that were never fetched."""
    url = parse(links.url, core.stations.urls)
    if url is None:
        return
    task = _task(links, url)
    if links.outcome in GIVES_LABELS and links.label:
        core.labels.add([task])
    if links.outcome == "seed":
        found = [Link(target=url, kind=LinkKind.SEED)]
        task = Task(url=url, depth=-1, labels=task.labels)
    else:
        is_list = links.media_type in SITEMAP_TYPES
        targets = ((parse(row[0], core.stations.urls), row) for row in links.links)
        found = [
            Link(target=target, kind=LinkKind(row[1]), text=row[2] if is_list else "", rel=row[3])
            for target, row in targets
            if target is not None
        ]
    if links.outcome == "fetched" and links.media_type in SITEMAP_TYPES:
        core.state.write(claim_rows(task, found))
    if links.outcome == "fetched":
        extraction = Extraction(links=found, robots=links.robots, media_type=links.media_type)
        copy_of = CopyOf(links.copy_of, "", "", 0.0) if links.copy_of else None
        label = next((label for label in LABELS if label in links.oddities), "")
        reading = Reading(found=extraction, copy_of=copy_of, label=label)
        found = list(followed_links(task, reading, core.stations))
    is_part = core.stations.process.requisites and task.kind in EMBEDDED
    if links.outcome == "redirected" and is_part:
        found = [Link(target=link.target, kind=LinkKind.EMBED_REDIRECT) for link in found]
    following = next_tasks(task, found, core.stations)
    core.frontier.add(following.new)
    core.frontier.promote(following.promoted)
    core.labels.add(following.labelled)


def _task(links: LinksRecord, url: Url) -> Task:
    return Task(
        url=url,
        depth=links.depth,
        via=links.via,
        kind=LinkKind(links.kind),
        hops=links.hops,
        nesting=links.nesting,
        labels=read_labels(links.label),
    )


def _commit(core: Core) -> None:
    rows = core.rows_to_commit()
    core.state.write([*rows, (COUNTERS, encode_counters(core.counters))])
    core.frontier.committed()
    core.labels.take_stored()  # the archive has them


def _keep_shipped(state: Path, fresh: Path) -> None:
    """Let the new state know how much of the crawl its store has: the archive has all of that."""
    for mark in state.glob(f"{SHIPPED}*"):
        replace_file(fresh / mark.name, mark.read_bytes())
    for mark in state.glob(f"[0-9]*/{SHIPPED}*"):
        place = fresh / mark.parent.name
        place.mkdir(exist_ok=True)
        replace_file(place / mark.name, mark.read_bytes())


def _put_in_place(folder: CrawlFolder, fresh: Path) -> None:
    """Replace the old state, if there is one, by the new one."""
    state, old = folder.root / "state", folder.root / "state.old"
    if state.exists():
        _keep_shipped(state, fresh)
        shutil.rmtree(old, ignore_errors=True)
        state.rename(old)
    fresh.rename(state)
    sync(folder.root)
    shutil.rmtree(old, ignore_errors=True)
