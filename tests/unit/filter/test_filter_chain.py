"""Each filter refuses what it is for, under its own name, and the first objection wins."""

import sys
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gossamer.config import FilterConfig, UrlConfig
from gossamer.errors import ConfigError
from gossamer.filter import (
    FilterChain,
    FilterRules,
    UserFilter,
    as_user_filter,
    build_chain,
    url_filter,
)
from gossamer.model import Link, LinkKind, Objection, Reject, Task, Url
from gossamer.urls import Patterns, parse

SEED = "http://www.example.org/docs/index.html"


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


def link(text: str, kind: LinkKind = LinkKind.ANCHOR, rel: str = "") -> Link:
    return Link(target=url(text), kind=kind, rel=rel)


def chain(
    *,
    seeds: tuple[str, ...] = (SEED,),
    host_count: Callable[[str], int] | None = None,
    **knobs: Any,
) -> FilterChain:
    config = FilterConfig(**{"scope": "any", **knobs})
    count = host_count or (lambda _host: 0)
    return build_chain(config, [url(seed) for seed in seeds], count, follow_embeds=False)


def chain_of(own: UserFilter) -> FilterChain:
    return FilterChain(FilterRules(filters=(own,), of_users=(own,)))


def reason(filters: FilterChain, text: str, **given: Any) -> Reject | None:
    depth, source = given.pop("depth", 1), given.pop("source", SEED)
    objection = filters.judge(link(text, **given), depth, source)
    return objection.reason if objection else None


@pytest.mark.parametrize(
    "text", ["mailto:a@b", "javascript:x()", "data:,x", "ws://h/", "about:blank"]
)
def test_what_cannot_be_fetched_is_refused_by_scheme(text: str) -> None:
    assert reason(chain(), text) is Reject.SCHEME


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("h.test/x*", "http://h.test:8100/xy", "http://h.test.evil/xy"),
        ("h.test:80/x*", "http://h.test:80/xy", "http://h.test:8100/xy"),
        ("http://h.test/x*", "http://h.test/xy", "http://h.test:8100/xy"),
        ("*.h.test/x*", "https://a.h.test:81/xy", "https://a.h.test:81/y"),
        ("docs-*.h.test/x/*", "http://docs-1.h.test:9/x/y", "http://docs.h.test:9/x/y"),
        ("[::1]/x", "http://[::1]:8100/x", "http://[::2]:8100/x"),
    ],
)
def test_a_pattern_without_a_port_and_a_scheme_holds_for_any(
    pattern: str, yes: str, no: str
) -> None:
    found = Patterns([pattern])
    assert found.match_url(yes) == pattern
    assert not found.match_url(no)


FILE, FTP = "file:///etc/passwd", "ftp://h.example/x"


@pytest.mark.parametrize("text", [FILE, FTP, "gopher://h.example/x"])
def test_other_schemes_than_of_the_web_are_refused_from_web_pages_but_not_as_seeds(
    text: str,
) -> None:
    filters = chain()
    assert reason(filters, text) is Reject.SCHEME
    assert reason(filters, text, kind=LinkKind.REDIRECT) is Reject.SCHEME
    assert reason(filters, text, kind=LinkKind.SEED, source="") is None


def test_the_schemes_of_the_seeds_are_followed_but_no_web_page_leads_to_this_machine() -> None:
    filters = chain(seeds=(SEED, FTP, FILE))
    assert reason(filters, FTP) is None
    assert reason(filters, FILE) is Reject.SCHEME
    assert reason(filters, FILE, source=FTP) is Reject.SCHEME
    assert reason(filters, FILE, source=FILE) is None
    assert reason(filters, SEED, source=FTP) is None


def test_a_seed_that_is_added_brings_its_scheme() -> None:
    filters = chain()
    assert reason(filters, FTP) is Reject.SCHEME
    filters.add_seed(url(FTP))
    assert reason(filters, FTP) is None


