"""Seeds: their files, and the headers that were given with them."""

from pathlib import Path

import pytest

from gossamer.config import Config, FetchConfig, HostConfig
from gossamer.crawl import Seed, read_seeds
from gossamer.crawl.seeds import expect_secrets, seed_complaint, settle_secrets
from gossamer.errors import ConfigError
from gossamer.secrets import FetchSecrets, HostSecrets, Secrets, write_secrets


def test_a_seeds_file_may_be_named_by_a_path_or_a_text(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("# mine\nhttp://a.test/\n\n  http://b.test/  my label \n")
    wanted = [Seed(url="http://a.test/"), Seed(url="http://b.test/", label="my label")]
    assert read_seeds(path) == wanted
    assert read_seeds(str(path)) == wanted


def test_a_seeds_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.txt"):
        read_seeds(str(tmp_path / "nowhere.txt"))


@pytest.mark.parametrize(
    "line",
    [
        "a,b",
        "http://a.test/,news",
        "http://a.test,http://b.test",
        "http://a.test/x,http://b.test/",
    ],
)
def test_lines_of_a_table_are_no_seeds(line: str, tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text(f"http://c.test/\n{line}\n")
    with pytest.raises(
        ConfigError, match=r"line 2: .* has a comma or a blank .* blanks before its labels"
    ):
        read_seeds(path)


@pytest.mark.parametrize(
    "url",
    ["http://a.test/x,1.html", "http://me:a,b@a.test/", "http://a.test/?of=http://b,http://c"],
)
def test_a_comma_may_be_part_of_a_seed(url: str, tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text(f"{url} news, weather\n")
    assert read_seeds(path) == [Seed(url=url, label="news, weather")]


# Whose headers

A, B, C = "http://a.org/x", "http://b.org/", "https://c.a.org/"
KEY = FetchConfig(headers=("X-Key: k",))


def settled(config: Config, stored: Config, folder: Path, *given: str) -> dict[str, str]:
    """Return the header that each table holds in the end."""
    found = settle_secrets(config, stored, [Seed(url=url) for url in given], folder)
    assert not (found.fetch.headers and found.host)
    return {name: " ".join(table.headers) for name, table in found.host.items()}


def test_headers_are_for_the_seeds_of_the_same_command(tmp_path: Path) -> None:
    stored = Config(seeds=(B,))
    assert settled(Config(seeds=(B,), fetch=KEY), stored, tmp_path, A, C) == {
        "http://a.org": "X-Key: k",
        "https://c.a.org": "X-Key: k",
    }


def test_seeds_of_a_file_that_is_given_are_of_the_same_command(tmp_path: Path) -> None:
    config = Config(seeds=(B, A), fetch=KEY)
    assert settled(config, Config(seeds=(B,)), tmp_path, "ftp://d.org/") == {
        "http://a.org": "X-Key: k"
    }


def test_headers_that_crawl_toml_holds_are_for_its_own_seeds(tmp_path: Path) -> None:
    stored = Config(seeds=(A,), fetch=KEY)
    assert settled(stored, stored, tmp_path, B) == {"http://a.org": "X-Key: k"}
    assert settled(Config(seeds=(A,)), Config(), tmp_path) == {}


def test_a_new_header_without_a_seed_is_for_whom_has_the_old_one(tmp_path: Path) -> None:
    table = HostConfig(headers=("x-key: old",))
    stored = Config(seeds=(A, B), host={"http://a.org": table})
    config = Config(seeds=(A, B), fetch=KEY, host=stored.host)
    assert settled(config, stored, tmp_path) == {"http://a.org": "X-Key: k"}
    with pytest.raises(ConfigError, match="2 sites"):
        settled(Config(seeds=(A, B), fetch=KEY), Config(seeds=(A, B)), tmp_path)
    assert settled(Config(seeds=(A,), fetch=KEY), Config(seeds=(A,)), tmp_path) == {
        "http://a.org": "X-Key: k"
    }


def test_what_secrets_toml_holds_is_put_where_it_belongs(tmp_path: Path) -> None:
    kept = Secrets(host={"http://a.org": HostSecrets(headers=("X-Key: old", "T: t"))})
    write_secrets(tmp_path, kept)
    names = {"http://a.org": HostConfig(secrets=("X-Key", "T"))}
    stored = Config(seeds=(A,), host=names)
    assert settled(stored, stored, tmp_path) == {"http://a.org": "X-Key: old T: t"}
    again = Config(seeds=(A,), host=names, fetch=KEY)
    assert settled(again, stored, tmp_path, A) == {"http://a.org": "X-Key: k T: t"}
    write_secrets(tmp_path, Secrets(fetch=FetchSecrets(headers=("X-Key: k",))))
    assert settled(Config(seeds=(A,)), Config(seeds=(A,)), tmp_path, B) == {
        "http://a.org": "X-Key: k"
    }
    assert settled(Config(seeds=(A,)), Config(), tmp_path) == {"http://a.org": "X-Key: k"}


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (Config(host={"a.org": HostConfig(secrets=("T",))}), r"secrets\.toml lacks T of \[host"),
        (Config(host={"a.org": HostConfig(headers=("Host: x",))}), "Host cannot be set"),
        (Config(host={"a.org": HostConfig(auth="env:NOT_THERE")}), "NOT_THERE is not set"),
        (Config(fetch=FetchConfig(proxy="env:NOT_THERE")), "NOT_THERE is not set"),
        (Config(host={"a/b": HostConfig(delay_s=1.0)}), "expected a host such as"),
        (Config(host={"a/b": HostConfig(scope="any")}), "expected a host such as"),
        (Config(host={"a/b": HostConfig(insecure=True)}), "expected a host such as"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is_written(
    tmp_path: Path, config: Config, complaint: str
) -> None:
    expect_secrets(Config(), tmp_path)
    with pytest.raises(ConfigError, match=complaint):
        expect_secrets(config, tmp_path)


def test_blanks_around_a_seed_are_no_list() -> None:
    assert seed_complaint("  http://user:secret@a.test/9 ") == ""
    assert "another URL" in seed_complaint("http://a.test/ http://b.test/")
