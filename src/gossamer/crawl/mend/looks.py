"""What the links archive tells of later looks at a page: its record as if they were made again."""

from msgspec.structs import astuple, replace

from gossamer.config import WatchConfig
from gossamer.crawl.setup import Core
from gossamer.model import Counters, UrlRecord, UrlState

VISITS_KEPT = 8
FOUND = frozenset({UrlState.ARCHIVED, UrlState.REDIRECTED})


def looked_again(old: UrlRecord, new: UrlRecord, *, is_same: bool, rules: WatchConfig) -> UrlRecord:
    """Return the record of a page that was stored before and is met once more.

    Looks that left nothing in the archive are not known: the page seems to change a bit more often
    than it does, until it has been looked at a few times.
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


def count_look(counters: Counters, record: UrlRecord, old: UrlRecord) -> None:
    """Add a later look to the totals."""
    has_changed = record.changes > old.changes
    counters.looks += 1
    counters.changed += has_changed
    counters.unchanged += record.state in FOUND and not has_changed
    counters.gone += (record.state is UrlState.GONE) - (old.state is UrlState.GONE)


def forget_old_content(core: Core, old: UrlRecord, record: UrlRecord) -> None:
    """Drop the content that the page no longer has."""
    if old.fingerprint is not None and record.fingerprint != old.fingerprint:
        core.content_seen.forget(old.fingerprint, old.url)