def test_the_schemes_that_are_wanted_are_followed_and_others_are_not() -> None:
    filters = chain(schemes=("ftp", "file"))
    assert reason(filters, FTP) is None
    assert reason(filters, "https://h.example/") is None  # the seed is of the web
    assert reason(filters, FILE) is Reject.SCHEME
    assert reason(chain(seeds=(FTP,), schemes=("ftp",)), SEED, source=FTP) is Reject.SCHEME


@pytest.mark.parametrize("port", [22, 25, 6379, 6667, 11211])
def test_ports_of_other_protocols_are_refused(port: int) -> None:
    assert reason(chain(), f"http://h.example:{port}/") is Reject.BAD_PORT


@pytest.mark.parametrize("text", ["http://h/", "https://h/", "http://h:8100/", "http://[::1]/"])
def test_ordinary_ports_are_fine(text: str) -> None:
    assert reason(chain(), text) is None


@pytest.mark.parametrize(
    ("pattern", "text", "is_blocked"),
    [
        ("bad.example", "http://bad.example/x", True),
        ("bad.example", "http://www.bad.example/x", False),
        ("*.bad.example", "http://www.bad.example/x", True),
        ("*.bad.example", "http://a.b.bad.example:8100/x", True),
        ("*.bad.example", "http://bad.example/x", True),
        ("*.bad.example", "http://notbad.example/x", False),
        ("BAD.example", "http://bad.example./x", True),
        ("bücher.example", "http://xn--bcher-kva.example/", True),
        ("*.bücher.example", "http://a.xn--bcher-kva.example/", True),
        ("docs-*.example", "http://docs-ant.example/", True),
        ("docs-*.example", "http://docs.example/", False),
        ("127.0.*", "http://127.0.0.1/", True),
        ("[::1]", "http://[::1]:8100/", True),
        ("*", "http://anything/", True),
        ("*/private/*", "http://h/a/private/b", True),
        ("*/private/*", "http://h/a/private", False),
        ("http://h/x*", "http://h/xyz", True),
        ("http://h/x*", "https://h/xyz", False),
        ("h/x*", "https://h/xyz", True),
        ("h/x*", "https://other/h/xyz", False),
        ("/private/*", "https://h:81/private/x", True),
        ("/private/*", "https://h/a/private/x", False),
        ("*/a.php?*id=1*", "http://h/a.php?id=1&b=2", True),
        ("*/a.b", "http://h/aXb", False),
    ],
)
def test_a_block_pattern_matches_what_its_documentation_says(
    pattern: str, text: str, *, is_blocked: bool
) -> None:
    assert reason(chain(block=(pattern,)), text) is (Reject.BLOCKED if is_blocked else None)


def test_an_objection_names_the_pattern_that_decided() -> None:
    filters = chain(block=("*.bad.example", "*/private/*", "*/x*y"))
    for text, pattern in [
        ("http://www.bad.example/", "*.bad.example"),
        ("http://h/private/", "*/private/*"),
        ("http://h/x1y", "*/x*y"),
    ]:
        assert filters.judge(link(text), 1, SEED) == Objection(Reject.BLOCKED, pattern)


def test_a_pattern_with_many_stars_is_quick_even_on_a_hostile_url() -> None:
    filters = chain(block=("*/" + "a*" * 30 + "b",))
    assert reason(filters, "http://h/" + "a" * 60_000) is Reject.TOO_LONG


def test_a_blocklist_file_adds_to_the_block_list(tmp_path: Path) -> None:
    path = tmp_path / "block.txt"
    path.write_text("# what we avoid\n\nbad.example  # the worst\n*/ads/*\n")
    filters = chain(blocklist=str(path), block=("worse.example",))
    for text in ("http://bad.example/", "http://h/ads/x", "http://worse.example/"):
        assert reason(filters, text) is Reject.BLOCKED
    assert reason(filters, "http://h/") is None


