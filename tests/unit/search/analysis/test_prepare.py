from itertools import combinations

import pytest

from gossamer.search.analysis import COPY_BITS, REST_MARK, Analyser
from gossamer.search.analysis.address import host_of, sites_of, types_of, words_of_url
from gossamer.search.analysis.prepare import MOST_SHOWN
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.page import IndexPage, Prepared

ANALYSER = Analyser()
PROSE = "Spiders spin webs, and a crawler follows them from page to page, day after day. "


def prepared(text: str = "", **more: object) -> Prepared:
    page = {"url": "http://www.a.test/x", "language": "en", "text": text} | more
    return ANALYSER.prepare(IndexPage(**page))  # type: ignore[arg-type]


def test_each_field_has_its_terms() -> None:
    made = prepared(
        f"Home\n{PROSE}",
        title="Running spiders",
        headings=("Webs",),
        anchors=("a spider page",),
        link_texts=frozenset({"Home"}),
        url="http://www.a.test:8080/docs/WebSpider.html?q=x%20y",
    )
    words = dict(zip(TEXT_FIELDS, made.words, strict=True))
    assert words["title"] == "run spider"
    assert words["heads"] == "web"
    assert words["main"].startswith("run spider " * 3 + "spider spin web and a crawler")
    assert words["rest"] == "home"
    assert words["anchors"] == "a spider page"
    assert words["path"] == "a test doc webspid q x y doc web spider q x y"
    assert made.text == f"{PROSE}\nHome\n".replace("\n", REST_MARK, 1)


def test_what_is_kept_for_snippets_is_capped_and_begins_with_main_content() -> None:
    made = prepared("Menu\n" + f"{PROSE}é\n" * 1000, link_texts=frozenset({"Menu"}))
    assert len(made.text) == MOST_SHOWN
    assert made.text.startswith("Spiders")


def test_hostile_text_makes_no_trouble() -> None:
    made = prepared("\ud800\x00\x1b[31m" + "x" * 100_000 + "\u202e", title="\ud800t", at=-1.0)
    assert made.title == "?t"
    assert made.at == 0
    assert max(len(term) for words in made.words for term in words.split(" ")) == 64


def test_pages_that_say_nearly_the_same_have_nearly_the_same_sketch() -> None:
    words = [f"word{n * n % 301}" for n in range(400)]
    one = prepared(" ".join(words) + ".").sketch
    other = prepared(" ".join([*words[:200], "another", *words[200:]]) + ".").sketch
    unlike = prepared(" ".join(f"term{n * n % 307}" for n in range(400)) + ".").sketch
    named = prepared(" ".join(words) + ".", title="Another").sketch
    assert (one ^ other).bit_count() <= COPY_BITS
    assert (one ^ named).bit_count() > COPY_BITS
    assert (one ^ unlike).bit_count() > 10
    assert prepared("Hardly anything.").sketch == 0


def test_long_texts_that_share_nothing_but_small_words_are_no_copies() -> None:
    small = ("the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "on")

    def text(name: str) -> str:
        words = [small[n * n * len(name) % len(small)] for n in range(2000)]
        words[::3] = [f"{name}{n * n % 501}" for n in range(len(words[::3]))]
        return " ".join(words) + "."

    sketches = [prepared(text(name)).sketch for name in ("spider", "web", "harbour", "ox")]
    pairs = combinations(sketches, 2)
    assert min((one ^ other).bit_count() for one, other in pairs) > COPY_BITS


@pytest.mark.parametrize(
    ("url", "host", "sites"),
    [
        (
            "http://www.a.co.test/x",
            "www.a.co.test",
            ("www.a.co.test", "a.co.test", "co.test", "test"),
        ),
        ("http://127.0.0.1:8100/x", "127.0.0.1", ("127.0.0.1",)),
        ("http://[::1]:8100/x", "[::1]", ("[::1]",)),
        ("http://[::1]/", "[::1]", ("[::1]",)),
    ],
)
def test_sites_are_the_host_and_the_domains_above_it(
    url: str, host: str, sites: tuple[str, ...]
) -> None:
    assert host_of(url) == host
    assert sites_of(host) == sites


@pytest.mark.parametrize(
    ("media_type", "types"),
    [
        ("text/html", ("text/html", "html")),
        ("Text/HTML; charset=x", ("text/html", "html")),
        ("application/xhtml+xml", ("application/xhtml+xml", "xml", "html")),
        ("application/pdf", ("application/pdf", "pdf")),
        ("text/plain", ("text/plain", "plain", "text", "txt")),
        ("application/rss+xml", ("application/rss+xml", "xml", "rss", "feed")),
        ("image/jpeg", ("image/jpeg", "jpeg", "jpg", "image")),
        ("", ()),
    ],
)
def test_a_media_type_has_names_that_people_use(media_type: str, types: tuple[str, ...]) -> None:
    assert types_of(media_type) == types


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://www.a.test/", "a test "),
        ("http://a.test/getHTTPResponse.php", "a test getHTTPResponse  get HTTP Response "),
        ("http://a.test/caf%C3%A9/%ff", "a test café/\ufffd"),
        ("http://xn--bcher-kva.test/x", "bücher test x"),
        ("http://[::1]/x", "[::1] x"),
    ],
)
def test_the_words_of_a_url_are_readable(url: str, words: str) -> None:
    assert words_of_url(url) == words
