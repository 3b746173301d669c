"""What another look at a page leaves in its URL record. Pure."""

from msgspec.structs import replace

from gossamer.model import (
    Counters,
    Document,
    Failed,
    Fetched,
    Finding,
    Redirected,
    Turn,
    UrlRecord,
    UrlState,
    Visit,
)

FOUND_OUT = frozenset({Finding.CHANGED, Finding.UNCHANGED, Finding.SAME_WORDS})
"""Findings that tell whether the page has changed."""
STORED = frozenset({Finding.CHANGED, Finding.UNCHANGED, Finding.GONE})
"""Findings that leave something in the archive."""


def next_record(
    old: UrlRecord, turn: Turn, document: Document | None, *, is_stored: bool
) -> UrlRecord:
    """Return the record of a page after another look; `is_stored` if its content lies there now."""
    finding = turn.finding or Finding.NO_ANSWER
    reason = turn.outcome.kind.value if not isinstance(turn.outcome, Fetched | Redirected) else ""
    status = document.status if document is not None else 0
    found_out = finding in FOUND_OUT
    record = replace(
        old,
        retry_at=turn.retry_at,
        visits=[*old.visits, Visit(turn.at, finding.value, reason, status)],
        page=None if is_stored else old.stored,
        looks=old.looks + found_out,
        changes=old.changes + (finding is Finding.CHANGED),
        misses=0 if found_out else old.misses + 1,
        belief=turn.belief or old.belief,
        importance=max(old.importance, turn.importance),
    )
    match turn.outcome:
        case Fetched(document=answer):
            _take_page(record, turn, answer, is_stored=is_stored)
        case Redirected():
            target = turn.found.links[0].target.text if turn.found and turn.found.links else ""
            record.state, record.reason, record.target = UrlState.REDIRECTED, "redirect", target
            record.fingerprint = record.words = None
        case Failed(kind=kind, detail=detail) if finding is Finding.GONE:
            record.state, record.reason, record.detail = UrlState.GONE, kind.value, detail
            record.fingerprint = record.words = None
        case _:
            pass
    return record


def _take_page(record: UrlRecord, turn: Turn, answer: Document, *, is_stored: bool) -> None:
    """Note what a page that was there is like now."""
    record.state, record.reason, record.target = UrlState.ARCHIVED, "", ""
    record.etag = answer.header("etag") or (record.etag if turn.found is None else "")
    record.modified = answer.header("last-modified") or (
        record.modified if turn.found is None else ""
    )
    if turn.finding is Finding.CHANGED:
        record.fingerprint, record.words = turn.fingerprint, turn.words
        record.detail = ""
    elif record.words is None:
        record.words = turn.words
    if is_stored:
        is_copy = turn.copy_of is not None and turn.copy_of.url != record.url
        record.copy_of = turn.copy_of.url if turn.copy_of is not None and is_copy else ""


def outdated(old: UrlRecord, turn: Turn) -> int | None:
    """Return the content fingerprint that no longer stands for the page, if there is one."""
    is_other = turn.finding is Finding.CHANGED and turn.fingerprint != old.fingerprint
    return old.fingerprint if is_other or turn.finding is Finding.GONE else None


def count_look(counters: Counters, old: UrlRecord, turn: Turn) -> None:
    """Add another look to the totals. It is no page more: `pages` and `failed` stay."""
    counters.looks += 1
    counters.changed += turn.finding is Finding.CHANGED
    counters.unchanged += turn.finding in {Finding.UNCHANGED, Finding.SAME_WORDS}
    counters.gone += turn.finding is Finding.GONE
    if old.state is UrlState.GONE and not isinstance(turn.outcome, Failed):
        counters.gone -= turn.finding in FOUND_OUT
    for reason, n in turn.refused.items():
        counters.refused[reason] = counters.refused.get(reason, 0) + n
