"""Flags: a flag turns its knob; one that is not given leaves it alone."""

import pytest

from gossamer.cli.flags import FLAGS, max_time_of, with_flags
from gossamer.config import Config, FilterConfig, LimitsConfig
from gossamer.errors import ConfigError
from gossamer.settings import describe_knobs


def test_no_flags_change_nothing() -> None:
    config = Config(limits=LimitsConfig(max_pages=7))
    assert with_flags(config, {}) == config
    assert with_flags(config, {flag.parameter: None for flag in FLAGS}) == config


def test_a_flag_turns_its_knob_and_leaves_its_neighbours_alone() -> None:
    old = Config(limits=LimitsConfig(max_pages=7, max_bytes=9))
    new = with_flags(old, {"max_pages": 8})
    assert new == Config(limits=LimitsConfig(max_pages=8, max_bytes=9))


def test_a_repeatable_flag_replaces_the_list() -> None:
    old = Config(filter=FilterConfig(allow=("a.test", "b.test")))
    assert with_flags(old, {"allow": ["c.test"]}).filter.allow == ("c.test",)
    assert with_flags(old, {"allow": []}).filter.allow == ("a.test", "b.test")


def test_tables_are_read_from_pairs() -> None:
    given = {
        "resolve": ["A.test:127.0.0.1", "b.test:::1"],
        "auth": ["a.test=user:pa:ss=word"],
    }
    fetch = with_flags(Config(), given).fetch
    assert fetch.resolve == {"a.test": "127.0.0.1", "b.test": "::1"}
    assert fetch.auth == {"a.test": "user:pa:ss=word"}


def test_a_switch_can_be_turned_off_again() -> None:
    on = with_flags(Config(), {"insecure": True})
    assert on.fetch.insecure
    assert not with_flags(on, {"insecure": False}).fetch.insecure
    assert with_flags(on, {"insecure": None}).fetch.insecure


def test_a_delay_of_zero_is_given_and_not_forgotten() -> None:
    assert with_flags(Config(), {"delay": 0.0}).politeness.delay_s == 0.0
    assert with_flags(Config(), {"max_pages": 0}).limits.max_pages == 0


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"max_pages": -1}, "--max-pages: expected an integer ≥ 0, or not set, found -1"),
        ({"scope": "x"}, '--scope: expected one of "any", "domain"'),
        ({"order": "worst"}, '--order: expected one of "best", "bfs", "dfs", "opic"'),
        ({"resolve": ["a.test"]}, "--resolve: expected HOST:ADDR, found 'a.test'"),
        ({"resolve": ["a.test:b.test"]}, "--resolve: expected an IP address"),
        ({"auth": ["nobody"]}, "--auth: expected HOST=USER:PASS"),
        ({"header": ["no colon"]}, '--header: expected "Name: value"'),
        ({"allow_net": ["10.0.0.0/99"]}, "--allow-net: expected a network"),
        ({"concurrency": 0}, "--concurrency: expected an integer from 1 to 4096, found 0"),
        ({"delay": float("nan")}, "--delay: expected a number ≥ 0"),
        ({"max_pages": "many"}, "--max-pages: expected a whole number such as 10000, 10k or 2M"),
        ({"max_pages": "1.0001k"}, "--max-pages: expected a whole number"),
        ({"max_bytes": "10XB"}, "--max-bytes: expected a size in bytes such as 500000, 10M"),
        ({"delay": "soon"}, "--delay: expected seconds, or a time such as 90s, 5m, 2h"),
        ({"delay": "-1"}, "--delay: expected seconds, or a time"),
        ({"delay": "."}, "--delay: expected seconds, or a time"),
    ],
)
def test_a_wrong_value_is_named_by_its_flag(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_flags(Config(), given)
    assert complaint in str(caught.value)


def test_every_flag_turns_a_knob_that_exists() -> None:
    knobs = {knob.path for knob in describe_knobs()}
    assert {flag.knob for flag in FLAGS} <= knobs
    assert len({flag.parameter for flag in FLAGS}) == len(FLAGS)


@pytest.mark.parametrize(
    ("text", "count"),
    [("7", 7), ("10k", 10_000), ("2M", 2_000_000), ("1.5k", 1500), ("10,000", 10_000)],
)
def test_counts_are_read_with_their_suffixes(text: str, count: int) -> None:
    assert with_flags(Config(), {"max_pages": text}).limits.max_pages == count


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("500", 500), ("500B", 500), ("10k", 10 * 1024), ("2M", 2 * 1024**2)),
        *(("2MiB", 2 * 1024**2), ("10GB", 10**10), ("1.5 kB", 1500), ("1T", 1024**4)),
    ],
)
def test_sizes_are_read_as_curl_and_wget_read_them(text: str, size: int) -> None:
    assert with_flags(Config(), {"max_bytes": text}).limits.max_bytes == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("90", 90.0), ("0.5", 0.5), (".5", 0.5), ("2.", 2.0), (".5m", 30.0)],
        *[("90s", 90.0), ("5m", 300.0), ("1h30m", 5400.0), ("1d", 86400.0)],
    ],
)
def test_times_are_read_with_their_units(text: str, seconds: float) -> None:
    assert max_time_of({"max_time": text}) == seconds
    assert with_flags(Config(), {"delay": text}).politeness.delay_s == seconds


def test_a_time_limit_of_one_run_is_not_a_setting() -> None:
    assert with_flags(Config(), {"max_time": "90s"}) == Config()
    assert max_time_of({}) is None