def test_with_an_allow_list_only_what_matches_is_wanted_seeds_too() -> None:
    filters = chain(allow=("*.test", "*/open/*"), block=("no.test",))
    assert reason(filters, "http://a.test/") is None
    assert reason(filters, "http://else.example/open/x") is None
    assert reason(filters, "http://else.example/") is Reject.NOT_ALLOWED
    assert reason(filters, SEED, kind=LinkKind.SEED, source="") is Reject.NOT_ALLOWED
    assert reason(filters, "http://no.test/") is Reject.BLOCKED


@pytest.mark.parametrize(
    ("reach", "wanted", "unwanted"),
    [
        ("any", ["http://else.example/"], []),
        ("domain", ["http://a.example.org/", "https://example.org/"], ["http://example.net/"]),
        ("host", ["https://www.example.org/x"], ["http://a.example.org/", "http://example.org/"]),
        (
            "prefix",
            ["http://www.example.org/docs/a", "https://www.example.org/docs/?x"],
            ["http://www.example.org/", "http://www.example.org/docs2", "http://example.org/docs/"],
        ),
    ],
)
def test_scope_reaches_as_far_as_it_was_told(
    reach: str, wanted: list[str], unwanted: list[str]
) -> None:
    filters = chain(scope=reach)
    assert {reason(filters, text) for text in wanted} == {None}
    assert {reason(filters, text) for text in unwanted} <= {Reject.OFF_SCOPE}


@pytest.mark.parametrize("reach", ["domain", "host", "prefix"])
def test_a_seed_added_to_a_running_crawl_widens_the_scope(reach: str) -> None:
    filters = chain(scope=reach)
    assert reason(filters, "http://new.example/a/b") is Reject.OFF_SCOPE
    filters.add_seed(url("http://new.example/a/"))
    assert reason(filters, "http://new.example/a/b") is None


def test_nofollow_links_are_refused() -> None:
    assert reason(chain(), "http://h/", rel="external nofollow") is Reject.NOFOLLOW
    assert reason(chain(), "http://h/", rel="external") is None


def test_long_urls_are_refused() -> None:
    filters = chain(max_url_chars=20)
    assert reason(filters, "http://h/" + "a" * 11) is None
    assert reason(filters, "http://h/" + "a" * 12) is Reject.TOO_LONG


def test_unwanted_extensions_are_refused_unless_a_seed_or_sitemap_names_the_file() -> None:
    filters = chain(block_extensions=("zip", ".GZ"))
    assert reason(filters, "http://h/a.ZIP") is Reject.EXTENSION
    assert reason(filters, "http://h/a.tar.gz?x=y.html") is Reject.EXTENSION
    assert reason(filters, "http://h/a.zip/") is None
    assert reason(filters, "http://h.zip") is None
    assert reason(filters, "http://h/zip") is None
    assert reason(filters, "http://h/get?file=a.zip") is None
    assert reason(filters, "http://h/s.xml.gz", kind=LinkKind.SITEMAP) is None
    assert reason(filters, "http://h/a.zip", kind=LinkKind.SEED) is None


def test_deep_links_are_refused_when_a_depth_is_given() -> None:
    assert reason(chain(max_depth=2), "http://h/", depth=3) is Reject.TOO_DEEP
    assert reason(chain(max_depth=2), "http://h/", depth=2) is None
    assert reason(chain(), "http://h/", depth=1_000) is None


@pytest.mark.parametrize(
    ("target", "is_trap"),
    [
        ("/a/a/b", False),
        ("/a/a/a", True),
        ("/x/a/a/a/y", True),
        ("/a/b/a/b", False),
        ("/a/b/a/b/a/b", True),
        ("/a/b/c/a/b/c/a/b/c/index.html", True),
        ("/a/b/a/c/a/d/a", False),
        ("/a/ab/abc", False),
        ("/a/a/ab", False),
        ("/docs/en/a/docs/en/b/docs/en", False),
        ("/a////b", True),
        ("/a//b/http://h/x", False),
        ("/" + "/".join(map(str, range(24))), False),
        ("/" + "/".join(map(str, range(25))), True),
        ("/?a=1&a=2&a=3", False),
        ("/?a=1&b=2&a=1&b=2&a=1", True),
        ("/?x=/a/a/a", False),
    ],
)
def test_paths_that_go_round_in_circles_are_refused(target: str, *, is_trap: bool) -> None:
    expected = Reject.REPEATED_SEGMENTS if is_trap else None
    assert reason(chain(), f"http://h{target}") is expected


