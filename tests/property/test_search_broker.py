from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.search.made import prepared, shard_of, split

from gossamer.search.broker import Broker, BrokerOptions, Tiers
from gossamer.search.broker.scoring import Scorer
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.messages import Group, ShardQuery
from gossamer.search.page import Prepared

WORDS = ["ant", "bee", "cat", "dog", "eel"]
fields = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)
bodies = st.lists(
    st.fixed_dictionaries(dict.fromkeys(TEXT_FIELDS, fields)), min_size=1, max_size=12
)
groups = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True).map(tuple),
    min_size=1,
    max_size=3,
    unique=True,
)


def made(bodies: list[dict[str, str]]) -> list[Prepared]:
    return [prepared(f"http://a.test/{n}", fields=body) for n, body in enumerate(bodies)]


@settings(max_examples=examples(15), deadline=None)
@given(bodies, groups, st.integers(1, 3))
def test_a_score_made_of_evidence_is_the_engines_own(
    bodies: list[dict[str, str]], groups: list[Group], needed: int
) -> None:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # see `schema`
        shard = shard_of(Path(folder), made(bodies))
        ask = ShardQuery(groups=tuple(groups), needed=needed)
        found = shard.top(ask).candidates
        scorer = Scorer(ask, shard.counts([term for group in groups for term in group]))
        evidence = shard.evidence([one.key for one in found], ask)
        for one, said in zip(found, evidence, strict=True):
            assert scorer.score(said) == pytest.approx(one.score, rel=1e-4)
            if all(len(group) == 1 for group in groups):
                assert one.score <= scorer.best() * (1 + 1e-4)


@pytest.mark.slow
@settings(max_examples=examples(8), deadline=None)
@given(bodies=bodies, groups=groups, shards=st.integers(2, 4), has_tiers=st.booleans())
def test_shards_rank_as_one_index(
    bodies: list[dict[str, str]], groups: list[Group], shards: int, *, has_tiers: bool
) -> None:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # see `schema`
        root, pages = Path(folder), made(bodies)
        whole = Broker(Tiers([shard_of(root / "whole", pages)]))
        parts = [shard_of(root / str(n), part) for n, part in enumerate(split(pages, shards))]
        options = BrokerOptions(rescored=100)
        tiers = Tiers(parts[:1], parts[1:]) if has_tiers else Tiers(parts)
        broker = Broker(tiers, options)
        ask = ShardQuery(groups=tuple(groups), needed=len(groups))
        one, many = whole.find(ask), broker.find(ask, is_exact=True)
        assert many.missing == 0
        assert many.is_low_asked == has_tiers  # there are never ten pages in the high one
        assert many.total == one.total
        assert [c.score for c in many.candidates] == pytest.approx(
            [c.score for c in one.candidates], rel=1e-4
        )
        assert {c.key for c in many.candidates} == {c.key for c in one.candidates}
        pages_shown = broker.stored(many.candidates)
        assert [page.key for page in pages_shown] == [c.key for c in many.candidates]
