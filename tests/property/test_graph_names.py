"""Whatever the URLs are: keys lead back to them, the sorter loses none, and the map knows all."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from gossamer.config import UrlConfig
from gossamer.graph.names import NameSorter, UrlMap, UrlMapWriter, key_of, keys_of, url_of, urls_of
from gossamer.graph.names.keys import packed_keys
from gossamer.urls import parse

LABELS = st.text("ab-0_", min_size=1, max_size=3)
HOSTS = st.one_of(
    st.lists(LABELS, min_size=1, max_size=4).map(".".join),
    st.sampled_from(["127.0.0.1", "10.0.0.1", "[::1]", "[2001:db8::1]", "example.org", "xn--p1ai"]),
)
PORTS = st.sampled_from(["", ":80", ":443", ":8080", ":8443", ":65535"])
TEXTS = st.builds(
    "{}://{}{}/{}".format, st.sampled_from(["http", "https"]), HOSTS, PORTS, st.text(max_size=12)
)
RULES = UrlConfig()
URLS = TEXTS.map(lambda text: parse(text, RULES)).filter(bool).map(lambda url: url.text)
ODD = st.text("htps:/.[]ab09-_1\1é", max_size=12).map("http".__add__)
"""Nearly web addresses."""
KEYS = st.sets(
    st.one_of(
        st.binary(min_size=1, max_size=6).map(lambda key: key.replace(b"\0", b"\1")),
        st.integers(1, 400).map(lambda many: b"a" * many),
        st.integers(0, 999).map(lambda number: b"org.example/page-%d.html" % number),
    ),
    max_size=60,
)


@given(st.one_of(URLS, TEXTS, st.text()))
def test_a_key_leads_back_to_its_url(url: str) -> None:
    key = key_of(url)
    assert b"\0" not in key
    assert url_of(key) == url


@given(st.lists(st.one_of(URLS, st.text()), max_size=30))
def test_many_keys_are_the_same_as_each_alone(urls: list[str]) -> None:
    keys = keys_of(urls)
    assert keys == [key_of(url) for url in urls]
    assert urls_of(keys) == urls
    assert len(set(keys)) == len(set(urls))


@given(st.lists(st.one_of(URLS, TEXTS, ODD, st.text()), max_size=30))
def test_a_kernel_makes_the_same_keys(urls: list[str]) -> None:
    packed = packed_keys(urls)
    if packed is not None:
        assert packed == b"".join(key_of(url) + b"\0" for url in urls)


@given(URLS)
def test_web_addresses_have_a_key_of_their_host(url: str) -> None:
    assert not key_of(url).startswith(b"~")


@given(st.sets(URLS, max_size=40))
def test_the_urls_of_an_origin_are_neighbours(urls: set[str]) -> None:
    ordered = urls_of(sorted(keys_of(urls)))
    origins = ["/".join(url.split("/")[:3]) for url in ordered]
    starts = [n for n, origin in enumerate(origins) if n == 0 or origin != origins[n - 1]]
    assert len(starts) == len(set(origins))


@given(st.sets(st.lists(LABELS, min_size=2, max_size=4).map(".".join), max_size=40), LABELS)
def test_subdomains_of_a_name_are_neighbours(hosts: set[str], label: str) -> None:
    hosts |= {f"{host}.{label}.example" for host in hosts}
    ordered = urls_of(sorted(key_of(f"https://{host}/") for host in hosts))
    inside = [n for n, url in enumerate(ordered) if url.endswith(f".{label}.example/")]
    assert not inside or inside[-1] - inside[0] == len(inside) - 1


@settings(max_examples=examples(40))
@given(KEYS, st.lists(st.binary(max_size=5).map(lambda key: key.replace(b"\0", b"\1")), max_size=9))
def test_a_map_knows_its_keys_and_no_others(keys: set[bytes], others: list[bytes]) -> None:
    ordered = sorted(keys)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "urls"
        new = UrlMapWriter(path)
        new.add(ordered)
        new.close()
        found = UrlMap.open(path)
        assert len(found) == len(ordered)
        assert [found.key(node) for node in range(len(ordered))] == ordered
        assert [key for batch in found.keys(0) for key in batch] == ordered
        places = {key: node for node, key in enumerate(ordered)}
        asked = [*ordered, *others, *(key + b"\1" for key in ordered), *(k[:-1] for k in ordered)]
        assert found.nodes_of_keys(asked).tolist() == [places.get(key, -1) for key in asked]
        for prefix in others:
            first, last = found.span(prefix)
            assert ordered[first:last] == [key for key in ordered if key.startswith(prefix)]


@settings(max_examples=examples(40))
@given(
    st.lists(st.lists(st.integers(0, 300).map(b"%d".__mod__), max_size=20)), st.integers(1, 9999)
)
def test_the_sorter_gives_every_key_once(batches: list[list[bytes]], memory_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = NameSorter(Path(folder), memory_bytes)
        for batch in batches:
            names.add(batch)
        found = [key for batch in names.merged() for key in batch]
    assert found == sorted({key for batch in batches for key in batch})
