"""Results as they are shown: nothing is lost, nothing comes twice, and pages stay as they are."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.search.messages import Candidate
from gossamer.search.ranking.layout import Layout
from gossamer.search.ranking.ranker import Ranked

HOSTS = st.integers(0, 3)
SKETCHES = st.sampled_from([0, 1, 3, 7, 15, 0xFFFF, 0xFFFE, 0xFF << 50, 0xFE << 50])
BLOCKS = st.lists(st.lists(st.tuples(HOSTS, SKETCHES), max_size=20), max_size=4)
LIMITS = st.one_of(st.none(), st.integers(0, 4))


def laid_out(
    blocks: list[list[Ranked]], per_page: int, same_bits: int | None, per_host: int | None
) -> Layout:
    layout = Layout(per_page, same_bits=same_bits, per_host=per_host)
    for block in blocks:
        layout.add(block)
    return layout


def ranked(blocks: list[list[tuple[int, int]]]) -> list[list[Ranked]]:
    key = iter(range(1000))
    return [
        [Ranked(1.0, Candidate(1.0, next(key), host, sketch, 0)) for host, sketch in block]
        for block in blocks
    ]


@given(BLOCKS, st.integers(1, 7), LIMITS, st.one_of(st.none(), st.integers(1, 3)))
def test_every_result_is_shown_once_or_counted_as_a_copy(
    said: list[list[tuple[int, int]]], per_page: int, same_bits: int | None, per_host: int | None
) -> None:
    blocks = ranked(said)
    layout = laid_out(blocks, per_page, same_bits, per_host)
    keys = [place.ranked.candidate.key for place in layout.places]
    assert len(set(keys)) == len(keys)
    assert len(keys) + sum(place.copies for place in layout.places) == sum(map(len, blocks))
    if same_bits is not None:
        sketches = [place.ranked.candidate.sketch for place in layout.places]
        told = [one for one in sketches if one]
        pairs = [(a, b) for n, a in enumerate(told) for b in told[:n]]
        assert all((a ^ b).bit_count() > same_bits for a, b in pairs)


@given(BLOCKS, st.integers(1, 7), LIMITS, st.one_of(st.none(), st.integers(1, 3)))
def test_more_results_leave_those_that_were_shown_in_their_place(
    said: list[list[tuple[int, int]]], per_page: int, same_bits: int | None, per_host: int | None
) -> None:
    blocks = ranked(said)
    whole = [p.ranked for p in laid_out(blocks, per_page, same_bits, per_host).places]
    for n in range(len(blocks)):
        part = [p.ranked for p in laid_out(blocks[:n], per_page, same_bits, per_host).places]
        assert whole[: len(part)] == part


@given(st.lists(st.tuples(HOSTS, st.just(0)), max_size=30), st.integers(1, 7))
def test_a_page_has_more_of_a_host_only_when_no_other_is_left(
    said: list[tuple[int, int]], per_page: int
) -> None:
    (block,) = ranked([said])
    layout = laid_out([block], per_page, None, 2)
    for number in range(1, len(block) // per_page + 2):
        hosts = [place.ranked.candidate.host for place in layout.page(number)]
        crowded = {host for host in hosts if hosts.count(host) > 2}
        others = set(layout.more_from_hosts(number)) - {h for h in hosts if hosts.count(h) >= 2}
        assert not crowded or not others
