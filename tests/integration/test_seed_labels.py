"""Labels of seeds travel with what is found from them."""

from pathlib import Path

import pytest

import gossamer
from gossamer import Seed
from gossamer.cli.main import exit_code
from gossamer.testing import FakeServer, ScriptedWeb
from tests.integration.threats import Done, Knobs, serving, settings

SITEMAP = (
    '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    "<url><loc>{}</loc></url></urlset>"
)


def crawl(
    server: FakeServer[ScriptedWeb], folder: Path, *seeds: Seed, knobs: Knobs | None = None
) -> Done:
    """Crawl from labelled seeds until nothing is left."""
    crawl = gossamer.Crawl(folder, seeds, settings(server, knobs))
    return Done(folder, crawl.run(), server)


def labels(done: Done, url: str) -> list[str]:
    return gossamer.why(done.folder, url).labels


def test_what_is_found_from_a_seed_has_its_labels_also_through_redirects_and_sitemaps(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    deep = web.host("deep.test").page("/a/b/page").page("/a/b/").page("/a/").page("/")
    news = web.host("news.test").page("/", links=["/old", deep.url("/a/b/page")])
    news.redirect("/old", to="/new").page("/new", links=["/last"]).page("/last")
    listed = SITEMAP.format(news.page("/listed").url("/listed"))
    news.file("/sitemap.xml", listed.encode(), "application/xml")
    plain = web.host("plain.test").page("/", links=["/more"]).page("/more")
    knobs = {"process": {"sitemaps": True}, "frontier": {"ascend": True}}
    with serving(web) as server:
        seeds = Seed(news.url(), "news, de"), Seed(plain.url())
        done = crawl(server, tmp_path / "c", *seeds, knobs=knobs)
        for target in ("/", "/new", "/last", "/listed", "/sitemap.xml"):
            assert labels(done, news.url(target)) == ["de", "news"], target
        for target in ("/a/b/page", "/a/b/", "/"):
            assert labels(done, deep.url(target)) == ["de", "news"], target
        assert labels(done, plain.url("/more")) == []
    status = gossamer.status(tmp_path / "c")
    assert status.seed_labels == {"de": 8, "news": 8}
    assert status.pages == 10
    assert status.labels == {}


def test_a_page_that_two_seeds_lead_to_has_the_labels_of_both_whenever_it_is_fetched(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    shared = web.host("shared.test").page("/", links=["/below"]).page("/below")
    first = web.host("first.test").page("/", links=[shared.url()])
    path = [f"/{step}" for step in range(6)]
    late = web.host("late.test").page("/", links=path[:1])
    for here, there in zip(path, [*path[1:], shared.url()], strict=True):
        late.page(here, links=[there])
    with serving(web) as server:
        seeds = Seed(first.url(), "first"), Seed(late.url(), "late")
        done = crawl(server, tmp_path / "c", *seeds)
        assert labels(done, shared.url()) == ["first", "late"]
        assert "first" in labels(done, shared.url("/below"))
        counted = gossamer.status(tmp_path / "c").seed_labels
        assert counted["first"] == 3
        before = {url: labels(done, url) for url in (shared.url(), late.url("/3"), first.url())}
        assert exit_code(["build", str(tmp_path / "c"), "state"]) == 0
        assert gossamer.status(tmp_path / "c").seed_labels == counted
        assert before == {url: labels(done, url) for url in before}


def test_a_label_that_comes_while_a_page_is_queued_goes_on_to_what_the_page_links_to(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    shared = web.host("shared.test").page("/", links=["/below"]).page("/below")
    one = web.host("one.test").page("/", links=[shared.url()])
    two = web.host("two.test").page("/", links=[shared.url()])
    knobs = {"limits": {"max_pages": 2}}
    with serving(web) as server:
        seeds = Seed(one.url(), "one"), Seed(two.url(), "two")
        done = crawl(server, tmp_path / "c", *seeds, knobs=knobs)
        assert done.fate(shared.url())[0] in {"queued", "leased"}
        assert labels(done, shared.url()) == ["one", "two"]
        again = gossamer.Crawl(tmp_path / "c", (), settings(server, {"limits": {"max_pages": 9}}))
        again.run()
        assert labels(done, shared.url("/below")) == ["one", "two"]
    assert gossamer.status(tmp_path / "c").seed_labels == {"one": 3, "two": 3}


def test_no_more_than_four_labels_are_kept_the_first_that_come(tmp_path: Path) -> None:
    web = ScriptedWeb()
    shared = web.host("shared.test").page("/")
    hosts = [web.host(f"{name}.test").page("/", links=[shared.url()]) for name in "abcdef"]
    with serving(web) as server:
        seeds = [Seed(host.url(), host.name[0]) for host in hosts]
        done = crawl(server, tmp_path / "c", *seeds)
        assert len(labels(done, shared.url())) == 4
    counted = gossamer.status(tmp_path / "c").seed_labels
    assert sum(counted.values()) == 6 + 4


def test_a_seed_that_is_given_twice_has_both_labels_and_a_label_can_be_added_later(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/b"]).page("/b")
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", Seed(host.url(), "x"), Seed(host.url("/#top"), "y"))
        assert labels(done, host.url("/b")) == ["x", "y"]
        told = gossamer.open(tmp_path / "c").add([Seed(host.url(), "z")])
        assert told.already_stored == [host.url()]
        assert labels(done, host.url()) == ["x", "y", "z"]
        assert labels(done, host.url("/b")) == ["x", "y"]  # its links are not walked again
        assert gossamer.open(tmp_path / "c").config().seed_labels[host.url()] == "x,z"
        assert exit_code(["build", str(tmp_path / "c"), "state"]) == 0
        assert labels(done, host.url()) == ["x", "y", "z"]
    assert gossamer.status(tmp_path / "c").seed_labels == {"x": 2, "y": 2, "z": 1}


def test_retried_pages_keep_their_labels(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/b"])
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", Seed(host.url(), "x"))
        assert done.fate(host.url("/b")) == ("failed", "not_found")
        host.page("/b", links=["/c"]).page("/c")
        gossamer.open(tmp_path / "c").retry(reasons=["not_found"])
        gossamer.Crawl(tmp_path / "c", (), settings(server)).run()
        assert labels(done, host.url("/c")) == ["x"]
    assert gossamer.status(tmp_path / "c").seed_labels == {"x": 3}


def test_status_and_why_show_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/")
    with serving(web) as server:
        crawl(server, tmp_path / "c", Seed(host.url(), "climate  change"))
    assert exit_code(["status", str(tmp_path / "c")]) == 0
    assert "1 climate change" in capsys.readouterr().out
    assert exit_code(["why", str(tmp_path / "c"), host.url()]) == 0
    assert "climate change" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("label", "told"),
    [("a,b,c,d,e", "5 labels"), ("x" * 65, "too long"), ("a\x07b", "character")],
)
def test_labels_that_cannot_be_meant_are_refused_with_their_line(
    label: str, told: str, tmp_path: Path
) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"http://a.test/ fine\nhttp://b.test/ {label}\n")
    with pytest.raises(gossamer.ConfigError, match=rf"line 2: .*{told}"):
        gossamer.read_seeds(seeds)


@pytest.mark.parametrize(
    ("order", "moves"),
    [("bfs", {"Good": 2, "de": 1}), ("best", {"plain": -3}), ("dfs", {"good": 3})],
)
def test_labels_move_what_is_queued_to_other_priority_classes(
    order: str, moves: dict[str, int], tmp_path: Path
) -> None:
    web = ScriptedWeb()
    far = web.host("far.test").page("/plain").page("/good")
    plain = web.host("plain.test").page("/", links=[far.url("/plain")])
    good = web.host("good.test").page("/", links=[far.url("/good")])
    knobs = {"frontier": {"labels": moves, "order": order}}
    with serving(web) as server:
        seeds = Seed(plain.url(), "plain"), Seed(good.url(), "good, de")
        crawl(server, tmp_path / "c", *seeds, knobs={**knobs, "limits": {"max_pages": 2}})
        told = [gossamer.why(tmp_path / "c", far.url(path)).grade for path in ("/plain", "/good")]
    assert told[0] is not None
    assert told[1] == told[0] + 3


def test_label_flags_are_read_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/b"]).page("/b").page("/c")
    with serving(web) as server:
        net = ["--allow-net", "127.0.9.0/24", "--resolve", f"a.test:{server.resolve['a.test']}"]
        words = ["crawl", host.url(), "--into", str(tmp_path / "c"), *net, "--delay", "0"]
        labels = ["--label", "news", "--label", "de", "--label-priority", "news=+1"]
        assert exit_code([*words, "--shards", "1", "--no-sitemaps", *labels]) == 0
        assert exit_code(["add", str(tmp_path / "c"), host.url("/c"), "--label", "later"]) == 0
        assert gossamer.why(tmp_path / "c", host.url("/c")).labels == ["later"]
        assert gossamer.why(tmp_path / "c", host.url("/b")).labels == ["de", "news"]
    config = gossamer.open(tmp_path / "c").config()
    assert config.frontier.labels == {"news": 1}
    assert config.seed_labels == {host.url(): "de,news", host.url("/c"): "later"}
    capsys.readouterr()
    assert exit_code([*words, "--label-priority", "news=much"]) == 2
    assert "--label-priority: expected LABEL=N, found 'news=much'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        gossamer.IndexOptions(),
        gossamer.IndexOptions(shards=3),
        gossamer.IndexOptions(shards=2, organisation="terms"),
    ],
)
def test_pages_are_found_by_label_alone_and_with_words(
    options: gossamer.IndexOptions, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    both = web.host("both.test").page("/", text="a heron over the weir")
    news = web.host("news.test").page("/", text="heron news", links=["/a"]).page("/a", text="gull")
    path = [f"/{step}" for step in range(4)]
    sea = web.host("sea.test").page("/", text="a heron at sea", links=path[:1])
    for here, there in zip(path, [*path[1:], both.url()], strict=True):
        sea.page(here, text=f"wave {here}", links=[there])
    with serving(web) as server:
        seeds = Seed(news.url(), "News"), Seed(sea.url(), "Deep Sea"), Seed(both.url(), "news")
        crawl(server, tmp_path / "c", *seeds)

        def found(query: str) -> set[str]:
            answer = opened.search(query, per_page=50)
            return {hit.url for hit in answer.hits}

        with gossamer.open(tmp_path / "c") as opened:
            opened.build_index(options)
            assert found("label:news") == {news.url(), news.url("/a"), both.url()}
            assert found("label:NEWS heron") == {news.url(), both.url()}
            assert found('label:"deep  sea" heron') == {sea.url(), both.url()}
            assert found('label:news label:"deep sea" heron') == {
                *(host.url() for host in (news, sea, both))
            }
            assert found('heron -label:"deep sea"') == {news.url()}
            assert found("label:nothing heron") == set()
            assert found("heron label:news site:both.test") == {both.url()}
