"""A crawl that is asked by the URL of its store: its status, and single pages of it."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn
from gossamer.model import Standing, StoreRef
from gossamer.report.explanation import PastVisit, RecordLocation
from gossamer.report.inquiry import plain_why
from gossamer.report.records import Status, StoreState, merge_standings, status_of, sum_counters
from gossamer.report.stored import Page, page_at
from gossamer.store import (
    ALIVE,
    CrawlFolder,
    CrawlStore,
    Objects,
    PartialMirror,
    ShardManifest,
    newest_checkpoint,
    read_record,
)

ALIVE_LEASES = 2
"""A sign of life counts for so many leases."""


def store_status(url: str, clock: Clock) -> Status:
    """Return the status of a crawl by its newest checkpoint; its files are not fetched."""
    store = CrawlStore(Objects(url))
    point = newest_checkpoint(store)
    charter, manifests, now = point.charter, point.manifests, clock.wall()
    is_running = not charter.has_ended and _is_alive(store, point.number, charter.lease_s, now)
    standings = [one.standing for one in manifests if one.standing is not None]
    standings = [replace(s, is_running=True) if is_running else _stopped(s) for s in standings]
    shipped_at = min(one.at for one in manifests)
    state = StoreState(
        url=store.objects.url,
        crawl=charter.crawl,
        owner=charter.owner,
        is_running=is_running,
        has_ended=charter.has_ended,
        shipped_at=shipped_at,
        age_s=round(max(0.0, now - shipped_at), 3),
        coordinator=charter.address,
        nodes=_nodes(manifests) if charter.address else {},
    )
    told = status_of(sum_counters([one.counters for one in manifests]), merge_standings(standings))
    return replace(told, store=state)


def _nodes(manifests: Sequence[ShardManifest]) -> dict[str, list[int]]:
    """Return which shards each machine of a cluster has, or had last."""
    nodes: dict[str, list[int]] = {}
    for one in manifests:
        nodes.setdefault(one.node, []).append(one.shard)
    return {name: sorted(shards) for name, shards in sorted(nodes.items())}


def _is_alive(store: CrawlStore, number: int, lease_s: float, now: float) -> bool:
    """Return True if the newest owner has shown a sign of life lately, by the store's clock."""
    note, at = store.alive(), store.objects.modified_at(ALIVE)
    return (
        note is not None
        and at is not None
        and note.charter >= number
        and now - at <= ALIVE_LEASES * lease_s
    )


def _stopped(one: Standing) -> Standing:
    """Return how a shard stands that does not run: what was in flight is queued again."""
    return Standing(
        queued=one.queued + one.in_flight,
        held=one.held,
        on_probation=one.on_probation,
        hosts=one.hosts,
        parked=one.parked,
        parked_hosts=one.parked_hosts,
        known_urls=one.known_urls,
        outbox=one.outbox,
        traps=one.traps,
        suspects=one.suspects,
    )


def page_of_part(part: PartialMirror, url: str) -> Page | None:
    """Return the stored page of a URL; None if none is stored. Only its records are fetched.

    Title and language, which other files have, are left out. Raise `CannotGoOn` if only the whole
    archive would do.
    """
    found = plain_why(part.folder, url).page
    if found is None:
        return None
    _bring(part, found)
    page = page_at(part.folder, found, is_brief=True)
    if not page.is_revisit:
        return page
    place = CrawlFolder(part.folder)
    headers = read_record(place, _ref_of(found)).headers
    wanted, target = headers.get("warc-refers-to", ""), headers.get("warc-refers-to-target-uri", "")
    known = plain_why(part.folder, target)
    places: list[RecordLocation | PastVisit] = [*known.visits]
    for one in [known.page, *places] if known.page is not None else places:
        _bring(part, one)
        if read_record(place, _ref_of(one)).record_id == wanted:
            return page
    raise CannotGoOn(f"{target} has changed since: its first page is somewhere in the archive")


def _bring(part: PartialMirror, where: RecordLocation | PastVisit) -> None:
    if not where.file:
        raise CannotGoOn("a visit is not in the archive")
    part.bring(_ref_of(where))


def _ref_of(where: RecordLocation | PastVisit) -> StoreRef:
    return StoreRef(where.file or "", where.offset or 0, where.length or 0)
