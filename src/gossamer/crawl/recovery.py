"""What a death left behind: leased, lost and suspected URLs go where they belong."""

from collections.abc import Mapping

from msgspec.structs import replace

from gossamer.cluster import OUTBOX, outbox_tasks
from gossamer.crawl.core import MAX_DEATHS, Core
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import accept
from gossamer.log import tell, warn
from gossamer.model import (
    FINAL,
    SITEMAP_TYPES,
    Counters,
    Failed,
    FailureKind,
    LinkKind,
    RevisitResult,
    StoreRef,
    Task,
    Turn,
    UrlRecord,
    UrlState,
)
from gossamer.report import URL, decode_record, suspicion, url_row_key
from gossamer.store import (
    CrawlFolder,
    FileRow,
    LinksRecord,
    ReadingMark,
    Repair,
    file_row,
    links_in,
    read_file_row,
    readable_records,
)
from gossamer.urls import parse

LOST_FOUND = "archive/lost+found"
REST_S = 86_400.0
"""A stored page that kills us is not revisited before this long."""


def recover(
    folder: CrawlFolder,
    core: Core,
    ledger: Ledger,
    mark: ReadingMark,
    mended: Repair,
    now: float,
    *,
    all_wait: bool,
) -> None:
    """Put leased, lost and suspected URLs where they belong, in one commit."""
    lost = mark.lost
    suspects: list[Task] = []

    def is_settled(task: Task) -> bool:
        # A page that is on record is still on the watchlist, or answered before.
        is_revisit = task.kind in {LinkKind.REVISIT, LinkKind.WITNESS}
        value = None if is_revisit else core.state.get(url_row_key(task.url.key))
        if value is not None and decode_record(value).state in FINAL:
            return True
        ledger.requests.note_interrupted(task.url, now)
        if lost is not None and task.url.key == lost.key:
            suspects.append(task)
            return True
        return is_revisit

    core.frontier.recover(now, is_settled, all_wait=all_wait)
    for task in suspects:
        _suspect(task, lost.at if lost is not None else 0.0, core, ledger, now)
    ledger.add_rows(mended.rows)
    _queue_lost_pages(folder, core, ledger, mended)
    _recover_outbox(core, ledger)
    ledger.counters.add_lost_found(len(mended.moved))
    ledger.commit()
    mark.clear()
    if mended.reindexed:
        warn("archive.reindexed", cdxj=mended.reindexed, found="cut, missing or of another file")
    moved = [one.file for one in mended.moved]
    if moved:
        warn("archive.moved", to=LOST_FOUND, records=sum(n for _, n in mended.moved), files=moved)
    if mended.cut or moved or mended.bad:
        tell("archive.repaired", cut=mended.cut, moved=moved, bad=mended.bad)


def suspect_in_hand(machines: Mapping[int, int], core: Core, now: float) -> None:
    """Let URLs be read alone that were in hand when machines went, unless they are done with."""
    for key, count in machines.items():
        value = core.state.get(url_row_key(key))
        if value is None or decode_record(value).state not in FINAL:
            core.suspects.add_in_hand(key, count, now)


def _suspect(task: Task, died_at: float, core: Core, ledger: Ledger, now: float) -> None:
    """Postpone a URL whose page was being read when the crawl died; it is read alone then.

    Only one over which it died again, after a helper process had read the page well, is given up.
    """
    key = task.url.key
    suspect = core.suspects.add(key, died_at, now)
    is_guilty = suspect.deaths >= MAX_DEATHS
    tell("page.suspected", url=task.url.text, deaths=suspect.deaths)
    if task.kind is LinkKind.REVISIT and not is_guilty:
        return
    detail = (
        f"the crawl died {suspect.deaths} times while its page was being read or filtered"
        if is_guilty
        else suspicion(suspect)
    )
    failed = Failed(kind=FailureKind.KILLED_US, detail=detail)
    turn = Turn(task=task, outcome=failed, at=now)
    if task.kind is LinkKind.REVISIT:
        turn = replace(turn, revisit=RevisitResult.NO_ANSWER, retry_at=now + REST_S)
    elif is_guilty:
        core.suspects.clear(key)
        core.traps.observe(turn)
    else:
        turn = replace(turn, retry_at=suspect.until)
        core.frontier.delay(replace(task, attempt=task.attempt + 1), suspect.until)
    ledger.record(turn, now)


