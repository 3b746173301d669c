"""Names of a mirror: safe on any file system, never outside, never two URLs in one file."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.tables.mirror_names import MirroredUrl, MirrorNames, relative_reference, safe_segment

HTML = "text/html"


def names_of(*urls: str, media_type: str = HTML) -> list[str]:
    names = MirrorNames()
    names.assign([MirroredUrl(url, media_type) for url in urls])
    return [names.find(url) or "" for url in urls]


@pytest.mark.parametrize(
    ("url", "media_type", "expected"),
    [
        ("http://a.test/", HTML, "a.test/index.html"),
        ("http://a.test:8100/b/", HTML, "a.test_8100/b/index.html"),
        ("https://a.test/b.html", HTML, "a.test/b.html"),
        ("https://a.test/B.HTM", HTML, "a.test/B.HTM"),
        ("http://a.test/b.php", HTML, "a.test/b.php.html"),
        ("http://a.test/b", "text/css", "a.test/b.css"),
        ("http://a.test/b.css", "text/css", "a.test/b.css"),
        ("http://a.test/b.html", "image/png", "a.test/b.html.png"),
        ("http://a.test/b.tar", "application/x-tar", "a.test/b.tar"),
        ("http://a.test/b.html", "application/x-own", "a.test/b.html.bin"),
        ("http://a.test/con", HTML, "a.test/_con-8e4b9e6e.html"),
    ],
)
def test_a_name_says_what_a_file_is(url: str, media_type: str, expected: str) -> None:
    [found] = names_of(url, media_type=media_type)
    assert re.sub(r"-[0-9a-f]{8}\.", ".", found) == re.sub(r"-[0-9a-f]{8}\.", ".", expected)


def test_queries_and_lost_characters_are_made_good_by_a_hash() -> None:
    found = names_of(*(f"http://a.test/p?x={n}" for n in range(3)), "http://a.test/p")
    assert len({name.lower() for name in found}) == 4
    assert found[3] == "a.test/p.html"
    assert all(re.fullmatch(r"a\.test/p-[0-9a-f]{8}\.html", name) for name in found[:3])


def test_names_that_differ_in_case_only_or_are_folders_elsewhere_do_not_meet() -> None:
    found = names_of(
        *("http://a.test/A.html", "http://a.test/a.html", "https://a.test/a.html"),
        *(
            "http://a.test/a.html/b.html",
            "http://a.test/%61.html",
            "http://a.test/b/",
            "http://a.test/b",
        ),
    )
    lower = [name.lower() for name in found]
    assert len(set(lower)) == len(lower)
    folders = {name.rpartition("/")[0] for name in lower}
    assert not folders & set(lower)


def test_a_redirect_is_where_its_target_lies() -> None:
    names = MirrorNames()
    names.assign([MirroredUrl("http://a.test/new", HTML)])
    names.add_redirect("http://a.test/old", "http://a.test/middle")
    names.add_redirect("http://a.test/middle", "http://a.test/new")
    names.add_redirect("http://a.test/loop", "http://a.test/loop")
    assert names.find("http://a.test/old") == "a.test/new.html"
    assert names.find("http://a.test/loop") is None


@pytest.mark.parametrize(
    "path",
    [
        *("../../etc/passwd", "%2e%2e/%2e%2e/x", "..%2f..%2fx", "a/..%5c..%5cx", "%00", "a%0ab"),
        *("nul", "COM1.txt", "aux.html", "x.", "x ", "x%20", "...", "C:/x", "~", "-rf", "\u202e"),
        *("a" * 3000, "/".join(["b" * 90] * 30), "%ff%fe", "x:y", "a*b?c", "$HOME", "`id`"),
    ],
)
def test_no_name_leads_out_or_means_something_to_a_system(path: str) -> None:
    expect_safe(names_of(f"http://a.test/{path}"))


@given(st.text(min_size=0, max_size=60), st.sampled_from([HTML, "image/png", "", "a/b"]))
def test_no_url_has_a_name_that_is_not_safe(path: str, media_type: str) -> None:
    expect_safe(names_of(f"http://a.test/{path}", media_type=media_type))


@given(st.text(max_size=200))
def test_a_segment_is_always_a_name(text: str) -> None:
    expect_safe([f"a.test/{safe_segment(text)}"])


def expect_safe(found: list[str]) -> None:
    for name in found:
        parts = name.split("/")
        assert parts[0] == "a.test"
        assert len(name) < 400
        for part in parts:
            assert re.fullmatch(r"[A-Za-z0-9._+=,@()~-]{1,140}", part)
            assert part.strip(".")
            assert not part.endswith(".")
            assert not re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)", part)


def test_files_refer_to_each_other_by_relative_paths() -> None:
    assert relative_reference("a.test/b/c.css", "a.test/d/e.html") == "../b/c.css"
    assert relative_reference("b.test/c.css", "a.test/e.html") == "../b.test/c.css"
    assert relative_reference("a.test/e.html", "a.test/e.html") == "e.html"
