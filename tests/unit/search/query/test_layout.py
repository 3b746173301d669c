from gossamer.search.messages import Candidate
from gossamer.search.ranking.layout import Layout
from gossamer.search.ranking.ranker import Ranked


def result(key: int, *, host: int = 0, sketch: int = 0, score: float = 1.0) -> Ranked:
    return Ranked(score, Candidate(1.0, key, host, sketch, 0))


def keys(layout: Layout) -> list[int]:
    return [place.ranked.candidate.key for place in layout.places]


def test_a_page_has_few_results_of_one_host_and_the_others_come_on_the_next() -> None:
    layout = Layout(4, same_bits=None, per_host=2)
    layout.add([result(n, host=n // 4) for n in range(8)])
    assert keys(layout) == [0, 1, 4, 5, 2, 3, 6, 7]
    assert layout.more_from_hosts(1) == {0: 2, 1: 2}


def test_a_page_far_behind_does_not_come_before_a_better_one_of_a_host_that_had_its_share() -> None:
    layout = Layout(4, same_bits=None, per_host=2)
    scores = (9.0, 8.9, 8.8, 4.5, 4.3)
    layout.add([result(n, host=n // 3, score=score) for n, score in enumerate(scores)])
    assert keys(layout) == [0, 1, 3, 2, 4]


def test_a_page_is_filled_with_one_host_when_there_is_no_other() -> None:
    layout = Layout(4, same_bits=None, per_host=2)
    layout.add([result(n, host=7) for n in range(6)])
    assert keys(layout) == [0, 1, 2, 3, 4, 5]


def test_what_is_laid_out_stays_when_more_comes() -> None:
    layout = Layout(4, same_bits=None, per_host=2)
    layout.add([result(n, host=1) for n in range(6)])
    before = keys(layout)
    layout.add([result(n, host=n) for n in range(10, 16)])
    assert keys(layout)[: len(before)] == before
    assert sorted(keys(layout)) == [*range(6), *range(10, 16)]


def test_copies_are_counted_at_the_best_of_them_also_in_a_later_block() -> None:
    layout = Layout(10, same_bits=3, per_host=None)
    layout.add([result(1, sketch=0xFF00), result(2, sketch=0xFF07), result(3, sketch=0xFF0F)])
    layout.add([result(4, sketch=0xFF00), result(5, sketch=0xFF00 << 40)])
    assert keys(layout) == [1, 3, 5]
    assert [place.copies for place in layout.places] == [2, 0, 0]


def test_pages_without_text_are_no_copies_of_each_other() -> None:
    layout = Layout(10, same_bits=3, per_host=None)
    layout.add([result(1), result(2)])
    assert keys(layout) == [1, 2]
