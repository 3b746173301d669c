"""The scanners for small languages."""

import pytest

from gossamer.process.references import (
    MAX_FINDS,
    refresh_url,
    script_urls,
    srcset_urls,
    text_urls,
)
from gossamer.process.stylesheets import css_urls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0; url=/x", "/x"),
        ("0;url=/x", "/x"),
        ("0; URL = '/x'", "/x"),
        ('0; url="/x" trailing', "/x"),
        ("  5 ; url=/x ", "/x"),
        ("0,/x", "/x"),
        ("0 url=/x", "/x"),
        ("0;/x", "/x"),
        ("url=/x", "/x"),
        (".5;url=/x", "/x"),
        ("0;url='/x", "/x"),
        ("5", ""),
        ("5;", ""),
        ("", ""),
    ],
)
def test_refresh_is_understood_in_all_spellings(text: str, expected: str) -> None:
    assert refresh_url(text) == expected


def test_addresses_in_text_end_before_punctuation() -> None:
    text = "See http://h.test/a, (https://h.test/b?c=d) and <http://h.test/e>."
    assert text_urls(text) == [
        "http://h.test/a",
        "https://h.test/b?c=d",
        "http://h.test/e",
    ]


@pytest.mark.parametrize(
    "text",
    [
        *('"' * 1_000_000, "(" * 1_000_000, "@import" * 150_000, "url(" * 250_000),
        *(
            "url('" * 200_000,
            "image-set(" * 100_000,
            "image-set('" * 90_000,
            "@import " * 125_000,
            "url(" + " " * 1_000_000,
            "'\"" * 500_000,
        ),
        *('\\"' * 500_000, "@namespace" * 100_000, "/*" * 500_000),
        *("location=" * 110_000, "window.open('" * 80_000, "location = '" * 80_000),
        *(" " * 1_000_000, "," * 1_000_000, "0;" * 500_000, "http://" * 140_000),
    ],
    ids=lambda text: text[:12],
)
def test_no_scanner_hangs_on_a_hostile_megabyte_or_floods_us_with_finds(text: str) -> None:
    refresh_url(text)
    for scanner in (
        css_urls,
        script_urls,
        srcset_urls,
        text_urls,
    ):
        assert len(list(scanner(text))) <= MAX_FINDS