def test_a_host_has_a_budget() -> None:
    filters = chain(max_urls_per_host=10, host_count={"full.example": 10}.__getitem__)
    assert reason(filters, "http://full.example/") is Reject.HOST_BUDGET


def test_the_links_of_one_page_share_the_budget() -> None:
    filters = chain(max_urls_per_host=10, host_count={"a.example": 7, "b.example": 0}.__getitem__)
    links = [link(f"http://{host}.example/{n}") for n in range(20) for host in "ab"]
    for _ in range(2):
        kept, refused = filters.keep(links, 1, "http://a.example/")
        assert Counter(found.target.host for found in kept) == {"a.example": 3, "b.example": 10}
        assert refused == {"host_budget": 27}
    assert reason(filters, "http://a.example/") is None


def test_the_first_objection_wins() -> None:
    filters = chain(scope="host", block=("bad.example",), max_depth=0)
    assert reason(filters, "http://bad.example/a.zip") is Reject.BLOCKED
    assert reason(filters, "http://else.example/a.zip") is Reject.OFF_SCOPE
    assert reason(filters, "http://www.example.org/a.zip") is Reject.EXTENSION
    assert reason(filters, "http://www.example.org/a") is Reject.TOO_DEEP


def test_keep_returns_the_wanted_links_and_counts_the_rest_by_reason() -> None:
    filters = chain(scope="host")
    links = [
        link("http://www.example.org/a"),
        link("http://else.example/"),
        link("http://other.example/"),
        link("mailto:a@b"),
        link("http://www.example.org/form", LinkKind.FORM),
        link("http://www.example.org/i.png", LinkKind.IMAGE),
        link("http://www.example.org/b", LinkKind.FRAME),
    ]
    assert filters.keep(links, 1, SEED) == (
        [links[0], links[6]],
        {"off_scope": 2, "scheme": 1},
    )


def test_embeds_are_candidates_only_when_asked_for() -> None:
    filters = build_chain(FilterConfig(scope="any"), [], lambda _host: 0, follow_embeds=True)
    image, form = link("http://h/i.png", LinkKind.IMAGE), link("http://h/f", LinkKind.FORM)
    assert filters.keep([image, form], 1, SEED) == ([image], {})


def test_a_users_filter_refuses_with_its_own_words() -> None:
    @url_filter
    def no_print_views(found: Link) -> str | None:
        return "print view" if found.target.text.endswith("/print") else None

    @url_filter
    def no_b(found: Link) -> str:
        return "a b" if "b" in found.target.text else ""

    filters = build_chain(
        FilterConfig(scope="any"),
        [],
        lambda _host: 0,
        follow_embeds=False,
        extra=[no_print_views, no_b],
    )
    assert filters.judge(link("http://h/print"), 1) == Objection(Reject.USER, "print view")
    assert filters.judge(link("http://h/b"), 1) == Objection(Reject.USER, "a b")
    assert filters.judge(link("http://h/c"), 1) is None


def test_a_users_filter_that_breaks_refuses_the_link_and_says_why() -> None:
    @url_filter
    def broken(found: Link) -> str:
        return {"a": "b"}[found.text]

    objection = chain_of(broken).judge(link("http://h/"), 1)
    assert objection is not None
    assert objection.reason is Reject.FILTER_FAILED
    assert "broken failed: KeyError" in objection.detail


