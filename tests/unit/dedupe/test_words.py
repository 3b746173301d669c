"""What a page says, as one number."""

from gossamer.config import UrlConfig
from gossamer.dedupe import words_fingerprint
from gossamer.model import Extraction, Link, LinkKind
from gossamer.urls import parse


def found(text: str = "one two", title: str = "t", *links: tuple[str, LinkKind]) -> Extraction:
    targets = [(parse(target, UrlConfig()), kind) for target, kind in links]
    made = [Link(target=url, kind=kind) for url, kind in targets if url is not None]
    return Extraction(text=text, title=title, links=made)


def test_text_title_and_links_to_pages_count() -> None:
    page = ("http://a.test/", LinkKind.ANCHOR)
    other = ("http://a.test/b", LinkKind.SITEMAP)
    prints = {
        words_fingerprint(found()),
        words_fingerprint(found("one three")),
        words_fingerprint(found("one two", "u")),
        words_fingerprint(found("one two", "t", page)),
        words_fingerprint(found("one two", "t", other)),
        words_fingerprint(found("one two", "t", page, other)),
    }
    assert len(prints) == 6


def test_parts_of_the_page_do_not_count() -> None:
    script = ("http://a.test/s.js?v=1", LinkKind.SCRIPT)
    newer = ("http://a.test/s.js?v=2", LinkKind.SCRIPT)
    one, two = (words_fingerprint(found("x", "t", link)) for link in (script, newer))
    assert one == two == words_fingerprint(found("x"))


def test_a_document_that_says_nothing_has_no_fingerprint() -> None:
    assert words_fingerprint(Extraction()) is None
    assert words_fingerprint(Extraction(text="\ud800")) is not None
