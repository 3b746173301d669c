from pathlib import Path

import numpy as np
import pytest

from gossamer.ranks import RankFile, write_ranks
from gossamer.search.analysis import Analyser
from gossamer.search.ask import Answer, Searcher, SearchWish, Switches
from gossamer.search.messages import Ask
from gossamer.search.page import IndexPage
from gossamer.urls import fingerprint_of
from tests.unit.search.ask.small import index_of

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


def test_all_words_are_needed(tmp_path: Path) -> None:
    asked = searcher(
        tmp_path,
        *(page(f"both.test/{n}", f"zebra giraffe {n}") for n in range(12)),
        page("one.test/", "zebra zebra zebra zebra"),
    )
    answer = asked.search("zebra giraffe", SearchWish(per_page=50))
    assert answer.total == 12
    assert "one.test/" not in urls(answer)


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
    for text in ("", "   ", "qwrtzpl", '""', "-zebra -", "site:", "!!!", "\x00\ud800", "-" * 3000):
        answer = asked.search(text)
        assert answer.hits == []
        assert answer.total == 0


def test_a_phrase_must_stand_in_a_row(tmp_path: Path) -> None:
    asked = searcher(
        tmp_path, page("a.test/", "red old coat"), page("b.test/", "old red coat and more")
    )
    assert urls(asked.search('"old coat"')) == ["a.test/"]
    assert urls(asked.search("coat -old-coat")) == urls(asked.search('coat -"old coat"'))
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
        assert urls(asked.search("zebra", SearchWish(switches=OFF)))[0] == f"{name}.test/"


def test_words_side_by_side_count_more(tmp_path: Path) -> None:
    pages = [
        page("far.test/", "zebra eats grass, and later there comes a giraffe from afar"),
        page("near.test/", "here is a zebra giraffe in the grass, and later there comes afar"),
    ]
    asked = searcher(tmp_path, *pages)
    near = asked.search("zebra giraffe", SearchWish(switches=OFF))
    assert urls(near)[0] == "near.test/"
    assert near.hits[0].score > 1.05 * near.hits[1].score


def test_pages_of_results_have_no_gaps_and_no_repeats(tmp_path: Path) -> None:
    pages = [page(f"h{n % 7}.test/{n}", f"zebra number{n} " * (n % 5 + 1)) for n in range(150)]
    asked = searcher(tmp_path, *pages)
    for switches in (Switches(), OFF):
        seen: list[str] = []
        for number in range(1, 23):
            wish = SearchWish(page=number, per_page=7, switches=switches)
            answer = asked.search("zebra", wish)
            seen += urls(answer)
            assert answer.has_more == (len(seen) < 150)
        assert len(seen) == len(set(seen)) == 150


def test_a_wish_that_cannot_be_granted_is_made_sensible(tmp_path: Path) -> None:
    asked = searcher(tmp_path, page("a.test/", "zebra"))
    answer = asked.search("zebra", SearchWish(page=-3, per_page=10**9))
    assert (answer.page, answer.per_page, len(answer.hits)) == (1, 100, 1)
    assert asked.search("zebra", SearchWish(page=10**9)).hits == []


def test_another_spelling_is_offered_when_it_finds_clearly_more(tmp_path: Path) -> None:
    pages = [page(f"a.test/{n}", f"zebra giraffe {n}") for n in range(30)]
    asked = searcher(tmp_path, *pages)
    assert asked.search("zebra girafe site:a.test").suggestion == "zebra giraffe site:a.test"
    assert asked.search("zebra giraffe").suggestion == ""
    assert asked.search("zebra giraffe site:b.test").suggestion == ""


def test_a_switch_without_a_name_is_refused() -> None:
    assert Switches.without(["static", "hosts"]) == Switches(static=False, hosts=False)
    with pytest.raises(ValueError, match="speed is no part of ranking"):
        Switches.without(["speed"])


def test_with_everything_switched_off_the_order_is_that_of_the_words(tmp_path: Path) -> None:
    pages = [page(f"h{n % 3}.test/{n}", "zebra giraffe " * (n % 7 + 1)) for n in range(60)]
    finder = index_of(tmp_path, pages)
    switches = Switches(static=False, proximity=False, copies=False, hosts=False)
    order = Searcher(finder).order("zebra giraffe", SearchWish(switches=switches))
    ask = Ask(groups=tuple(Analyser().groups("zebra giraffe", ["en"])), needed=2)
    found = finder.find(ask).candidates
    expected = sorted(found, key=lambda one: (-one.score, one.key))
    assert order == [one.key for one in expected]


def test_a_word_in_the_title_counts_more_unless_fields_are_switched_off(tmp_path: Path) -> None:
    pages = [
        page("a.test/", "zebra", title="nothing"),
        page("b.test/", "nothing zebra zebra zebra", title="nothing"),
        page("c.test/", "nothing", title="zebra"),
    ]
    asked = searcher(tmp_path, *pages)
    assert urls(asked.search("zebra", SearchWish(switches=OFF)))[0] == "c.test/"
    flat = asked.search("zebra", SearchWish(switches=Switches(fields=False)))
    assert flat.hits[0].score != asked.search("zebra").hits[0].score


def test_what_links_say_is_found_unless_anchors_are_switched_off(tmp_path: Path) -> None:
    asked = searcher(tmp_path, page("a.test/", "nothing", anchors=("zebra",)))
    assert urls(asked.search("zebra")) == ["a.test/"]
    assert urls(asked.search("zebra", SearchWish(switches=Switches(anchors=False)))) == []
