"""Whatever links a page has: keeping in bulk equals judging one by one, whatever came before."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config import FilterConfig, UrlConfig
from gossamer.filter import build_chain
from gossamer.model import EMBEDDED, FOLLOWED, Link, LinkKind, Url
from gossamer.urls import parse

HOSTS = st.sampled_from(["a.example", "b.a.example", "c.test", "c.test:22", "c.test:8100", "[::1]"])
PATHS = st.lists(st.sampled_from(["a", "b", "x.zip", "y.html", "..", ""]), max_size=8).map("/".join)
TEXTS = st.one_of(
    st.builds("{}://{}/{}".format, st.sampled_from(["http", "https", "ftp"]), HOSTS, PATHS),
    st.sampled_from(["mailto:a@b", "file:///x", "http://c.test/?q=1&q=1&q=1&q=1"]),
)
URLS = TEXTS.map(lambda text: parse(text, UrlConfig())).filter(lambda url: url is not None)
LINKS = st.lists(
    st.builds(Link, URLS, st.sampled_from(LinkKind), rel=st.sampled_from(["", "nofollow", "me"])),
    max_size=20,
)
CONFIGS = st.builds(
    FilterConfig,
    scope=st.sampled_from(["any", "domain", "host", "prefix"]),
    allow=st.sampled_from([(), ("*.test", "*.example"), ("*/a*",)]),
    block=st.sampled_from([(), ("b.a.example",), ("*/b",), ("*.test", "*/y*")]),
    max_depth=st.sampled_from([None, 0, 3]),
    max_urls_per_host=st.sampled_from([100, 1000]),
)


@pytest.mark.slow
@settings(deadline=None)
@given(config=CONFIGS, seed=URLS, links=LINKS, depth=st.integers(0, 5), embeds=st.booleans())
def test_keeping_in_bulk_equals_judging_one_by_one(
    config: FilterConfig, seed: Url, links: list[Link], depth: int, *, embeds: bool
) -> None:
    def fresh_judge(link: Link) -> str | None:
        chain = build_chain(config, [seed], lambda host: len(host) % 3 * 100, follow_embeds=embeds)
        objection = chain.judge(link, depth, seed.text)
        return objection.reason.value if objection else None

    chain = build_chain(config, [seed], lambda host: len(host) % 3 * 100, follow_embeds=embeds)
    candidates = [
        link for link in links if link.kind in FOLLOWED or (embeds and link.kind in EMBEDDED)
    ]
    reasons = [fresh_judge(link) for link in candidates]
    for _again in range(2):
        kept, refused = chain.keep(links, depth, seed.text)
        assert kept == [
            link for link, reason in zip(candidates, reasons, strict=True) if reason is None
        ]
        assert refused == Counter(reason for reason in reasons if reason is not None)
