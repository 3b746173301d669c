"""secrets.toml: what goes into it, who may read it, and whose headers they are."""

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config import Config, FetchConfig, HostConfig
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.secrets import (
    HARMLESS,
    FetchSecrets,
    HostSecrets,
    Secrets,
    bind_headers,
    is_secret,
    missing_secrets,
    read_secrets,
    separate,
    tables_with,
    with_secrets,
    without_password,
    write_secrets,
)

SOME = Secrets(
    fetch=FetchSecrets(headers=("X-Key: k",), proxy="http://u:p@proxy.test:3128"),
    host={"http://a.test:8080": HostSecrets(headers=('T: "q"\\',), cookies="a=1", auth="u:p")},
)


def test_what_is_written_is_what_is_read_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    assert read_secrets(tmp_path) == Secrets()
    before = os.umask(0)
    try:
        write_secrets(tmp_path, SOME)
    finally:
        os.umask(before)
    assert read_secrets(tmp_path) == SOME
    assert stat.S_IMODE((tmp_path / "secrets.toml").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o610, 0o601, 0o620, 0o602, 0o777])
def test_a_file_that_others_may_use_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    write_secrets(tmp_path, SOME)
    path = tmp_path / "secrets.toml"
    path.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        read_secrets(tmp_path)
    assert f"its mode is {mode:04o}" in str(caught.value)
    assert f"`chmod 600 {path}`" in str(caught.value)
    path.chmod(0o700)
    assert read_secrets(tmp_path) == SOME


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'[host."a"]\nauth = "SECRET', "is not valid TOML"),
        (b"\xffSECRET", "is not UTF-8 text"),
        (b'[host."a"]\nauth = ["SECRET"]', "auth"),
        (b'[host."a"]\ndelay_s = 1', "unknown field `delay_s`"),
        (b'[fetch]\nuser_agent = "SECRET"', "unknown field `user_agent`"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_without_its_content(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "secrets.toml"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        read_secrets(tmp_path)
    assert complaint in str(caught.value)
    assert str(path) in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match=r"secrets\.toml cannot be written"):
        write_secrets(tmp_path / "nowhere", SOME)
    (tmp_path / "secrets.toml").mkdir()
    with pytest.raises(ConfigError, match=r"secrets\.toml cannot be read"):
        read_secrets(tmp_path)
    with pytest.raises(ConfigError, match="not valid Unicode"):
        write_secrets(tmp_path, Secrets(host={"a": HostSecrets(auth="u:\ud800")}))


words = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=9)
names = st.sampled_from(["X-Key", "Authorization", "Cookie", "Accept", "dnt", "x-key"])
lines = st.builds("{}: {}".format, names, words | st.just("env:VARIABLE"))
tables = st.builds(
    HostConfig,
    delay_s=st.none() | st.just(1.0),
    headers=st.lists(lines, max_size=4).map(tuple),
    cookies=st.just("") | st.just("env:C") | words,
    auth=st.just("") | st.just("env:A") | words.map("u:{}".format),
)


@given(
    st.dictionaries(st.sampled_from(["a.test", "https://b.test"]), tables),
    st.lists(lines, max_size=3).map(tuple),
    st.sampled_from(["", "http://p.test/", "http://u:p@p.test:1/x@y", "env:P"]),
)
def test_settings_can_be_taken_apart_and_put_together(
    host: dict[str, HostConfig], headers: tuple[str, ...], proxy: str
) -> None:
    config = Config(host=host, fetch=FetchConfig(headers=headers, proxy=proxy))
    public, secrets = separate(config)
    assert separate(public) == (public, Secrets())
    again = with_secrets(public, secrets)
    assert separate(again) == (public, secrets)
    assert missing_secrets(again) == []
    assert with_secrets(again, secrets) == again
    for name, table in host.items():
        both = (*again.host[name].headers,)
        kinds = {line.partition(":")[0].lower() for line in table.headers}
        assert {line.partition(":")[0].lower() for line in both} == kinds
        assert again.host[name].cookies == table.cookies
        assert again.host[name].auth == table.auth
        assert again.host[name].delay_s == table.delay_s
    assert again.fetch.proxy == proxy


