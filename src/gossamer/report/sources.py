"""Page sources: the bodies of stored pages as their authors wrote them, copies included."""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from gossamer.model import StoreRef
from gossamer.store import CrawlFolder, StoredPage, iter_pages, read_page

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]{1,40})", re.IGNORECASE)


class PageSource(Struct, frozen=True):
    """The source of a stored page."""

    url: str
    status: int
    body: bytes
    charset: str
    """As its server declared it; "" if it did not."""
    upgrades: bool
    """Its server asks browsers to fetch by https what the page names by http."""


def page_sources(folder: CrawlFolder, wanted: Mapping[str, str]) -> Iterator[PageSource]:
    """Yield the sources of pages, given the ids of their records by URL, in the archive's order.

    A copy was stored without its body: that is read from the page which it refers to.
    """
    if not wanted:
        return
    refs: dict[str, StoreRef] = {}
    copies: list[StoredPage] = []
    for name in folder.archive_names(kind="pages"):
        for stored in iter_pages(folder.archive_path(name.file_name)):
            record_id = stored.warc_headers.get("warc-record-id", "")
            is_copy = stored.warc_headers.get("warc-type") == "revisit"
            if not is_copy:
                refs[record_id] = stored.ref
            if wanted.get(stored.url) != record_id:
                continue
            if is_copy:
                copies.append(stored)
            else:
                yield _source(stored, stored.decoded())
    for copy in copies:  # last: what they refer to may lie in another shard's file
        ref = refs.get(copy.warc_headers.get("warc-refers-to", ""))
        if ref is not None:
            yield _source(copy, read_page(folder, ref).decoded())


def _source(stored: StoredPage, body: bytes) -> PageSource:
    policy = stored.header("content-security-policy").lower()
    return PageSource(
        url=stored.url,
        status=stored.status,
        body=body,
        charset=_charset_of(stored),
        upgrades="upgrade-insecure-requests" in policy,
    )


def _charset_of(stored: StoredPage) -> str:
    found = _CHARSET.search(stored.header("content-type"))
    return found[1] if found else ""
