"""What a death left behind: leased, lost and blamed URLs go where they belong."""

from msgspec.structs import replace

from gossamer.cluster import OUTBOX, PARCELS, outbox_rows
from gossamer.crawl.core import Core
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import accept
from gossamer.log import tell, warn
from gossamer.model import (
    FINAL,
    Failed,
    FailureKind,
    LinkKind,
    RevisitResult,
    Task,
    Turn,
    UrlRecord,
)
from gossamer.report import URL, decode_record, url_row_key
from gossamer.store import FlightBoard, Repair
from gossamer.urls import parse

DEATHS = b"k"
REST_S = 86_400.0
"""A stored page that kills us is not revisited before this long."""
DEATH, LEAST_SHARE, MAX_BLAME = 12, 3, 36
"""A death's blame is shared by the URLs in hand, a quarter each at least; a URL that carries three
whole ones is not tried again. So one that is alone in hand, or being read, has three deaths, and a
bystander of random kills is not failed for what others may have done."""


def recover(
    core: Core,
    ledger: Ledger,
    board: FlightBoard,
    mended: Repair,
    now: float,
    *,
    all_wait: bool,
) -> None:
    """Put leased, lost and blamed URLs where they belong, in one commit."""
    blame = _share_blame(core, ledger, board)
    killers: list[Task] = []

    def is_settled(task: Task) -> bool:
        if blame.get(task.url.key, 0) >= MAX_BLAME:
            killers.append(task)
            return True
        if task.kind is LinkKind.REVISIT:
            return True  # its page is still on the watchlist
        value = core.state.get(url_row_key(task.url.key))
        return value is not None and decode_record(value).state in FINAL

    core.frontier.recover(now, is_settled, all_wait=all_wait)
    for task in killers:
        failed = Failed(kind=FailureKind.KILLED_US, detail="in hand again and again")
        turn = Turn(task=task, outcome=failed, at=now)
        if task.kind is LinkKind.REVISIT:
            result, again_at = RevisitResult.NO_ANSWER, now + REST_S
            turn = replace(turn, revisit=result, retry_at=again_at)
        ledger.record(turn, now)
    ledger.add_rows(mended.rows)
    _queue_lost_pages(core, ledger, mended)
    _recover_outbox(core, ledger)
    ledger.counters.add_lost_found(len(mended.moved))
    ledger.commit()
    board.clear()
    if mended.reindexed:
        warn("archive.reindexed", cdxj=mended.reindexed, found="cut, missing or of another file")
    if mended.cut or mended.moved or mended.bad:
        tell("archive.repaired", cut=mended.cut, moved=mended.moved, bad=mended.bad)


def _recover_outbox(core: Core, ledger: Ledger) -> None:
    """Take up the letters that no receiver has acknowledged; after a re-split some are our own."""
    rows = core.state.scan(OUTBOX)
    if core.outbox is not None:
        ours = core.outbox.recover(rows)
        core.outbox.recover_parcels(core.state.scan(PARCELS))
    else:
        letters = list(outbox_rows(rows))
        ours = [task for _, tasks in letters for task in tasks]
        ledger.add_rows([(key, None) for key, _ in letters])
    found = accept(ours, core.stations)
    core.add(found.new)
    core.promote(found.promoted)


def _share_blame(core: Core, ledger: Ledger, board: FlightBoard) -> dict[int, int]:
    """Blame the last death on the URLs that were in hand; return what each of them carries now."""
    blame: dict[int, int] = {}
    share = max(LEAST_SHARE, DEATH // max(1, len(board.lost)))
    for key in board.lost:
        row = DEATHS + key.to_bytes(8, "big")
        blame[key] = int.from_bytes(core.state.get(row) or b"", "big") + share
        ledger.add_rows([(row, blame[key].to_bytes(2, "big"))])
    return blame


def _queue_lost_pages(core: Core, ledger: Ledger, mended: Repair) -> None:
    """Queue again the URLs whose records lay in a damaged range of the archive."""
    if not mended.bad:
        return
    lost_from = dict(mended.bad)
    for key, value in core.state.scan(URL):
        record = decode_record(value)
        ref = record.visits[-1].ref if record.visits else None
        if ref is not None and ref.offset >= lost_from.get(ref.file, ref.offset + 1):
            ledger.add_rows([(key, None)])
            if record.fingerprint is not None:  # or the page would be a copy of its lost self
                core.content_seen.forget(record.fingerprint, record.url)
            if (task := _task_of(record, core)) is not None:
                core.frontier.add([task], are_new=False)


def _task_of(record: UrlRecord, core: Core) -> Task | None:
    url = parse(record.url, core.stations.urls)
    if url is None:
        return None
    return Task(url=url, depth=record.depth, via=record.via, kind=LinkKind(record.kind))
