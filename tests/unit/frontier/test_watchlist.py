"""Which page next, and when."""

import numpy as np
import pytest

from gossamer.errors import Bug
from gossamer.frontier.revisit import Belief, Watchlist
from gossamer.model import ChangeFrequency, SitemapClaim

DAY_S = 86_400.0


def watch(count: int, *, prior_per_s: float = 0.01, hosts: int = 1) -> Watchlist:
    """Return pages of falling importance, fetched at moment 0."""
    watchlist = Watchlist(prior_per_s)
    for key in range(count):
        watchlist.add(key, key % hosts, 1 / (key + 1), None, 0.0)
    return watchlist


def due_at(watchlist: Watchlist, key: int) -> float:
    planned = watchlist.planned(key)
    assert planned is not None
    assert planned.due_at is not None
    return planned.due_at


def test_nothing_is_due_before_the_first_plan() -> None:
    watchlist = watch(10)
    assert watchlist.next_due_at() is None
    assert watchlist.take_due(1e9, 1e9, 10) == []
    assert watchlist.expected_freshness() is None


def test_an_empty_watchlist_can_be_planned() -> None:
    watchlist = Watchlist()
    watchlist.replan(0.0, 1.0)
    assert watchlist.next_due_at() is None
    assert watchlist.take_due(0.0, 1e9, 10) == []


def test_pages_come_in_the_order_of_their_moments_and_once() -> None:
    watchlist = watch(500)
    watchlist.replan(0.0, 1.0)
    moments = [due_at(watchlist, key) for key in range(500)]
    first = watchlist.take_due(0.0, 1e9, 200)
    second = watchlist.take_due(0.0, float("inf"), 1_000)
    assert first + second == sorted(range(500), key=moments.__getitem__)
    assert watchlist.next_due_at() is None


def test_the_next_moment_is_that_of_the_next_page() -> None:
    watchlist = watch(50)
    watchlist.replan(0.0, 1.0)
    while (moment := watchlist.next_due_at()) is not None:
        assert watchlist.take_due(0.0, np.nextafter(moment, 0.0), 50) == []
        (key,) = watchlist.take_due(0.0, moment, 1)
        watchlist.remove(key)
    assert len(watchlist) == 0


def test_important_pages_are_visited_more_often() -> None:
    watchlist = watch(100)
    watchlist.replan(0.0, 1.0)
    rates = [planned.visits_per_s for key in range(100) if (planned := watchlist.planned(key))]
    assert rates[0] > 3 * rates[20]
    assert rates[:20] == sorted(rates[:20], reverse=True)


def test_a_page_that_cannot_be_kept_fresh_waits_for_its_floor_and_is_not_forgotten() -> None:
    watchlist = Watchlist(0.001)
    for key in range(100):
        hopeless = Belief(1e6, 1.0) if key else None
        watchlist.add(key, key, 1.0, hopeless, 0.0)
    watchlist.replan(0.0, 1.0)
    taken = watchlist.take_due(0.0, 1_500.0, 1_000)
    assert sorted(taken) == list(range(100))


def test_floors_never_fall_due_together() -> None:
    """A common start, and every page at its floor: within a tenth of the time, a tenth of them."""
    watchlist = Watchlist(0.001)
    for key in range(10_000):
        watchlist.add(key, key % 10, 1.0, Belief(1e6, 1.0), 0.0)
    watchlist.add(10_000, 0, 1e12, Belief(1e6, 1e8), 0.0)
    watchlist.replan(0.0, 1.0)
    for key in watchlist.take_due(0.0, float("inf"), 20_000):
        watchlist.visited(key, 0.0, changed=True)
    moments = np.array([due_at(watchlist, key) for key in range(10_000)])
    counts, _ = np.histogram(moments, bins=20)
    assert counts.max() < 1.3 * len(moments) / 20


def test_a_removed_page_is_never_due_and_can_come_back() -> None:
    watchlist = watch(20)
    watchlist.replan(0.0, 1.0)
    watchlist.remove(3)
    watchlist.remove(3)
    watchlist.remove(99)
    assert len(watchlist) == 19
    assert 3 not in watchlist.take_due(0.0, 1e9, 100)
    assert watchlist.planned(3) is None
    watchlist.add(3, 0, 1.0, None, 5.0)
    assert len(watchlist) == 20
    assert watchlist.take_due(0.0, 1e9, 100) == [3]


