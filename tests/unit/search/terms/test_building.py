"""A crawl's index split by terms: built from the archive, asked as the other, built again."""

from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search import IndexOptions, build_index, open_index, open_reader, open_searcher
from gossamer.search.manifest import index_folder
from tests.unit.search.pages_archive import PagesArchive, page

A, B, C = (f"http://{name}.test/" for name in "abc")
TERMS = IndexOptions(organisation="terms", shards=3)
SAID = "zebras graze where the grass is high and the lions sleep until the evening comes"


@pytest.fixture
def archive(tmp_path: Path) -> PagesArchive:
    made = PagesArchive(tmp_path / "crawl")
    made.write([page(A, SAID), page(B, "lions hunt"), page(C, "apes climb")])
    return made


def urls(root: Path, question: str) -> list[str]:
    return sorted(hit.url for hit in open_searcher(root).search(question).hits)


def test_it_answers_as_an_index_split_by_documents(archive: PagesArchive) -> None:
    questions = ("lions", "lions zebras", '"grass is high"', "lions -hunt", "site:c.test", "-lions")
    build_index(archive.root)
    expected = [urls(archive.root, question) for question in questions]
    facts = build_index(archive.root, TERMS)
    assert (facts.did, facts.pages, facts.organisation) == ("full", 3, "terms")
    assert [urls(archive.root, question) for question in questions] == expected
    assert expected[0] == [A, B]


def test_what_is_new_means_another_full_build(archive: PagesArchive) -> None:
    build_index(archive.root, TERMS)
    reader = open_index(archive.root)
    assert build_index(archive.root).did == "nothing"
    archive.write([page(B, "giraffes", at=2.0), page(C, None, at=2.0, outcome="gone")])
    facts = build_index(archive.root)
    assert (facts.did, facts.pages, facts.organisation) == ("full", 2, "terms")
    assert urls(archive.root, "giraffes") == [B]
    assert urls(archive.root, "apes") == []
    assert reader.renew()
    assert reader.counts(()).pages == 2


def test_what_only_shards_of_documents_can_do_is_refused(archive: PagesArchive) -> None:
    build_index(archive.root, TERMS)
    with pytest.raises(CannotGoOn, match="split by terms"):
        open_reader(archive.root)
    with pytest.raises(ConfigError, match="tiers"):
        build_index(archive.root, IndexOptions(organisation="terms", high_share=0.2))
    assert (index_folder(archive.root) / "terms" / "set.json").exists()
