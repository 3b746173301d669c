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
from gossamer.secrets import read_secrets, separate, with_secrets
from gossamer.settings import (
    CLOSING,
    changed,
    changed_since_last_start,
    check,
    describe_knobs,
    describe_sections,
    load_config,
    load_crawl_config,
    readable_config,
    save_config,
    save_crawl_config,
    stored_config,
    to_config,
    to_toml,
)


def written(folder: Path, text: str) -> Path:
    path = folder / "crawl.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read_back(text: str) -> Config:
    data = tomllib.loads(text)
    assert data.pop("format") == 2
    return to_config(data)


def test_an_empty_file_means_all_defaults(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, "")) == Config()


def test_the_file_of_a_default_crawl_sets_nothing_and_shows_every_knob() -> None:
    text = to_toml(Config())
    tables = tomllib.loads(text)
    assert tables.pop("format") == 2
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
    assert read_back(block) == Config()


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
    assert data.pop("format") == 2
    assert msgspec.convert(data, Config) == config


def test_a_saved_file_is_read_back_equal(tmp_path: Path) -> None:
    config = Config(seeds=("http://a.test/",), filter=FilterConfig(block=("*.b.test",)))
    save_config(tmp_path / "crawl.toml", config)
    assert load_config(tmp_path / "crawl.toml") == config
    assert [path.name for path in tmp_path.iterdir()] == ["crawl.toml"]


def test_long_lists_of_long_words_with_hyphens_are_read_back_equal() -> None:
    seeds = tuple(f"http://a-{'-'.join('host' * n)}.test/{'x' * 9 * n} y" for n in range(1, 30))
    config = Config(seeds=seeds)
    assert read_back(to_toml(config)) == config


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
        ('[fetch]\nproxy = "gopher://x"', "fetch.proxy: expected a URL such as http:"),
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


# A crawl's own file, where something was crawled

