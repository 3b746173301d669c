"""HostRules: which origin gets which secret."""

import pytest

from gossamer.config import Config, FetchConfig, HostConfig, UrlConfig
from gossamer.errors import ConfigError
from gossamer.fetch import by_host, header_names, host_rules, with_proxy
from gossamer.fetch.grants import HeaderLine, host_of, origins_of, reach
from gossamer.model import Url
from gossamer.urls import parse

ORIGINS = (
    "http://x.org",
    "https://x.org",
    "http://www.x.org",
    "https://www.x.org",
    "http://x.org:8080",
    "https://x.org:8080",
    "http://www.x.org:8080",
    "https://www.x.org:8080",
    "https://x.org:8443",
    "http://sub.x.org",
    "https://sub.x.org",
    "https://www.sub.x.org",
    "https://x.org.evil.org",
    "https://wwwx.org",
    "https://y.org",
    "ftp://x.org",
)

REACH = {
    "http://x.org": "http://x.org https://x.org http://www.x.org https://www.x.org",
    "https://x.org": "https://x.org https://www.x.org",
    "http://www.x.org": "http://x.org https://x.org http://www.x.org https://www.x.org",
    "https://www.x.org": "https://x.org https://www.x.org",
    "http://x.org:8080": (
        "http://x.org:8080 https://x.org:8080 http://www.x.org:8080 https://www.x.org:8080"
    ),
    "https://x.org:8080": "https://x.org:8080 https://www.x.org:8080",
    "https://x.org:8443": "https://x.org:8443",
    "http://sub.x.org": "http://sub.x.org https://sub.x.org https://www.sub.x.org",
    "https://sub.x.org": "https://sub.x.org https://www.sub.x.org",
    "https://www.sub.x.org": "https://sub.x.org https://www.sub.x.org",
    "https://x.org.evil.org": "https://x.org.evil.org",
    "https://wwwx.org": "https://wwwx.org",
    "https://y.org": "https://y.org",
    "ftp://x.org": "",
}


@pytest.mark.parametrize("origin", REACH)
def test_a_secret_goes_up_to_https_and_with_or_without_www_and_nowhere_else(origin: str) -> None:
    assert {other for other in ORIGINS if other in reach(origin)} == set(REACH[origin].split())


@pytest.mark.parametrize(
    ("origin", "reached"),
    [
        ("http://127.0.0.1", ("http://127.0.0.1", "https://127.0.0.1")),
        ("https://[::1]:8443", ("https://[::1]:8443",)),
        ("http://localhost:8080", ("http://localhost:8080", "https://localhost:8080")),
        # Whoever has the name www below a public suffix is not its owner, and the reverse.
        ("https://github.io", ("https://github.io",)),
        ("https://www.github.io", ("https://www.github.io",)),
        ("https://www.co.uk", ("https://www.co.uk",)),
        ("https://www.org", ("https://www.org",)),
        ("https://me.github.io", ("https://me.github.io", "https://www.me.github.io")),
        ("file://", ()),
    ],
)
def test_what_only_looks_like_the_same_host_gets_nothing(
    origin: str, reached: tuple[str, ...]
) -> None:
    assert reach(origin) == reached


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "seeds", "origins"),
    [
        ("x.org", [], ["https://x.org"]),
        ("X.org", ["http://x.org/a"], ["http://x.org"]),
        (
            "x.org",
            ["http://x.org/", "https://x.org:8443/b"],
            ["http://x.org", "https://x.org:8443"],
        ),
        ("x.org", ["http://sub.x.org/", "http://y.org/"], ["https://x.org"]),
        ("x.org", ["http://www.x.org/", "http://www.x.org/2"], ["http://www.x.org"]),
        ("www.x.org", ["http://x.org/"], ["http://x.org"]),
        ("x.org:8080", ["http://x.org:8080/", "http://x.org/"], ["http://x.org:8080"]),
        ("x.org:8080", ["http://x.org/"], ["https://x.org:8080"]),
        ("http://x.org", ["https://x.org/"], ["http://x.org"]),
        ("https://X.org:443", [], ["https://x.org"]),
        ("bücher.de", [], ["https://xn--bcher-kva.de"]),
    ],
)
def test_the_name_of_a_table_means_origins(name: str, seeds: list[str], origins: list[str]) -> None:
    assert origins_of(name, map(url, seeds)) == origins


@pytest.mark.parametrize("name", ["", "x.org/path", "gopher://x.org", "a b", "http://", "x.org?q"])
def test_a_name_that_is_no_host_is_refused(name: str) -> None:
    for read in (host_of, lambda text: origins_of(text, ())):
        with pytest.raises(ConfigError, match=r"^host\..*expected a host such as"):
            read(name)


def sent(config: Config, *seeds: str, **environment: str) -> dict[str, list[str]]:
    rules = host_rules(config, [url(text) for text in seeds], environment)
    return {
        origin: [f"{line.name}: {line.value}" for line in lines]
        for origin, lines in rules.headers.items()
    }


def test_an_origins_own_header_holds_over_one_that_only_reaches_it() -> None:
    config = Config(
        host={
            "http://x.org": HostConfig(headers=("K: one", "L: one")),
            "https://x.org": HostConfig(headers=("k: two",)),
        }
    )
    assert sent(config) == {
        "http://x.org": ["K: one", "L: one"],
        "http://www.x.org": ["K: one", "L: one"],
        "https://x.org": ["k: two", "L: one"],
        "https://www.x.org": ["K: one", "L: one"],
    }


