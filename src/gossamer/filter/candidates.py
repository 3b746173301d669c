"""Which links of a page are put to the filters at all: those of others are not judged."""

from collections.abc import Callable

from gossamer.config import ProcessConfig
from gossamer.model import (
    EMBEDDED,
    FOLLOWED,
    MAX_NESTING,
    MAX_REQUISITE_NESTING,
    Link,
    LinkKind,
    Task,
    Url,
)

PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
NO_KINDS: frozenset[LinkKind] = frozenset()


def followed_kinds(
    task: Task,
    process: ProcessConfig,
    takes_page: Callable[[Url, str], bool],
    *,
    is_nofollow: bool,
    media_type: str,
) -> frozenset[LinkKind]:
    """Return the kinds of links of a document that are followed.

    What a page is made of leads to further requisites only, unless it is itself in the scope of
    pages; and to nothing if it is a page (an error in place of a picture), or too deeply nested.
    A page that asks robots not to follow its links still needs its requisites.
    """
    if not process.requisites:
        kinds = FOLLOWED | EMBEDDED if process.embeds else FOLLOWED
        return NO_KINDS if is_nofollow else kinds
    is_nested = task.kind in EMBEDDED and task.nesting >= MAX_REQUISITE_NESTING
    embedded = NO_KINDS if is_nested else EMBEDDED
    if task.kind in EMBEDDED and not takes_page(task.url, task.via):
        return NO_KINDS if media_type in PAGE_TYPES else embedded
    return embedded if is_nofollow else FOLLOWED | embedded


def sitemap_may_name(task: Task, link: Link) -> bool:
    """Return True if a sitemap may name a link: one to its own host, or to the host that named it.

    A sitemap that the user gave as a seed may name anything; the scope decides. Indexes of
    sitemaps that lead to further indexes are followed to a depth only, and so are sitemaps that
    name others as if they were pages: some have no end.
    """
    is_listed_as_page = task.kind is LinkKind.SITEMAP and not task.nesting and task.depth > 1
    if is_listed_as_page or (link.is_sitemap and task.nesting >= MAX_NESTING):
        return False
    host = link.target.host
    if task.kind is LinkKind.SEED or host == task.url.host:
        return True
    return task.via.partition("//")[2].startswith((f"{host}/", f"{host}:"))


def is_copy_in_place(url: str, original: str) -> bool:
    """Return True if a duplicate lies in its original's directory: then its links are the same.

    A page that is stored and fetched again for its links is no duplicate of itself.
    """
    return url != original and url.rpartition("/")[0] == original.rpartition("/")[0]
