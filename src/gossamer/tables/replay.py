"""A stored page, or style sheet, whose references lead to other addresses: for stored copies."""

import re
from collections.abc import Callable

from gossamer.config import UrlConfig
from gossamer.process import decode
from gossamer.report import Page
from gossamer.tables.rewriting import MarkupRewriter, base_reference
from gossamer.urls import join, read_canonical

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_PLAIN = UrlConfig(strip_session_ids=True, strip_tracking=True)
STYLE = "text/css"


def replayed(page: Page, address_of: Callable[[str], str]) -> str:
    """Return a stored page or style sheet whose references are `address_of` their URLs."""
    found = _CHARSET.search(next((v for n, v in page.headers if n == "content-type"), ""))
    text, _ = decode(page.body(), found[1] if found else "")
    is_style = page.media_type.partition(";")[0].strip().lower() == STYLE
    base = read_canonical(page.url).text
    if not is_style and (written := base_reference(text)):
        joined = join(base, written, _PLAIN)
        base = base if joined is None else joined.text

    def new_reference(reference: str) -> str | None:
        reference = reference.strip()
        if not reference or reference.startswith(("#", "data:")):
            return None
        target = join(base, reference, _PLAIN)
        return None if target is None else address_of(target.text)

    rewriter = MarkupRewriter(new_reference)
    return rewriter.style(text) if is_style else rewriter.page(text)
