"""What a death left behind: leased, lost and blamed URLs go where they belong."""

from dataclasses import dataclass

from gossamer.cluster import OUTBOX, PARCELS, outbox_rows
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import accept
from gossamer.crawl.setup.core import Core
from gossamer.log import tell
from gossamer.model import FINAL, Failed, FailureKind, Finding, LinkKind, Task, Turn, UrlRecord
from gossamer.report import URL, decode_record, url_row_key
from gossamer.store import FlightBoard, Repair
from gossamer.urls import parse

DEATHS = b"k"
REST_S = 86_400.0
"""A page that we have and that kills us is not looked at again before this long."""
DEATH, LEAST_SHARE, MAX_BLAME = 12, 3, 36
"""A death's blame is shared by the URLs in hand, a quarter each at least; a URL that carries three
whole ones is not tried again. So one that is alone in hand, or being read, has three deaths, and a
bystander of random kills is not failed for what others may have done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where things are written down: the ledger, and the board of what is in hand."""

    ledger: Ledger
    board: FlightBoard


def recover(core: Core, desk: Desk, mended: Repair, now: float, *, all_wait: bool) -> None:
    """Put leased, lost and blamed URLs where they belong, in one commit."""
    blame = _share_blame(core, desk)
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
            turn.finding, turn.retry_at = Finding.NO_ANSWER, now + REST_S
        desk.ledger.record(turn, now)
    desk.ledger.extra_rows.extend(mended.rows)
    _queue_lost_pages(core, desk, mended)
    _recover_outbox(core, desk)
    desk.ledger.counters.add_lost_found(len(mended.moved))
    desk.ledger.commit()
    desk.board.clear()
    if mended.cut or mended.moved or mended.bad:
        tell("archive.repaired", cut=mended.cut, moved=mended.moved, bad=mended.bad)


def _recover_outbox(core: Core, desk: Desk) -> None:
    """Take up the letters that no receiver has acknowledged; after a re-split some are our own."""
    rows = core.state.scan(OUTBOX)
    if core.outbox is not None:
        ours = core.outbox.recover(rows)
        core.outbox.recover_parcels(core.state.scan(PARCELS))
    else:
        letters = list(outbox_rows(rows))
        ours = [task for _, tasks in letters for task in tasks]
        desk.ledger.extra_rows.extend((key, None) for key, _ in letters)
    found = accept(ours, core.stations)
    core.add(found.new)
    core.promote(found.promoted)


def _share_blame(core: Core, desk: Desk) -> dict[int, int]:
    """Blame the last death on the URLs that were in hand; return what each of them carries now."""
    blame: dict[int, int] = {}
    share = max(LEAST_SHARE, DEATH // max(1, len(desk.board.lost)))
    for key in desk.board.lost:
        row = DEATHS + key.to_bytes(8, "big")
        blame[key] = int.from_bytes(core.state.get(row) or b"", "big") + share
        desk.ledger.extra_rows.append((row, blame[key].to_bytes(2, "big")))
    return blame


def _queue_lost_pages(core: Core, desk: Desk, mended: Repair) -> None:
    """Queue again the URLs whose records lay in a damaged range of the archive."""
    if not mended.bad:
        return
    lost_from = dict(mended.bad)
    for key, value in core.state.scan(URL):
        record = decode_record(value)
        ref = record.visits[-1].ref if record.visits else None
        if ref is not None and ref.offset >= lost_from.get(ref.file, ref.offset + 1):
            desk.ledger.extra_rows.append((key, None))
            if record.fingerprint is not None:  # or the page would be a copy of its lost self
                core.content_seen.forget(record.fingerprint, record.url)
            if (task := _task_of(record, core)) is not None:
                core.frontier.add([task], are_new=False)


def _task_of(record: UrlRecord, core: Core) -> Task | None:
    url = parse(record.url, core.stations.urls)
    if url is None:
        return None
    return Task(url=url, depth=record.depth, via=record.via, kind=LinkKind(record.kind))