def test_only_secrets_are_taken_out_and_their_names_stay() -> None:
    table = HostConfig(
        headers=("Accept-Language: de", "X-Key: k", "T: env:T"), auth="u:p", cookies="env:C"
    )
    public, secrets = separate(Config(host={"a.test": table}))
    assert public.host["a.test"] == HostConfig(
        headers=("Accept-Language: de", "T: env:T"), cookies="env:C", secrets=("X-Key", "auth")
    )
    assert secrets.host["a.test"] == HostSecrets(headers=("X-Key: k",), auth="u:p")
    fetch = FetchConfig(headers=("X-Key: k", "DNT: 1"), auth={"a": "u:p", "b": "env:B"})
    public, secrets = separate(Config(fetch=fetch))
    assert (public.fetch.headers, public.fetch.auth) == (("DNT: 1",), {"b": "env:B"})
    assert public.fetch.secrets == ("X-Key",)
    assert secrets.fetch == FetchSecrets(headers=("X-Key: k",), auth={"a": "u:p"})


def test_the_headers_that_are_known_to_be_harmless_are_those_that_the_documentation_lists() -> None:
    text = (Path(__file__).parents[2] / "docs" / "OPERATING.md").read_text(encoding="utf-8")
    listed = text.partition("Known to be harmless are ")[2].partition(". ")[0]
    assert set(re.split(r", | and ", listed.lower())) == HARMLESS


def test_every_header_that_is_not_known_to_be_harmless_is_secret() -> None:
    assert not any(is_secret(f"{name}: v") for name in HARMLESS)
    assert is_secret("X: v")
    assert is_secret("Authorization : v")
    assert not is_secret("ACCEPT : v")
    assert not is_secret("X: env:V")
    assert not is_secret("X:env:V")


def test_what_settings_say_themselves_holds_over_the_file() -> None:
    config = Config(
        fetch=FetchConfig(headers=("x-key: mine",), proxy="http://other.test/", secrets=("proxy",)),
        host={
            "http://a.test:8080": HostConfig(
                headers=("t: env:T",), cookies="env:C", auth="me:pw", secrets=("Lost",)
            )
        },
    )
    whole = with_secrets(config, SOME)
    assert whole.fetch == FetchConfig(headers=("x-key: mine",), proxy="http://other.test/")
    table = whole.host["http://a.test:8080"]
    assert (table.headers, table.cookies, table.auth) == (("t: env:T",), "env:C", "me:pw")
    assert missing_secrets(whole) == ['Lost of [host."http://a.test:8080"]']


def test_a_name_that_the_file_does_not_have_is_missing() -> None:
    config = Config(
        fetch=FetchConfig(secrets=("proxy", "X-Key")),
        host={"a.test": HostConfig(secrets=("auth", "cookies", "T"))},
    )
    assert missing_secrets(with_secrets(config, Secrets())) == [
        "proxy of [fetch]",
        "X-Key of [fetch]",
        'auth of [host."a.test"]',
        'cookies of [host."a.test"]',
        'T of [host."a.test"]',
    ]
    kept = Secrets(
        fetch=SOME.fetch, host={"a.test": HostSecrets(headers=("t: 1",), cookies="a=1", auth="u:p")}
    )
    whole = with_secrets(config, kept)
    assert missing_secrets(whole) == []
    assert whole.fetch.proxy == "http://u:p@proxy.test:3128"


def test_a_host_that_only_the_file_knows_gets_a_table() -> None:
    whole = with_secrets(Config(), SOME)
    assert separate(whole).config.host == {
        "http://a.test:8080": HostConfig(secrets=("T", "cookies", "auth"))
    }
    assert separate(whole).secrets == SOME


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("", ""),
        ("http://proxy.test:3128", "http://proxy.test:3128"),
        ("http://u:p@proxy.test:3128/", "http://proxy.test:3128/"),
        ("socks5h://u@proxy.test/x@y", "socks5h://proxy.test/x@y"),
        ("http://u:p@q@proxy.test", "http://proxy.test"),
        ("env:PROXY", "env:PROXY"),
    ],
)
def test_a_proxy_is_shown_without_its_password(url: str, plain: str) -> None:
    assert without_password(url) == plain


