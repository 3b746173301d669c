"""Pages with all words first, then with most, then with any: in one list, by score."""

from pathlib import Path

import pytest

from gossamer.search.analysis import Analyser
from gossamer.search.analysis.prepare import LEAST_LISTED, listing_of
from gossamer.search.answer import Answer, SearchOptions, Switches
from gossamer.search.fields import MOST_LISTING, Weights
from gossamer.search.messages import Candidate
from gossamer.search.page import IndexPage
from gossamer.search.query import parse_query
from gossamer.search.query.analysed import MOST_GROUPS, analyse_query
from gossamer.search.ranking.ranker import Ranker, RankingParameters, bonuses_of, covered_titles
from gossamer.search.searcher import Searcher
from tests.unit.search.query.small import index_of

PAD = "and this line goes on, so that it is taken for the main text of a page and not for a menu"
OFF = SearchOptions(per_page=50, switches=Switches(copies=False, hosts=False))
LONG = "zebra giraffe okapi lion tiger bear wolf hyena"


def page(name: str, text: str, **more: object) -> IndexPage:
    return IndexPage(url=f"http://{name}.test/", text=f"{text} {PAD}", language="en", **more)  # type: ignore[arg-type]


def names(answer: Answer) -> list[str]:
    return [hit.url.removeprefix("http://").removesuffix(".test/") for hit in answer.hits]


def asked(path: Path, query: str, *pages: IndexPage) -> Answer:
    return Searcher(index_of(path, pages)).search(query, OFF)


def test_most_words_come_before_few_and_few_before_none(tmp_path: Path) -> None:
    words = LONG.split()
    pages = [page(f"p{n}", " ".join(words[:n])) for n in range(1, 9)]
    answer = asked(tmp_path, LONG, *pages, page("none", "nothing"))
    assert names(answer) == [f"p{n}" for n in range(8, 0, -1)]
    assert answer.total == 8


def test_a_question_of_stop_words_alone_finds_pages_that_have_them(tmp_path: Path) -> None:
    answer = asked(tmp_path, "to be or not", page("a", "to be or not to be"), page("b", "zebra"))
    assert names(answer)[0] == "a"


def test_stop_words_count_when_no_page_has_another_word(tmp_path: Path) -> None:
    answer = asked(tmp_path, "the qwrtzpl", page("a", "the zebra"))
    assert names(answer) == ["a"]
    assert answer.hints == ["no page has qwrtzpl"]


def test_small_words_count_only_beside_few_others(tmp_path: Path) -> None:
    reader = index_of(tmp_path, [page("a", f"how about {LONG}")])
    for query, groups in (("how zebra", 2), ("how about zebra okapi lion tiger", 4)):
        found = analyse_query(parse_query(query).query, Analyser(), reader)
        assert len(found.groups) == groups


def test_a_stop_word_of_another_language_is_a_word_unless_there_are_more(tmp_path: Path) -> None:
    pages = [page(f"en{n}", "man bin directory") for n in range(9)]
    pages += [
        IndexPage(url=f"http://de{n}.test/", text=f"man bin ich nicht {PAD}", language="de")
        for n in range(3)
    ]
    reader = index_of(tmp_path, pages)
    said = analyse_query(parse_query("man directory").query, Analyser(), reader)
    assert len(said.groups) == 2
    german = analyse_query(parse_query("bin ich nicht directory").query, Analyser(), reader)
    assert len(german.groups) == 1


def test_a_word_that_is_said_twice_counts_twice(tmp_path: Path) -> None:
    pages = [page("a", "zebra zebra"), page("b", "giraffe giraffe"), page("c", "lion")]
    searcher = Searcher(index_of(tmp_path, pages))
    assert names(searcher.search("zebra giraffe giraffe", OFF))[0] == "b"
    assert names(searcher.search("zebra zebra giraffe", OFF))[0] == "a"


def test_the_end_of_a_long_question_counts(tmp_path: Path) -> None:
    many = " ".join(f"word{n}x" for n in range(60))
    pages = [page("first", "word0x"), page("last", "okapi okapi")]
    assert names(asked(tmp_path, f"{many} okapi okapi", *pages))[0] == "last"