def test_a_users_filter_that_returns_what_is_neither_true_nor_false_is_broken() -> None:
    class Neither:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

        def __repr__(self) -> str:
            return "neither"

    @url_filter
    def undecided(_found: Link) -> str:
        return Neither()  # type: ignore[return-value] # as an array of numpy would

    objection = chain_of(undecided).judge(link("http://h/"), 1)
    told = "TypeError: expected a text or None, found neither"
    assert objection == Objection(Reject.FILTER_FAILED, f"undecided failed: {told}")


def test_every_exception_of_a_users_filter_is_reported() -> None:
    @url_filter
    def broken(found: Link) -> str:
        return {"a": "b"}[found.text]

    errors: list[tuple[str, str]] = []
    filters = chain_of(broken).reporting_to(lambda *told: errors.append(told))
    filters.judge(link("http://h/1"), 1)
    filters.judge(link("http://h/2"), 1)
    assert [name for name, _ in errors] == ["filter broken"] * 2
    assert all(error.startswith("KeyError: ") for _, error in errors)


@pytest.mark.parametrize("returned", [None, False, ""])
def test_a_filter_of_the_users_own_that_says_nothing_objects_to_nothing(returned: object) -> None:
    mine = url_filter(lambda _link: returned)  # type: ignore[arg-type,return-value]
    assert mine(link("http://h/"), 0, "") is None


@pytest.mark.parametrize("returned", [17, True, b"no", ["no"]])
def test_a_users_filter_that_returns_no_text_refuses_the_link_and_is_reported(
    returned: object,
) -> None:
    @url_filter
    def odd(_found: Link) -> str | None:
        return returned  # type: ignore[return-value]

    errors: list[tuple[str, str]] = []
    filters = chain_of(odd).reporting_to(lambda *told: errors.append(told))
    told = f"TypeError: expected a text or None, found {returned!r}"
    assert filters.judge(link("http://h/"), 1) == Objection(
        Reject.FILTER_FAILED, f"odd failed: {told}"
    )
    assert errors == [("filter odd", told)]


@pytest.mark.parametrize("error", [SystemExit(7), CancelledError(), GeneratorExit()])
def test_a_users_filter_that_wants_to_end_the_program_refuses_the_link(
    error: BaseException,
) -> None:
    @url_filter
    def leaving(_found: Link) -> str | None:
        raise error

    objection = chain_of(leaving).judge(link("http://h/"), 1)
    assert objection is not None
    assert f"leaving failed: {type(error).__name__}" in objection.detail


def test_ctrl_c_in_a_users_filter_is_not_the_filters_error() -> None:
    @url_filter
    def interrupted(_found: Link) -> str | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chain_of(interrupted).judge(link("http://h/"), 1)


def test_a_filter_of_all_three_arguments_is_guarded_as_well() -> None:
    def from_afar(found: Link, depth: int, source: str) -> Objection | None:
        if not source:
            raise SystemExit(7)
        return Objection(Reject.USER, f"{found.target.host} {depth}") if depth > 1 else None

    guarded = as_user_filter(from_afar)
    assert as_user_filter(guarded) is guarded
    filters = chain_of(guarded)
    assert filters.judge(link("http://h/"), 1, SEED) is None
    assert filters.judge(link("http://h/"), 2, SEED) == Objection(Reject.USER, "h 2")
    assert filters.judge(link("http://h/"), 2) == Objection(
        Reject.FILTER_FAILED, "from_afar failed: SystemExit: 7"
    )


