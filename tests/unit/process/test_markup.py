"""What a link checker reads from a page's source."""

import pytest

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.process import PageMarkup, Tools, is_named, read_markup
from gossamer.urls import join

TOOLS = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="gossamer")
HERE = "https://h.test/dir/page"


def markup(source: str) -> PageMarkup:
    url = join(HERE, "", UrlConfig())
    assert url is not None
    found = read_markup(source.encode(), "utf-8", url, TOOLS)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "fragment", ["a", "b%20c", "b c", "", "top", "TOP", ":~:text=x", "a:~:text=x", "/route", "!x"]
)
def test_a_fragment_names_an_id_as_written_or_decoded_or_no_place_at_all(fragment: str) -> None:
    assert is_named(fragment, frozenset({"a", "b c"}))


@pytest.mark.parametrize("fragment", ["A", "b", "no:~:text=x", "%", "a%"])
def test_any_other_fragment_names_nothing(fragment: str) -> None:
    assert not is_named(fragment, frozenset({"a", "b c"}))


def test_ids_and_names_of_anchors_may_be_named() -> None:
    source = "<p id=one><a name=two>x</a><input name=three><template><p id=four></template>"
    assert markup(source).ids == {"one", "two"}


def test_every_link_with_a_fragment_is_given_also_those_to_the_page_itself() -> None:
    source = "<a href='#x'>own</a>\n<a href='p#y'>there</a><a href='p#z'>again</a><a href=p>no</a>"
    found = [(one.target, one.fragment, one.line, one.text) for one in markup(source).fragments]
    assert found == [
        (HERE, "x", 1, "own"),
        ("https://h.test/dir/p", "y", 2, "there"),
        ("https://h.test/dir/p", "z", 2, "again"),
    ]


def test_a_fragment_alone_is_relative_to_the_base_as_in_browsers() -> None:
    found = markup("<base href=/other/><a href='#x'>x</a>").fragments
    assert [one.target for one in found] == ["https://h.test/other/"]


def test_what_a_browser_loads_is_given_and_not_what_it_only_names() -> None:
    source = """<link rel=stylesheet href=s.css><link rel=canonical href=c>
<meta property=og:image content=card.png><img src=i.png srcset='j.png 2x'>
<a href=a>x</a><script src=s.js></script><p style='background: url(b.png)'>"""
    found = [(one.target.rpartition("/")[2], one.line) for one in markup(source).resources]
    assert sorted(found) == [
        ("b.png", 3), ("i.png", 2), ("j.png", 2), ("s.css", 1), ("s.js", 3)
    ]  # fmt: skip


def test_parse_errors_have_lines_and_columns_from_1() -> None:
    found = markup("<!doctype html>\n<p a a>").errors
    assert [(one.code, one.line) for one in found] == [("duplicate-attribute", 2)]
    assert found[0].column >= 1


def test_many_parse_errors_are_told_in_part() -> None:
    assert len(markup("<p a a>" * 5000).errors) == 200


def test_a_page_that_is_too_large_is_not_parsed() -> None:
    url = join(HERE, "", UrlConfig())
    assert url is not None
    assert read_markup(b"<p>" * 1_000_000, "", url, TOOLS) is None