def test_a_page_given_back_is_due_at_that_moment_whatever_the_plan() -> None:
    watchlist = watch(10)
    watchlist.replan(0.0, 1.0)
    assert len(watchlist.take_due(0.0, 1e6, 10)) == 10
    watchlist.give_back(4, 2e6)
    assert due_at(watchlist, 4) == 2e6
    watchlist.replan(1e6, 10.0)
    watchlist.hint(4, 1e6)
    assert due_at(watchlist, 4) == 2e6
    assert watchlist.take_due(1e6, 1.99e6, 10) == []
    assert watchlist.take_due(1e6, 2e6, 10) == [4]


def test_a_page_that_is_out_is_not_due_until_it_was_visited() -> None:
    watchlist = watch(10)
    watchlist.replan(0.0, 1.0)
    keys = watchlist.take_due(0.0, 1e9, 10)
    watchlist.replan(10.0, 1.0)
    assert watchlist.take_due(0.0, 1e9, 10) == []
    watchlist.visited(keys[0], 20.0, changed=False)
    assert watchlist.take_due(20.0, 1e9, 10) == [keys[0]]


def test_a_visit_to_a_page_that_is_not_watched_is_a_mistake() -> None:
    with pytest.raises(Bug, match="not watched"):
        watch(3).visited(7, 1.0, changed=True)


def test_pages_of_a_host_speak_for_those_that_were_not_visited() -> None:
    watchlist = watch(40, prior_per_s=1e-4, hosts=2)
    watchlist.replan(0.0, 1.0)
    for visit in range(1, 30):
        for key in range(30):
            watchlist.visited(key, 10.0 * visit, changed=key % 2 == 0)
    watchlist.replan(300.0, 1.0)
    busy, calm = watchlist.planned(38), watchlist.planned(39)
    assert busy is not None
    assert calm is not None
    assert busy.changes_per_s > 10 * calm.changes_per_s


def test_what_was_learned_survives_a_restart() -> None:
    watchlist = watch(20, hosts=3)
    watchlist.replan(0.0, 1.0)
    beliefs = {}
    for visit in range(1, 10):
        for key in range(20):
            changed = (key + visit) % 3 == 0
            beliefs[key] = watchlist.visited(key, 50.0 * visit, changed=changed)
        watchlist.replan(50.0 * visit, 1.0)
    again = Watchlist(0.01)
    for key, belief in beliefs.items():
        again.add(key, key % 3, 1 / (key + 1), belief, 450.0)
    again.replan(450.0, 1.0)
    watchlist.replan(450.0, 1.0)
    for key in range(20):
        old, new = watchlist.planned(key), again.planned(key)
        assert old is not None
        assert new is not None
        assert new.changes_per_s == pytest.approx(old.changes_per_s, rel=0.05)


def changes_per_s(watchlist: Watchlist, key: int) -> float:
    planned = watchlist.planned(key)
    assert planned is not None
    return planned.changes_per_s


def test_a_changefreq_weighs_but_does_not_decide() -> None:
    watchlist = Watchlist()
    said = (ChangeFrequency.NOT_SAID, ChangeFrequency.DAILY, ChangeFrequency.NEVER)
    for key, changefreq in enumerate(said):
        watchlist.add(key, key, 1.0, None, 0.0, SitemapClaim(changefreq))
    watchlist.replan(0.0, 1.0)
    rates = [changes_per_s(watchlist, key) for key in range(3)]
    assert rates[2] < rates[0] < rates[1] < 0.1 / DAY_S


def test_a_page_that_has_not_changed_for_years_is_believed_to_be_slow() -> None:
    watchlist = Watchlist()
    now = 1_000 * DAY_S
    for key, modified_at in enumerate((None, 0.0, now - 60.0)):
        watchlist.add(key, 0, 1.0, None, now, SitemapClaim(modified_at=modified_at))
    rates = [changes_per_s(watchlist, key) for key in range(3)]
    assert rates[1] < rates[0]
    assert rates[2] == rates[0]  # dates of today are those of the sitemap, as often as not