def test_a_users_filter_is_found_by_its_module_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_filters")
    module.__dict__["no_x"] = lambda found: "an x" if "x" in found.target.text else None
    module.__dict__["no_y"] = url_filter(lambda found: "a y" if "y" in found.target.text else None)
    monkeypatch.setitem(sys.modules, "my_filters", module)
    filters = chain(user_filters=("my_filters:no_x", "my_filters:no_y"))
    assert filters.judge(link("http://h/x"), 1) == Objection(Reject.USER, "an x")
    assert reason(filters, "http://h/y") is Reject.USER
    assert reason(filters, "http://h/z") is None


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"block": ("a b",)}, "without blanks"),
        ({"block": ("",)}, "without blanks"),
        ({"allow": ("h.example:80",)}, "without port"),
        ({"allow": ("h.example:8100",)}, "without port"),
        ({"block": ("http:",)}, "host"),
        ({"block": ("*.a?.*",)}, "letters, digits"),
        ({"blocklist": "/does/not/exist"}, "text file"),
        ({"user_filters": ("nothing",)}, "module:function"),
        ({"user_filters": ("no_such_module_here:f",)}, "PYTHONPATH"),
        ({"user_filters": ("sys:no_such_function",)}, "found NoneType"),
    ],
)
def test_a_bad_pattern_or_filter_is_a_clear_configuration_error(
    knobs: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        chain(**knobs)
    assert "\n" not in str(caught.value)


OWN_SEEDS = ("http://x.org/docs/a", "http://y.org/b/", "http://www.z.org/")
OWN = ("http://x.org/docs/2", "http://x.org/q", "http://sub.x.org/", "http://y.org/q")
OWN += ("http://sub.y.org/", "http://z.org/", "http://www.z.org/2", "http://v.org/")


@pytest.mark.parametrize(
    ("usual", "own", "wanted"),
    [
        ("domain", {}, "111 1111 0"),
        ("domain", {"x.org": "prefix"}, "100 1111 0"),
        ("domain", {"x.org": "host"}, "110 1111 0"),
        ("domain", {"x.org": "domain"}, "111 1111 0"),
        ("domain", {"x.org": "any"}, "110 1111 0"),
        ("domain", {"v.org": "any"}, "111 1111 1"),
        ("domain", {"v.org": "domain"}, "111 1111 0"),
        ("domain", {"sub.x.org": "host"}, "110 1111 0"),
        ("domain", {"sub.x.org": "prefix"}, "110 1111 0"),
        ("host", {}, "110 1001 0"),
        ("host", {"x.org": "domain"}, "111 1001 0"),
        ("host", {"sub.y.org": "domain"}, "110 1101 0"),
        ("host", {"www.z.org": "domain"}, "110 1011 0"),
        ("prefix", {}, "100 0001 0"),
        ("prefix", {"y.org": "host"}, "100 1001 0"),
        ("prefix", {"y.org": "domain", "sub.y.org": "host"}, "100 1001 0"),
        ("any", {}, "111 1111 1"),
        ("any", {"x.org": "prefix", "v.org": "host"}, "101 1111 0"),
    ],
)
def test_a_host_may_have_a_scope_of_its_own(usual: Any, own: dict[str, Any], wanted: str) -> None:
    seeds = [url(seed) for seed in OWN_SEEDS]
    filters = build_chain(
        FilterConfig(scope=usual), seeds, lambda _host: 0, follow_embeds=False, scopes=own
    )
    found = "".join("01"[filters.judge(link(text), 1, SEED) is None] for text in OWN)
    assert found == wanted.replace(" ", "")


def test_a_seed_that_is_added_widens_the_scope_by_its_own() -> None:
    filters = build_chain(
        FilterConfig(scope="domain"),
        [url(SEED)],
        lambda _host: 0,
        follow_embeds=False,
        scopes={"x.org": "host"},
    )
    assert reason(filters, "http://x.org/") is Reject.OFF_SCOPE
    filters.add_seed(url("http://x.org/a/"))
    assert reason(filters, "http://x.org/") is None
    assert reason(filters, "http://sub.x.org/") is Reject.OFF_SCOPE


def queued(text: str, kind: LinkKind = LinkKind.ANCHOR, depth: int = 1) -> Task:
    return Task(url=url(text), kind=kind, depth=depth, via=SEED)


@pytest.mark.parametrize(
    ("knobs", "text", "expected"),
    [
        ({"block": ("http://h/x*",)}, "http://h/x1", Reject.BLOCKED),
        ({"block": ("h",)}, "http://h/", Reject.BLOCKED),
        ({"allow": ("other.example",)}, "http://h/", Reject.NOT_ALLOWED),
        ({"scope": "host"}, "http://h/", Reject.OFF_SCOPE),
        ({"max_depth": 0}, "http://h/", Reject.TOO_DEEP),
        ({"max_url_chars": 9}, "http://h/abcdef", Reject.TOO_LONG),
        ({"block_extensions": ("css",)}, "http://h/a.css", Reject.EXTENSION),
        ({}, "http://h/a/a/a/a/a", Reject.REPEATED_SEGMENTS),
        ({"block": ("other.example",)}, "http://h/", None),
    ],
)
def test_rules_are_asked_about_what_is_queued(
    knobs: dict[str, Any], text: str, expected: Reject | None
) -> None:
    objection = chain(**knobs).judge_queued(queued(text))
    assert (objection.reason if objection else None) is expected


def test_a_host_that_has_used_up_its_budget_keeps_what_is_queued() -> None:
    filters = chain(host_count=lambda _host: 10**9)
    assert reason(filters, "http://h/") is Reject.HOST_BUDGET
    assert filters.judge_queued(queued("http://h/")) is None


def test_embeds_that_are_queued_are_not_followed_when_they_are_no_longer_wanted() -> None:
    objection = chain().judge_queued(queued("http://h/a.bin", LinkKind.IMAGE))
    assert objection == Objection(Reject.NOT_FOLLOWED, "as image")


def test_chains_have_the_same_checksum_if_they_refuse_the_same(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("a.example\n")
    knobs: list[dict[str, Any]] = [
        {},
        {"block": ("h",)},
        {"allow": ("h",)},
        {"scope": "prefix"},
        {"max_depth": 3},
        {"blocklist": str(listed)},
        {"seeds": (SEED, "http://h/")},
    ]
    sums = [chain(**given).checksum for given in knobs]
    assert sums == [chain(**given).checksum for given in knobs]
    assert len({*sums, 0}) == len(knobs) + 1
    listed.write_text("b.example\n")
    assert chain(blocklist=str(listed)).checksum not in sums


def test_only_filters_of_users_make_each_start_another() -> None:
    @url_filter
    def own(_found: Link) -> str | None:
        return None

    def of(*extra: UserFilter, run: int) -> int:
        config = FilterConfig()
        none: tuple[Url, ...] = ()
        made = build_chain(config, none, lambda _: 0, follow_embeds=False, extra=extra, run=run)
        return made.checksum

    assert of(run=1) == of(run=2)
    assert of(own, run=1) != of(own, run=2)


def test_a_chain_judges_by_the_rules_that_it_adopts() -> None:
    filters, other = chain(), chain(block=("h",))
    filters.adopt(other)
    assert filters.checksum == other.checksum
    assert reason(filters, "http://h/") is Reject.BLOCKED
    filters.add_seed(url("http://new.example/"))


@pytest.mark.parametrize("name", ["text", "rel", "is_nofollow", "is_sitemap"])
def test_a_filter_that_wants_to_know_what_was_not_kept_has_nothing_against_a_queued_url(
    name: str,
) -> None:
    errors: list[tuple[str, str]] = []

    @url_filter
    def own(found: Link) -> str | None:
        return "x" if "x" in found.target.text else f"{getattr(found, name)}!"

    filters = chain_of(own).reporting_to(lambda *told: errors.append(told))
    assert filters.judge_queued(queued("http://h/")) is None
    assert filters.judge_queued(queued("http://h/x")) == Objection(Reject.USER, "x")
    assert errors == []


def test_a_filter_that_wants_of_a_queued_link_what_no_link_has_is_broken() -> None:
    @url_filter
    def own(found: Link) -> str | None:
        return str(found.wrong)  # type: ignore[attr-defined] # a bug of the user

    objection = chain_of(own).judge_queued(queued("http://h/"))
    assert objection == Objection(Reject.FILTER_FAILED, "own failed: AttributeError: wrong")
