"""links, rank, build and graph as a user has them: output, exit codes, one line of JSON."""

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from gossamer.graph import SMALLEST, Coding, Kind, manifest_of, opened
from gossamer.ranks import RankFile
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import Crawler, Ended, flags_for, say
from tests.unit.graph.links_archive import LinksOf, links_of, turned

VOTES = Kind.LINK | Kind.REDIRECT | Kind.CANONICAL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("verbs")
    web = FakeWeb(seed=311, hosts=5, pages_per_host=15)
    with serve_in_process(web, place / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--shards", "2")
        crawler = Crawler(place / "crawl", server.web.seeds, flags)
        crawler.run("--max-pages", "60").expect(0)
    return crawler.folder


@pytest.fixture(scope="module")
def pages(folder: Path) -> LinksOf:
    return links_of(folder)


def said(*words: object) -> Ended:
    return say(*map(str, words))


def test_links_need_no_build_before_and_say_what_the_archive_says(
    folder: Path, pages: LinksOf
) -> None:
    back = turned(pages)
    for url in sorted(pages)[:12]:
        facts = said("links", folder, url, "--json").expect(0).last_json
        assert facts["url"] == url
        assert sorted(facts["out"]) == sorted(pages[url])
        assert sorted(facts["in"]) == sorted(back.get(url, ()))


def test_a_direction_leaves_the_other_name_empty(folder: Path, pages: LinksOf) -> None:
    url = next(url for url, row in pages.items() if row and url in turned(pages))
    only_in = said("links", folder, url, "--in", "--json").last_json
    assert only_in["in"]
    assert only_in["out"] == []
    only_out = said("links", folder, url, "--out", "--json", "--limit", "1").last_json
    assert (only_out["in"], len(only_out["out"])) == ([], 1)
    both = said("links", folder, url, "--in", "--out", "--json").last_json
    assert both["in"] == only_in["in"]
    assert both["out"]


def test_links_of_a_kind_are_those_of_that_kind(folder: Path, pages: LinksOf) -> None:
    url, row = max(pages.items(), key=lambda item: len(set(item[1].values())))
    for kind in Kind:
        name = str(kind.name).lower()
        facts = said("links", folder, url, "--out", "--kind", name, "--json").last_json
        assert sorted(facts["out"]) == sorted(one for one, kinds in row.items() if kinds & kind)
    assert said("links", folder, url, "--kind", "nice").expect(2).err.count("\n") == 1


def test_people_get_text_and_no_more_than_they_can_read(folder: Path, pages: LinksOf) -> None:
    url = next(iter(pages))
    told = said("links", folder, url, "--limit", "1").expect(0).out
    assert told.startswith(url)
    assert "linked from" in told
    assert "links to" in told


def test_an_unknown_url_is_one_line_and_exit_code_1(folder: Path, pages: LinksOf) -> None:
    url = next(iter(pages))
    for words in (
        ("links", folder, f"{url}no/such/page"),
        ("graph", "like", folder, f"{url}no/such/page"),
        ("graph", "path", folder, url, f"{url}no/such/page"),
        ("graph", "picture", folder, f"{url}no/such/page", "--to", "none.svg"),
    ):
        ended = said(*words, "--json").expect(1)
        assert ended.out == ""
        assert ended.err.count("\n") == 1
        assert "is not in the graph" in ended.err
    assert "did you mean" in said("links", folder, f"{url}no/such/page").err


def test_a_folder_that_is_no_crawl_is_exit_code_2(tmp_path: Path) -> None:
    for words in (("links", tmp_path, "http://a.test/"), ("rank", tmp_path), ("rank", "none")):
        assert said(*words).expect(2).err.count("\n") == 1


def test_no_build_refuses_where_there_is_no_graph(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    ended = said("links", tmp_path, "http://a.test/", "--no-build").expect(2)
    assert "gossamer build" in ended.err


def test_ranks_are_those_of_another_implementation(folder: Path, pages: LinksOf) -> None:
    facts = said("rank", folder, "--top", "0", "--all", "--json").expect(0).last_json
    assert facts["converged"] is True
    theirs = nx.DiGraph()
    theirs.add_nodes_from(pages)
    for source, row in pages.items():
        votes = (target for target, kinds in row.items() if kinds & VOTES)
        theirs.add_edges_from((source, one) for one in votes if one.startswith("http"))
    expected = nx.pagerank(theirs, alpha=0.85, tol=1e-14, max_iter=1000)
    found = {one["url"]: one["rank"] for one in facts["pages"]}
    assert found.keys() == expected.keys()
    assert sum(abs(found[url] - expected[url]) for url in found) < 1e-9
    scores = [one["rank"] for one in facts["pages"]]
    assert scores == sorted(scores, reverse=True)
    saved = RankFile.open(folder / "graph" / "ranks")
    assert len(saved) == len(found)


def test_urls_that_were_never_fetched_are_listed_only_if_asked_for(
    folder: Path, pages: LinksOf
) -> None:
    facts = said("rank", folder, "--top", "0", "--json").expect(0).last_json
    every = said("rank", folder, "--top", "0", "--all", "--json").expect(0).last_json
    listed = [one["url"] for one in facts["pages"]]
    assert {*listed} == pages.keys()
    assert listed == [one["url"] for one in every["pages"] if one["url"] in pages]
    assert facts["not_fetched"] == len(every["pages"]) - len(listed) > 0
    assert "--all" in said("rank", folder, "--top", "0").expect(0).out
    assert "not_fetched" not in every


@pytest.mark.parametrize("by", ["pagerank", "harmonic", "hubs", "authorities", "indegree"])
def test_there_are_other_measures(folder: Path, by: str) -> None:
    facts = said("rank", folder, "--by", by, "--top", "3", "--json").expect(0).last_json
    assert len(facts["pages"]) == 3
    assert said("rank", folder, "--by", by, "--top", "3").expect(0).out.count("http") >= 3


def test_hosts_can_be_ranked_and_asked(folder: Path) -> None:
    facts = said("rank", folder, "--hosts", "--json").expect(0).last_json
    assert facts["hosts"][0].keys() >= {"host", "rank"}
    best = said("graph", "hosts", folder, "--json").expect(0).last_json["hosts"][0]["host"]
    one = said("graph", "hosts", folder, best, "--json").expect(0).last_json
    assert one["host"] == best
    assert said("graph", "hosts", folder, "no.such.host").expect(1).err.count("\n") == 1
    assert "hosts in all" in said("graph", "hosts", folder).out


def test_the_shortest_way_is_a_way_over_links(folder: Path, pages: LinksOf) -> None:
    start = next(url for url in pages if pages[url])
    theirs = nx.DiGraph([(a, b) for a, row in pages.items() for b in row])
    far = max(nx.single_source_shortest_path_length(theirs, start).items(), key=lambda one: one[1])
    facts = said("graph", "path", folder, start, far[0], "--json").expect(0).last_json
    assert facts["hops"] == far[1]
    steps = facts["path"]
    assert all(b in pages[a] for a, b in pairwise(steps))
    assert steps[0] == start


def test_likeness_components_info_and_picture_have_two_faces(
    folder: Path, pages: LinksOf, tmp_path: Path
) -> None:
    url = max(turned(pages).items(), key=lambda item: len(item[1]))[0]
    for by in ("cocitation", "coupling"):
        facts = said("graph", "like", folder, url, "--by", by, "--json").expect(0).last_json
        assert all(one.keys() == {"url", "score", "shared"} for one in facts["pages"])
    assert said("graph", "like", folder, url).expect(0).out
    shape = said("graph", "components", folder, "--json").expect(0).last_json
    assert sum(shape["bow_tie"].values()) == shape["nodes"]
    assert "core" in said("graph", "components", folder).expect(0).out
    about = said("graph", "info", folder, "--json").expect(0).last_json
    assert about["pages"] == len(pages)
    assert about["arcs"] == sum(map(len, pages.values()))
    assert about["archive_bytes_covered"] == about["archive_bytes"]
    assert "100.0% of the links archive" in said("graph", "info", folder).out
    to = tmp_path / "p.svg"
    said("graph", "picture", folder, url, "--to", to, "--json").expect(0)
    assert ET.parse(to).getroot().tag.endswith("svg")


def test_a_crawls_graph_is_files_like_any_other(folder: Path, pages: LinksOf) -> None:
    lines = said("graph", "to-edges", folder).expect(0).out.splitlines()
    assert len(lines) == sum(map(len, pages.values()))
    base = folder / "graph" / "web"
    assert said("graph", "to-edges", base).out.splitlines() == lines
    assert opened(base).out.nodes == opened(folder).out.nodes


def test_a_damaged_graph_is_built_anew(folder: Path, pages: LinksOf) -> None:
    path = folder / "graph" / "web.urls"
    path.write_bytes(path.read_bytes()[:40])
    url = next(iter(pages))
    assert said("links", folder, url, "--no-build").expect(4).err.count("\n") == 1
    ended = said("links", folder, url, "--json").expect(0)
    assert "is built anew" in ended.err
    assert sorted(ended.last_json["out"]) == sorted(pages[url])


def test_damage_that_is_found_late_says_what_to_do(folder: Path) -> None:
    path = folder / "graph" / "web.graph"
    path.write_bytes(bytes(path.stat().st_size))
    told = said("graph", "info", folder).expect(4).err
    assert f"gossamer build {folder} graph --full" in told
    said("build", folder, "graph", "--full").expect(0)
    said("graph", "info", folder).expect(0)


def test_build_says_what_it_did_and_can_start_anew(folder: Path, pages: LinksOf) -> None:
    assert said("build", folder, "graph", "--json").expect(0).last_json["did"] == "nothing"
    small = said("build", folder, "graph", "--full", "--smallest", "--json").expect(0).last_json
    assert (small["did"], small["pages"]) == ("full", len(pages))
    assert said("graph", "info", folder, "--json").last_json["out"]["window"] > 7
    assert "up to date" in said("build", folder, "graph").expect(0).out
    followed = said("build", folder, "graph", "--redirects", "follow", "--json").last_json
    assert followed["did"] == "full"
    again = said("links", folder, next(iter(pages)), "--json").expect(0)
    assert again.err == ""
    kept = said("graph", "info", folder, "--json").last_json
    assert kept["redirects"] == "follow"
    assert said("build", folder, "graph", "--json").expect(0).last_json["did"] == "nothing"
    assert said("build", folder, "graph", "--redirects", "maybe").expect(2).err.count("\n") == 1
    said("build", folder, "graph", "--follow", "--json").expect(0)


def test_a_fold_keeps_the_coding_of_the_last_time(folder: Path) -> None:
    said("build", folder, "graph", "--full", "--smallest").expect(0)
    said("build", folder, "graph", "--fold", "--redirects", "follow").expect(0)
    assert manifest_of(folder).coding == SMALLEST
    assert said("graph", "info", folder, "--json").last_json["out"]["window"] == SMALLEST.window
    said("build", folder, "graph", "--full", "--redirects", "keep").expect(0)
    assert manifest_of(folder).coding == Coding()