def test_a_table_with_a_scheme_holds_over_one_of_the_host_and_both_over_the_rest() -> None:
    config = Config(
        fetch=FetchConfig(headers=("K: c", "M: c"), auth={"x.org": "u:p"}),
        host={
            "x.org": HostConfig(headers=("K: b", "L: b")),
            "https://x.org": HostConfig(headers=("K: a",)),
        },
    )
    expected = ["K: a", "L: b", "Authorization: Basic dTpw", "M: c"]
    assert sent(config, "https://x.org/") == {
        "https://x.org": expected,
        "https://www.x.org": expected,
    }


def test_headers_of_the_same_name_in_one_table_are_all_sent() -> None:
    config = Config(host={"https://sub.x.org": HostConfig(headers=("T: 1", "t: 2"))})
    assert sent(config)["https://sub.x.org"] == ["T: 1", "t: 2"]


def test_credentials_and_cookies_are_headers_and_an_authorization_of_ones_own_wins() -> None:
    both = HostConfig(headers=("authorization: Bearer b",), auth="u:p", cookies="a=1")
    config = Config(host={"https://y.org": HostConfig(auth="u:p"), "https://x.org": both})
    found = sent(config)
    assert found["https://y.org"] == ["Authorization: Basic dTpw"]
    assert found["https://x.org"] == ["authorization: Bearer b", "Cookie: a=1"]


def test_headers_that_no_table_holds_go_to_the_seeds_or_everywhere() -> None:
    fetch = FetchConfig(headers=("K: v",))
    assert set(sent(Config(fetch=fetch), "https://x.org/", "file:///tmp/")) == {
        "https://x.org",
        "https://www.x.org",
    }
    rules = host_rules(
        Config(fetch=FetchConfig(headers=("K: v",), header_everywhere=True)),
        [url("http://x.org/")],
        {},
    )
    assert rules.headers == {}
    assert rules.everywhere == (HeaderLine("K", "v", True),)  # noqa: FBT003


def test_values_come_from_the_environment_and_are_secret_then() -> None:
    table = HostConfig(headers=("Accept-Language: env:L", "DNT: 1"), auth="env:A", cookies="env:C")
    config = Config(host={"https://x.org": table}, fetch=FetchConfig(proxy="env:P"))
    there = {"L": "de", "A": "u:p", "C": "c=1", "P": "http://u:p@proxy.test/"}
    assert host_rules(config, [], there).headers["https://x.org"] == (
        HeaderLine("Accept-Language", "de", is_secret=True),
        HeaderLine("DNT", "1", is_secret=False),
        HeaderLine("Cookie", "c=1", is_secret=True),
        HeaderLine("Authorization", "Basic dTpw", is_secret=True),
    )
    assert with_proxy(config.fetch, there).proxy == "http://u:p@proxy.test/"
    assert with_proxy(FetchConfig(proxy="http://p.test/"), {}).proxy == "http://p.test/"
    for name, words in {"L": "is not set", "A": "is not set", "C": "is not set"}.items():
        with pytest.raises(ConfigError, match=rf"environment variable {name} {words}"):
            host_rules(config, [], {**there, name: ""})
    with pytest.raises(ConfigError, match=r"fetch\.proxy: the environment variable P is not set"):
        with_proxy(config.fetch, {})
    with pytest.raises(ConfigError, match="has control characters in it; set it") as caught:
        host_rules(config, [], {**there, "C": "SECRET\r\nX: y"})
    assert "SECRET" not in str(caught.value)
    with pytest.raises(ConfigError, match="expected USER:PASS") as caught:
        host_rules(config, [], {**there, "A": "SECRET"})
    assert "SECRET" not in str(caught.value)


def test_certificates_are_trusted_by_host_whatever_the_port() -> None:
    config = Config(
        host={
            "x.org:8443": HostConfig(insecure=True),
            "https://Y.org": HostConfig(insecure=False),
            "z.org": HostConfig(delay_s=1.0),
        }
    )
    rules = host_rules(config, [], {})
    assert rules.insecure == {"x.org": True, "y.org": False}
    assert rules.headers == {}


def test_two_tables_of_one_host_must_not_contradict() -> None:
    both = {"x.org": HostConfig(delay_s=1.0), "https://x.org": HostConfig(delay_s=2.0)}
    with pytest.raises(ConfigError, match="another table of this host says otherwise"):
        by_host(Config(host=both), lambda table: table.delay_s)
    same = {**both, "https://x.org": HostConfig(delay_s=1.0, insecure=True)}
    assert by_host(Config(host=same), lambda table: table.delay_s) == {"x.org": 1.0}
    zero = {"x.org": HostConfig(delay_s=0.0, insecure=False), "y.org": HostConfig()}
    assert by_host(Config(host=zero), lambda table: table.delay_s) == {"x.org": 0.0}
    assert by_host(Config(host=zero), lambda table: table.insecure) == {"x.org": False}


def test_the_names_of_what_is_sent_are_known_without_any_secret() -> None:
    config = Config(
        fetch=FetchConfig(
            headers=("U: env:GONE",),
            secrets=("T", "proxy"),
            header_everywhere=True,
            auth={"https://y.org": "u:SECRET"},
        ),
        host={
            "https://x.org": HostConfig(
                headers=("Accept: SECRET", "K: env:GONE"), secrets=("X-Key", "auth", "cookies")
            ),
            "https://z.org": HostConfig(auth="env:GONE", cookies="env:GONE"),
            "https://w.org": HostConfig(headers=("T: t",)),
        },
    )
    rules = header_names(config, [])
    names = {origin: [line.name for line in lines] for origin, lines in rules.headers.items()}
    assert names["https://x.org"] == ["Accept", "K", "X-Key", "Cookie", "Authorization"]
    assert names["https://y.org"] == ["Authorization"]
    assert names["https://z.org"] == ["Cookie", "Authorization"]
    assert names["https://w.org"] == ["T"]
    assert [line.name for line in rules.everywhere] == ["U", "T"]
    assert "SECRET" not in repr(rules)