def _recover_outbox(core: Core, ledger: Ledger) -> None:
    """Take up the letters that no receiver has acknowledged; after a re-split some are our own."""
    rows = core.state.scan(OUTBOX)
    if core.outbox is not None:
        ours = core.outbox.recover(rows)
    else:
        letters = list(rows)
        ours = [task for _, value in letters for task in outbox_tasks(value)]
        ledger.add_rows([(key, None) for key, _ in letters])
    found = accept(ours, core.stations)
    core.take_tasks(found)


def _queue_lost_pages(folder: CrawlFolder, core: Core, ledger: Ledger, mended: Repair) -> None:
    """Queue again the URLs whose records lay in a damaged range of the archive."""
    if not mended.bad:
        return
    lost_from = dict(mended.bad)
    lost_bytes = sum(_committed_bytes(core, file) - end for file, end in mended.bad)
    lost = _moved_links(folder, mended)
    pages = queued = 0
    for key, value in core.state.scan(URL):
        record = decode_record(value)
        if any(ref.offset >= lost_from.get(ref.file, ref.offset + 1) for ref in _needed(record)):
            ledger.add_rows([(key, None)])
            pages += record.state is UrlState.ARCHIVED
            if not ledger.uncounted.has(key, record.url):
                _take_back(record, lost.get(record.url), ledger.counters)
            if record.fingerprint is not None:  # or the page would be a copy of its lost self
                core.content_seen.forget(record.fingerprint, record.url)
            if (task := task_of(record, core)) is not None:
                core.frontier.add([task], are_new=False)
                queued += 1
    ledger.counters.count_archived(-lost_bytes)
    warn("archive.lost", files=list(lost_from), pages=pages, queued_again=queued)


def _needed(record: UrlRecord) -> list[StoreRef]:
    """Return where the content of a URL lies, and the last record of it: later visits left none."""
    stored = [visit.ref for visit in record.visits if visit.ref is not None][-1:]
    return stored if record.page is None else [record.page, *stored]


def _take_back(record: UrlRecord, links: LinksRecord | None, counters: Counters) -> None:
    """Take a URL back whose record is lost; its links record may have been saved."""
    is_page, is_seed = record.state is UrlState.ARCHIVED, record.kind == LinkKind.SEED
    if is_page and links is not None and links.media_type in SITEMAP_TYPES:
        counters.take_back_sitemap(is_copy=bool(record.copy_of), is_seed=is_seed)
        return
    counters.take_back(
        is_page=is_page,
        is_html=links is not None and links.html,
        is_copy=bool(record.copy_of),
        is_redirect=record.state is UrlState.REDIRECTED,
        is_seed=is_seed,
    )
    if is_page:
        counters.count_seed_labels(record.labels, -1)


def _moved_links(folder: CrawlFolder, mended: Repair) -> dict[str, LinksRecord]:
    """Return the links records that went with their pages, by URL, without the links."""
    paths = (folder.lost_found / one.file for one in mended.moved if one.file.startswith("links"))
    records = (record for path in paths for record in readable_records(path))
    found = (links for links in map(links_in, records) if links is not None)
    return {links.url: replace(links, links=[], notes={}) for links in found}


def _committed_bytes(core: Core, file: str) -> int:
    """Return how many bytes of an archive file the state has counted."""
    key, _ = file_row(file, FileRow(0, 0))
    value = core.state.get(key)
    return read_file_row(key, value)[1].length if value is not None else 0


def task_of(record: UrlRecord, core: Core) -> Task | None:
    """Return the task of a URL as its record has it; None if that is no URL any more."""
    url = parse(record.url, core.stations.urls)
    if url is None:
        return None
    return Task(
        url=url,
        depth=record.depth,
        via=record.via,
        kind=LinkKind(record.kind),
        labels=record.labels,
    )