def test_no_more_words_are_looked_for_than_a_shard_takes(tmp_path: Path) -> None:
    many = " ".join(f"word{n}x" for n in range(400))
    reader = index_of(tmp_path, [page("a", many)])
    assert len(analyse_query(parse_query(many).query, Analyser(), reader).groups) == MOST_GROUPS


@pytest.mark.parametrize(
    "query",
    ['why is "zebra" so (often) seen?', "zebra's stripes: what are they!", "zebra-giraffe; okapi"],
)
def test_punctuation_is_text(tmp_path: Path, query: str) -> None:
    assert names(asked(tmp_path, query, page("a", "zebra"), page("b", "nothing"))) == ["a"]


def test_a_phrase_that_no_page_has_counts_as_words_and_that_is_told(tmp_path: Path) -> None:
    answer = asked(tmp_path, '"zebra okapi"', page("a", "zebra giraffe okapi"))
    assert names(answer) == ["a"]
    assert "no page has all that is in quotes; its words may stand anywhere" in answer.hints


def test_a_phrase_inside_a_sentence_need_not_occur_but_counts(tmp_path: Path) -> None:
    query = f'"red coat" {LONG}'
    pages = [page("a", f"{LONG} a coat that is red"), page("b", f"{LONG} a red coat that is")]
    answer = asked(tmp_path, query, *pages)
    assert names(answer) == ["b", "a"]


def test_a_page_that_has_a_phrase_letter_by_letter_comes_first(tmp_path: Path) -> None:
    pages = [page("stems", "running spider, running spider"), page("letters", "a runs spiders b")]
    answer = asked(tmp_path, '"runs spiders"', *pages)
    assert names(answer) == ["letters", "stems"]
    assert names(asked(tmp_path / "2", '"running spider"', *pages)) == ["stems", "letters"]


def test_a_dash_leaves_out_only_what_it_stands_before(tmp_path: Path) -> None:
    pages = [page("a", "git commit amend"), page("b", "git commit")]
    searcher = Searcher(index_of(tmp_path, pages))
    assert names(searcher.search("git commit --amend", OFF)) == ["a", "b"]
    assert names(searcher.search("git commit -amend", OFF)) == ["b"]
    assert names(searcher.search("-amend", OFF)) == ["a"]


def test_a_table_of_contents_is_behind_the_page_when_many_words_are_asked(tmp_path: Path) -> None:
    links = [f"Chapter {n} of the book" for n in range(40)]
    listed = "\n".join(f"{link}\nWhat it is about, in a sentence of its own." for link in links)
    contents = page("contents", f"{LONG}, as a sentence.\n{listed}\n", link_texts=frozenset(links))
    answer = page("answer", f"{LONG} and some more words that make it longer than it was before")
    assert names(asked(tmp_path, LONG, contents, answer))[0] == "answer"


def test_a_list_of_links_is_told_by_the_lines_that_only_link() -> None:
    links = frozenset(f"link {n}" for n in range(40))
    lines = sorted(links)
    few = "\n".join([*lines[: LEAST_LISTED - 1], "a sentence"])
    assert listing_of(few, links) == 0
    assert listing_of("\n".join(lines), links) == MOST_LISTING
    half = "\n".join(f"{line}\na sentence\nanother one\nand one" for line in lines)
    assert listing_of(half, links) == round(MOST_LISTING / 2)
    told = "\n".join(f"{line}: what it is about" for line in lines)
    assert listing_of(told, links) == MOST_LISTING
    prose = "A page with prose of its own and a menu around it is none. " * 3
    assert listing_of(f"{prose}\n\n{told}", links) == 0
    assert listing_of(f"Contents\n\n{told}", links) == MOST_LISTING
    assert listing_of(half, frozenset()) == 0


def test_a_title_that_the_query_covers_counts(tmp_path: Path) -> None:
    others = [
        page(f"o{n}", "there is an ant, then a copy, and at the end a task") for n in range(5)
    ]
    others += [page(f"n{n}", "nothing of that") for n in range(30)]
    named = page("named", "what it does is told here", title="Copy Task — The Manual")
    assert names(asked(tmp_path, "ant copy task", *others, named))[0] == "named"


def test_titles_are_keyed_by_their_own_words_whatever_their_order() -> None:
    analyser = Analyser()
    key = analyser.title_key("Copy Task — The Manual", "en")
    assert key == analyser.title_key("the tasks copied", "en") != 0
    assert key != analyser.title_key("Copy", "en")
    assert analyser.title_key("", "en") == 0
    assert analyser.title_key("The Who", "en") != 0