# Whose headers


def bound(fetch: FetchConfig, origins: dict[str, str], **host: HostConfig) -> Config:
    return bind_headers(Config(fetch=fetch, host=host), origins)


ONE = {"http://a.org": "a.org", "https://b.a.org": "a.org"}
TWO = {"http://a.org": "a.org", "http://b.org": "b.org"}


def test_headers_go_into_the_tables_of_the_origins_that_they_came_with() -> None:
    config = bound(FetchConfig(headers=("X-Key: k", "DNT: 1")), ONE)
    table = HostConfig(headers=("X-Key: k", "DNT: 1"))
    assert config == Config(host={"http://a.org": table, "https://b.a.org": table})


def test_a_header_takes_the_place_of_one_of_the_same_name() -> None:
    old = HostConfig(headers=("x-key: old", "T: t"), secrets=("X-KEY", "U"), delay_s=1.0)
    config = bind_headers(
        Config(fetch=FetchConfig(headers=("X-Key: new",)), host={"http://a.org": old}),
        {"http://a.org": "a.org"},
    )
    assert config.host == {
        "http://a.org": HostConfig(headers=("X-Key: new", "T: t"), secrets=("U",), delay_s=1.0)
    }


def test_what_may_be_secret_is_refused_for_two_domains_and_the_tables_are_named() -> None:
    for line in ("Authorization: x", "Cookie: x", "X-Unknown: x", "X-Unknown: env:X"):
        with pytest.raises(ConfigError) as caught:
            bound(FetchConfig(headers=("Accept: x", line)), TWO)
        name = line.partition(":")[0]
        assert str(caught.value).startswith(
            f"--header: {name} would be sent to 2 sites (a.org, b.org); "
        )
        assert 'may see it, such as [host."a.org"] in crawl.toml' in str(caught.value)
        assert "--header-everywhere" in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="--header: Cookie, X-Unknown would be sent"):
        bound(FetchConfig(headers=("Cookie: x", "X-Unknown: y", "Cookie: z")), TWO)
    harmless = tuple(f"{name}: x" for name in sorted(HARMLESS))
    assert set(bound(FetchConfig(headers=harmless), TWO).host) == set(TWO)
    many = {f"http://{n}.org": f"{n}.org" for n in "abcd"}
    with pytest.raises(ConfigError, match=r"4 sites \(a\.org, b\.org, c\.org, \.\.\.\)"):
        bound(FetchConfig(headers=("X: y",)), many)
    with pytest.raises(ConfigError, match=r"3 sites \(a\.org, b\.org, c\.org\)"):
        bound(FetchConfig(headers=("X: y",)), dict(list(many.items())[:3]))


def test_headers_for_every_host_stay_where_they_are() -> None:
    fetch = FetchConfig(headers=("Authorization: x",), header_everywhere=True)
    assert bound(fetch, TWO) == Config(fetch=fetch)


def test_headers_without_anybody_to_get_them_stay_too() -> None:
    fetch = FetchConfig(headers=("Authorization: x",))
    assert bound(fetch, {}) == Config(fetch=fetch)


def test_credentials_go_into_the_table_of_their_host() -> None:
    config = bind_headers(
        Config(
            fetch=FetchConfig(auth={"a.org": "u:p", "b.org": "env:B"}),
            host={"a.org": HostConfig(auth="old:x", delay_s=2.0, secrets=("AUTH", "T"))},
        ),
        {},
    )
    assert config.fetch.auth == {}
    assert config.host == {
        "a.org": HostConfig(auth="u:p", delay_s=2.0, secrets=("T",)),
        "b.org": HostConfig(auth="env:B"),
    }


def test_tables_that_hold_a_header_already_are_found_by_its_name() -> None:
    config = Config(
        fetch=FetchConfig(headers=("X-Key: new",)),
        host={
            "a.org": HostConfig(secrets=("x-key",)),
            "b.org": HostConfig(headers=("X-KEY: env:K",)),
            "c.org": HostConfig(secrets=("auth",), headers=("T: t",)),
        },
    )
    assert tables_with(config) == ["a.org", "b.org"]
