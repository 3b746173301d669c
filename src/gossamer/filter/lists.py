"""Allow and block lists: what a pattern of theirs says of a link."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.errors import ConfigError
from gossamer.filter.gate import LinkTest, OriginRule
from gossamer.model import Link, Objection, Reject, Url
from gossamer.urls import Patterns


def blocked(patterns: Patterns) -> OriginRule:
    """Refuse what a pattern matches."""

    def test(link: Link, _source: str) -> Objection | None:
        found = patterns.match_url(link.target.text)
        return Objection(Reject.BLOCKED, found) if found else None

    def rule(url: Url) -> Objection | LinkTest | None:
        found = patterns.match_host(url.host)
        if found:
            return Objection(Reject.BLOCKED, found)
        return test if patterns.has_url_patterns else None

    return rule


def allowed(patterns: Patterns) -> OriginRule:
    """Refuse what no pattern matches; an empty list allows everything."""
    objection = Objection(Reject.NOT_ALLOWED, "matches no allow pattern")

    def test(link: Link, _source: str) -> Objection | None:
        return None if patterns.match_url(link.target.text) else objection

    def rule(url: Url) -> Objection | LinkTest | None:
        if not patterns or patterns.match_host(url.host):
            return None
        return test if patterns.has_url_patterns else objection

    return rule


def read_blocklist(path: Path) -> Sequence[str]:
    """Return the patterns of a file with one per line; # starts a comment."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"expected a readable text file as filter.blocklist, found {error}; "
            "name a file with one host or pattern per line"
        ) from None
    found = (line.partition("#")[0].strip() for line in lines)
    return [pattern for pattern in found if pattern]
