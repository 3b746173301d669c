"""Everything known and decided about one URL."""

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct

from gossamer.config import UrlConfig
from gossamer.frontier import Waiting, find_waiting
from gossamer.model import Link, LinkKind, Objection, Reject, Url, UrlRecord, UrlState
from gossamer.report.clusters import near_facts, near_sentence
from gossamer.report.looks import look_facts, look_words
from gossamer.report.records import decode_record, url_row_key
from gossamer.urls import explain, parse, ring_of, without_credentials


class Rows(Protocol):
    """What is needed of the state."""

    def get(self, key: bytes) -> bytes | None:
        """Return a row's value, or None."""
        ...

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with a prefix."""
        ...


class RobotsSays(Struct, frozen=True, kw_only=True):
    """The robots verdict on a URL, with the line that decided."""

    allowed: bool
    line: str
    number: int
    crawl_delay_s: float | None


class Linker(Struct, frozen=True, kw_only=True):
    """The first page that links a URL, as the links archive has it."""

    url: str
    depth: int
    kind: LinkKind
    rel: str = ""


class Sources(Struct, kw_only=True):
    """Where the facts come from: the same for a running and for a stopped crawl."""

    rows: Rows
    urls: UrlConfig
    judge: Callable[[Link, int, str], Objection | None]
    robots: Callable[[Url], RobotsSays | None]
    find_linker: Callable[[str], Linker | None]
    is_seed: Callable[[Url], bool]
    who_holds: Callable[[Url], str]
    """Says which part of its site, on trial, holds a URL back; "" if none does."""
    rank_of: Callable[[Url], float | None] = lambda _url: None
    """Returns what a URL is worth by the ranks that the crawl was given, 1.0 for the mean."""
    next_look_at: float | None = None
    """When the URL is looked at again, if its crawl is being watched and that is planned."""


def explain_url(text: str, sources: Sources) -> dict[str, object]:
    """Return everything known about a URL, and a sentence that sums it up."""
    url = parse(text, sources.urls)
    if url is None:
        return {
            "url": without_credentials(text),
            "canonical": None,
            "state": "unknown",
            "reason": "not_a_url",
            "explanation": "This is not an absolute URL; expected something like https://host/path.",
        }
    answer: dict[str, object] = {
        "url": without_credentials(text),
        "canonical": url.text,
        "steps": explain(text, sources.urls),
        "fingerprint": f"{url.key:016x}",
        "ring": ring_of(url.host),
        "shard": 0,
        **_facts(url, sources),
    }
    answer["near"] = (
        near_facts(sources.rows.get, url.key) if answer["state"] == "archived" else None
    )
    answer["rank"] = sources.rank_of(url)
    robots = sources.robots(url)
    answer["robots"] = (
        None
        if robots is None
        else {
            "allowed": robots.allowed,
            "line": robots.line,
            "number": robots.number,
            "crawl_delay_s": robots.crawl_delay_s,
        }
    )
    answer["explanation"] = sentence(answer)
    return answer


def _facts(url: Url, sources: Sources) -> dict[str, object]:
    """Return what the state, or failing that the links archive, knows of a URL."""
    value = sources.rows.get(url_row_key(url.key))
    record = decode_record(value) if value is not None else None
    waiting = None
    if record is None or record.state is UrlState.WAITING:
        waiting = find_waiting(sources.rows, url)
    if record is not None:
        return _recorded(record, waiting, sources.next_look_at)
    if waiting is not None:
        return _queued(waiting)
    if trial := sources.who_holds(url):
        return {**_never_taken(url, sources), "state": "held", "reason": "trial", "detail": trial}
    return _never_taken(url, sources)


def _recorded(
    record: UrlRecord, waiting: Waiting | None, next_look_at: float | None
) -> dict[str, object]:
    page = record.stored
    return {
        "state": record.state.value,
        "reason": record.reason,
        "detail": record.detail,
        "depth": record.depth,
        "grade": waiting.task.grade if waiting else None,
        "via": record.via,
        "kind": record.kind,
        "filter": None,
        "next_at": waiting.next_at if waiting else None,
        "next_reason": waiting.reason if waiting else "",
        "attempts": record.attempts,
        "target": record.target,
        "copy_of": record.copy_of,
        "watch": look_facts(record, next_look_at),
        "page": {"file": page.file, "offset": page.offset, "length": page.length} if page else None,
        "visits": [
            {
                "at": visit.at,
                "state": visit.state,
                "reason": visit.reason,
                "status": visit.status,
                "file": visit.ref.file if visit.ref else "",
                "offset": visit.ref.offset if visit.ref else None,
                "length": visit.ref.length if visit.ref else None,
            }
            for visit in record.visits
        ],
    }


def _queued(waiting: Waiting) -> dict[str, object]:
    task = waiting.task
    return {
        "state": waiting.state,
        "reason": "",
        "detail": "",
        "depth": task.depth,
        "grade": task.grade,
        "via": task.via,
        "kind": task.kind.value,
        "filter": None,
        "next_at": waiting.next_at,
        "next_reason": waiting.reason,
        "attempts": task.attempt,
        "target": "",
        "copy_of": "",
        "visits": [],
    }


def _never_taken(url: Url, sources: Sources) -> dict[str, object]:
    """Judge a URL that was never queued, as the filters would judge a link to it."""
    is_seed = sources.is_seed(url)
    linker = None if is_seed else sources.find_linker(url.text)
    kind = LinkKind.SEED if is_seed else linker.kind if linker else LinkKind.ANCHOR
    depth = linker.depth + 1 if linker else 0
    link = Link(target=url, kind=kind, rel=linker.rel if linker else "")
    objection = sources.judge(link, depth, linker.url if linker else "")
    if objection is None and linker is not None:
        objection = Objection(Reject.NOT_FOLLOWED, f"as {kind.value}")
    is_refused = objection is not None and (linker is not None or is_seed)
    return {
        "state": "refused" if is_refused else "not_wanted" if objection else "unknown",
        "reason": objection.reason.value if objection else "",
        "detail": objection.detail if objection else "",
        "depth": depth if linker or is_seed else None,
        "grade": None,
        "via": linker.url if linker else "",
        "kind": kind.value if linker or is_seed else "",
        "filter": {"reason": objection.reason.value, "detail": objection.detail}
        if objection
        else None,
        "next_at": None,
        "next_reason": "",
        "attempts": 0,
        "target": "",
        "copy_of": "",
        "visits": [],
    }


def sentence(facts: dict[str, object]) -> str:
    """Return one or two English sentences that sum the facts up."""
    reason, detail = facts["reason"], facts["detail"]
    because = f"{reason}: {detail}" if detail else f"{reason}"
    state = "filtered" if facts["state"] == "refused" and facts["filter"] else str(facts["state"])
    linked = f" It was first linked from {facts['via']}." if facts["via"] else ""
    copy = f" as a copy of {facts['copy_of']}" if facts["copy_of"] else ""
    wait = f" Its host waits because of {facts['next_reason']}." if facts["next_reason"] else ""
    told = {
        "archived": f"Fetched and archived{copy} at depth {facts['depth']}.",
        "redirected": f"Fetched; it redirects to {facts['target']}.",
        "failed": f"Given up after {facts['attempts']} attempt(s): {because}.",
        "gone": f"Was archived, and is gone: {because}.",
        "waiting": f"Failed ({because}) and will be tried again.",
        "queued": f"Known and queued, not fetched yet.{wait}",
        "leased": f"Known and next in line, not fetched yet.{wait}",
        "held": f"Known and held back until its part of the site is judged: {detail}.",
        "filtered": f"Linked, but a filter refused it: {because}.",
        "refused": f"Not fetched: {because}.",
        "not_wanted": f"Never met in this crawl, and a link to it would be refused: {because}.",
        "unknown": "Never met in this crawl; no page that was read links to it.",
    }
    visits = facts.get("visits")
    seen_at = visits[-1]["at"] if isinstance(visits, list) and visits else None
    near = near_sentence(facts.get("near"))
    return told[state] + near + linked + look_words(facts.get("watch"), seen_at)
