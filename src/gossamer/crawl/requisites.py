"""Requisites of pages that were stored before `--requisites` was given: queued once, at the start.

A row of the state says that all stored pages have been looked through. Without it the links archive
is read; a kill on the way leaves no such row, and what was queued is known by then. A start without
the flag removes it: what is stored from then on is looked through by the next one with it.
"""

from collections.abc import Iterator, Sequence

from gossamer.crawl.assembly import Shard
from gossamer.crawl.mend import walk_links
from gossamer.crawl.opening import REQUISITES_KNOWN
from gossamer.crawl.pipeline import Reading, as_requisite, distinct, followed_links
from gossamer.crawl.ports import Stations
from gossamer.log import tell
from gossamer.model import EMBEDDED, Extraction, Link, LinkKind, Task
from gossamer.store import LinksRecord
from gossamer.urls import parse

COMMIT_RECORDS = 500


def queue_requisites(shard: Shard) -> int:
    """Queue the requisites of all stored pages; return how many are new."""
    core, ledger = shard.core, shard.ledger
    queued = 0
    ledger.commit()
    for number, links in enumerate(_own_records(shard), 1):
        tasks = requisite_tasks(links, core.stations)
        queued += len(tasks)
        core.add(tasks)
        if number % COMMIT_RECORDS == 0:
            ledger.commit()
    ledger.add_rows([(REQUISITES_KNOWN, b"1")])
    ledger.commit()
    if queued:
        tell("requisites.queued", urls=queued)
    return queued


def _own_records(shard: Shard) -> Iterator[LinksRecord]:
    """Yield the records of a shard's links files; of shards that are no more, one takes each."""
    place, folder = shard.place, shard.place.folder
    numbers = {name.shard for name in folder.archive_names(kind="links")}
    for number in sorted(numbers):
        if number % place.shards == place.shard:
            yield from walk_links(folder, shard=number)


def requisite_tasks(links: LinksRecord, at: Stations) -> list[Task]:
    """Return tasks for the requisites of a stored page that are new and wanted."""
    url = parse(links.url, at.urls)
    if url is None or links.outcome != "fetched":
        return []
    kind = LinkKind(links.kind)
    task = Task(url=url, depth=links.depth, kind=kind, nesting=links.nesting, labels=links.label)
    targets = ((parse(row[0], at.urls), row) for row in links.links if row[1] in EMBEDDED)
    found = [
        Link(target=target, kind=LinkKind(row[1])) for target, row in targets if target is not None
    ]
    extraction = Extraction(links=found, robots=links.robots, media_type=links.media_type)
    followed = followed_links(task, Reading(found=extraction), at)
    return [as_requisite(task, task.follow(link), at) for link in _new(task, followed, at)]


def _new(task: Task, links: Sequence[Link], at: Stations) -> list[Link]:
    by_key = distinct([link for link in links if link.kind in EMBEDDED], at)
    fresh = [by_key[key] for key in at.url_seen.new_among(by_key.keys())]
    wanted = at.filters.keep(fresh, task.depth, task.url.text)[0] if fresh else []
    at.url_seen.add([link.target.key for link in wanted])
    return wanted
