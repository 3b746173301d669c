import pytest

from gossamer.graph.names import key_of, keys_of, url_of, urls_of

PAIRS = (
    ("https://www.example.org/a?b", b"org.example.www/a?b"),
    ("https://example.org:8443/", b"org.example:8443s/"),
    ("https://example.org:80/", b"org.example:80s/"),
    ("http://example.org/", b"org.example:80/"),
    ("http://example.org:443/x", b"org.example:443/x"),
    ("http://127.0.0.1:8100/x", b"[127.0.0.1]:8100/x"),
    ("https://127.0.0.1/", b"[127.0.0.1]/"),
    ("http://[::1]/", b"[::1]:80/"),
    ("https://[2001:db8::1]:8443/", b"[2001:db8::1]:8443s/"),
    ("http://localhost/", b"localhost:80/"),
    ("https://example.org./a", b".org.example/a"),
    ("https://xn--bcher-kva.example/%C3%BC", b"example.xn--bcher-kva/%C3%BC"),
)
OTHERS = (
    "",
    "/",
    "~",
    "mailto:someone@example.org",
    "ftp://example.org/a",
    "https://user@example.org/",
    "https://EXAMPLE.org/",
    "https://example.org",
    "https://example.org:443/",
    "http://example.org:80/",
    "http://example.org:080/",
    "http:///x/y",
    "https://exa mple.org/",
    "https://[127.0.0.1]/",
    "https://example.org/ü",
    "https://example.org/\0",
    "~https://example.org/\x01\x02\x01",
    "https://example.org?a/b",
    "\udc80",
)


@pytest.mark.parametrize(("url", "key"), PAIRS)
def test_a_web_address_has_a_key_with_its_host_reversed(url: str, key: bytes) -> None:
    assert key_of(url) == key
    assert url_of(key) == url


@pytest.mark.parametrize("url", OTHERS)
def test_any_other_text_has_a_key_behind_all_hosts(url: str) -> None:
    key = key_of(url)
    assert key.startswith(b"~")
    assert b"\0" not in key
    assert url_of(key) == url


def test_all_keys_differ() -> None:
    urls = [url for url, _ in PAIRS] + list(OTHERS)
    assert len(set(keys_of(urls))) == len(urls)


def test_many_at_once_are_as_one_by_one() -> None:
    urls = [*OTHERS, *(url for url, _ in PAIRS), *OTHERS]
    keys = keys_of(urls)
    assert keys == [key_of(url) for url in urls]
    plain = [url for url in urls if "\0" not in url and "\udc80" not in url]
    assert keys_of(plain) == [key_of(url) for url in plain]
    assert urls_of(keys) == urls


def test_subdomains_are_neighbours() -> None:
    hosts = ("a.example.org", "example-a.org", "b.example.org", "example.com", "c.b.example.org")
    keys = sorted(key_of(f"https://{host}/") for host in hosts)
    assert keys == [
        b"com.example/",
        b"org.example-a/",
        b"org.example.a/",
        b"org.example.b.c/",
        b"org.example.b/",
    ]
