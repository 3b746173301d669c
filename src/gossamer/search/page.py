"""Pages as the index takes them in: as somebody found them, and as they are written."""

from msgspec import Struct

LABEL = "label:"
"""How a label is written among a page's types: no type has a colon, so that indexes of before
labels need not be built anew."""


def label_term(label: str) -> str:
    """Return a label as it is looked for: in whatever letters it was written."""
    return " ".join(label.casefold().split())


class IndexPage(Struct, kw_only=True, frozen=True):
    """One page, wherever it comes from: an archive of ours, WET, WARC or JSONL."""

    url: str
    title: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""
    language: str = ""
    """Two letters; "" if it is not known."""
    media_type: str = ""
    at: float = 0.0
    """When it was fetched; 0 if that is not known."""
    anchors: tuple[str, ...] = ()
    """What links that lead here say, the most frequent first."""
    link_texts: frozenset[str] = frozenset()
    """What its own links say: lines of nothing else are navigation."""
    labels: str = ""
    """Of the seeds that led to it, separated by commas."""


class Prepared(Struct, kw_only=True, frozen=True):
    """A page ready to be written: its words analysed, its facts in the form that is asked for."""

    url: str
    key: int
    """The URL's fingerprint: shared with ranks, graph and frontier."""
    host: int
    """Hash of the host: pages of one host are collapsed."""
    sketch: int
    """64 bits that two pages with nearly the same text share for the most part; 0: no text."""
    at: int
    """Seconds; 0: not known."""
    language: str
    media_type: str
    sites: tuple[str, ...]
    """The host and the domains above it: what `site:` may name."""
    types: tuple[str, ...]
    """What `type:` may name: text/html, html."""
    labels: tuple[str, ...] = ()
    """What `label:` may name."""
    title: str
    text: str
    """For snippets: what the reader is shown, capped."""
    words: tuple[str, ...]
    """Terms of each field, in the order of TEXT_FIELDS, with a space between two."""
