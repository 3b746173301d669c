"""Tags: what a page is, as terms of a field of their own: what `site:` and its like ask for."""

from collections.abc import Iterator

from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.page import Prepared

FIELD = len(TEXT_FIELDS)
SITE, LANGUAGE, TYPE, LABELLED = "s:", "l:", "t:", "b:"


def tag(kind: str, value: str) -> str:
    """Return the term of what a page is; a zero byte parts two tags."""
    return kind + value.replace("\0", "")


def tags_of(page: Prepared) -> Iterator[str]:
    """Yield what a page is, each once."""
    yield from dict.fromkeys(tag(SITE, site) for site in page.sites)
    yield tag(LANGUAGE, page.language)
    yield from dict.fromkeys(tag(TYPE, name) for name in page.types)
    yield from dict.fromkeys(tag(LABELLED, name) for name in page.labels)
