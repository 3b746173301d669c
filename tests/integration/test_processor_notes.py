"""What a processor notes is kept and read again if JSON can hold it; anything else is told."""

import shutil
from pathlib import Path

from gossamer import Crawl, processor
from gossamer.config import Config, FetchConfig, FilterConfig, PolitenessConfig
from gossamer.model import Document, Extraction
from gossamer.process import Tools
from gossamer.store import CrawlFolder, LinksRecord, iter_links
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import only_json, say

NOTES = {
    "words": ["a", 1, 2.5, None, True, ["deep", {"er": []}]],
    "table": {"rows": [[1, 2], [3, 4]], "name": "Ä"},
    "flag": False,
    "none": None,
}


@processor("text/html", name="generous")
def generous(_document: Document, _tools: Tools) -> Extraction:
    """Note every kind of value that JSON has."""
    return Extraction(notes=dict(NOTES))


@processor("text/html", name="careless")
def careless(document: Document, _tools: Tools) -> Extraction:
    """Note something that JSON has not, on every page but the first of a host."""
    if document.url.text.count("/") == 3:
        return Extraction(notes={"fine": 1})
    return Extraction(notes={"set": {1, 2}})


def crawled(folder: Path) -> list[LinksRecord]:
    """Crawl a small web with both processors; return the records of its HTML pages."""
    web = FakeWeb(seed=3, hosts=3, pages_per_host=12)
    with serve_in_process(web, folder / "log") as server:
        config = Config(
            shards=1,
            politeness=PolitenessConfig(delay_s=0.0),
            fetch=FetchConfig(resolve=server.resolve, allow_net=("127.0.0.0/8",)),
            filter=FilterConfig(scope="any", allow=("*.test",)),
        )
        crawl = Crawl(folder / "crawl", server.web.seeds, config, processors=[generous, careless])
        crawl.run()
    return html_records(folder / "crawl")


def html_records(folder: Path) -> list[LinksRecord]:
    records = [record for _, record in iter_links(CrawlFolder(folder))]
    return [record for record in records if record.html and record.outcome == "fetched"]


def test_notes_of_any_json_value_are_read_by_state_graph_and_index(tmp_path: Path) -> None:
    records = crawled(tmp_path)
    folder = str(tmp_path / "crawl")
    own = [record for record in records if not record.copy_of]
    assert len(own) > 10
    for record in own:
        assert {name: record.notes[name] for name in NOTES} == NOTES
        assert record.links or record.title  # what else was found is there, too
    before = only_json(say("status", folder, "--json").expect(0))
    shutil.rmtree(tmp_path / "crawl" / "state")
    say("build", folder, "state").expect(0)
    after = only_json(say("status", folder, "--json").expect(0))
    for name in ("pages", "html_pages", "known_urls"):
        assert after[name] == before[name]
    assert only_json(say("build", folder, "graph", "--json").expect(0))["pages"] > 10
    assert only_json(say("build", folder, "index", "--json").expect(0))["pages"] > 10
    assert html_records(tmp_path / "crawl") == records


def test_what_is_no_json_costs_its_notes_and_is_counted_with_the_processors_name(
    tmp_path: Path,
) -> None:
    records = [record for record in crawled(tmp_path) if not record.copy_of]
    told = [record for record in records if record.errors]
    assert 0 < len(told) < len(records)
    for record in told:
        assert record.errors == (
            "careless: notes['set']: expected a value that JSON has, found a value of type set",
        )
        assert record.notes == NOTES
    folder = str(tmp_path / "crawl")
    status = only_json(say("status", folder, "--json").expect(0))
    counted = status["user_errors"]["processor careless"]
    assert counted["count"] >= len(told)
    assert "notes['set']" in counted["error"]
    assert "processor careless" in say("status", folder).expect(0).out
    why = only_json(say("why", folder, told[0].url, "--json").expect(0))
    assert "careless: notes['set']" in str(why)
