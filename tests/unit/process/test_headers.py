"""Links and directives in the header, whatever the body is."""

from collections.abc import Callable

import pytest

from gossamer.model import Document, LinkKind
from gossamer.process import Registry

MakeDocument = Callable[..., Document]

PLAIN = "text/plain"


def links(
    document: MakeDocument, registry: Registry, *headers: tuple[str, str]
) -> list[tuple[str, LinkKind]]:
    found = registry.read(document("x", media_type=PLAIN, headers=headers), PLAIN)
    return [(link.target.text, link.kind) for link in found.links]


def test_a_link_field_gives_links_of_several_kinds(
    document: MakeDocument, registry: Registry
) -> None:
    value = '</n>; rel="next"; title="a, b", <s.css>; rel=preload; as=style, </x>; rel=dns-prefetch'
    assert links(document, registry, ("link", value)) == [
        ("http://h.test/n", LinkKind.HEADER),
        ("http://h.test/dir/s.css", LinkKind.STYLE),
    ]


def test_canonical_in_the_header_is_noted(document: MakeDocument, registry: Registry) -> None:
    headers = (("link", '<https://h.test/c>; rel="canonical"'),)
    found = registry.read(document("x", media_type=PLAIN, headers=headers), PLAIN)
    assert found.canonical == "https://h.test/c"


def test_refresh_is_a_link_and_content_location_is_not(
    document: MakeDocument, registry: Registry
) -> None:
    headers = (("refresh", "3; url=/r"), ("content-location", "/l"))
    assert links(document, registry, *headers) == [("http://h.test/r", LinkKind.REFRESH)]


@pytest.mark.parametrize("value", ["<", "<x", "<>", ";;;", '<x>; rel="', "<x>;rel", "<" * 5000])
def test_a_broken_link_field_does_no_harm(
    document: MakeDocument, registry: Registry, value: str
) -> None:
    links(document, registry, ("link", value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("noindex, NoFollow", ("noindex", "nofollow")),
        ("gossamer: nofollow", ("nofollow",)),
        ("otherbot: nofollow, noindex", ()),
        ("otherbot: nofollow, gossamer: noindex", ("noindex",)),
        ("max-snippet:-1, nofollow", ("max-snippet:-1", "nofollow")),
        (
            "unavailable_after: 25 Jun 2030 15:00:00 PST",
            ("unavailable_after: 25 jun 2030 15:00:00 pst",),
        ),
        ("", ()),
    ],
)
def test_x_robots_tag_applies_when_addressed_to_all_or_to_us(
    document: MakeDocument, registry: Registry, value: str, expected: tuple[str, ...]
) -> None:
    headers = (("x-robots-tag", value),)
    assert registry.read(document("x", headers=headers), "text/html").robots == expected
