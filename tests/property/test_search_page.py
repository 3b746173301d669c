"""Whatever was crawled or asked, the search page is made of our own markup only."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.search import Answer, Facets, FacetValue, Hit, Segment
from gossamer.web.frame import frame
from gossamer.web.search.narrowing import active, has_filters, narrowed, unfiltered, widened
from gossamer.web.search.results import results

PIECES = (
    "<script>",
    "</title>",
    '"><img src=x onerror=alert(1)>',
    "' onclick='x",
    "&lt;",
    "javascript:",
    "http://a.test/",
    "https://b.test/%22%3E",
    "site:",
    "lang:de ",
    '-type:"a',
    "\u202e",
    "\x00",
    "\n",
    "zebra",
)
words = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
segments = st.lists(st.builds(Segment, words, st.booleans()), max_size=4)
counts = st.integers(0, 10**9)
hits = st.builds(
    Hit,
    url=words,
    title=words,
    snippet=words,
    score=st.floats(),
    host=words,
    language=words,
    type=words,
    at=st.integers(-(2**63), 2**64),
    copies=counts,
    more_from_host=counts,
    segments=segments,
    title_segments=segments,
)
values = st.lists(
    st.builds(
        FacetValue,
        value=words,
        count=counts,
        filter=st.builds("{}:{}".format, st.sampled_from(["site", "lang", "type", "after"]), words),
    ),
    max_size=8,
)
facets = st.builds(
    Facets, sites=values, languages=values, types=values, years=values, is_exact=st.booleans()
)
answers = st.builds(
    Answer,
    query=words,
    total=counts,
    page=st.integers(1, 100),
    per_page=st.integers(1, 100),
    has_more=st.booleans(),
    hits=st.lists(hits, max_size=3),
    suggestion=words,
    hints=st.lists(words, max_size=2),
    is_partial=st.booleans(),
    took_ms=st.floats(0, 1e6),
    corrected=words,
    facets=st.none() | facets,
)
TAGS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "link",
        "body",
        "a",
        "header",
        "nav",
        "main",
        "form",
        "label",
        "input",
        "button",
        "ul",
        "ol",
        "li",
        "bdi",
        "span",
        "div",
        "h2",
        "p",
        "b",
        "mark",
        "time",
        "footer",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
        "code",
        "pre",
        "aside",
        "section",
    ]
)
ATTRIBUTES = frozenset(
    [
        "lang",
        "charset",
        "name",
        "content",
        "rel",
        "href",
        "type",
        "title",
        "class",
        "aria-label",
        "aria-current",
        "aria-hidden",
        "id",
        "role",
        "action",
        "for",
        "value",
        "maxlength",
        "placeholder",
        "autocomplete",
        "spellcheck",
        "dir",
        "datetime",
        "tabindex",
        "aria-labelledby",
        "open",
    ]
)


class Seen(HTMLParser):
    """Holds a page to what we write ourselves."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        for name, value in attrs:
            assert name in ATTRIBUTES
            if name in {"href", "action"}:
                assert (value or "").startswith(
                    ("/", "#main", "#filters", "#results", "http://", "https://")
                )


@pytest.mark.slow
@given(answers, st.booleans())
def test_nothing_but_our_own_markup(answer: Answer, has_more: bool) -> None:  # noqa: FBT001 - drawn
    ways = [("links", "/links"), ("copy", "/copy")] if has_more else []
    page = frame(answer.query, results(answer, ways), section="/")
    Seen().feed(page)
    assert not set(page) & set("\x00\x1b\u202e\u2066")


@pytest.mark.slow
@given(words, st.sampled_from(["site:a.test", "lang:de", "type:pdf", "after:2026 before:2027"]))
def test_a_chip_takes_one_filter_out_and_a_facet_puts_one_in(query: str, filters: str) -> None:
    before = len(active(query))
    for chip in active(query):
        assert len(active(chip.query)) <= before
    assert not active(unfiltered(query))
    assert has_filters(narrowed(query, filters), filters)
    assert not has_filters(widened(query, filters), filters)
