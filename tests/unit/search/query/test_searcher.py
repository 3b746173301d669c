from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from gossamer.ranks import RankFile, write_ranks
from gossamer.search.analysis import Analyser
from gossamer.search.answer import Answer, SearchOptions, Switches
from gossamer.search.broker import Broker, Tiers
from gossamer.search.build.sink import DocumentSink
from gossamer.search.index_reader import IndexReader
from gossamer.search.manifest import Manifest, shard_folders
from gossamer.search.messages import ShardQuery
from gossamer.search.page import IndexPage
from gossamer.search.searcher import Searcher
from gossamer.search.shard import VERSION, LocalShard
from gossamer.search.terms import TermIndexReader, TermsWriter
from gossamer.urls import fingerprint_of
from tests.unit.search.query.small import index_of

PAD = "and this line goes on, so that it is taken for the main text of a page and not for a menu"
OFF = Switches(copies=False, hosts=False)


def page(url: str, text: str, **more: object) -> IndexPage:
    return IndexPage(url=f"http://{url}", text=f"{text} {PAD}", language="en", **more)  # type: ignore[arg-type]


def searcher(path: Path, *pages: IndexPage, ranks: RankFile | None = None) -> Searcher:
    return Searcher(index_of(path, pages), ranks)


def urls(answer: Answer) -> list[str]:
    return [hit.url.removeprefix("http://") for hit in answer.hits]


def ranks_of(path: Path, **worth: float) -> RankFile:
    keys = np.array([fingerprint_of(f"http://{name}.test/") for name in worth], np.uint64)
    write_ranks(path / "ranks", keys, np.array(list(worth.values())))
    return RankFile.open(path / "ranks")


def test_pages_with_all_the_words_come_first_and_others_follow(tmp_path: Path) -> None:
    asked = searcher(
        tmp_path,
        *(page(f"both.test/{n}", f"zebra giraffe {n}") for n in range(12)),
        page("one.test/", "zebra zebra zebra zebra"),
        page("none.test/", "nothing"),
    )
    answer = asked.search("zebra giraffe", SearchOptions(per_page=50))
    assert answer.total == 13
    assert urls(answer)[-1] == "one.test/"
    assert answer.hints == []


def test_when_few_pages_have_all_words_those_with_some_follow_and_that_is_told(
    tmp_path: Path,
) -> None:
    asked = searcher(
        tmp_path, page("a.test/", "zebra giraffe"), page("b.test/", "zebra zebra zebra")
    )
    answer = asked.search("zebra giraffe")
    assert urls(answer) == ["a.test/", "b.test/"]
    assert answer.hints == ["few pages have all the words; those with some of them follow"]


def test_a_word_that_no_page_has_is_left_out_and_told(tmp_path: Path) -> None:
    asked = searcher(tmp_path, page("a.test/", "zebra"))
    answer = asked.search("zebra qwrtzpl")
    assert urls(answer) == ["a.test/"]
    assert answer.hints == ["no page has qwrtzpl"]


def test_nothing_is_found_and_nothing_fails(tmp_path: Path) -> None:
    asked = searcher(tmp_path, page("a.test/", "zebra"))
    for text in ("", "   ", "qwrtzpl", '""', "site:", "!!!", "\x00\ud800", "-" * 3000):
        answer = asked.search(text)
        assert answer.hits == []
        assert answer.total == 0


def test_a_phrase_must_stand_in_a_row(tmp_path: Path) -> None:
    asked = searcher(
        tmp_path, page("a.test/", "red old coat"), page("b.test/", "old red coat and more")
    )
    assert urls(asked.search('"old coat"')) == ["a.test/"]
    assert urls(asked.search("coat -old-coat")) == ["a.test/", "b.test/"], "as is -dry-run"
    assert urls(asked.search('coat -"old coat"')) == ["b.test/"]


def test_filters_alone_give_the_best_pages_first_or_the_newest(tmp_path: Path) -> None:
    pages = [
        IndexPage(url=f"http://{name}.test/", text=PAD, at=at, language="en")
        for name, at in (("a", 30.0), ("b", 20.0), ("c", 10.0))
    ]
    newest = searcher(tmp_path / "0", *pages)
    assert urls(newest.search("lang:en")) == ["a.test/", "b.test/", "c.test/"]
    ranked = searcher(tmp_path / "1", *pages, ranks=ranks_of(tmp_path, c=9.0, a=2.0, b=1.0))
    assert urls(ranked.search("lang:en")) == ["c.test/", "a.test/", "b.test/"]
    assert urls(ranked.search("site:b.test")) == ["b.test/"]
    assert urls(ranked.search("test -site:b.test")) == ["c.test/", "a.test/"]


