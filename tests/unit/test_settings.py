"""crawl.toml: what is written is what is read, and what is wrong is named."""

import stat
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config import Config, FetchConfig, FilterConfig, LimitsConfig, PolitenessConfig
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.settings import (
    changed,
    check,
    describe_knobs,
    describe_sections,
    load_config,
    save_config,
    to_config,
    to_toml,
)


def written(folder: Path, text: str) -> Path:
    path = folder / "crawl.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_empty_file_means_all_defaults(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, "")) == Config()


def test_the_file_of_a_default_crawl_sets_nothing_and_shows_every_knob() -> None:
    text = to_toml(Config())
    tables = tomllib.loads(text)
    assert not any(tables.values())
    for knob in describe_knobs():
        assert f"#{knob.name} =" in text


def test_a_knob_that_differs_is_active_and_the_others_stay_comments() -> None:
    text = to_toml(Config(limits=LimitsConfig(max_pages=5)))
    assert "\nmax_pages = 5 " in text
    assert "\n#max_bytes = " in text
    assert "(not set) Maximum size of the archive." in text


def test_every_default_can_be_uncommented_as_it_stands() -> None:
    lines = to_toml(Config()).splitlines()
    active = "\n".join(
        line[1:] if line.startswith("#") and not line.startswith(("# ", "#  ")) else line
        for line in lines
        if "(not set)" not in line
    )
    block = active.replace("\n#    ", "\n    ")
    assert to_config(tomllib.loads(block)) == Config()


def test_no_line_of_the_file_is_wider_than_a_hundred_columns() -> None:
    assert max(len(line) for line in to_toml(Config()).splitlines()) <= 100


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)
seconds = st.floats(min_value=0, allow_nan=False)


@pytest.mark.slow
@given(
    st.lists(texts, max_size=6),
    st.dictionaries(texts, texts, max_size=3),
    st.none() | seconds,
    st.none() | st.integers(min_value=0, max_value=2**63 - 1),
)
def test_what_is_written_is_what_is_read(
    blocks: list[str], table: dict[str, str], delay: float | None, pages: int | None
) -> None:
    config = Config(
        politeness=PolitenessConfig(delay_s=delay),
        fetch=FetchConfig(auth=table),
        filter=FilterConfig(block=tuple(blocks)),
        limits=LimitsConfig(max_pages=pages),
    )
    data = tomllib.loads(to_toml(config))
    assert msgspec.convert(data, Config) == config


def test_a_saved_file_is_read_back_equal(tmp_path: Path) -> None:
    config = Config(seeds=("http://a.test/",), filter=FilterConfig(block=("*.b.test",)))
    save_config(tmp_path / "crawl.toml", config)
    assert load_config(tmp_path / "crawl.toml") == config
    assert [path.name for path in tmp_path.iterdir()] == ["crawl.toml"]


def test_long_lists_of_long_words_with_hyphens_are_read_back_equal() -> None:
    seeds = tuple(f"http://a-{'-'.join('host' * n)}.test/{'x' * 9 * n} y" for n in range(1, 30))
    config = Config(seeds=seeds)
    assert to_config(tomllib.loads(to_toml(config))) == config


def test_credentials_in_a_seed_are_never_written() -> None:
    text = to_toml(Config(seeds=("http://u:SECRET@a.test/x@y",)))
    assert "SECRET" not in text
    assert '"http://a.test/x@y"' in text


@pytest.mark.parametrize(
    "fetch",
    [
        FetchConfig(auth={"a.test": "u:p"}),
        FetchConfig(headers=("X-Key: k",)),
        FetchConfig(proxy="http://u:p@proxy.test/"),
    ],
)
def test_a_file_with_secrets_is_closed_to_others(tmp_path: Path, fetch: FetchConfig) -> None:
    path = tmp_path / "crawl.toml"
    save_config(path, Config())
    save_config(path, Config(fetch=fetch))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match=r"crawl\.toml cannot be written"):
        save_config(tmp_path / "nowhere" / "crawl.toml", Config())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[fetch]\nmax_rato = 1", "fetch.max_rato: unknown setting; did you mean fetch.max"),
        ("zz = 1", "zz: unknown setting"),
        ("[fetch]\nmax_ratio = 0", "fetch.max_ratio: expected an integer ≥ 1, found 0"),
        ("[frontier]\ngrades = 17", "frontier.grades: expected an integer from 1 to 16, found"),
        ('[filter]\nscope = "x"', 'filter.scope: expected one of "any", "domain", "host"'),
        ("fetch = 3", "fetch: expected a table, found 3"),
        ('seeds = "x"', "seeds: expected a list of strings, found 'x'"),
        (
            '[fetch]\nallow_net = ["x"]',
            "fetch.allow_net: expected a network in CIDR notation, such as 10.0.0.0/8",
        ),
        ('[fetch]\nresolve = {h = "x"}', "fetch.resolve: expected an IP address, found 'x'"),
        ('[fetch]\nproxy = "gopher://x"', "fetch.proxy: expected a URL with one of the schemes"),
        ('[fetch]\ncontact = "a\\r\\nX: y"', "fetch.contact: expected printable text"),
        ("seeds = [", "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_named_with_the_knob_and_its_bound(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        {"fetch": {"auth": {"a.test": "SECRET"}}},
        {"fetch": {"headers": ["SECRET"]}},
        {"fetch": {"headers": ["X: SECRET\r\nY: z"]}},
        {"fetch": {"proxy": "SECRET"}},
        {"fetch": {"headers": "SECRET"}},
    ],
)
def test_a_wrong_secret_is_not_quoted(data: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        to_config(data)
    assert "SECRET" not in str(caught.value)


def test_a_file_that_is_missing_or_no_text_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(tmp_path / "none.toml")
    path = tmp_path / "crawl.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load_config(path)


def test_changes_are_told_by_knob_and_secrets_are_not() -> None:
    new = Config(fetch=FetchConfig(insecure=True, auth={"a.test": "u:SECRET"}))
    new = msgspec.structs.replace(new, limits=LimitsConfig(max_pages=10_000))
    assert changed(Config(), new) == [
        "fetch.auth: changed (not shown)",
        "fetch.insecure: false -> true",
        "limits.max_pages: not set -> 10_000",
    ]
    assert changed(new, new) == []


def test_every_knob_and_every_section_has_words() -> None:
    assert [knob.path for knob in describe_knobs() if not knob.doc] == []
    assert all(describe_sections().values())
    insecure = next(knob for knob in describe_knobs() if knob.path == "fetch.insecure")
    assert (insecure.kind, insecure.default) == ("true or false", False)


def test_the_defaults_pass_their_own_check() -> None:
    check(Config())