def watched_claims(
    claimed: list[ChangeFrequency], gaps_s: list[float], seconds: float, per_s: float = 0.02
) -> tuple[Watchlist, list[int]]:
    """Return a watchlist after some time, and the visits to each page, under a small budget."""
    watchlist, visits = Watchlist(), [0] * len(claimed)
    for key, changefreq in enumerate(claimed):
        watchlist.add(key, 0, 1.0, None, 0.0, SitemapClaim(changefreq))
    last, step_s = [0.0] * len(claimed), 1.0 / per_s
    for tick in range(int(seconds / step_s)):
        now = tick * step_s
        if tick % 10 == 0:
            watchlist.replan(now, per_s)
        for key in watchlist.take_due(now, now, 1):
            changed = now // gaps_s[key] > last[key] // gaps_s[key]
            watchlist.visited(key, now, changed=changed)
            last[key] = now
            visits[key] += 1
    return watchlist, visits


def test_claims_are_the_first_belief_and_the_pages_history_is_the_last() -> None:
    """Nine pages: claimed hourly, weekly, never; truly changing every 5 minutes, 5 hours, never."""
    often, seldom, never = 300.0, 18_000.0, 1e12
    claims = [ChangeFrequency.HOURLY, ChangeFrequency.WEEKLY, ChangeFrequency.NEVER]
    claimed = [claim for claim in claims for _ in range(3)]
    begun, _ = watched_claims(claimed, [never] * 9, 0.0)
    rates = [changes_per_s(begun, key) for key in range(9)]
    assert rates[0] == rates[1] > 5 * rates[3] > 5 * 5 * rates[6]

    ended, _ = watched_claims(claimed, [often, seldom, never] * 3, 3 * DAY_S)
    for first in (0, 3, 6):
        fast, medium, slow = (changes_per_s(ended, first + true) for true in range(3))
        assert fast > 4 * medium > 4 * slow
    for true, gap_s in enumerate((often, seldom)):
        found = [changes_per_s(ended, key) * gap_s for key in range(true, 9, 3)]
        assert max(found) < 3 * min(found)
        assert min(found) > 0.3


def test_claims_that_pages_contradict_count_for_less_with_other_pages_of_the_host() -> None:
    true, false = Watchlist(), Watchlist()
    claim = SitemapClaim(ChangeFrequency.HOURLY)
    for watchlist, every in ((true, 1), (false, 10**9)):
        for key in range(20):
            watchlist.add(key, 0, 1.0, None, 0.0, claim)
        watchlist.replan(0.0, 1.0)
        for visit in range(1, 40):
            for key in range(20):
                watchlist.visited(key, visit * 3_600.0, changed=visit % every == 0)
        watchlist.replan(40 * 3_600.0, 1.0)
        watchlist.add(99, 0, 1.0, None, 0.0, SitemapClaim(ChangeFrequency.NEVER))
        watchlist.add(98, 0, 1.0, None, 0.0)
    believed = changes_per_s(true, 98) / changes_per_s(true, 99)
    disbelieved = changes_per_s(false, 98) / changes_per_s(false, 99)
    assert believed > 3 * disbelieved > 0.0


def test_a_host_that_allows_little_gets_little() -> None:
    watchlist = watch(60, hosts=2)
    watchlist.replan(0.0, 1.0, lambda host: 0.05 if host == 0 else 10.0)
    rates = np.array([o.visits_per_s for key in range(60) if (o := watchlist.planned(key))])
    assert rates[::2].sum() == pytest.approx(0.05, rel=0.01)
    assert rates.sum() == pytest.approx(1.0, rel=0.01)


def test_after_a_long_absence_the_best_pages_come_first() -> None:
    """Everything is overdue: what is worth a visit every few seconds must not queue for hours."""
    watchlist = watch(5_000)
    watchlist.replan(0.0, 1.0)
    for key in watchlist.take_due(0.0, float("inf"), 10_000):
        watchlist.visited(key, 0.0, changed=False)
    watchlist.replan(1e6, 1.0)
    assert set(watchlist.take_due(1e6, 1e6, 300)) >= set(range(30))


def test_a_hint_is_worth_what_came_of_the_hosts_hints_before() -> None:
    """Pages of host 0 change exactly when there is a hint, those of host 1 no matter whether."""
    watchlist = watch(40, hosts=2)
    watchlist.replan(0.0, 2.0)
    rng = np.random.default_rng(1)
    for visit in range(1, 100):
        for key in range(40):
            changed, chance = rng.random(2) < 0.3
            if chance if key % 2 else changed:
                watchlist.hint(key, 10.0 * visit - 1.0)
            watchlist.visited(key, 10.0 * visit, changed=bool(changed))
    watchlist.replan(990.0, 2.0)
    gained = {}
    for key in (22, 23):
        before = due_at(watchlist, key)
        watchlist.hint(key, 990.0)
        gained[key] = (before - due_at(watchlist, key)) / (before - 990.0)
    assert gained[22] > 2 * gained[23] >= 0.0


