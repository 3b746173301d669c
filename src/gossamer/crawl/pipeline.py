"""THE LIFE OF A URL after its fetch. Read this first.

A finished fetch becomes a turn: was the content seen before, which links does it hold, which of
them are new and wanted. Nothing here waits and nothing is written; the ledger commits turns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, assert_never

from msgspec import Struct
from msgspec.structs import replace

from gossamer.crawl.ports import Stations
from gossamer.fetch import RETRY, RobotsRules, delay_s
from gossamer.filter import followed_kinds, is_copy_in_place, sitemap_may_name
from gossamer.frontier import FailedTry, HostAnswer, HostFailure, host_failure
from gossamer.model import (
    EMBEDDED,
    NO_CONTENT,
    REDIRECTS,
    SITEMAP_TYPES,
    Address,
    CopyOf,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Link,
    LinkKind,
    Redirected,
    RefusalKind,
    Refused,
    Task,
    Turn,
    Url,
    addresses_of,
    followed_of,
    links_and,
    links_by_key,
    links_without,
    picked_links,
)
from gossamer.urls import without_credentials

FIRST_SITEMAPS = 5
"""Sitemaps of one index that are worth as much as a page; the others come after the pages."""
LOWEST_GRADE = 1
NOT_MODIFIED = 304
PROBED_SITEMAP = "/sitemap.xml"
DETAIL_CHARS = 200
"""Of what is kept about a failure."""


class Reading(Struct, frozen=True):
    """What was learned of a fetched document before its turn: its content, and its copy."""

    found: Extraction
    fingerprint: int | None = None
    copy_of: CopyOf | None = None
    words: int | None = None
    label: str = ""
    """What the page is instead of content: then its links are not followed."""
    coded: int | None = None
    """Fingerprint of a copy's content as sent, if it is the first page that came in this coding."""

    @property
    def to_store(self) -> int | None:
        """Return the fingerprint of what is to be stored in full; None if that is nothing."""
        return self.fingerprint if self.copy_of is None else self.coded


def take_turn(
    task: Task,
    outcome: FetchOutcome,
    reading: Reading | None,
    at: Stations,
    now: float,
    *,
    importance: float = 0.0,
) -> Turn:
    """Carry a finished fetch back towards the frontier, and say what became of it."""
    match outcome:
        case Fetched():
            if reading is None:
                return Turn(task=task, outcome=outcome, at=now, importance=importance)
            following = next_tasks(task, followed_links(task, reading, at), at)
            return Turn(
                task=task,
                outcome=outcome,
                at=now,
                found=reading.found,
                fingerprint=reading.fingerprint,
                words=reading.words,
                copy_of=reading.copy_of,
                coded=reading.coded,
                label=reading.label,
                importance=importance,
                new_tasks=following.new,
                promoted=following.promoted,
                labelled=following.labelled,
                refused=following.refused,
            )
        case Redirected():
            return follow_redirect(task, outcome, at, now, importance)
        case Failed():
            return Turn(
                task=task,
                outcome=outcome,
                at=now,
                importance=importance,
                retry_at=at.retry_at(outcome, task.attempt, now),
            )
        case Refused():
            return Turn(task=task, outcome=outcome, at=now, importance=importance)
        case _:
            assert_never(outcome)


class NextTasks(NamedTuple):
    """What follows from a page's links."""

    new: list[Task]
    promoted: list[Task]
    """For URLs that are queued already and have become worth more."""
    refused: dict[str, int]
    """Links by the reason of their refusal."""
    labelled: Sequence[Task] = ()
    """For URLs that are known and may lack labels of the page."""


def next_tasks(task: Task, links: Sequence[Link], at: Stations) -> NextTasks:
    """Return tasks for those links that are new to us and wanted, and the refusals by reason.

    The seen test comes before the filters because it is the cheaper one (three links in four are
    known) and a refused link is never added to it: the answer is the same either way round.
    """
    by_key = distinct(links, at)
    fresh = picked_links(by_key, at.url_seen.new_among(by_key.keys()))
    wanted, refused = fresh, dict[str, int]()
    if fresh:
        depth = task.follow(fresh[0]).depth
        wanted, refused = at.filters.keep(fresh, depth, task.url.text)
        if at.process.requisites and len(wanted) < len(fresh):
            wanted += refused_pages_as_requisites(task, links, fresh, wanted, at)
        if wanted:
            at.url_seen.add([link.target.key for link in wanted])
    elif not at.ranking.needs_known and not task.labels:
        return NextTasks([], [], {})
    if at.ranking.needs_known or task.labels:
        by_key = links_without(by_key, [link.target.key for link in fresh])
    new, promoted = at.ranking.follow(task, wanted, by_key)
    if wanted and wanted[0].kind is LinkKind.SITEMAP:
        new = with_late_sitemaps(new)
    if at.process.requisites:
        new = [as_requisite(task, one, at) if one.kind in EMBEDDED else one for one in new]
    labelled = at.lacking_labels(task, new, by_key) if task.labels else ()
    return NextTasks(new, promoted, refused, labelled)