def test_days_are_those_of_the_fetch(tmp_path: Path) -> None:
    pages = [
        IndexPage(url=f"http://a.test/{year}", text=PAD, at=(year - 1970) * 365.25 * 86400 + 9e6)
        for year in (2023, 2024, 2025)
    ]
    asked = searcher(tmp_path, *pages)
    assert urls(asked.search("line after:2024 before:2025")) == ["a.test/2024"]
    assert urls(asked.search("line before:1969")) == []
    assert urls(asked.search("line after:2020 before:2020")) == []


def test_of_two_alike_the_one_that_is_worth_more_comes_first(tmp_path: Path) -> None:
    pages = [page("a.test/", "zebra"), page("b.test/", "zebra")]
    for name, other in (("a", "b"), ("b", "a")):
        ranks = ranks_of(tmp_path, **{name: 50.0, other: 0.1})
        asked = searcher(tmp_path / name, *pages, ranks=ranks)
        assert urls(asked.search("zebra", SearchOptions(switches=OFF)))[0] == f"{name}.test/"


def test_words_side_by_side_count_more(tmp_path: Path) -> None:
    pages = [
        page("far.test/", "zebra eats grass, and later there comes a giraffe from afar"),
        page("near.test/", "here is a zebra giraffe in the grass, and later there comes afar"),
    ]
    asked = searcher(tmp_path, *pages)
    near = asked.search("zebra giraffe", SearchOptions(switches=OFF))
    assert urls(near)[0] == "near.test/"
    assert near.hits[0].score > 1.05 * near.hits[1].score


def test_pages_of_results_have_no_gaps_and_no_repeats(tmp_path: Path) -> None:
    pages = [page(f"h{n % 7}.test/{n}", f"zebra number{n} " * (n % 5 + 1)) for n in range(150)]
    asked = searcher(tmp_path, *pages)
    for switches in (Switches(), OFF):
        seen: list[str] = []
        for number in range(1, 23):
            options = SearchOptions(page=number, per_page=7, switches=switches)
            answer = asked.search("zebra", options)
            seen += urls(answer)
            assert answer.has_more == (len(seen) < 150)
        assert len(seen) == len(set(seen)) == 150


def test_a_wish_that_cannot_be_granted_is_made_sensible(tmp_path: Path) -> None:
    asked = searcher(tmp_path, page("a.test/", "zebra"))
    answer = asked.search("zebra", SearchOptions(page=-3, per_page=10**9))
    assert (answer.page, answer.per_page, len(answer.hits)) == (1, 100, 1)
    assert asked.search("zebra", SearchOptions(page=10**9)).hits == []


def test_another_spelling_is_offered_when_it_finds_clearly_more(tmp_path: Path) -> None:
    pages = [page(f"a.test/{n}", f"zebra giraffe {n}") for n in range(30)]
    asked = searcher(tmp_path, *pages)
    assert asked.search("zebra girafe site:a.test").corrected == ""
    assert asked.search("zebra girafe site:a.test").suggestion == "zebra giraffe site:a.test"
    assert asked.search("zebra giraffe").suggestion == ""
    assert asked.search("zebra giraffe site:b.test").suggestion == ""


def test_a_query_without_results_is_answered_with_those_of_its_correction(tmp_path: Path) -> None:
    asked = searcher(tmp_path, *(page(f"a.test/{n}", f"giraffe {n}") for n in range(30)))
    answer = asked.search("girafe", SearchOptions(facets=True))
    assert (answer.query, answer.corrected, answer.suggestion) == ("girafe", "giraffe", "")
    assert answer.total == 30
    assert answer.hits
    assert answer.facets is not None
    assert answer.facets.sites[0].count == 30


def test_who_insists_gets_no_results_of_a_correction(tmp_path: Path) -> None:
    asked = searcher(tmp_path, *(page(f"a.test/{n}", f"giraffe {n}") for n in range(30)))
    answer = asked.search("girafe", SearchOptions(is_verbatim=True))
    assert (answer.total, answer.hits, answer.corrected) == (0, [], "")
    assert answer.suggestion == "giraffe"


def test_a_switch_without_a_name_is_refused() -> None:
    assert Switches.without(["static", "hosts"]) == Switches(static=False, hosts=False)
    with pytest.raises(ValueError, match="speed is no part of ranking"):
        Switches.without(["speed"])