def test_a_hint_for_an_unknown_page_or_one_that_is_out_changes_nothing() -> None:
    watchlist = watch(5)
    watchlist.hint(99, 0.0)
    watchlist.replan(0.0, 1.0)
    watchlist.take_due(0.0, 1e9, 5)
    watchlist.hint(1, 0.0)
    assert watchlist.take_due(0.0, 1e9, 5) == []


def test_a_hint_never_puts_a_page_off() -> None:
    watchlist = watch(5)
    watchlist.replan(0.0, 1.0)
    before = due_at(watchlist, 2)
    watchlist.hint(2, before + 1_000.0)
    assert due_at(watchlist, 2) <= before


def test_dates_that_the_content_contradicts_are_no_longer_believed() -> None:
    liar, plain = watch(2), watch(2)
    for visit in range(1, 30):
        for watchlist, age in ((liar, 0.001), (plain, None)):
            watchlist.visited(1, 10.0 * visit, changed=visit % 10 == 0, modified_ago_s=age)
    old, new = plain.planned(1), liar.planned(1)
    assert old is not None
    assert new is not None
    assert new.changes_per_s == pytest.approx(old.changes_per_s)


def test_the_expected_freshness_rises_with_the_budget() -> None:
    watchlist = watch(100)
    shares = []
    for key in range(100):
        watchlist.visited(key, 1e5, changed=True)
        watchlist.visited(key, 2e5, changed=False)
    for per_s in (0.01, 0.1, 1.0, 10.0):
        watchlist.replan(2e5, per_s)
        shares.append(watchlist.expected_freshness() or 0.0)
    assert shares == sorted(shares)
    assert shares[0] > 0.0
    assert 0.9 < shares[-1] <= 1.0


def test_no_freshness_is_promised_before_pages_are_known_by_their_own_history() -> None:
    """Three of five pages have to be watched for a few of their intervals."""
    watchlist = Watchlist()
    for key in range(5):
        watchlist.add(key, 0, 1.0, None, 0.0)
    watchlist.replan(0.0, 1.0)
    assert watchlist.expected_freshness() is None
    for key in range(3):
        assert watchlist.expected_freshness() is None
        for visit in range(1, 6):
            watchlist.visited(key, 5.0 * visit, changed=False)
    promised = watchlist.expected_freshness()
    assert promised is not None
    assert promised < 0.98  # 25 seconds without a change do not say "never"


def test_a_page_that_changes_every_two_seconds_is_known_after_26_changes() -> None:
    for step_s in (0.7, 1.9, 4.3):
        watchlist = Watchlist()
        for key in range(5):
            watchlist.add(key, 0, 1.0, None, 0.0)
        watchlist.replan(0.0, 1.0)
        changes, now = 0, 0.0
        while changes < 26:
            changed = (now + step_s) // 2.0 > now // 2.0
            now += step_s
            changes += changed
            watchlist.visited(0, now, changed=changed)
        assert 0.4 < 1.0 / changes_per_s(watchlist, 0) < 8.0
        watchlist.replan(now, 1.0)
        assert 0.4 < 1.0 / changes_per_s(watchlist, 0) < 8.0


def test_a_visit_tells_how_important_a_page_has_become() -> None:
    watchlist = watch(2)
    watchlist.replan(0.0, 1.0)
    before = watchlist.planned(1)
    watchlist.visited(1, 10.0, changed=False, importance=100.0)
    after = watchlist.planned(1)
    assert before is not None
    assert after is not None
    assert after.visits_per_s > 2 * before.visits_per_s


def test_thousands_of_pages_are_found_again_whatever_their_keys() -> None:
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**64, 20_000, dtype=np.uint64).tolist()
    watchlist = Watchlist()
    for key in keys:
        watchlist.add(key, key >> 40, 1.0, None, 0.0)
    for key in keys[::3]:
        watchlist.remove(key)
    watchlist.replan(0.0, 1.0)
    kept = set(keys) - set(keys[::3])
    assert len(watchlist) == len(kept)
    assert set(watchlist.take_due(0.0, float("inf"), 30_000)) == kept