def refused_pages_as_requisites(
    task: Task, links: Sequence[Link], fresh: Sequence[Link], wanted: Sequence[Link], at: Stations
) -> list[Link]:
    """Return links to what was refused as a page and is wanted as a requisite of this one.

    A picture that is shown and linked is one target: the link may be out of scope, the picture not.
    """
    kept = {link.target.key for link in wanted}
    left = {link.target.key for link in fresh if link.kind not in EMBEDDED} - kept
    shown: dict[int, Link] = {}
    for link in links:
        if link.kind in EMBEDDED and link.target.key in left:
            shown.setdefault(link.target.key, link)
    return at.filters.keep(list(shown.values()), task.depth, task.url.text)[0] if shown else []


def as_requisite(page: Task, task: Task, at: Stations) -> Task:
    """Return the task of a requisite: as deep as what it is a part of, and asked for before pages.

    So a crawl that is stopped, or ends at a limit, has few pages that lack their requisites.
    """
    if task.kind is LinkKind.EMBED_REDIRECT:
        return task
    nesting = page.nesting + 1 if page.kind in EMBEDDED else 1
    credit = task.credit if at.ranking.needs_known else 1.0
    return replace(task, depth=page.depth, nesting=nesting, credit=credit)


def with_late_sitemaps(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks of a sitemap's entries; further sitemaps, but for the first, come late."""
    early = iter(range(FIRST_SITEMAPS))
    return [
        replace(task, grade=LOWEST_GRADE) if task.nesting and next(early, None) is None else task
        for task in tasks
    ]


def accept(tasks: Sequence[Task], at: Stations) -> NextTasks:
    """Return those tasks from another shard that are new to us and wanted, and the refusals.

    The sender has judged them already; only what we alone know (the hosts' budgets) may differ.
    """
    by_key = {task.url.key: task for task in reversed(tasks)}
    wanted: list[Task] = []
    refused: dict[str, int] = {}
    fresh = at.url_seen.new_among(list(by_key))
    for key in fresh:
        task = by_key[key]
        kept, objections = at.filters.keep(
            [Link(target=task.url, kind=task.kind)], task.depth, task.via
        )
        wanted += [task] if kept else []
        for reason, count in objections.items():
            refused[reason] = refused.get(reason, 0) + count
    at.url_seen.add([task.url.key for task in wanted])
    rules, promoted = at.filters.checksum, list[Task]()
    wanted = [task if task.rules == rules else replace(task, rules=rules) for task in wanted]
    if at.ranking.needs_known:
        new = {task.url.key for task in wanted}
        known = [task for task in tasks if task.url.key not in new]
        promoted = [replace(task, credit=0.0) for task in known if at.ranking.receive(task)]
    taken = {key: by_key[key].labels for key in fresh}
    labelled = [task for task in tasks if task.labels and taken.get(task.url.key) != task.labels]
    return NextTasks(wanted, promoted, refused, labelled)


def is_tried(task: Task) -> bool:
    """Return True if a task is the /sitemap.xml of a seed's host, named or not."""
    is_first = task.kind is LinkKind.SITEMAP and not task.depth
    return is_first and task.url.target == PROBED_SITEMAP


def distinct(links: Sequence[Link], at: Stations) -> Mapping[int, Link]:
    """Return links by the key of their target, each target once; with parent paths if wanted."""
    found = links_by_key(links)
    return links_and(found, parents(addresses_of(found), at)) if at.ascends else found


def parents(targets: Iterable[Address], at: Stations) -> Iterator[Link]:
    """Give a link to each folder above the targets of links: /a/b/p.html has /a/b/, /a/ and /."""
    known: set[str] = set()
    for text, origin, key in targets:
        path = text[len(origin) :].partition("?")[0].rpartition("/")[0]
        while (folder := f"{origin}{path}/") not in known:
            known.add(folder)
            target = at.join(folder, "", at.urls)
            if target is not None and target.key != key:
                yield Link(target=target, kind=LinkKind.PARENT)
            path = path.rpartition("/")[0]


def followed_links(task: Task, reading: Reading, at: Stations) -> Sequence[Link]:
    """Return the links of a page that may lead to other pages."""
    found = reading.found
    is_empty = reading.label in NO_CONTENT
    copy_of = reading.copy_of
    if is_empty or (copy_of is not None and is_copy_in_place(task.url.text, copy_of.url)):
        return []
    kinds = followed_kinds(
        task,
        at.process,
        at.filters.takes_page,
        is_nofollow=found.is_nofollow,
        media_type=found.media_type,
    )
    if kinds <= EMBEDDED:
        return followed_of(found.links, kinds)
    if found.media_type in SITEMAP_TYPES:
        return [link for link in found.links if sitemap_may_name(task, link)]
    return followed_of(found.links, kinds)


def follow_redirect(
    task: Task, outcome: Redirected, at: Stations, now: float, importance: float
) -> Turn:
    """Turn a redirect into a link of its own, so that every hop meets robots and filters."""
    target = at.join(task.url.text, outcome.target, at.urls)
    if target is None or target.key == task.url.key or task.hops >= at.max_redirects:
        kind = (
            FailureKind.TOO_MANY_REDIRECTS
            if target is not None and task.hops >= at.max_redirects
            else FailureKind.BAD_REDIRECT
        )
        detail = without_credentials(outcome.target)[:200]
        if target is not None and target.key == task.url.key:
            detail = f"it redirects to itself: {detail}"
        failed = Failed(kind=kind, detail=detail, document=outcome.document)
        return Turn(task=task, outcome=failed, at=now, importance=importance)
    link = Link(target=target, kind=LinkKind.REDIRECT)
    is_part = at.process.requisites and task.kind in EMBEDDED
    hop = Link(target=target, kind=LinkKind.EMBED_REDIRECT) if is_part else link
    following = next_tasks(task, [hop], at)
    if not following.new and (loop := redirect_loop(task, target, at)):
        detail = f"a redirect loop: {' -> '.join(loop)}"[:DETAIL_CHARS]
        kind = FailureKind.TOO_MANY_REDIRECTS
        failed = Failed(kind=kind, detail=detail, document=outcome.document)
        return Turn(task=task, outcome=failed, at=now, importance=importance)
    return Turn(
        task=task,
        outcome=outcome,
        at=now,
        found=Extraction(links=[link]),
        importance=importance,
        new_tasks=following.new,
        promoted=following.promoted,
        labelled=following.labelled,
        refused=following.refused,
    )


def redirect_loop(task: Task, target: Url, at: Stations) -> list[str]:
    """Return the URLs of a loop that a redirect closes, its own first and last; [] if it does not.

    Its target is known. Redirects of other shards are not known here, but for the last one.
    """
    own = task.url.text
    if task.kind in REDIRECTS and task.via == target.text:
        return [own, target.text, own]
    path, key = [own, target.text], target.key
    for _ in range(at.max_redirects):
        text = at.redirect_of(key)
        if not text:
            return []
        path.append(text)
        if text == own:
            return path
        url = at.join(text, "", at.urls)
        if url is None:
            return []
        key = url.key
    return []


class RobotsHop(NamedTuple):
    """What a hop of a robots.txt means for the host that was asked, and for the task's own."""

    asked: HostAnswer | None
    of_task: HostAnswer | None


# What an outcome means for the host, for the task, and for what is asked next. Pure.


def sitemap_tasks(asked_for: Task, rules: RobotsRules, at: Stations) -> list[Task]:
    """Return tasks for the sitemaps that a robots.txt names, through the same tests as any link.

    Their labels are those of the task for which robots.txt was asked.
    """
    url = asked_for.url
    robots_url = url.origin + "/robots.txt"
    targets = [at.join(robots_url, text, at.urls) for text in rules.sitemaps]
    links = [Link(target=t, kind=LinkKind.SITEMAP) for t in targets if t is not None]
    source = Task(url=replace(url, text=robots_url), depth=-1, labels=asked_for.labels)
    return next_tasks(source, links, at).new


_FAILURES = {kind.value: kind for kind in FailureKind}


def end_of(reason: str, detail: str) -> Failed | Refused:
    """Return the end of a URL that is not asked for again, for the reason of its last failure."""
    if reason == RefusalKind.ROBOTS_UNREACHABLE:
        return Refused(kind=RefusalKind.ROBOTS_UNREACHABLE, detail=detail)
    return Failed(kind=_FAILURES.get(reason, FailureKind.FIRST_BYTE_TIMEOUT), detail=detail)


def was_asked(outcome: FetchOutcome) -> bool:
    """Return True if a request could be made: the name resolved, and we were willing."""
    return not isinstance(outcome, Refused) and not (
        isinstance(outcome, Failed)
        and outcome.kind in {FailureKind.DNS_NO_SUCH_HOST, FailureKind.DNS_UNREACHABLE}
    )


def document_of(outcome: FetchOutcome) -> Document | None:
    """Return the document of an outcome, if it has one."""
    return None if isinstance(outcome, Refused) else outcome.document


def is_not_modified(outcome: FetchOutcome) -> bool:
    """Return True if the server said that the page is as we have it."""
    return isinstance(outcome, Fetched) and outcome.document.status == NOT_MODIFIED


def with_label(failed: Failed, is_gate: bool) -> Failed:  # noqa: FBT001 - one fact about one page
    """Return a failure that says so if its page is a gate: a browser would have been let in."""
    if not is_gate:
        return failed
    return replace(failed, detail=f"{failed.detail} (challenge)".lstrip())


def is_throttled(outcome: FetchOutcome) -> bool:
    """Return True if the server asked us to slow down."""
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.THROTTLED


def is_of_host(failed: Failed) -> bool:
    """Return True if a failure counts for the host."""
    return host_failure(failed, "") is not None


def is_stale(outcome: FetchOutcome) -> bool:
    """Return True if all that failed is a connection that was kept: nobody is to blame."""
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.STALE_CONNECTION


def failed_try(
    task: Task, failed: Failed, failure: HostFailure, retry_at: float | None, now: float
) -> FailedTry:
    """Return the note of a failure that may be the host's; `retry_at` is None if it is the last."""
    again_at = now + delay_s(failed.kind, task.attempt) if retry_at is None else retry_at
    return FailedTry(
        url_key=task.url.key,
        reason=failed.kind.value,
        detail=failed.detail[:DETAIL_CHARS],
        kind=failure.kind.value,
        retry_at=again_at,
        is_last=retry_at is None,
    )


def answer_of(
    outcome: FetchOutcome, elapsed_s: float, rules: RobotsRules | None, origin: str = ""
) -> HostAnswer | None:
    """Return what politeness must know of an outcome; None when no request was made."""
    if isinstance(outcome, Refused) or not was_asked(outcome):  # the first half is for mypy
        return None
    return HostAnswer(
        latency_s=elapsed_s if isinstance(outcome, Failed) else outcome.document.latency_s,
        knows_rules=rules is not None,
        crawl_delay_s=rules.crawl_delay_s if rules is not None else None,
        is_throttled=is_throttled(outcome),
        retry_after_s=outcome.retry_after_s if isinstance(outcome, Failed) else None,
        is_answer=outcome.document is not None,
        failure=host_failure(outcome, origin) if isinstance(outcome, Failed) else None,
    )


_HEAD_DECIDES = frozenset(
    {
        FailureKind.DNS_NO_SUCH_HOST,
        FailureKind.DNS_UNREACHABLE,
        FailureKind.CONNECT_FAILED,
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.TLS_FAILED,
        FailureKind.TLS_CERTIFICATE,
        FailureKind.PROXY_FAILED,
        FailureKind.GONE,
        FailureKind.UNAUTHORIZED,
        FailureKind.THROTTLED,
    }
)
"""Failures of which a request for the page itself would tell nothing else."""


def is_head_refused(outcome: FetchOutcome) -> bool:
    """Return True if a server may answer a page though it does not answer for its header alone.

    Many know GET only, and say 405, 403, 404 or nothing at all to anything else.
    """
    return isinstance(outcome, Failed) and outcome.kind not in _HEAD_DECIDES


def is_host_wide(outcome: FetchOutcome) -> bool:
    """Return True if a failure concerns the whole host, so that the task keeps its place."""
    return isinstance(outcome, Failed) and RETRY[outcome.kind].is_host_wide


def turn_reason(turn: Turn) -> str:
    """Return the name of what a turn's URL waits for."""
    return turn.outcome.kind.value if isinstance(turn.outcome, Failed) else ""