def test_with_everything_switched_off_the_order_is_that_of_the_words(tmp_path: Path) -> None:
    pages = [page(f"h{n % 3}.test/{n}", "zebra giraffe " * (n % 7 + 1)) for n in range(60)]
    reader = index_of(tmp_path, pages)
    switches = Switches(static=False, proximity=False, copies=False, hosts=False)
    order = Searcher(reader).order("zebra giraffe", SearchOptions(switches=switches))
    ask = ShardQuery(groups=tuple(Analyser().groups("zebra giraffe", ["en"])), needed=2)
    found = reader.find(ask).candidates
    expected = sorted(found, key=lambda one: (-one.score, one.key))
    assert order == [one.key for one in expected]


def test_a_word_in_the_title_counts_more_unless_fields_are_switched_off(tmp_path: Path) -> None:
    pages = [
        page("a.test/", "zebra", title="nothing"),
        page("b.test/", "nothing zebra zebra zebra", title="nothing"),
        page("c.test/", "nothing", title="zebra"),
    ]
    asked = searcher(tmp_path, *pages)
    assert urls(asked.search("zebra", SearchOptions(switches=OFF)))[0] == "c.test/"
    flat = asked.search("zebra", SearchOptions(switches=Switches(fields=False)))
    assert flat.hits[0].score != asked.search("zebra").hits[0].score


def test_what_links_say_is_found_unless_anchors_are_switched_off(tmp_path: Path) -> None:
    asked = searcher(tmp_path, page("a.test/", "nothing", anchors=("zebra",)))
    assert urls(asked.search("zebra")) == ["a.test/"]
    assert urls(asked.search("zebra", SearchOptions(switches=Switches(anchors=False)))) == []


SAME = " ".join(f"word{n} of a zebra that is known in many places" for n in range(12))


def copies(**languages: str) -> list[IndexPage]:
    return [
        IndexPage(url=f"http://{name}.test/", title="Zebra", text=SAME, language=language)
        for name, language in languages.items()
    ]


def test_of_copies_the_one_with_the_highest_rank_is_shown_whatever_its_score(
    tmp_path: Path,
) -> None:
    pages = copies(a="en", bb="en", ccc="en")
    pages[0] = replace(pages[0], anchors=("zebra", "zebra of a zebra"))
    assert urls(searcher(tmp_path / "0", *pages).search("zebra")) == ["a.test/"]
    ranks = ranks_of(tmp_path, ccc=3.0, a=2.0, bb=1.0)
    asked = searcher(tmp_path / "1", *pages, ranks=ranks)
    answer = asked.search("zebra")
    assert urls(answer) == ["ccc.test/"]
    assert answer.hits[0].copies == 2
    assert asked.order("zebra") == [fingerprint_of("http://ccc.test/")]
    unranked = SearchOptions(switches=Switches(static=False))
    assert urls(asked.search("zebra", unranked)) == ["a.test/"]


def test_of_copies_with_equal_ranks_the_query_s_language_decides_then_the_shortest_url(
    tmp_path: Path,
) -> None:
    asked = searcher(tmp_path, *copies(a="fr", bbb="en", cc="en"), page("d.test/", "an other page"))
    assert urls(asked.search("zebras known")) == ["cc.test/"]
    assert urls(asked.search("zebras known lang:fr")) == ["a.test/"]


@pytest.mark.parametrize("split", [1, 4, 16, "terms"])
def test_the_same_copy_is_shown_however_the_index_is_partitioned(
    tmp_path: Path, split: int | str
) -> None:
    pages = [page for n in range(9) for page in copies(**{f"{'x' * (9 - n)}{n}": "en"})]
    ranks = ranks_of(tmp_path, xxxxxx3=5.0, xx7=5.0)
    manifest = Manifest(version=VERSION, shards=split if isinstance(split, int) else 3)
    sink: DocumentSink | TermsWriter = (
        TermsWriter(tmp_path / "index", manifest.shards)
        if split == "terms"
        else DocumentSink(tmp_path / "index", manifest, 1 << 20)
    )
    analyser = Analyser()
    for one in pages:
        sink.add(analyser.prepare(one))
    sink.close()
    folders = shard_folders(tmp_path / "index", manifest, "high")
    reader: IndexReader = (
        TermIndexReader(tmp_path / "index")
        if split == "terms"
        else Broker(Tiers([LocalShard(folder) for folder in folders]))
    )
    assert urls(Searcher(reader, ranks).search("zebra")) == ["xx7.test/"]
    assert urls(Searcher(reader).search("zebra")) == ["x8.test/"]