KEPT = Config(
    seeds=("http://a.test/",), filter=FilterConfig(scope="host"), limits=LimitsConfig(max_pages=50)
)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A folder of a crawl that was started: it has a state."""
    save_crawl_config(tmp_path, KEPT)
    (tmp_path / "state" / "00").mkdir()
    (tmp_path / "state" / "00" / "CURRENT").touch()
    return tmp_path


def test_the_first_line_names_the_format_and_the_last_one_closes_the_file() -> None:
    lines = to_toml(KEPT).splitlines()
    assert lines[0] == "format = 2"
    assert lines[-1].startswith("# end of crawl.toml")


@pytest.mark.slow
def test_a_file_that_was_cut_at_any_byte_is_refused_and_not_changed(begun: Path) -> None:
    path = begun / "crawl.toml"
    whole = path.read_bytes()
    end = whole.index(b"# end of crawl.toml") + len(b"# end of crawl.toml")
    for length in (*range(40), *range(40, end - 60, 499), *range(end - 60, len(whole))):
        path.write_bytes(whole[:length])
        if length >= end:
            assert load_crawl_config(begun) == KEPT
            continue
        with pytest.raises((CannotGoOn, ConfigError), match=r"crawl\.toml"):
            load_crawl_config(begun)
        assert path.read_bytes() == whole[:length]


@pytest.mark.slow
def test_a_flipped_bit_is_refused_or_told_or_changes_no_setting(begun: Path) -> None:
    path = begun / "crawl.toml"
    whole = path.read_bytes()
    told = 0
    settings = whole.index(b"max_pages = 50")
    for bit in (*range(0, 8 * len(whole), 997), *range(8 * settings + 96, 8 * settings + 112)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            found = load_crawl_config(begun)
        except (CannotGoOn, ConfigError):
            continue
        lines = changed_since_last_start(begun, found, found)
        assert bool(lines) == (found != KEPT)
        told += bool(lines)
    assert told


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"\n\n", b"# nothing\n", b"format = 2\n"])
def test_a_file_without_content_is_refused_where_something_was_crawled(
    begun: Path, content: bytes
) -> None:
    (begun / "crawl.toml").write_bytes(content)
    with pytest.raises((CannotGoOn, ConfigError), match=r"crawl\.toml"):
        load_crawl_config(begun)


def test_a_file_that_is_missing_is_refused_where_something_was_crawled(begun: Path) -> None:
    (begun / "crawl.toml").unlink()
    with pytest.raises(CannotGoOn, match=r"is missing.*--config FILE.*state/crawl\.toml"):
        load_crawl_config(begun, Config())


def test_a_file_without_seeds_is_refused_if_there_is_only_an_archive(tmp_path: Path) -> None:
    save_config(tmp_path / "crawl.toml", Config())
    (tmp_path / "archive").mkdir()
    assert load_crawl_config(tmp_path) == Config()
    (tmp_path / "archive" / "pages-00-0001-00000.warc.gz").touch()
    with pytest.raises(CannotGoOn, match="has no seeds"):
        load_crawl_config(tmp_path)


def test_a_crawl_that_never_had_seeds_is_not_refused(begun: Path) -> None:
    save_crawl_config(begun, Config())
    assert load_crawl_config(begun) == Config()


def test_where_nothing_was_crawled_any_file_will_do(tmp_path: Path) -> None:
    assert load_crawl_config(tmp_path, KEPT) == KEPT
    written(tmp_path, "format = 2\n")
    assert load_crawl_config(tmp_path) == Config()
    with pytest.raises(ConfigError, match="does not exist"):
        load_crawl_config(tmp_path / "nowhere")


def test_a_file_of_an_older_version_is_read_and_then_written_anew(begun: Path) -> None:
    path = written(begun, 'seeds = ["http://a.test/"]\n[limits]\nmax_pages = 5\n')
    config = load_crawl_config(begun)
    assert config == Config(seeds=("http://a.test/",), limits=LimitsConfig(max_pages=5))
    save_crawl_config(begun, config)
    assert path.read_text().startswith("format = 2\n")
    assert load_crawl_config(begun) == config


@pytest.mark.parametrize("number", ["1", "3", "0", "-2", "2.0", '"2"', "true", "[2]"])
def test_a_format_that_is_not_known_is_refused(tmp_path: Path, number: str) -> None:
    path = written(tmp_path, f"format = {number}\n")
    with pytest.raises(ConfigError, match=r"has format .* reads format 2"):
        load_config(path)


def test_a_file_that_was_edited_by_hand_is_read_and_left_as_it_is(begun: Path) -> None:
    path = begun / "crawl.toml"
    text = path.read_text().replace("\n", "\r\n").replace("max_pages = 50", "max_pages = 60")
    path.write_text("# mine\n" + text + "\n# more\n")
    edited = path.read_bytes()
    config = load_crawl_config(begun)
    assert config.limits.max_pages == 60
    assert changed_since_last_start(begun, config, config) == ["limits.max_pages: 50 -> 60"]
    save_crawl_config(begun, config)
    assert path.read_bytes() == edited
    assert changed_since_last_start(begun, config, config) == []


def test_of_secrets_only_a_checksum_is_kept_beside_the_state(begun: Path) -> None:
    fetch = FetchConfig(auth={"a.test": "u:SECRET"}, headers=("X: SECRET",))
    config = Config(seeds=KEPT.seeds, fetch=fetch)
    public = save_crawl_config(begun, config)
    copy = begun / "state" / "crawl.toml"
    assert "SECRET" not in copy.read_text()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert changed_since_last_start(begun, public, config) == []
    other = Config(seeds=KEPT.seeds, fetch=FetchConfig(headers=("X: SECRET2",)))
    assert changed_since_last_start(begun, public, other) == [
        "fetch.headers: changed (not shown)",
    ]


def test_secrets_move_out_of_crawl_toml_and_that_is_told(begun: Path) -> None:
    path = written(
        begun,
        'format = 2\nseeds = ["http://a.test/"]\n'
        '[fetch]\nheaders = ["X: SECRET", "Accept-Language: de", "Y: env:Y"]\n'
        'proxy = "http://me:SECRET@proxy.test:3128/"\n'
        '[host."a.test"]\nauth = "u:SECRET"\ncookies = "c=SECRET"\n'
        f"{CLOSING}\n",
    )
    old = load_crawl_config(begun)
    assert [line for line in changed_since_last_start(begun, old, old) if "moved" in line] == [
        "fetch.headers: moved to secrets.toml",
        "fetch.proxy: moved to secrets.toml",
        'host."a.test".cookies: moved to secrets.toml',
        'host."a.test".auth: moved to secrets.toml',
    ]
    public = save_crawl_config(begun, old)
    kept = begun / "secrets.toml"
    assert kept.read_text().count("SECRET") == 4
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for file in (path, begun / "state" / "crawl.toml"):
        assert "SECRET" not in file.read_text()
    assert load_crawl_config(begun) == public
    assert public.fetch.headers == ("Accept-Language: de", "Y: env:Y")
    assert public.fetch.proxy == "http://proxy.test:3128/"
    assert public.fetch.secrets == ("X", "proxy")
    assert public.host["a.test"].secrets == ("cookies", "auth")
    whole = with_secrets(public, read_secrets(begun))
    assert separate(whole) == separate(old)
    assert changed_since_last_start(begun, public, public) == []


def test_a_kill_between_the_two_files_leaves_every_secret_somewhere(begun: Path) -> None:
    text = 'format = 2\nseeds = ["http://a.test/"]\n[fetch]\nauth = {"a.test" = "u:SECRET"}\n'
    path = written(begun, f"{text}{CLOSING}\n")
    old = load_crawl_config(begun)
    path.chmod(0o400)
    (begun / "crawl.toml.tmp").mkdir()  # so that crawl.toml cannot be replaced
    with pytest.raises(CannotGoOn, match=r"crawl\.toml cannot be written"):
        save_crawl_config(begun, old)
    assert load_crawl_config(begun) == old
    assert read_secrets(begun).fetch.auth == {"a.test": "u:SECRET"}
    (begun / "crawl.toml.tmp").rmdir()
    save_crawl_config(begun, load_crawl_config(begun))
    assert "SECRET" not in path.read_text()
    assert read_secrets(begun).fetch.auth == {"a.test": "u:SECRET"}


def test_a_damaged_copy_of_the_last_start_says_nothing_and_is_replaced(begun: Path) -> None:
    copy = begun / "state" / "crawl.toml"
    whole = copy.read_bytes()
    for damage in (b"", b"\0\0", whole[:-9], b"zz = 1\n"):
        copy.write_bytes(damage)
        assert changed_since_last_start(begun, KEPT, KEPT) == []
        save_crawl_config(begun, KEPT)
        assert copy.read_bytes() == whole


def test_a_damaged_file_is_not_replaced_by_settings_that_are_given(begun: Path) -> None:
    assert stored_config(begun) == KEPT
    (begun / "crawl.toml").write_bytes(b"")
    with pytest.raises(CannotGoOn, match="has no seeds"):
        stored_config(begun)
    (begun / "crawl.toml").unlink()
    assert stored_config(begun) is None


def test_a_question_is_answered_by_the_settings_of_the_last_start_if_the_file_is_damaged(
    begun: Path,
) -> None:
    path = begun / "crawl.toml"
    path.write_text(path.read_text().replace("//a.test/", "//b.test/"))
    edited = load_crawl_config(begun)
    assert edited != KEPT
    assert readable_config(begun) == edited
    for damage in (b"", b"\0\0", b"zz = 1\n"):
        path.write_bytes(damage)
        assert readable_config(begun) == KEPT
    path.unlink()
    assert readable_config(begun) == KEPT
    (begun / "state" / "crawl.toml").write_bytes(b"\0\0")
    assert readable_config(begun) == Config()