def test_a_title_of_one_word_counts_only_if_that_is_all_of_the_query(tmp_path: Path) -> None:
    reader = index_of(tmp_path, [page("a", "copy task ant")])
    analyser = Analyser()

    def covered(query: str) -> dict[int, float]:
        return covered_titles(analyse_query(parse_query(query).query, analyser, reader))

    copy = analyser.title_key("Copy", "en")
    assert covered("copy") == {copy: 1.0}
    assert copy not in covered("copy task")
    both = analyser.title_key("Copy Task", "en")
    assert covered("copy task")[both] == pytest.approx(1.0)
    assert 0.5 < covered("ant copy task")[both] < 0.8
    assert len(covered(" ".join(["copy task ant"] + [f"w{n}x" for n in range(30)]))) <= 1024


def test_a_table_of_contents_gains_nothing_by_having_all_words(tmp_path: Path) -> None:
    reader = index_of(tmp_path, [page("a", "zebra lion")])
    ranker = Ranker(reader, None, RankingParameters(complete=1.0, cover=0.0, listing_short=0.5))
    analysed = analyse_query(parse_query("zebra lion").query, Analyser(), reader)
    plain, listing, other = (
        Candidate(1.0, key, 0, 0, 0, listing=value) for key, value in ((1, 0), (2, 255), (3, 0))
    )
    switches = Switches(proximity=False)
    ranked = ranker.block([plain, listing, other], analysed, switches, frozenset({1, 2}))
    assert [(one.candidate.key, one.score) for one in ranked] == [(1, 2.0), (3, 1.0), (2, 0.5)]


def test_fields_count_by_how_long_the_query_is() -> None:
    parameters = RankingParameters(
        weights=Weights(title=2.0), prose=Weights(title=0.0), short=2, long=6
    )
    titles = [parameters.weights_of(words, Switches()).title for words in (1, 2, 4, 6, 99)]
    assert titles == [2.0, 2.0, 1.0, 0.0, 0.0]
    assert parameters.weights_of(1, Switches(anchors=False)).anchors == 0.0
    assert parameters.weights_of(9, Switches(fields=False)).title == 1.0


def test_no_page_is_fetched_for_words_that_tell_little_together() -> None:
    parameters = RankingParameters(needless=0.4)
    assert parameters.essential_of([5.0, 3.0, 1.0]) == 2
    assert parameters.essential_of([5.0, 3.0, 2.1]) == 2
    assert parameters.essential_of([5.0, 4.0, 0.5, 0.5]) == 2
    assert parameters.essential_of([9.0, 1.0]) == 1
    assert parameters.essential_of([1.0]) == 1
    assert RankingParameters(needless=0.0).essential_of([9.0, 1.0]) == 2


def test_what_adds_to_a_score_is_worth_no_more_than_all_of_it(tmp_path: Path) -> None:
    parameters = RankingParameters(cover=0.5, near=2.0, quoted=1.0)
    reader = index_of(tmp_path, [page("a", "red wool coat")])
    analysed = analyse_query(parse_query('red coat "red wool"').query, Analyser(), reader)
    found = bonuses_of(analysed, parameters, Switches())
    assert sum(one.worth for one in found) == pytest.approx(0.5 + 2.0 + 1.0)
    off = bonuses_of(analysed, parameters, Switches(proximity=False))
    assert sum(one.worth for one in off) == pytest.approx(0.5 + 1.0)


def test_no_bonus_makes_up_for_certain_spam(tmp_path: Path) -> None:
    honest = page("honest", "a bonus is paid to people who work in a casino, once a year")
    links = "\n".join(["casino bonus"] * 300)
    farm = IndexPage(
        url="http://farm.test/",
        title="Casino bonus",
        text=links,
        link_texts=frozenset({"casino bonus"}),
        language="en",
    )
    searcher = Searcher(index_of(tmp_path, [honest, farm]))
    assert names(searcher.search("casino bonus", OFF)) == ["honest", "farm"]
    plain = SearchOptions(switches=Switches(copies=False, hosts=False, spam=False))
    assert names(searcher.search("casino bonus", plain)) == ["farm", "honest"]
