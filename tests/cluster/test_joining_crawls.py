"""A crawl of one machine goes on in a cluster: it is shipped and split first, once."""

from pathlib import Path

import pytest

import gossamer
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import finish, flags_for, say
from tests.e2e.nursery import Child

HOSTS, PAGES, FEW = 6, 5, 12


def plain_web() -> ScriptedWeb:
    """Return a web of some hosts, each of which links to its pages."""
    web = ScriptedWeb()
    for number in range(HOSTS):
        links = [f"/p{page}" for page in range(1, PAGES)]
        home = web.host(f"h{number}.test").page("/", links=links, text=f"{number}")
        for page in range(1, PAGES):
            home.page(f"/p{page}", text=f"{number} {page}")
    return web


@pytest.mark.parametrize("place", ["folder", "store"])
def test_a_crawl_of_one_shard_is_split_when_it_joins_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("GOSSAMER_CLUSTER", str(tmp_path / "cluster"))
    url = f"file://{tmp_path}/store"
    (tmp_path / "store").mkdir()
    with serve_in_thread(plain_web()) as server:
        seeds = [server.web.host(f"h{number}.test").url() for number in range(HOSTS)]
        words = ["crawl", *seeds, *flags_for(server.resolve, "--delay", "0", "--no-sitemaps")]
        own = ["--into", str(tmp_path / "own")]
        stored = [*words, "--store", url]
        first = stored if place == "store" else words
        few = ["--max-pages", str(FEW), "--shards", "1", "--json"]
        assert say(*first, *own, *few).expect(0).last_json["pages"] == FEW
        into = own if place == "folder" else ["--into", str(tmp_path / "other")]
        joined = [*stored, *into, "--cluster", "local", "--max-pages", "1000", "--json"]
        assert finish(Child(joined)).expect(0).last_json["finished"]
    status = say("status", url, "--json").expect(0).last_json
    assert sorted(one for held in status["store"]["nodes"].values() for one in held) == [0, 1, 2, 3]
    stored_pages = [page.url for page in gossamer.open(url).pages()]
    assert len(stored_pages) == len(set(stored_pages)) == HOSTS * PAGES
