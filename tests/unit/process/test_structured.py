"""JSON-LD, microdata and OpenGraph of a page."""

import json

from gossamer.process import structured_json

PAGE = b"""<html prefix="og: https://ogp.me/ns#"><head>
<meta property="og:title" content="Rolling pin"><meta property="og:image" content="/pin.jpg">
<script type="application/ld+json">{"@type": "Product", "name": "Rolling pin", "sku": 7}</script>
<script type="application/ld+json">{"@type": broken</script>
</head><body><div itemscope itemtype="https://schema.org/Offer"><span itemprop="price">24.90</span>
<div itemprop="seller" itemscope><a itemprop="url" href="/shop">Shop</a></div></div></body>"""


def read(body: bytes, url: str = "http://a.test/b/") -> dict[str, object]:
    said = structured_json(body, url=url)
    found: dict[str, object] = json.loads(said) if said else {}
    return found


def test_all_three_kinds_are_read_and_a_broken_block_is_left_out() -> None:
    found = read(PAGE)
    assert found["json_ld"] == [{"@type": "Product", "name": "Rolling pin", "sku": 7}]
    assert found["opengraph"] == {"title": "Rolling pin", "image": "http://a.test/pin.jpg"}
    assert found["microdata"] == [
        {
            "type": "https://schema.org/Offer",
            "properties": {
                "price": ["24.90"],
                "seller": [{"properties": {"url": ["http://a.test/shop"]}}],
            },
        }
    ]


def test_a_page_without_any_gives_nothing() -> None:
    assert structured_json(b"<p>words</p>") == ""
    assert structured_json(b"<p>the og: prefix is only talked about</p>") == ""
    assert structured_json(PAGE, media_type="application/pdf") == ""


def test_what_is_too_large_or_too_deep_is_left_out_and_the_rest_kept() -> None:
    large = b'<script type="application/ld+json">["%s"]</script>' % (b"x" * 300_000)
    deep = b'<script type="application/ld+json">' + b"[" * 100_000 + b"</script>"
    number = b'<script type="application/ld+json">[1%s]</script>' % (b"0" * 5_000)
    assert read(large + deep + number + PAGE)["json_ld"] == read(PAGE)["json_ld"]


def test_hostile_markup_ends_soon_and_can_be_encoded() -> None:
    for part in (
        *(b"<div itemscope itemprop=a>x", b"<div itemscope>x", b"<p itemprop=a>&#xD800;"),
        *(b'<div itemscope itemref="a" id=a>', b'<meta property="og:title" content="&#xDC00;">'),
    ):
        structured_json(b"<div itemscope>" + part * 2_000, url="http://[").encode()
